//go:build unix

package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// noFollow makes opening a link an error. Without O_NONBLOCK a pipe put in the place
// of a file would hold the open until somebody writes.
const noFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

func syncDir(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	err = folder.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil // the file system does not sync folders; nothing more can be asked of it
	}
	return err
}

// IsFull reports that a write failed for want of space or quota.
func IsFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// IsReadOnly reports that a write was not permitted.
func IsReadOnly(err error) bool {
	return errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission)
}

// isForeign reports whether another user owns what info describes.
func isForeign(info fs.FileInfo) (string, bool) {
	stat, known := info.Sys().(*syscall.Stat_t)
	if !known || int(stat.Uid) == os.Geteuid() {
		return "", false
	}
	return fmt.Sprintf("owned by user %d, not by user %d", stat.Uid, os.Geteuid()), true
}

// openToOthers are the mode bits that a private file or folder must not have.
const openToOthers fs.FileMode = 0o077
