//go:build unix

package codex

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"agentsync/collect"
)

func TestLinksAndWhatIsNoFile(t *testing.T) {
	elsewhere := t.TempDir()
	write(t, elsewhere, "rollout-2025-01-01T00-00-00-"+madeID(2)+".jsonl", "")
	prepare := func(t *testing.T) string {
		dir := t.TempDir()
		day := filepath.Dir(write(t, dir, madeName(1), ""))
		if err := syscall.Mkfifo(filepath.Join(day, "rollout-x.jsonl"), 0o644); err != nil {
			t.Fatal(err)
		}
		for from, to := range map[string]string{
			filepath.Join(dir, sessionsDir, "2025"):        elsewhere,
			filepath.Join(dir, sessionsDir, "2024"):        dir,
			filepath.Join(dir, sessionsDir, "2023"):        filepath.Join(dir, sessionsDir, "2025"),
			filepath.Join(dir, sessionsDir, "2026", "up"):  filepath.Join(dir, sessionsDir),
			filepath.Join(day, "rollout-linked.jsonl"):     filepath.Join(dir, filepath.FromSlash(madeName(1))),
			filepath.Join(dir, sessionsDir, "broken.json"): "/nowhere/at/all",
		} {
			if err := os.Symlink(to, from); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	t.Run("skipped, each with a note", func(t *testing.T) {
		page := list(t, driverOf(t, prepare(t)))
		notes := codesOf(page.Notes)
		slices.Sort(notes)
		if !slices.Equal(idsOf(page), []string{madeID(1)}) || len(page.Problems) != 0 ||
			!slices.Equal(notes, []string{collect.CodeLink, collect.CodeLink, collect.CodeLink, collect.CodeLink, collect.CodeLink, collect.CodeLink, codeIrregular}) {
			t.Errorf("page %+v", page)
		}
	})
	t.Run("followed, each target once", func(t *testing.T) {
		d := newDriver(t, collect.SourceConfig{CodexHome: prepare(t), Symlinks: "follow"})
		page := list(t, d)
		ids := idsOf(page)
		if !slices.Equal(ids, []string{madeID(1), madeID(2)}) || len(page.Problems) != 0 || len(page.Notes) != 6 {
			t.Errorf("problems %v, notes %v, ids %q", page.Problems, page.Notes, ids)
		}
		for _, id := range ids {
			read(t, d, id, nil)
		}
		for _, note := range page.Notes {
			if path := filepath.Join(filepath.FromSlash(note.Place.Path)); !strings.HasSuffix(note.Path, path) {
				t.Errorf("%s stands at %q of the source", note.Path, path)
			}
		}
	})
	t.Run("a home behind a link, or its sessions, is read", func(t *testing.T) {
		link := filepath.Join(t.TempDir(), "codex")
		if err := os.Symlink(prepare(t), link); err != nil {
			t.Fatal(err)
		}
		home := t.TempDir()
		if err := os.Symlink(filepath.Join(link, sessionsDir), filepath.Join(home, sessionsDir)); err != nil {
			t.Fatal(err)
		}
		for _, dir := range []string{link, home} {
			page := list(t, driverOf(t, dir))
			if page.Absent || len(page.Problems) != 0 || !slices.Equal(idsOf(page), []string{madeID(1)}) {
				t.Errorf("%s: page %+v", dir, page)
			}
		}
	})
	t.Run("a home behind a link to nothing is there and cannot be read", func(t *testing.T) {
		link := filepath.Join(t.TempDir(), "codex")
		if err := os.Symlink(link+"-unmounted", link); err != nil {
			t.Fatal(err)
		}
		if page := list(t, driverOf(t, link)); page.Absent || !slices.Equal(codesOf(page.Problems), []string{collect.CodeUnreadable}) {
			t.Errorf("page %+v", page)
		}
	})
	t.Run("names behind a link are told", func(t *testing.T) {
		dir := prepare(t)
		if err := os.Symlink("elsewhere", filepath.Join(dir, indexFile)); err != nil {
			t.Fatal(err)
		}
		page := list(t, driverOf(t, dir))
		if !slices.ContainsFunc(page.Notes, func(p collect.Problem) bool { return p.Place.Path == indexFile }) {
			t.Errorf("notes %+v", page.Notes)
		}
	})
}

func TestAFileListedTwiceWhileItMovesIsOneSession(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, madeName(1), "x")
	archive := filepath.Join(dir, archivedDir)
	if err := os.Mkdir(archive, 0o755); err != nil {
		t.Fatal(err)
	}
	// A second name of the same file is what a listing sees that runs beside the move.
	if err := os.Link(path, filepath.Join(archive, filepath.Base(path))); err != nil {
		t.Skip("no hard links here:", err)
	}
	page := list(t, driverOf(t, dir))
	if !slices.Equal(idsOf(page), []string{madeID(1)}) {
		t.Errorf("ids %q", idsOf(page))
	}
}

// TestAFollowedLinkToNothingIsPlaced is a folder of sessions whose disk is not mounted:
// whether something of it was published is not the driver's to know.
func TestAFollowedLinkToNothingIsPlaced(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, sessionsDir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "unmounted"), filepath.Join(dir, sessionsDir, "2026")); err != nil {
		t.Fatal(err)
	}
	seen := scan([]home{{dir: dir, follow: true}})
	if len(seen.problems) != 0 || len(seen.notes) != 1 || seen.notes[0].Place.Path != sessionsDir+"/2026" {
		t.Errorf("found %+v", seen)
	}
}
