// Package durable owns the file operations that decide what survives a crash:
// replacing a file, creating one exactly once, making folders, private folders and
// locks. It knows no format and reads no clock. It refuses links where a private
// file or folder is expected, and never deletes a lock file.
package durable

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
)

// File is an open file of an FS. Close does not make anything durable; Sync does.
type File interface {
	io.Writer
	io.ReaderAt
	io.Closer
	// Sync returns once the content is on the disk. After a failed Sync the content
	// is unknown: write it again to another file.
	Sync() error
	Stat() (fs.FileInfo, error)
}

// FS is the part of a file system that durable work needs. Paths are those of the
// operating system. Errors answer to errors.Is with fs.ErrExist and fs.ErrNotExist.
type FS interface {
	// Create makes a new file for writing and reading; fs.ErrExist when the name is taken.
	Create(path string, mode fs.FileMode) (File, error)
	// Open opens a regular file for reading; anything else, a link too, is an error.
	Open(path string) (File, error)
	// Append opens a regular file for writing at its end; anything else, a link too, is an error.
	Append(path string) (File, error)
	// Mkdir makes one folder; fs.ErrExist when the name is taken.
	Mkdir(path string, mode fs.FileMode) error
	// Rename moves a file and replaces what had its new name.
	Rename(from, to string) error
	// Link gives a file a second name; fs.ErrExist when that name is taken.
	Link(from, to string) error
	Remove(path string) error
	// Touch gives a file the time of now. It is not durable.
	Touch(path string) error
	// ReadDir lists a folder in the order of names.
	ReadDir(path string) ([]fs.DirEntry, error)
	// Lstat describes a name and follows no link.
	Lstat(path string) (fs.FileInfo, error)
	// SyncDir returns once the names in a folder are on the disk.
	SyncDir(path string) error
	// TryLock takes the exclusive lock of a file, made when absent, without waiting.
	// taken is false when somebody else, in this process or another, holds it. The
	// kernel drops the lock when the process dies.
	TryLock(path string) (unlock func() error, taken bool, err error)
}

// ErrTooLarge reports a file of more bytes than one of its kind has. Nothing of it was read.
var ErrTooLarge = errors.New("is larger than such a file can be")

// ReadFile reads a whole file of at most limit bytes; a longer one is ErrTooLarge.
func ReadFile(fsys FS, path string, limit int64) ([]byte, error) {
	file, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%s %w: %d bytes, at most %d", path, ErrTooLarge, info.Size(), limit)
	}
	content := make([]byte, info.Size())
	n, err := file.ReadAt(content, 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	return content[:n], nil
}

// SyncParents syncs every folder above path that the process may read. MakeDirs leaves
// alone what exists, but its maker may have died before its own sync: call SyncParents
// once, before the first content that must last goes into a new folder.
func SyncParents(fsys FS, path string) error {
	for parent := filepath.Dir(path); parent != path; path, parent = parent, filepath.Dir(parent) {
		if err := fsys.SyncDir(parent); err != nil && !IsReadOnly(err) {
			return fmt.Errorf("sync the folders above %s: %w", path, err)
		}
	}
	return nil
}

// MakeDirs makes a folder and its missing parents, each durable in its own parent.
// A folder that exists is left as it is.
func MakeDirs(fsys FS, path string, mode fs.FileMode) error {
	err := makeDir(fsys, path, mode)
	if !isNotExist(err) {
		return err
	}
	parent := filepath.Dir(path)
	if parent == path {
		return err
	}
	if err := MakeDirs(fsys, parent, mode); err != nil {
		return err
	}
	return makeDir(fsys, path, mode)
}

func makeDir(fsys FS, path string, mode fs.FileMode) error {
	err := fsys.Mkdir(path, mode)
	if isExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return fsys.SyncDir(filepath.Dir(path))
}
