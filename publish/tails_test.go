package publish

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/collect/codex"
)

const tailID = "0f3c9a1b-0000-4000-8000-000000000001"

// tailed is a source of one session whose last line is not finished.
type tailed struct {
	name, path, key string
	driver          collect.Driver
	whole, tail     string
}

// tailedSources are a source of each file driver with each kind of unfinished line.
func tailedSources(t *testing.T) []tailed {
	t.Helper()
	claudeLine := `{"type":"user","uuid":"u1","sessionId":"` + tailID + `","message":{"role":"user","content":"hello"}}` + "\n"
	codexLine := `{"timestamp":"2026-02-01T10:00:00.000Z","type":"session_meta","payload":{"id":"` + tailID + `","cwd":"/home/dev"}}` + "\n"
	var all []tailed
	for name, tail := range map[string]string{"a torn record": `{"type":"user","message":{"content":"and th`, "trailing NULs": "\x00\x00\x00\x00"} {
		dir, d := claudeTree(t, map[string]string{"-p/" + tailID + ".jsonl": claudeLine + tail})
		all = append(all, tailed{"claude, " + name, filepath.Join(dir, "projects", "-p", tailID+".jsonl"), "claude/" + tailID, d, claudeLine, tail})
		home := t.TempDir()
		path := filepath.Join(home, "sessions", "2026", "02", "01", "rollout-2026-02-01T10-00-00-"+tailID+".jsonl")
		writeFile(t, path, codexLine+tail)
		c, err := codex.New(collect.SourceConfig{ID: "codex", Driver: codex.Kind, CodexHome: home}, collect.Env{Now: noon, Getenv: func(string) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, tailed{"codex, " + name, path, "codex/" + tailID, c, codexLine, tail})
	}
	return all
}

func touch(t *testing.T, path string, at time.Time) {
	t.Helper()
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
}

func TestATailThatWasPublishedIsNeverTakenBack(t *testing.T) {
	for _, s := range tailedSources(t) {
		t.Run(s.name, func(t *testing.T) {
			b := newBed(t, s.driver)
			b.publish()
			if got := b.stored(s.key); got != s.whole+s.tail {
				t.Fatalf("rested: %q", got)
			}
			touch(t, s.path, noon)
			if r := b.publish(); b.stored(s.key) != s.whole+s.tail || r.Waiting != 0 {
				t.Errorf("touched: %q, %d waiting", b.stored(s.key), r.Waiting)
			}
			appendTo(t, s.path, "more")
			touch(t, s.path, noon)
			if r := b.publish(); b.stored(s.key) != s.whole+s.tail+"more" || r.Waiting != 0 {
				t.Errorf("grown, and at work: %q, %d waiting", b.stored(s.key), r.Waiting)
			}
			b.sound()
		})
	}
}

func TestATailThatWaitsIsCountedAndNeverCalledTheSame(t *testing.T) {
	for _, s := range tailedSources(t) {
		t.Run(s.name, func(t *testing.T) {
			touch(t, s.path, noon)
			b := newBed(t, s.driver)
			for range 2 {
				r := b.publish()
				if r.Waiting != 1 || len(r.Sessions) != 1 || r.Sessions[0].Waiting != int64(len(s.tail)) || !r.Incomplete() {
					t.Errorf("%d waiting of %+v", r.Waiting, r.Sessions)
				}
			}
			if got := b.stored(s.key); got != s.whole {
				t.Errorf("stored %q", got)
			}
			compared, err := b.target.CompareSources(b.Context(), b.pass.Sources, CompareOptions{Workers: 1})
			if err != nil || compared.Same != 0 || len(compared.Differing) != 1 || compared.Differing[0].Status != SourceGrown {
				t.Errorf("compared: %+v, %v", compared, err)
			}
			b.pass.Tails = true
			if r := b.publish(); b.stored(s.key) != s.whole+s.tail || r.Incomplete() {
				t.Errorf("taken as it is: %q, %d waiting", b.stored(s.key), r.Waiting)
			}
		})
	}
}

func TestAFullPassTakesTheTailAsItIs(t *testing.T) {
	for _, s := range tailedSources(t) {
		touch(t, s.path, noon)
		b := newBed(t, s.driver)
		b.pass.Full = true
		if r := b.publish(); b.stored(s.key) != s.whole+s.tail || r.Incomplete() {
			t.Errorf("%s: %q, %d waiting", s.name, b.stored(s.key), r.Waiting)
		}
	}
}

func appendTo(t *testing.T, path, text string) {
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

func TestABlankLineIsKeptAndNoDamage(t *testing.T) {
	content := "{\"type\":\"user\",\"uuid\":\"u1\",\"message\":{\"role\":\"user\",\"content\":\"hello\"}}\n\n \t\n"
	_, d := claudeTree(t, map[string]string{"-p/" + tailID + ".jsonl": content})
	b := newBed(t, d)
	b.publish()
	if row := b.row("claude/" + tailID); row.Damaged != 0 || b.stored(row.Key) != content {
		t.Errorf("%d damaged, stored %q", row.Damaged, b.stored(row.Key))
	}
}
