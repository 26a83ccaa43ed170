package lines

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/collect/value"
)

func records(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, `{"type":"user","n":%d,"text":"some words that fill a line"}`+"\n", i)
	}
	return b.String()
}

func TestAGrownFileIsReadFromWhereItWas(t *testing.T) {
	for _, count := range []int{1, 10, 500, 9000} { // the last one of several buffers
		path := tempFile(t, records(0, count))
		first := readAll(t, path, Options{})
		writeFile(t, path, records(0, count+3), time.Minute)
		for _, at := range []collect.Position{first.trailer.Resume.At, first.starts[count-1], first.starts[0]} {
			from := first.trailer.Resume
			from.At = at
			got := readAll(t, path, Options{Resume: &from})
			whole := readAll(t, path, Options{})
			if !got.resumed || got.starts[0] != at || got.bytes() != records(at.Event, count+3) {
				t.Errorf("%d records, from %+v: resumed %t, %d events", count, at, got.resumed, len(got.events))
			}
			if got.trailer.Resume != whole.trailer.Resume {
				t.Errorf("%d records: the resume is %+v, of the whole file %+v", count, got.trailer.Resume, whole.trailer.Resume)
			}
		}
	}
}

func TestARewrittenFileIsReadFromTheStart(t *testing.T) {
	original := records(0, 200)
	half := len(original) / 2
	for _, c := range []struct {
		name    string
		rewrite func(path string)
	}{
		{"replaced by longer content in place", func(p string) { writeFile(t, p, strings.ToUpper(original)+"{}\n", 0) }},
		{"its beginning changed", func(p string) { writeFile(t, p, "{ "+original[2:]+"{}\n", 0) }},
		{"the end of its old part changed", func(p string) {
			writeFile(t, p, original[:len(original)-10]+strings.ToUpper(original[len(original)-10:])+"{}\n", 0)
		}},
		{"shortened", func(p string) { writeFile(t, p, original[:half], time.Hour) }},
		{"emptied and written again", func(p string) { writeFile(t, p, "{\"b\":2}\n", time.Hour) }},
		{"one byte in its middle changed, and grown", func(p string) {
			writeFile(t, p, original[:half]+"#"+original[half+1:]+"{}\n", 0)
		}},
		{"one byte in its middle changed, its time put back", func(p string) {
			writeFile(t, p, original[:half]+"#"+original[half+1:], time.Hour)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := tempFile(t, original)
			first := readAll(t, path, Options{})
			c.rewrite(path)
			now, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			got := readAll(t, path, Options{Resume: &first.trailer.Resume})
			if got.resumed || got.bytes() != string(now) {
				t.Errorf("resumed: %t; %d of %d bytes", got.resumed, len(got.bytes()), len(now))
			}
		})
	}
}

func TestEqualBytesAreBelievedWhereverTheyComeFrom(t *testing.T) {
	original := records(0, 200)
	for name, change := range map[string]func(path string){
		"touched": func(p string) { setAge(t, p, 0) },
		"another file under its name": func(p string) {
			writeFile(t, p+".new", original, time.Hour)
			if err := os.Rename(p+".new", p); err != nil {
				t.Fatal(err)
			}
		},
	} {
		path := tempFile(t, original)
		first := readAll(t, path, Options{})
		change(path)
		from := first.trailer.Resume
		from.At = first.starts[150]
		got := readAll(t, path, Options{Resume: &from})
		if !got.resumed || len(got.events) != 50 || got.trailer.Resume.Prefix != from.Prefix {
			t.Errorf("%s: resumed %t, %d events", name, got.resumed, len(got.events))
		}
	}
}

func TestGrowthWithAnEditWhileReadingIsReported(t *testing.T) {
	original := records(0, 20_000) // more than one window
	path := tempFile(t, original)
	r, err := Open(path, Options{Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	got := drain(t, r)
	half := len(original) / 2
	writeFile(t, path, original[:half]+"#"+original[half+1:]+"{}\n", 0)
	_, err = r.Finish()
	if _, ok := errors.AsType[*collect.ChangedError](err); !ok {
		t.Errorf("%d events, then %v", len(got.events), err)
	}
}

func TestAPendingFragmentIsForgottenWhenTheFileIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	writeFile(t, path, `{"a":1,`, time.Minute)
	first := readAll(t, path, Options{})
	writeFile(t, path, "\"b\":2}\n{\"good\":1}\n", time.Minute)
	got := readAll(t, path, Options{Resume: &first.trailer.Resume})
	wantEvents(t, got, "?", `{"good":1}`)
}

func TestALastLineTakenUnterminatedIsReadAgainWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.jsonl")
	writeFile(t, path, "{\"a\":1}\n{\"b\":2}", time.Minute)
	first := readAll(t, path, Options{})
	wantEvents(t, first, `{"a":1}`, `{"b":2}`)
	const grown = "{\"a\":1}\n{\"b\":2}\n{\"c\":3}\n"
	writeFile(t, path, grown, time.Minute)
	atEnd := readAll(t, path, Options{Resume: &first.trailer.Resume})
	wantEvents(t, atEnd, `{"a":1}`, `{"b":2}`, `{"c":3}`)
	from := first.trailer.Resume
	from.At = first.starts[1]
	atLast := readAll(t, path, Options{Resume: &from})
	if !atLast.resumed {
		t.Error("not resumed at a line's beginning")
	}
	wantEvents(t, atLast, `{"b":2}`, `{"c":3}`)
}

