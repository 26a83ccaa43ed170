package chunk

import (
	"bytes"
	"errors"
	"runtime"
	"testing"

	"agentsync/fixtures/vectors"

	"github.com/klauspost/compress/zstd"
)

func sample(t testing.TB, size int) []byte {
	t.Helper()
	lines, err := vectors.MadeLines(int64(size))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Join(lines, []byte(","))[:size]
}

func TestTextsSurviveTheCodec(t *testing.T) {
	e, d := NewEncoder(), NewDecoder()
	long := sample(t, 3<<20)
	for _, text := range [][]byte{{}, []byte("a"), long[:300], long[:512<<10], long} {
		frame := e.Encode([]byte("before"), text)
		if !bytes.HasPrefix(frame, []byte("before")) {
			t.Fatal("what stood in dst is gone")
		}
		got, err := d.Decode([]byte("x"), frame[len("before"):], len(text))
		if err != nil || string(got) != "x"+string(text) {
			t.Errorf("%d bytes: %v", len(text), err)
		}
	}
}

func TestEveryFrameHasItsSizeAndAChecksum(t *testing.T) {
	e := NewEncoder()
	for _, n := range []int{1, 255, 256, 70_000, 600_000} {
		var head zstd.Header
		frame := e.Encode(nil, make([]byte, n))
		if err := head.Decode(frame); err != nil || !head.HasFCS || head.FrameContentSize != uint64(n) || !head.HasCheckSum {
			t.Errorf("%d bytes: %+v, %v", n, head, err)
		}
	}
}

func TestAnythingButTheFrameIsRefused(t *testing.T) {
	e, d := NewEncoder(), NewDecoder()
	text := sample(t, 100_000)
	frame := e.Encode(nil, text)
	unsized, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	var stream bytes.Buffer
	unsized.Reset(&stream)
	_, _ = unsized.Write(text)
	_ = unsized.Flush()
	_ = unsized.Close()
	for name, c := range map[string]struct {
		frame []byte
		plain int
	}{
		"shorter than said":    {frame, len(text) + 1},
		"longer than said":     {frame, len(text) - 1},
		"cut":                  {frame[:len(frame)-1], len(text)},
		"nothing":              {nil, 0},
		"two frames":           {append(bytes.Clone(frame), frame...), len(text)},
		"without a size":       {stream.Bytes(), len(text)},
		"negative":             {frame, -1},
		"beyond the ceiling":   {frame, MaxPlain + 1},
		"text instead of zstd": {text, len(text)},
	} {
		dst := []byte("kept")
		got, err := d.Decode(dst, c.frame, c.plain)
		if !errors.Is(err, ErrFrame) || string(got) != "kept" {
			t.Errorf("%s: %v, %d bytes", name, err, len(got))
		}
	}
}

func TestSeveralEncodersStayWithinTensOfMebibytes(t *testing.T) {
	text := sample(t, 512<<10)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var encoders []*Encoder
	for range 4 {
		e := NewEncoder()
		e.Encode(nil, text)
		encoders = append(encoders, e)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	held := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	if held > 32<<20 {
		t.Errorf("4 encoders hold %d KiB", held>>10)
	}
	t.Logf("4 encoders hold %d KiB", held>>10)
	runtime.KeepAlive(encoders)
}

func FuzzDecode(f *testing.F) {
	e := NewEncoder()
	f.Add(e.Encode(nil, []byte("hello")), 5)
	f.Add(e.Encode(nil, bytes.Repeat([]byte("ab"), 4000)), 8000)
	f.Add([]byte{0x28, 0xB5, 0x2F, 0xFD, 0xE0}, 1<<29)
	d := NewDecoder()
	f.Fuzz(func(t *testing.T, frame []byte, plain int) {
		if plain > 1<<20 {
			plain %= 1 << 20
		}
		got, err := d.Decode(nil, frame, plain)
		if err == nil && len(got) != plain {
			t.Errorf("%d bytes, said to be %d", len(got), plain)
		}
	})
}

// chunks are texts of about the default target.
func chunks(b *testing.B) [][]byte {
	lines, err := vectors.RealLines("claude")
	if err != nil {
		b.Logf("made lines: %v", err)
		lines, err = vectors.MadeLines(4 << 20)
	}
	if err != nil {
		b.Fatal(err)
	}
	text := bytes.Join(lines, []byte(","))
	var list [][]byte
	for len(text) > DefaultTarget {
		list = append(list, text[:DefaultTarget])
		text = text[DefaultTarget:]
	}
	return list
}

func BenchmarkEncode(b *testing.B) {
	list := chunks(b)
	for _, level := range []zstd.EncoderLevel{zstd.SpeedFastest, zstd.SpeedDefault, zstd.SpeedBetterCompression} {
		b.Run(level.String(), func(b *testing.B) {
			e, frame, in, out := &Encoder{newWriter(level)}, []byte(nil), 0, 0
			b.SetBytes(int64(len(list)) * DefaultTarget)
			b.ReportAllocs()
			for b.Loop() {
				in, out = 0, 0
				for _, text := range list {
					frame = e.Encode(frame[:0], text)
					in, out = in+len(text), out+len(frame)
				}
			}
			b.ReportMetric(float64(in)/float64(out), "ratio")
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	text := chunks(b)[0]
	frame, d, dst := NewEncoder().Encode(nil, text), NewDecoder(), []byte(nil)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if dst, err = d.Decode(dst[:0], frame, len(text)); err != nil {
			b.Fatal(err)
		}
	}
}
