package fs_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"agentsync/fixtures/storetest"
	"agentsync/hashgraph/digest"
	"agentsync/publish/store"
	"agentsync/publish/store/fs"
)

func open(t testing.TB, dir string) *fs.Store {
	t.Helper()
	s, err := fs.Open(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, t.TempDir()) })
}

func TestOpen(t *testing.T) {
	t.Run("an absent store is not found, and not made", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "absent")
		if _, err := fs.Open(dir, false); !errors.Is(err, store.ErrNotFound) {
			t.Fatal(err)
		}
		if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Fatal("the folder was made")
		}
	})
	t.Run("a relative folder is refused", func(t *testing.T) {
		if _, err := fs.Open("store", true); err == nil {
			t.Fatal("accepted")
		}
	})
	t.Run("a file is no store", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "file")
		writeFile(t, path)
		if _, err := fs.Open(path, true); err == nil || errors.Is(err, store.ErrNotFound) {
			t.Fatal(err)
		}
	})
	t.Run("a store copied without its empty folders is read and written", func(t *testing.T) {
		dir := t.TempDir()
		put(t, open(t, dir), "format.json", "{}")
		for _, name := range []string{"packs", "heads", "queues", "receipts", "tmp"} {
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		s, err := fs.Open(dir, false)
		if err != nil {
			t.Fatal(err)
		}
		put(t, s, store.PackName(digest.Sum(nil)), "x")
	})
	t.Run("the location is a file URL", func(t *testing.T) {
		s := open(t, filepath.Join(t.TempDir(), "a b%"))
		if url := s.Location(); !strings.HasPrefix(url, "file:///") || !strings.HasSuffix(url, "/a%20b%25") {
			t.Fatal(url)
		}
	})
}

func TestPermissions(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no file modes here")
	}
	name := "queues/a/b.json"
	modes := func(dir string) (folder, file os.FileMode) {
		put(t, open(t, dir), name, "x")
		return lstat(t, filepath.Join(dir, "queues/a")), lstat(t, filepath.Join(dir, name))
	}
	if folder, file := modes(filepath.Join(t.TempDir(), "new")); folder != 0o700 || file != 0o600 {
		t.Errorf("a new store has folders %o and files %o", folder, file)
	}
	open := t.TempDir()
	if err := os.Chmod(open, 0o755); err != nil {
		t.Fatal(err)
	}
	if folder, file := modes(open); folder != 0o700 || file != 0o600 {
		t.Errorf("a store in a readable folder has folders %o and files %o", folder, file)
	}
}

func TestLinksAreRefused(t *testing.T) {
	outside := t.TempDir()
	writeFile(t, filepath.Join(outside, "secret.json"))
	linked := func(t *testing.T, target, name string) *fs.Store {
		dir := t.TempDir()
		s := open(t, dir)
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.Symlink(target, path); err != nil {
			t.Skipf("no links here: %v", err)
		}
		return s
	}
	t.Run("a linked file is not read, and listed as no content", func(t *testing.T) {
		s := linked(t, filepath.Join(outside, "secret.json"), "queues/a.json")
		if got, err := s.Get(t.Context(), "queues/a.json", 0, -1, nil); !errors.Is(err, store.ErrStrange) || len(got) > 0 {
			t.Errorf("read %q", got)
		}
		if _, err := s.Stat(t.Context(), "queues/a.json"); !errors.Is(err, store.ErrStrange) {
			t.Errorf("described: %v", err)
		}
		put(t, s, "queues/b.json", "x")
		strange := map[string]bool{}
		err := s.List(t.Context(), "queues/", func(e store.Entry) error {
			strange[e.Name] = e.Strange
			return nil
		})
		if err != nil || len(strange) != 2 || !strange["queues/a.json"] || strange["queues/b.json"] {
			t.Errorf("listed as strange: %v, %v", strange, err)
		}
	})
	t.Run("nothing goes through a linked folder", func(t *testing.T) {
		s := linked(t, outside, "queues/laptop")
		if got, err := s.Get(t.Context(), "queues/laptop/secret.json", 0, -1, nil); err == nil || errors.Is(err, store.ErrNotFound) || len(got) > 0 {
			t.Errorf("read %q, %v", got, err)
		}
		if err := store.PutOnce(t.Context(), s, "queues/laptop/new.json", []byte("x")); err == nil {
			t.Error("written")
		}
		if err := s.Hint(t.Context(), "queues/laptop/secret.json", nil); err == nil {
			t.Error("overwritten")
		}
		if err := s.Delete(t.Context(), "queues/laptop/secret.json"); err == nil {
			t.Error("deleted")
		}
		entries, err := os.ReadDir(outside)
		if err != nil || len(entries) != 1 {
			t.Errorf("outside there is %v, %v", entries, err)
		}
	})
	t.Run("a linked staging folder is refused", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.Symlink(outside, filepath.Join(dir, "tmp")); err != nil {
			t.Skipf("no links here: %v", err)
		}
		if _, err := fs.Open(dir, true); err == nil {
			t.Error("opened")
		}
	})
}

func TestManyReadersOfManyPacks(t *testing.T) {
	s := open(t, t.TempDir())
	var names []string
	for i := range 3 * 16 {
		content := fmt.Sprintf("content %d", i)
		name := store.PackName(digest.Sum([]byte(content)))
		put(t, s, name, content)
		names = append(names, name)
	}
	var all sync.WaitGroup
	for reader := range 8 {
		all.Go(func() {
			for i := range 400 {
				n := (i*7 + reader*11) % len(names)
				got, err := s.Get(t.Context(), names[n], 0, -1, nil)
				if want := fmt.Sprintf("content %d", n); string(got) != want || err != nil {
					t.Errorf("got %q, %v; want %q", got, err, want)
				}
			}
		})
	}
	all.Wait()
	if runtime.GOOS == "linux" {
		fds, err := os.ReadDir("/proc/self/fd")
		kept := 0
		for _, fd := range fds {
			if target, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasSuffix(target, ".pack") {
				kept++
			}
		}
		if err != nil || kept > 16 {
			t.Errorf("%d packs are kept open, %v", kept, err)
		}
	}
}

func BenchmarkPutOnce(b *testing.B) {
	s := open(b, b.TempDir())
	content := bytes.Repeat([]byte("x"), 4096)
	n := uint64(0)
	for b.Loop() {
		b.SetBytes(int64(len(content)))
		b.ReportAllocs()
		n++
		if err := store.PutOnce(b.Context(), s, store.HeadName("sessions", n), content); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpenNew(b *testing.B) {
	dir := b.TempDir()
	n := 0
	for b.Loop() {
		n++
		open(b, filepath.Join(dir, fmt.Sprint(n)))
	}
}

func BenchmarkGet(b *testing.B) {
	s := open(b, b.TempDir())
	content := bytes.Repeat([]byte("x"), 1<<20)
	name := store.PackName(digest.Sum(content))
	put(b, s, name, string(content))
	dst := make([]byte, 0, 4096)
	for b.Loop() {
		b.SetBytes(4096)
		b.ReportAllocs()
		if _, err := s.Get(b.Context(), name, 4096, 4096, dst); err != nil {
			b.Fatal(err)
		}
	}
}

func put(t testing.TB, s store.Store, name, content string) {
	t.Helper()
	if err := store.PutOnce(t.Context(), s, name, []byte(content)); err != nil {
		t.Fatal(err)
	}
}

func writeFile(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
}

func lstat(t *testing.T, path string) os.FileMode {
	t.Helper()
	info, err := os.Lstat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Mode().Perm()
}
