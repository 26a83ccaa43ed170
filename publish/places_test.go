package publish

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"agentsync/collect/drivers"
	"agentsync/publish/document"
	"agentsync/publish/pack"
	"agentsync/publish/store"
)

// oneSession publishes one conversation and returns its row.
func oneSession(t *testing.T) (*bed, *document.Row) {
	t.Helper()
	_, d := claudeTree(t, map[string]string{"-home-dev-app/" + oddID + ".jsonl": forgedLine})
	b := newBed(t, d)
	b.publish()
	return b, b.row("claude/" + oddID)
}

func (b *bed) restoreTo(place Place, rows ...*document.Row) []RestoredFile {
	b.Helper()
	files, err := b.target.Restore(b.Context(), RestoreOptions{Rows: rows, Allows: drivers.Restores,
		Folder: func(string, string) (Place, error) { return place, nil }})
	if err != nil {
		b.Fatal(err)
	}
	return files
}

func TestASessionIsRestoredOnlyWhereItsDriverSays(t *testing.T) {
	b, row := oneSession(t)
	for _, at := range []string{".profile", "settings.json", "projects/settings.json", "projects/-a/../../settings.json", "projects/",
		"../outside", "projects/../../outside", "/outside", "projects//x", "projects/./x", "projects/-a/x\x00y", "projects"} {
		home := t.TempDir()
		into := filepath.Join(home, "claude")
		hostile := *row
		hostile.Placement.Path = at
		files := b.restoreTo(Place{Base: into}, &hostile)
		if len(files) != 1 {
			t.Fatalf("%q: %+v", at, files)
		}
		wantDamage(t, at, files[0].Err)
		if left := tree(t, home); len(left) > 0 {
			t.Errorf("%q: written: %q", at, left)
		}
	}
	unknown := *row
	unknown.Driver = "another-agent"
	if files := b.restoreTo(Place{Base: t.TempDir()}, &unknown); len(files) != 1 || files[0].Status != FileFailed {
		t.Errorf("of an unknown driver: %+v", files)
	}
}

func TestALinkBelowTheChosenFolderIsNotFollowed(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege here")
	}
	b, row := oneSession(t)
	into, outside := t.TempDir(), t.TempDir()
	if err := os.Symlink(outside, filepath.Join(into, "claude")); err != nil {
		t.Fatal(err)
	}
	files := b.restoreTo(Place{Base: into, Below: "claude"}, row)
	if len(files) != 1 || files[0].Status != FileFailed || len(tree(t, outside)) > 0 {
		t.Errorf("%+v, outside: %q", files, tree(t, outside))
	}
	linked := filepath.Join(t.TempDir(), "chosen")
	if err := os.Symlink(outside, linked); err != nil {
		t.Fatal(err)
	}
	if files := b.restoreTo(Place{Base: linked, Below: "claude"}, row); files[0].Status != FileWritten {
		t.Errorf("a folder that a person named may be a link: %+v", files)
	}
}

func TestOfADamagedSessionNothingIsWritten(t *testing.T) {
	_, d := claudeTree(t, oddFiles())
	b := newBed(t, d)
	b.publish()
	whole := b.restoreAll(t.TempDir(), nil)
	damagedOnes := 0
	for name := range b.packs() {
		file := b.content(name)
		id, _ := store.ParsePackName(name)
		entries, err := pack.ReadTable(t.Context(), b.store, id)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			spoilt := bytes.Clone(file)
			spoilt[e.Offset+e.Length/2] ^= 1
			b.plant(name, spoilt)
			v, err := b.target.View(t.Context())
			var rows []*document.Row
			if err == nil {
				err = v.Rows(func(row *document.Row) error { rows = append(rows, row); return nil })
			}
			if err != nil {
				wantDamage(t, "the index", err)
				continue
			}
			into := t.TempDir()
			want := map[string]bool{}
			for _, f := range b.restoreTo(Place{Base: into}, rows...) {
				if f.Err != nil {
					wantDamage(t, f.Key, f.Err)
					damagedOnes++
					continue
				}
				relative, _ := filepath.Rel(into, f.Path)
				want[filepath.ToSlash(relative)] = true
			}
			left := tree(t, into)
			for name := range left {
				if !want[name] {
					t.Errorf("frame at %d: %s was written, and not reported", e.Offset, name)
				}
			}
			if len(left) != len(want) || len(left) > len(whole) {
				t.Errorf("frame at %d: %d files written, %d reported", e.Offset, len(left), len(want))
			}
		}
	}
	if damagedOnes < len(whole) {
		t.Errorf("only %d damaged sessions in all", damagedOnes)
	}
}