func TestAResumeWithinADamagedLineIsNotUsed(t *testing.T) {
	content := "{\"a\":1}{\"b\":2}\n"
	path := tempFile(t, content)
	first := readAll(t, path, Options{})
	writeFile(t, path, content+"{\"c\":3}\n", time.Minute)
	from := first.trailer.Resume
	from.At = first.starts[1]
	got := readAll(t, path, Options{Resume: &from})
	if got.resumed || got.damage[1] != collect.Glued {
		t.Errorf("resumed: %t, damage %v", got.resumed, got.damage)
	}
}

func TestGrowthWhileReadingIsAConsistentPrefix(t *testing.T) {
	original := records(0, 300)
	path := tempFile(t, original)
	r, err := Open(path, Options{Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	appendTo(t, path, records(300, 310))
	got := drain(t, r)
	trailer, err := r.Finish()
	if err != nil || got.bytes() != original {
		t.Fatalf("%v, %d bytes", err, len(got.bytes()))
	}
	rest := readAll(t, path, Options{Resume: &trailer.Resume})
	if !rest.resumed || rest.bytes() != records(300, 310) {
		t.Errorf("the rest: resumed %t, %d events", rest.resumed, len(rest.events))
	}
}

func appendTo(t testing.TB, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func TestAFileRewrittenWhileItIsReadIsReported(t *testing.T) {
	original := records(0, 20_000) // more than one window
	for name, rewritten := range map[string]string{
		"shortened":              records(0, 10),
		"rewritten and longer":   strings.ToUpper(original) + "{}\n",
		"rewritten, same length": strings.ToUpper(original),
	} {
		t.Run(name, func(t *testing.T) {
			path := tempFile(t, original)
			r, err := Open(path, Options{Now: noon})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			var tape value.Tape
			if _, err = r.Next(&tape); err != nil {
				t.Fatal(err)
			}
			writeFile(t, path, rewritten, 0)
			for err == nil {
				tape.Reset()
				_, err = r.Next(&tape)
			}
			if errors.Is(err, io.EOF) {
				_, err = r.Finish()
			}
			if changed, ok := errors.AsType[*collect.ChangedError](err); !ok || changed.Path != path {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestFinishingEarlyIsAnError(t *testing.T) {
	r, err := Open(tempFile(t, records(0, 3)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := r.Finish(); err == nil {
		t.Error("half a file was finished")
	}
}

// BenchmarkProvePrefix opens a long file that grew by one line.
func BenchmarkProvePrefix(b *testing.B) {
	content := records(0, 3_000_000)
	path := tempFile(b, content)
	r, err := Open(path, Options{Now: noon})
	if err != nil {
		b.Fatal(err)
	}
	last := r.At()
	for err == nil {
		last = r.At()
		_, err = r.NextLine()
	}
	trailer, err := r.Finish()
	if err != nil {
		b.Fatal(err)
	}
	r.Close()
	trailer.Resume.At = last
	appendTo(b, path, records(0, 1))
	b.SetBytes(int64(len(content)))
	for b.Loop() {
		r, err := Open(path, Options{Now: noon, Resume: &trailer.Resume})
		if err != nil || !r.Resumed() {
			b.Fatal(err)
		}
		r.Close()
	}
}

func BenchmarkNext(b *testing.B) {
	for name, line := range map[string]string{
		"short": `{"type":"user","uuid":"00000000-0000-4000-8000-000000000000","message":{"role":"user","content":"some words"}}` + "\n",
		"long":  `{"type":"user","message":{"role":"user","content":"` + strings.Repeat("some words \\\"quoted\\\" ", 400) + `"}}` + "\n",
	} {
		b.Run(name, func(b *testing.B) {
			content := strings.Repeat(line, 8<<20/len(line))
			path := tempFile(b, content)
			b.SetBytes(int64(len(content)))
			b.ReportAllocs()
			var tape value.Tape
			for b.Loop() {
				r, err := Open(path, Options{Now: noon})
				for err == nil {
					tape.Reset()
					_, err = r.Next(&tape)
				}
				r.Close()
			}
		})
	}
}

func BenchmarkNextLine(b *testing.B) {
	content := records(0, 100_000)
	path := tempFile(b, content)
	b.SetBytes(int64(len(content)))
	b.ReportAllocs()
	for b.Loop() {
		r, err := Open(path, Options{Now: noon})
		for err == nil {
			_, err = r.NextLine()
		}
		r.Close()
	}
}
