package publish

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"agentsync/collect"
	"agentsync/collect/claude"
	"agentsync/collect/codex"
	"agentsync/publish/document"
)

const placedID = "66666666-2222-4333-8444-555555555555"

// placedSources are a source of two folders of each agent, all below dir.
func placedSources(t *testing.T, dir string) []collect.Driver {
	t.Helper()
	line := `{"type":"user","uuid":"u1","cwd":"/home/dev/app","sessionId":"` + placedID + `","message":{"role":"user","content":"hi"}}` + "\n"
	rollout := "sessions/2026/01/02/rollout-2026-01-02T03-01-00-" + placedID + ".jsonl"
	meta := `{"timestamp":"2026-01-02T03:01:00.000Z","type":"session_meta","payload":{"id":"` + placedID + `","cwd":"/home/dev/app"}}` + "\n"
	var claudes, codexes []string
	for _, name := range []string{"one", "two"} {
		folder := filepath.Join(dir, "claude-"+name)
		writeFile(t, filepath.Join(folder, "projects", "-home-dev-app", placedID+".jsonl"), line)
		writeFile(t, filepath.Join(folder, "projects", "-home-dev-app", "memory", name+".md"), "note")
		claudes = append(claudes, folder)
		home := filepath.Join(dir, "codex-"+name)
		writeFile(t, filepath.Join(home, filepath.FromSlash(rollout)), meta)
		codexes = append(codexes, home)
	}
	one, err := claude.New(collect.SourceConfig{ID: "claude", Driver: claude.Kind, Roots: claudes}, collect.Env{Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	two, err := codex.New(collect.SourceConfig{ID: "codex", Driver: codex.Kind, Roots: codexes}, collect.Env{Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	return []collect.Driver{one, two}
}

func TestTheSameSessionsBelowOtherFoldersHaveTheSameSnapshotHash(t *testing.T) {
	type row struct{ key, hash, path string }
	var found [2][]row
	var roots [2][]string
	for i := range found {
		dir := t.TempDir()
		b := newBed(t, placedSources(t, dir)...)
		b.publish()
		err := b.view().Rows(func(r *document.Row) error {
			found[i] = append(found[i], row{r.Key, r.ContentHash.String(), r.Placement.Path})
			below, err := filepath.Rel(dir, r.Placement.Root)
			roots[i] = append(roots[i], below)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(found[0]) != 6 || !slices.Equal(found[0], found[1]) {
		t.Errorf("here  %v\nthere %v", found[0], found[1])
	}
	if !slices.Equal(roots[0], roots[1]) || !slices.Contains(roots[0], "claude-two") || !slices.Contains(roots[0], "codex-one") {
		t.Errorf("roots %v and %v", roots[0], roots[1])
	}
}

func TestAMovedFileIsPublishedFromItsNewPlaceAndRestoredThere(t *testing.T) {
	dir := t.TempDir()
	at := func(folder string) string {
		return filepath.Join(dir, "projects", folder, placedID+".jsonl")
	}
	text := `{"type":"user","uuid":"u1","message":{"role":"user","content":"hi"}}` + "\n"
	writeFile(t, at("-home-dev-app"), text)
	d, err := claude.New(collect.SourceConfig{ID: "claude", Driver: claude.Kind, ConfigDir: dir}, collect.Env{Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	b := newBed(t, d)
	b.publish()
	key, _ := collect.SessionKey("claude", placedID)
	before := b.row(key)
	if err := os.Rename(filepath.Dir(at("-home-dev-app")), filepath.Dir(at("-home-dev-moved"))); err != nil {
		t.Fatal(err)
	}
	b.publish()
	after := b.row(key)
	if after.Placement.Path != "projects/-home-dev-moved/"+placedID+".jsonl" || after.ContentHash != before.ContentHash {
		t.Errorf("placement %+v, hash %s then %s", after.Placement, before.ContentHash, after.ContentHash)
	}
	if got := b.restoreAll(t.TempDir(), nil); got[after.Placement.Path].Status != FileWritten {
		t.Errorf("restored %v", got)
	}
	b.sound()
}