// sideFiles are files that lie beside a conversation.
func sideFiles(names ...string) map[string]string {
	files := map[string]string{"-home-dev-app/" + oddID + ".jsonl": forgedLine}
	for _, name := range names {
		files["-home-dev-app/"+oddID+"/tool-results/"+name] = "this is " + name
	}
	return files
}

func TestSideFilesComeBackUnderTheBytesOfTheirNames(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		t.Skip("file names are text here")
	}
	dir, d := claudeTree(t, sideFiles("plain.txt", "x\xff.txt", "x\xfe.txt", "x\ufffd.txt", "\xc3\x28/y"))
	b := newBed(t, d)
	b.publish()
	b.sound()
	into := t.TempDir()
	for name, f := range b.restoreAll(into, nil) {
		if f.Status != FileWritten {
			t.Errorf("%q: %s, %v", name, f.Status, f.Err)
		}
	}
	sameTree(t, tree(t, into), tree(t, dir))
	if r := b.publish(); r.Unchanged != r.Found {
		t.Errorf("again: %+v", r)
	}
}

func TestALongNameComesBack(t *testing.T) {
	dir, d := claudeTree(t, sideFiles("a.txt", strings.Repeat("n", 255), "z.txt"))
	b := newBed(t, d)
	b.publish()
	into := t.TempDir()
	b.restoreAll(into, nil)
	sameTree(t, tree(t, into), tree(t, dir))
}

func TestAFileThatCannotBeWrittenFailsAlone(t *testing.T) {
	dir, d := claudeTree(t, sideFiles("a.txt", "middle.txt", "deep/b.txt", "z.txt"))
	b := newBed(t, d)
	b.publish()
	into := t.TempDir()
	side := filepath.Join("projects", "-home-dev-app", oddID, "tool-results")
	if err := os.MkdirAll(filepath.Join(into, side, "middle.txt"), 0o755); err != nil { // a folder in its way
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(into, side, "deep"), nil, 0o600); err != nil { // and a file in that of a folder
		t.Fatal(err)
	}
	failed := 0
	want := tree(t, dir)
	for name, f := range b.restoreAll(into, nil) {
		if f.Status != FileFailed {
			continue
		}
		failed++
		if !strings.HasSuffix(name, "middle.txt") && !strings.HasSuffix(name, "b.txt") || f.Err == nil {
			t.Errorf("%s: %v", name, f.Err)
		}
		delete(want, name)
	}
	want[filepath.ToSlash(filepath.Join(side, "deep"))] = ""
	if sameTree(t, tree(t, into), want); failed != 2 {
		t.Errorf("%d files failed", failed)
	}
}

func TestTwoRestoresAtOnceLeaveWholeFiles(t *testing.T) {
	dir, d := claudeTree(t, oddFiles())
	b := newBed(t, d)
	b.publish()
	want := tree(t, dir)
	var rows []*document.Row
	if err := b.view().Rows(func(row *document.Row) error { rows = append(rows, row); return nil }); err != nil {
		t.Fatal(err)
	}
	for round := range 30 {
		into := t.TempDir()
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				target, err := Open(t.Context(), Options{Store: b.store})
				if err != nil {
					t.Error(err)
					return
				}
				files, err := target.Restore(t.Context(), RestoreOptions{Rows: rows, Allows: drivers.Restores, Workers: 2,
					Folder: func(string, string) (Place, error) { return Place{Base: into}, nil }})
				if err != nil || len(files) != len(want) {
					t.Errorf("%d files, %v", len(files), err)
				}
				for _, f := range files {
					if f.Status != FileWritten && f.Status != FileSame {
						t.Errorf("round %d: %s is %s, %v", round, f.Path, f.Status, f.Err)
					}
				}
			})
		}
		both.Wait()
		sameTree(t, tree(t, into), want)
	}
}

func TestWhatAKilledRestoreLeftIsSweptAndNeverCollected(t *testing.T) {
	dir, d := claudeTree(t, sideFiles("a.txt"))
	b := newBed(t, d)
	b.publish()
	folder := filepath.Join(dir, "projects", "-home-dev-app")
	if err := os.Remove(filepath.Join(folder, oddID+".jsonl")); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(folder, ".agentsync-restore-7")
	writeFile(t, left, "half") // two days old
	young := filepath.Join(folder, ".agentsync-restore-8")
	if err := os.WriteFile(young, []byte("of one at work"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := b.publish(); r.Published > 0 {
		t.Errorf("collected: %+v", r)
	}
	b.restoreAll(dir, nil)
	if _, err := os.Lstat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", left, err)
	}
	if _, err := os.Lstat(young); err != nil {
		t.Errorf("%s was taken away: %v", young, err)
	}
}
