package durable_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"agentsync/fixtures/crashfs"
	"agentsync/ledger/durable"
)

func TestAppend(t *testing.T) {
	t.Run("content goes to the end", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "a")
		if err := durable.Create(disk, path, []byte("one "), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, content := range []string{"two ", "", "three"} {
			if err := durable.Append(disk, path, []byte(content)); err != nil {
				t.Fatal(err)
			}
		}
		wantFile(t, path, "one two three")
	})
	t.Run("it makes no file and follows no link", func(t *testing.T) {
		dir := t.TempDir()
		if err := durable.Append(disk, filepath.Join(dir, "a"), nil); err == nil {
			t.Error("made")
		}
		if runtime.GOOS == "windows" {
			t.Skip("links need a privilege here")
		}
		if err := os.WriteFile(filepath.Join(dir, "b"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(dir, "b"), filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		if err := durable.Append(disk, filepath.Join(dir, "link"), []byte("x")); err == nil {
			t.Error("followed")
		}
		wantFile(t, filepath.Join(dir, "b"), "")
	})
	t.Run("it is durable with a name that nobody had synced", func(t *testing.T) {
		for k, done := 0, false; !done; k++ {
			d := crashfs.New(uint64(k))
			d.SetSurvival(0)
			path := filepath.FromSlash("/a")
			file, err := d.Create(path, 0o600)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := file.Write([]byte("old ")); err != nil || file.Sync() != nil || file.Close() != nil {
				t.Fatal(err)
			}
			d.Kill()
			d.StopBefore(k)
			err = durable.Append(d, path, []byte("new"))
			done = !d.Stopped()
			d.Crash()
			got, readErr := durable.ReadFile(d, path, 100)
			if (err == nil) != done || done && (readErr != nil || string(got) != "old new") {
				t.Errorf("step %d: %v, then %q, %v", k, err, got, readErr)
			}
		}
	})
}
