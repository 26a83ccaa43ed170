package apply

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// moveNew gives a staged entry its name in a directory, unless the name is taken:
// fs.ErrExist then.
func moveNew(stage *folder, staged string, dir *folder, name string) error {
	return between(stage, dir, func(from, to int) error {
		err := unix.Renameat2(from, staged, to, name, unix.RENAME_NOREPLACE)
		if !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOSYS) {
			return pathError("move", name, err)
		}
		if err := unix.Linkat(from, staged, to, name, 0); err != nil {
			return pathError("link", name, err)
		}
		return pathError("unlink", staged, unix.Unlinkat(from, staged, 0))
	})
}

// exchange swaps a staged entry with the one that has the name. swapped is false where
// the file system cannot; nothing has changed then.
func exchange(stage *folder, staged string, dir *folder, name string) (swapped bool, err error) {
	err = between(stage, dir, func(from, to int) error {
		return unix.Renameat2(from, staged, to, name, unix.RENAME_EXCHANGE)
	})
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return false, nil
	}
	return err == nil, pathError("exchange", name, err)
}

// moveOver gives a staged entry its name, whatever has it.
func moveOver(stage *folder, staged string, dir *folder, name string) error {
	return between(stage, dir, func(from, to int) error {
		return pathError("move", name, unix.Renameat(from, staged, to, name))
	})
}

// between calls act with the descriptors of two directories.
func between(stage, dir *folder, act func(from, to int) error) error {
	return act(int(stage.file.Fd()), int(dir.file.Fd()))
}

func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
