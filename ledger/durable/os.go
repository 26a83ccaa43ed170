package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/gofrs/flock"
)

// OS is the file system of the operating system.
func OS() FS { return osFS{} }

type osFS struct{}

type osFile struct{ *os.File }

func (f osFile) Write(p []byte) (int, error) {
	step("write")
	return f.File.Write(p)
}

func (f osFile) Sync() error {
	step("sync")
	return f.File.Sync()
}

func (osFS) Create(path string, mode fs.FileMode) (File, error) {
	step("create")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|noFollow, mode)
	if err != nil {
		return nil, err
	}
	return osFile{file}, nil
}

func (osFS) Open(path string) (File, error) { return openRegular(path, os.O_RDONLY) }

func (osFS) Append(path string) (File, error) { return openRegular(path, os.O_WRONLY|os.O_APPEND) }

func openRegular(path string, flag int) (File, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errNotRegular}
	}
	file, err := os.OpenFile(path, flag|noFollow, 0)
	if err != nil {
		return nil, err
	}
	return osFile{file}, nil
}

var errNotRegular = errors.New("not a regular file")

func (osFS) Mkdir(path string, mode fs.FileMode) error {
	step("mkdir")
	return os.Mkdir(path, mode)
}

func (osFS) Rename(from, to string) error {
	step("rename")
	return os.Rename(from, to)
}

func (osFS) Link(from, to string) error {
	step("link")
	return os.Link(from, to)
}

func (osFS) Remove(path string) error {
	step("remove")
	return os.Remove(path)
}

func (osFS) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }

func (osFS) Lstat(path string) (fs.FileInfo, error) { return os.Lstat(path) }

func (osFS) SyncDir(path string) error {
	step("syncdir")
	return syncDir(path)
}

// heldHere maps the path of each lock file that this process holds to its lock. Some
// systems lock by process, and there only this keeps two goroutines apart. It also
// keeps the open file from being collected, and closed, under a forgetful caller.
var heldHere sync.Map

func (osFS) TryLock(path string) (func() error, bool, error) {
	if _, held := heldHere.LoadOrStore(path, true); held {
		return nil, false, nil
	}
	lock, taken, err := tryFlock(path)
	if err != nil || !taken {
		heldHere.Delete(path)
		return nil, false, err
	}
	heldHere.Store(path, lock)
	unlock := sync.OnceValue(func() error {
		defer heldHere.Delete(path)
		return lock.Unlock()
	})
	return unlock, true, nil
}

// tryFlock takes the lock of the file that has the name after taking it: a file that
// somebody removed meanwhile would be a lock nobody else sees.
func tryFlock(path string) (*flock.Flock, bool, error) {
	for range 3 {
		lock := flock.New(path, flock.SetFlag(os.O_CREATE|os.O_RDWR|noFollow), flock.SetPermissions(0o600))
		taken, err := lock.TryLock()
		if err != nil || !taken {
			return nil, false, err
		}
		locked, lockedErr := lock.Stat()
		named, namedErr := os.Lstat(path)
		if lockedErr == nil && namedErr == nil && os.SameFile(locked, named) {
			return lock, true, nil
		}
		if err := lock.Unlock(); err != nil {
			return nil, false, err
		}
	}
	return nil, false, fmt.Errorf("lock %s: the file is removed as often as it is made", path)
}
