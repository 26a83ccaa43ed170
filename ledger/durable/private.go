package durable

import (
	"fmt"
	"io/fs"
)

// NotPrivateError reports a file or folder that others could read or have put there.
type NotPrivateError struct {
	Path   string
	Reason string
	Hint   string // a command that mends it, or ""
}

func (e *NotPrivateError) Error() string {
	return fmt.Sprintf("%s is not private: %s", e.Path, e.Reason)
}

// MkdirPrivate makes a folder, mode 0700, with its missing parents, durably. One that
// exists must pass CheckPrivate.
func MkdirPrivate(fsys FS, path string) error {
	if err := MakeDirs(fsys, path, 0o700); err != nil {
		return fmt.Errorf("make private folder: %w", err)
	}
	info, err := fsys.Lstat(path)
	if err != nil {
		return fmt.Errorf("make private folder: %w", err)
	}
	if err := checkPrivate(path, info); err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("make private folder: %s is not a folder", path)
	}
	return nil
}

// CheckPrivate returns a *NotPrivateError for a link, and, where the system has file
// modes, for what belongs to another user or can be read, written or entered by others.
// An absent name is fs.ErrNotExist.
func CheckPrivate(fsys FS, path string) error {
	info, err := fsys.Lstat(path)
	if err != nil {
		return err
	}
	return checkPrivate(path, info)
}

func checkPrivate(path string, info fs.FileInfo) error {
	if info.Mode()&fs.ModeSymlink != 0 {
		return &NotPrivateError{Path: path, Reason: "it is a link"}
	}
	if reason, foreign := isForeign(info); foreign {
		return &NotPrivateError{Path: path, Reason: reason}
	}
	if info.Mode().Perm()&openToOthers != 0 {
		return &NotPrivateError{
			Path:   path,
			Reason: fmt.Sprintf("mode %04o lets others in", info.Mode().Perm()),
			Hint:   "chmod go= " + path,
		}
	}
	return nil
}
