package lines

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"agentsync/collect"
	"agentsync/collect/value"
	"agentsync/fixtures/plainuser"
)

// noon is the tests' clock; files are an hour old unless a test says otherwise.
var noon = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// read is everything that reading a file gave.
type read struct {
	events  []string // JSON texts as captured, unparsed ones as "?"
	damage  []collect.Damage
	raws    []string
	starts  []collect.Position
	trailer collect.Trailer
	resumed bool
}

func writeFile(t testing.TB, path, content string, age time.Duration) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	setAge(t, path, age)
}

func setAge(t testing.TB, path string, age time.Duration) {
	t.Helper()
	if err := os.Chtimes(path, noon, noon.Add(-age)); err != nil {
		t.Fatal(err)
	}
}

func tempFile(t testing.TB, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "session.jsonl")
	writeFile(t, path, content, time.Hour)
	return path
}

func readAll(t testing.TB, path string, o Options) read {
	t.Helper()
	o.Now = noon
	r, err := Open(path, o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := drain(t, r)
	if got.trailer, err = r.Finish(); err != nil {
		t.Fatal(err)
	}
	return got
}

func drain(t testing.TB, r *Reader) read {
	t.Helper()
	got := read{resumed: r.Resumed()}
	offset := r.At().Offset
	for {
		var tape value.Tape
		at := r.At()
		e, err := r.Next(&tape)
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		if e.Offset != offset || at.Offset != offset {
			t.Fatalf("event stands at %d, says %d, At says %d", offset, e.Offset, at.Offset)
		}
		offset += int64(len(e.Raw))
		text := string(e.Captured.Text)
		if strings.HasPrefix(text, `{"agentsync":"unparsed"`) {
			text = "?"
		}
		got.events = append(got.events, text)
		got.raws = append(got.raws, string(e.Raw))
		got.damage = append(got.damage, e.Damage)
		got.starts = append(got.starts, at)
	}
}

func (r read) bytes() string { return strings.Join(r.raws, "") }

func wantEvents(t testing.TB, got read, want ...string) {
	t.Helper()
	if fmt.Sprintf("%q", got.events) != fmt.Sprintf("%q", want) {
		t.Errorf("events\n got %q\nwant %q", got.events, want)
	}
}

func TestEveryLineIsOneEventAndTheBytesAreKept(t *testing.T) {
	for _, c := range []struct {
		name, content string
		want          []string
	}{
		{"plain lines", "{\"a\":1}\n{\"b\":2}\n", []string{`{"a":1}`, `{"b":2}`}},
		{"no final newline", "{\"a\":1}\n{\"b\":2}", []string{`{"a":1}`, `{"b":2}`}},
		{"an empty file", "", nil},
		{"carriage returns", "{\"a\":1}\r\n{\"b\":2}\r\n", []string{`{"a":1}`, `{"b":2}`}},
		{"blanks around", " \t{\"a\":1}  \n", []string{`{"a":1}`}},
		{"a byte-order mark", "\xEF\xBB\xBF{\"a\":1}\n", []string{`{"a":1}`}},
		{"top-level values that are no record", "1\n\"x\"\n[1]\nnull\n", []string{"1", `"x"`, "[1]", "null"}},
		{"raw U+0085, U+2028 and DEL inside a string", "{\"a\":\"\u0085\u2028\x7f\"}\n", []string{"{\"a\":\"\u0085\u2028\x7f\"}"}},
		{"an escaped NUL and a lone surrogate", `{"a":"\u0000\ud99c"}` + "\n", []string{`{"a":"\u0000\ud99c"}`}},
		{"duplicate keys, -0 and 1e400", `{"a":1,"a":-0,"b":1e400}` + "\n", []string{`{"a":1,"a":-0,"b":1e400}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := readAll(t, tempFile(t, c.content), Options{})
			wantEvents(t, got, c.want...)
			if got.bytes() != c.content {
				t.Errorf("bytes are %q, want %q", got.bytes(), c.content)
			}
			if len(got.trailer.Damaged) != 0 || len(got.trailer.Problems) != 0 || !got.trailer.Complete {
				t.Errorf("a sound file has trailer %+v", got.trailer)
			}
			if end := got.trailer.Resume.At; end.Event != len(c.want) || end.Offset != int64(len(c.content)) {
				t.Errorf("the end is %+v", end)
			}
		})
	}
}

func TestNoLineIsTooLong(t *testing.T) {
	for _, size := range []int{70_000, windowSize - 1, windowSize, windowSize + 1, 300_000, 1_100_000, 5_000_000} {
		var lines []string
		for i := range 5 {
			text := "short"
			if i == 2 {
				text = strings.Repeat("x", size)
			}
			lines = append(lines, fmt.Sprintf(`{"n":%d,"text":"%s"}`, i, text))
		}
		content := strings.Join(lines, "\n") + "\n"
		got := readAll(t, tempFile(t, content), Options{})
		if len(got.events) != 5 || got.bytes() != content {
			t.Errorf("a line of %d bytes: %d events, bytes kept: %t", size, len(got.events), got.bytes() == content)
		}
	}
}

func TestUnfinishedLastLine(t *testing.T) {
	const whole = "{\"a\":1}\n{\"b\":2}\n"
	for _, c := range []struct {
		name, tail string
		age        time.Duration
		events     []string
		kept       string
		kind       collect.Damage
	}{
		{"a torn line that is fresh is left to its writer", `{"c":"😀`[:8], time.Minute, nil, "", 0},
		{"a torn line that is old is kept as it is", `{"c":"x`, time.Hour, []string{"?"}, `{"c":"x`, collect.TornTail},
		{"a whole record is taken at once", `{"c":3}`, time.Minute, []string{`{"c":3}`}, `{"c":3}`, 0},
		{"a number may still grow", "12", time.Minute, nil, "", 0},
		{"an old number is taken", "12", time.Hour, []string{"12"}, "12", 0},
		{"glued records are recovered once nobody writes", `{"c":3}{"d":4}`, time.Hour, []string{`{"c":3}`, `{"d":4}`}, `{"c":3}{"d":4}`, collect.Glued},
		{"NULs are left alone while fresh", "\x00\x00", time.Minute, nil, "", 0},
		{"NULs are their own event afterwards", "\x00\x00", time.Hour, []string{"?"}, "\x00\x00", collect.NulFill},
		{"a clock far ahead holds nothing back", `{"c":"x`, -48 * time.Hour, []string{"?"}, `{"c":"x`, collect.TornTail},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "s.jsonl")
			writeFile(t, path, whole+c.tail, c.age)
			got := readAll(t, path, Options{})
			wantEvents(t, got, append([]string{`{"a":1}`, `{"b":2}`}, c.events...)...)
			if got.bytes() != whole+c.kept {
				t.Errorf("bytes are %q", got.bytes())
			}
			if got.trailer.Resume.At.Offset != int64(len(whole+c.kept)) || !got.trailer.Complete {
				t.Errorf("trailer is %+v", got.trailer)
			}
			if c.kind != 0 && got.trailer.Damaged[c.kind] == 0 {
				t.Errorf("damage %d not counted: %v", c.kind, got.trailer.Damaged)
			}
			waiting := len(got.trailer.Problems) == 1 && got.trailer.Problems[0].Code == CodeWaiting && got.trailer.Problems[0].Line == 3
			if waiting != (c.kept == "") {
				t.Errorf("problems are %+v", got.trailer.Problems)
			}
		})
	}
}

func TestARecordWrittenInTwoPartsIsReadOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	record := `{"text":"before 😀 after"}` + "\n"
	cut := strings.Index(record, "😀") + 2 // within the character
	writeFile(t, path, "{\"a\":1}\n{\"b\":2}\n"+record[:cut], time.Minute)
	first := readAll(t, path, Options{})
	wantEvents(t, first, `{"a":1}`, `{"b":2}`)
	writeFile(t, path, "{\"a\":1}\n{\"b\":2}\n"+record, time.Minute)
	second := readAll(t, path, Options{Resume: &first.trailer.Resume})
	wantEvents(t, second, strings.TrimSpace(record))
	if !second.resumed || second.starts[0] != first.trailer.Resume.At {
		t.Errorf("resumed: %t, at %+v", second.resumed, second.starts[0])
	}
}

