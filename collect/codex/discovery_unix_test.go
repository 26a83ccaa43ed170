//go:build unix

package codex

import (
	"os"
	"path/filepath"
	"slices"
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
			!slices.Equal(notes, []string{codeLink, codeLink, codeLink, codeLink, codeIrregular}) {
			t.Errorf("page %+v", page)
		}
	})
	t.Run("followed, but not in a circle", func(t *testing.T) {
		d := newDriver(t, collect.SourceConfig{CodexHome: prepare(t), Symlinks: "follow"})
		page := list(t, d)
		ids := idsOf(page)
		for _, id := range []string{madeID(1), madeID(2), "sessions/2026/01/02/rollout-linked.jsonl"} {
			if !slices.Contains(ids, id) {
				t.Errorf("%s is missing of %q", id, ids)
			}
			read(t, d, id, nil)
		}
		// The link to nothing may lead to a disk that is not mounted: what it held is not deleted.
		if len(page.Problems) != 1 || filepath.Base(page.Problems[0].Path) != "broken.json" || len(ids) > 8 {
			t.Errorf("problems %v, ids %q", page.Problems, ids)
		}
	})
	t.Run("a home behind a link is a problem unless it is followed", func(t *testing.T) {
		link := filepath.Join(t.TempDir(), "codex")
		if err := os.Symlink(prepare(t), link); err != nil {
			t.Fatal(err)
		}
		page := list(t, driverOf(t, link))
		if page.Absent || !slices.Equal(codesOf(page.Problems), []string{codeLink}) || len(page.Sessions) != 0 {
			t.Errorf("page %+v", page)
		}
		page = list(t, newDriver(t, collect.SourceConfig{CodexHome: link, Symlinks: "follow"}))
		if !slices.Contains(idsOf(page), madeID(1)) {
			t.Errorf("followed: %q", idsOf(page))
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

// TestAFollowedLinkToNothingIsAProblem is a folder of sessions whose disk is not mounted.
func TestAFollowedLinkToNothingIsAProblem(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, sessionsDir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "unmounted"), filepath.Join(dir, sessionsDir, "2026")); err != nil {
		t.Fatal(err)
	}
	seen := scan([]home{{dir: dir, follow: true}})
	if len(seen.problems) != 1 {
		t.Errorf("found %+v", seen)
	}
}
