package fs

import (
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"path/filepath"
	"slices"
	"strings"

	"agentsync/ledger/durable"
	"agentsync/publish/store"
)

// Get appends a range of the content to dst.
func (s *Store) Get(ctx context.Context, name string, offset, length int64, dst []byte) ([]byte, error) {
	if _, err := s.path(ctx, name); err != nil {
		return dst, err
	}
	if offset < 0 {
		return dst, fmt.Errorf("get %s: negative offset %d", name, offset)
	}
	file, err := s.files.acquire(name)
	if err != nil {
		return dst, fmt.Errorf("get %s: %w", name, readError(err))
	}
	defer s.files.release(file)
	dst, err = readRange(file, file.size, offset, length, dst)
	if err != nil {
		return dst, fmt.Errorf("get %s: %w", name, err)
	}
	return dst, nil
}

// readRange appends what the contract of Get asks for from content of the given size.
func readRange(content io.ReaderAt, size, offset, length int64, dst []byte) ([]byte, error) {
	there := max(size-offset, 0)
	want := length
	if length < 0 {
		want = there
	}
	take := min(want, there)
	start := len(dst)
	dst = slices.Grow(dst, int(take))[:start+int(take)]
	n, err := content.ReadAt(dst[start:], offset)
	if err == io.EOF {
		err = nil // a count decides, below
	}
	if err == nil && (int64(n) < want || offset > size) {
		err = io.ErrUnexpectedEOF
	}
	return dst[:start+n], err
}

// Stat returns the size in bytes.
func (s *Store) Stat(ctx context.Context, name string) (int64, error) {
	path, err := s.path(ctx, name)
	if err != nil {
		return 0, err
	}
	if err := s.checkFolders(name); err != nil {
		return 0, fmt.Errorf("stat %s: %w", name, readError(err))
	}
	info, err := s.disk.Lstat(path)
	if err != nil {
		return 0, fmt.Errorf("stat %s: %w", name, readError(err))
	}
	if info.IsDir() {
		return 0, fmt.Errorf("stat %s: %w: it is a folder", name, store.ErrNotFound)
	}
	if !info.Mode().IsRegular() {
		return 0, fmt.Errorf("stat %s: %w", name, store.ErrStrange)
	}
	return info.Size(), nil
}

// openFile opens the file of a checked name.
func (s *Store) openFile(name string) (durable.File, error) {
	if err := s.checkFolders(name); err != nil {
		return nil, err
	}
	path := filepath.Join(s.root, filepath.FromSlash(name))
	info, err := s.disk.Lstat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, &iofs.PathError{Op: "open", Path: path, Err: iofs.ErrNotExist}
	}
	if !info.Mode().IsRegular() {
		return nil, &iofs.PathError{Op: "open", Path: path, Err: store.ErrStrange}
	}
	return s.disk.Open(path)
}

// List walks the folder. It follows no link and opens nothing.
func (s *Store) List(ctx context.Context, prefix string, each func(store.Entry) error) error {
	return s.below(ctx, prefix, func(name string, entry iofs.DirEntry) error { return listOne(name, entry, each) })
}

// Names lists without a look at each file.
func (s *Store) Names(ctx context.Context, prefix string, each func(name string) error) error {
	return s.below(ctx, prefix, func(name string, _ iofs.DirEntry) error { return each(name) })
}

var _ store.Namer = (*Store)(nil)

// visitor is called for every name that is no folder.
type visitor func(name string, entry iofs.DirEntry) error

// below visits what lies below a prefix.
func (s *Store) below(ctx context.Context, prefix string, visit visitor) error {
	if err := store.CheckPrefix(prefix); err != nil {
		return err
	}
	folder := strings.TrimSuffix(prefix, "/")
	if folder != "" {
		err := s.checkFolders(folder + "/")
		if errors.Is(err, iofs.ErrNotExist) {
			return ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", prefix, err)
		}
	}
	return s.walk(ctx, folder, visit)
}

func (s *Store) walk(ctx context.Context, folder string, visit visitor) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	entries, err := s.disk.ReadDir(filepath.Join(s.root, filepath.FromSlash(folder)))
	if errors.Is(err, iofs.ErrNotExist) && folder != "" {
		return nil // removed since its parent was listed
	}
	if err != nil {
		return fmt.Errorf("list %s/: %w", folder, err)
	}
	for _, entry := range entries {
		name := strings.TrimPrefix(folder+"/"+entry.Name(), "/")
		if name == stagingFolder {
			continue
		}
		if entry.IsDir() {
			err = s.walk(ctx, name, visit)
		} else {
			err = visit(name, entry)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func listOne(name string, entry iofs.DirEntry, each func(store.Entry) error) error {
	if !entry.Type().IsRegular() {
		return each(store.Entry{Name: name, Strange: true})
	}
	info, err := entry.Info()
	if errors.Is(err, iofs.ErrNotExist) {
		return nil // removed since its folder was listed
	}
	if err != nil {
		return fmt.Errorf("list %s: %w", name, err)
	}
	return each(store.Entry{Name: name, Size: info.Size(), Modified: info.ModTime()})
}
