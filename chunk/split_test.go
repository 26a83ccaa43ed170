package chunk_test

import (
	"encoding/json"
	"math/rand/v2"
	"testing"

	"agentsync/chunk"
	"agentsync/collect/value"
	"agentsync/fixtures/vectors"
)

// lengths are the parts that events of these canonical lengths are cut into.
func lengths(s *chunk.Splitter, events []int) []int {
	var parts []int
	for _, n := range events {
		if s.Starts(n) {
			parts = append(parts, int(s.Length()))
		}
	}
	return append(parts, int(s.Length()))
}

func equal(a, b []int) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

func TestPartsAreCutAsInTheVectors(t *testing.T) {
	f, err := vectors.Load()
	if err != nil {
		t.Fatal(err)
	}
	integers := [][]byte{{1}, {0xFF}, {0x10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}} // 1, -1, 2^100
	for i, c := range f.Chunking.Cases {
		var events []int
		for _, text := range c.Events {
			v, err := vectors.Plain(text)
			if err != nil {
				t.Fatal(err)
			}
			events = append(events, len(value.AppendText(nil, v)))
		}
		for i, id := range c.IDs {
			v := value.NewBuilder().Record().Key("id").String(id).Key("value").Integer(value.BigInt, integers[i]).End().Finish()
			events = append(events, len(value.AppendText(nil, v)))
		}
		if got := lengths(chunk.NewSplitter(c.TargetBytes), events); !equal(got, c.ByteLengths) {
			t.Errorf("case %d: parts of %v bytes, want %v", i, got, c.ByteLengths)
		}
	}
}

func TestNoTargetIsTheDefaultOne(t *testing.T) {
	exactly := []int{chunk.DefaultTarget/2 - chunk.Empty, chunk.DefaultTarget/2 - 1}
	if got := lengths(chunk.NewSplitter(0), exactly); !equal(got, []int{chunk.DefaultTarget}) {
		t.Errorf("parts of %v bytes", got)
	}
	exactly[1]++
	if got := lengths(chunk.NewSplitter(0), exactly); len(got) != 2 {
		t.Errorf("parts of %v bytes", got)
	}
}

// The rule of the format, over all events at once.
func cut(target int, events []int) []int {
	parts := []int{chunk.Empty}
	for _, n := range events {
		last := &parts[len(parts)-1]
		switch {
		case *last == chunk.Empty:
			*last += n
		case *last+1+n > target:
			parts = append(parts, chunk.Empty+n)
		default:
			*last += 1 + n
		}
	}
	return parts
}

func TestRandomEventsAreCutByTheRule(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		var events []int
		for range r.IntN(40) {
			events = append(events, 1+r.IntN(30))
		}
		target := 1 + r.IntN(120)
		if got, want := lengths(chunk.NewSplitter(target), events), cut(target, events); !equal(got, want) {
			t.Fatalf("seed %d: %v, want %v", seed, got, want)
		}
	}
}

func TestLengthsOfPartsMayBeAskedForLate(t *testing.T) {
	s := chunk.NewSplitter(10)
	for range 3 {
		s.Starts(9)
	}
	if got := []int{int(s.Length()), int(s.Length()), int(s.Length())}; !equal(got, []int{16, 16, 16}) {
		t.Error(got)
	}
}

func FuzzSplitter(f *testing.F) {
	f.Add(35, []byte{1, 20, 30, 255})
	f.Add(0, []byte{})
	f.Fuzz(func(t *testing.T, target int, sizes []byte) {
		s, sum, count := chunk.NewSplitter(target), 0, 0
		var events []int
		for _, n := range sizes {
			events = append(events, int(n)+1)
			sum += int(n) + 1
		}
		for _, n := range lengths(s, events) {
			sum -= n - chunk.Empty
			count++
		}
		if between := len(events) - count; sum+max(between, 0) != 0 {
			t.Errorf("%d events in %d parts: %d bytes are missing", len(events), count, sum+between)
		}
	})
}