func TestOnlyRegularFilesAreOpened(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "target.jsonl")
	writeFile(t, target, "{\"a\":1}\n", time.Hour)
	link := filepath.Join(dir, "link.jsonl")
	if err := os.Symlink(target, link); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	loop := filepath.Join(dir, "loop")
	if err := os.Symlink(loop, loop); err != nil {
		t.Fatal(err)
	}
	for name, path := range map[string]string{"a folder": dir, "a link": link, "a link to itself": loop} {
		_, err := Open(path, Options{})
		if _, ok := errors.AsType[*NotRegularError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Open(dir, Options{Follow: true}); err == nil {
		t.Error("a folder was opened")
	}
	wantEvents(t, readAll(t, link, Options{Follow: true}), `{"a":1}`)
	if _, err := Open(filepath.Join(dir, "absent"), Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an absent file: %v", err)
	}
}

func TestAPermissionErrorIsFound(t *testing.T) {
	if plainuser.Runs(t) {
		return
	}
	path := tempFile(t, "{}\n")
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path, Options{}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v", err)
	}
}

func compress(t testing.TB, content string) []byte {
	t.Helper()
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return encoder.EncodeAll([]byte(content), nil)
}

func TestACompressedFileIsReadLikeItsLines(t *testing.T) {
	content := "{\"a\":1}\n" + strings.Repeat("{\"text\":\"some words\"}\n", 40_000) + `{"torn":"`
	packed := compress(t, content)
	path := filepath.Join(t.TempDir(), "rollout.jsonl.zst")
	writeFile(t, path, string(packed), time.Minute)
	got := readAll(t, path, Options{Zstd: true, Resume: &collect.Resume{}})
	if got.bytes() != content || len(got.events) != 40_002 || got.resumed {
		t.Errorf("%d events, bytes kept: %t", len(got.events), got.bytes() == content)
	}
	if got.trailer.Damaged[collect.TornTail] != 1 {
		t.Errorf("damage %v", got.trailer.Damaged)
	}
	plain := readAll(t, tempFile(t, content), Options{})
	if plain.trailer.Resume.Prefix != got.trailer.Resume.Prefix {
		t.Error("the hash is not that of the lines")
	}
}

