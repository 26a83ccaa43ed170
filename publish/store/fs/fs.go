// Package fs is the store in a folder. Content is staged in a temporary file, synced,
// and linked to its name, so a name exists whole and durable or not at all. It refuses
// links inside the store, and a file system without hard links. It writes nothing to
// open a store for reading.
package fs

import (
	"context"
	"errors"
	"fmt"
	iofs "io/fs"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"agentsync/ledger/durable"
	"agentsync/publish/store"
)

const (
	stagingFolder = "tmp"
	stagedBase    = "staged"

	privateFolder iofs.FileMode = 0o700
	sharedFolder  iofs.FileMode = 0o770
	groupWrite    iofs.FileMode = 0o020
)

// Store is a store in a folder. It serves many goroutines, and many processes may use
// the same folder.
type Store struct {
	disk durable.FS
	root string
	mode iofs.FileMode // permissions of new folders; files get the same without execution

	files cache

	mu      sync.Mutex
	laidOut bool            // the folders of every store exist and are durable
	settled map[string]bool // further folders that this process knows to be durable
}

var _ store.Store = (*Store)(nil)

// Open opens the store in the absolute folder dir of the operating system's file
// system. With create an absent folder is made, with the folders of every store;
// without, an absent folder is store.ErrNotFound.
func Open(dir string, create bool) (*Store, error) { return OpenOn(durable.OS(), dir, create) }

// OpenOn is Open on another file system.
func OpenOn(disk durable.FS, dir string, create bool) (*Store, error) {
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("open store %s: the folder must be absolute", dir)
	}
	s := &Store{disk: disk, root: filepath.Clean(dir), settled: map[string]bool{}}
	s.files.open = s.openFile
	info, err := disk.Lstat(s.root)
	if create && errors.Is(err, iofs.ErrNotExist) {
		if err := durable.MakeDirs(disk, s.root, privateFolder); err != nil {
			return nil, fmt.Errorf("create store %s: %w", dir, writeError(err))
		}
		info, err = disk.Lstat(s.root)
	}
	if err != nil {
		return nil, fmt.Errorf("open store %s: %w", dir, readError(err))
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("open store %s: not a folder", dir)
	}
	s.mode = folderMode(info.Mode().Perm())
	if create {
		if err := s.layOut(); err != nil {
			return nil, fmt.Errorf("create store %s: %w", dir, err)
		}
	}
	return s, nil
}

// folderMode returns the mode of new folders in a store whose own folder has the mode
// root. Sessions are private, so others get nothing; the group gets its share where the
// owner has let it write.
func folderMode(root iofs.FileMode) iofs.FileMode {
	if root&groupWrite != 0 {
		return sharedFolder
	}
	return privateFolder
}

// Close closes the files kept open. The store must not be used afterwards.
func (s *Store) Close() error { return s.files.close() }

// Location is the folder as a file URL.
func (s *Store) Location() string {
	path := filepath.ToSlash(s.root)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter comes first on some systems
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// Delete removes a name; an absent one is no error. The removal of a head is synced, so
// that none comes back after a power failure whose packs were removed after it. Any other
// name may be back.
func (s *Store) Delete(ctx context.Context, name string) error {
	path, err := s.path(ctx, name)
	if err != nil {
		return err
	}
	if err := s.checkFolders(name); err != nil {
		return ignoreAbsent(fmt.Errorf("delete %s: %w", name, readError(err)))
	}
	s.files.forget(name)
	if err := s.disk.Remove(path); err != nil {
		return ignoreAbsent(fmt.Errorf("delete %s: %w", name, writeError(err)))
	}
	if strings.HasPrefix(name, "heads/") {
		if err := s.disk.SyncDir(filepath.Dir(path)); err != nil {
			return fmt.Errorf("delete %s: %w", name, writeError(err))
		}
	}
	return nil
}

// Hint overwrites a small content by renaming over it, without any sync.
func (s *Store) Hint(ctx context.Context, name string, content []byte) error {
	path, err := s.path(ctx, name)
	if err != nil {
		return err
	}
	staged, err := s.stage()
	if err != nil {
		return fmt.Errorf("write hint %s: %w", name, err)
	}
	if _, err := staged.Write(content); err != nil {
		return fmt.Errorf("write hint %s: %w", name, errors.Join(err, staged.Discard()))
	}
	err = staged.file.Close()
	if err == nil {
		err = s.makeFolders(name)
	}
	if err == nil {
		err = s.disk.Rename(staged.path, path)
	}
	if err != nil {
		_ = s.disk.Remove(staged.path) // the first failure is the one to tell
		return fmt.Errorf("write hint %s: %w", name, writeError(err))
	}
	return nil
}

// oldStaged is the age at which staged content has no live writer any more.
const oldStaged = 24 * time.Hour

// Renew gives a file the time of now.
func (s *Store) Renew(ctx context.Context, name string) error {
	path, err := s.path(ctx, name)
	if err != nil {
		return err
	}
	if _, err := s.Stat(ctx, name); err != nil {
		return fmt.Errorf("renew %s: %w", name, err)
	}
	if err := s.disk.Touch(path); err != nil {
		return fmt.Errorf("renew %s: %w", name, writeError(err))
	}
	return nil
}

// Leftovers lists what Sweep would remove.
func (s *Store) Leftovers(ctx context.Context, now time.Time) ([]store.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	old, err := durable.OldTemps(s.disk, filepath.Join(s.root, stagingFolder), now.Add(-oldStaged))
	if err != nil {
		return nil, fmt.Errorf("look for staged content: %w", readError(err))
	}
	entries := make([]store.Entry, len(old))
	for i, info := range old {
		entries[i] = store.Entry{Name: stagingFolder + "/" + info.Name(), Size: info.Size(), Modified: info.ModTime()}
	}
	return entries, nil
}

// Sweep removes staged content that has lain for more than a day at the time now, left
// by processes that died, and returns how many files that were.
func (s *Store) Sweep(ctx context.Context, now time.Time) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	removed, err := durable.SweepTemps(s.disk, filepath.Join(s.root, stagingFolder), now.Add(-oldStaged))
	if err != nil {
		return removed, fmt.Errorf("sweep staged content: %w", writeError(err))
	}
	return removed, nil
}

// path returns the file of a checked name.
func (s *Store) path(ctx context.Context, name string) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if err := store.CheckName(name); err != nil {
		return "", err
	}
	local, err := filepath.Localize(name)
	if err != nil {
		return "", &store.NameError{Name: name, Reason: "cannot be a file name on this system"}
	}
	return filepath.Join(s.root, local), nil
}

// checkFolders returns an error if a folder on the way to name is absent, or is a link
// or anything else but a folder.
func (s *Store) checkFolders(name string) error {
	for i := range len(name) {
		if name[i] != '/' {
			continue
		}
		if err := s.checkFolder(name[:i]); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) checkFolder(name string) error {
	path := filepath.Join(s.root, filepath.FromSlash(name))
	info, err := s.disk.Lstat(path)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &iofs.PathError{Op: "enter", Path: path, Err: fmt.Errorf("%w: %w", store.ErrStrange, errNotFolder)}
	}
	return nil
}

var errNotFolder = errors.New("a link or file stands where the store has a folder")
