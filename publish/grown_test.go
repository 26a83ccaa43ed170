package publish

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/collect/claude"
)

// transcriptBed is a bed with one Claude transcript.
func transcriptBed(t *testing.T, content string) (b *bed, file, key string) {
	t.Helper()
	dir := t.TempDir()
	file = filepath.Join(dir, "projects", "-home-dev-app", placedID+".jsonl")
	writeFile(t, file, content)
	d, err := claude.New(collect.SourceConfig{ID: "claude", Driver: claude.Kind, ConfigDir: dir}, collect.Env{Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	b = newBed(t, d)
	b.publish()
	return b, file, "claude/" + placedID
}

func jsonl(n, from int) string { return strings.Join(lines(n, from), "\n") + "\n" }

func TestAnEditInPlaceBesideAnAppendIsPublished(t *testing.T) {
	content := jsonl(9000, 0)
	b, file, key := transcriptBed(t, content)
	edited := strings.Replace(content, "line 301 ", "LINE 301 ", 1)
	for _, now := range []string{edited, edited + jsonl(1, 9000)} {
		writeFile(t, file, now)
		b.publish()
		if got := b.stored(key); got != now {
			t.Fatalf("stored %d bytes that are not the file's %d", len(got), len(now))
		}
	}
	b.sound()
}

func TestBothEditAndAppendInOnePassAreNoMixture(t *testing.T) {
	content := jsonl(9000, 0)
	b, file, key := transcriptBed(t, content)
	now := strings.Replace(content, "line 301 ", "LINE 301 ", 1) + jsonl(1, 9000)
	f, err := os.OpenFile(file, os.O_WRONLY, 0) // the same file, written in place
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte(now), 0); err != nil {
		t.Fatal(err)
	}
	f.Close()
	b.publish()
	if b.stored(key) != now {
		t.Error("the published copy never existed")
	}
}

func TestACopyWithTheSameBytesAndTimePublishesNothing(t *testing.T) {
	content := jsonl(5000, 0)
	b, file, _ := transcriptBed(t, content)
	generation := b.view().Head().Generation
	time.Sleep(10 * time.Millisecond) // so that the record's own time differs
	writeFile(t, file+".copy", content)
	if err := os.Rename(file+".copy", file); err != nil {
		t.Fatal(err)
	}
	r := b.publish()
	if r.Published != 0 || r.Unchanged != 1 || !r.Sessions[0].Resumed || b.view().Head().Generation != generation {
		t.Errorf("%s", fmt.Sprintf("%+v", r))
	}
	if r := b.publish(); r.Retained != 1 {
		t.Errorf("the copy is looked at each time: %+v", r)
	}
}