func TestADamagedCompressedFileIsAnErrorThatNamesIt(t *testing.T) {
	packed := compress(t, strings.Repeat("{\"text\":\"some words\"}\n", 50_000))
	flipped := append([]byte(nil), packed...)
	flipped[len(flipped)/2] ^= 0xff
	for name, content := range map[string][]byte{
		"truncated": packed[:len(packed)-5], "flipped": flipped, "empty": nil, "no zstd": []byte("{\"a\":1}\n"),
	} {
		path := filepath.Join(t.TempDir(), "rollout.jsonl.zst")
		writeFile(t, path, string(content), time.Hour)
		r, err := Open(path, Options{Zstd: true})
		for err == nil {
			var tape value.Tape
			_, err = r.Next(&tape)
		}
		if errors.Is(err, io.EOF) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheUncapturedLinesAreTheFile(t *testing.T) {
	content := "{\"a\":1}\n\x00\x00{\"b\":2}{\"c\":3}\n\nnot json\n{\"torn"
	r, err := Open(tempFile(t, content), Options{Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var all strings.Builder
	n := 0
	for {
		line, err := r.NextLine()
		if errors.Is(err, io.EOF) {
			break
		}
		all.Write(line)
		n++
	}
	if all.String() != content || n != 5 || r.At().Line != 5 {
		t.Errorf("%d lines: %q", n, all.String())
	}
}

func TestMemoryDoesNotGrowWithTheFile(t *testing.T) {
	line := `{"type":"user","text":"` + strings.Repeat("x", 1000) + "\"}\n"
	path := tempFile(t, strings.Repeat(line, 8000))
	r, err := Open(path, Options{Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var tape value.Tape
	for err == nil {
		tape.Reset()
		_, err = r.Next(&tape)
	}
	if !errors.Is(err, io.EOF) || len(r.window.buf) != windowSize {
		t.Errorf("window of %d bytes after 8 MB, %v", len(r.window.buf), err)
	}
}

func equalCounts(got, want map[collect.Damage]int) bool { return maps.Equal(got, want) }
