//go:build unix

package claude

import (
	"os"
	"path/filepath"
	"testing"

	"agentsync/collect"
)

// TestAFollowedLinkToNothingIsAProblem is a project folder whose disk is not mounted:
// its sessions are out of sight, not deleted.
func TestAFollowedLinkToNothingIsAProblem(t *testing.T) {
	root := t.TempDir()
	if err := os.MkdirAll(filepath.Join(root, "projects"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, "unmounted"), filepath.Join(root, "projects", "-home-dev-p")); err != nil {
		t.Fatal(err)
	}
	d, err := New(collect.SourceConfig{ID: "claude", Driver: Kind, ConfigDir: root, Symlinks: "follow"},
		collect.Env{Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	page, err := d.ListSessions(t.Context(), "")
	if err != nil || len(page.Problems) != 1 {
		t.Errorf("page %+v, %v", page, err)
	}
}
