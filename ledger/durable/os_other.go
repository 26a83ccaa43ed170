//go:build !unix

package durable

import (
	"errors"
	"io/fs"
	"syscall"
)

const noFollow = 0

// syncDir has nothing to do: the system journals names and offers no sync of folders.
func syncDir(string) error { return nil }

const (
	handleDiskFull = syscall.Errno(39)  // ERROR_HANDLE_DISK_FULL
	diskFull       = syscall.Errno(112) // ERROR_DISK_FULL
	writeProtect   = syscall.Errno(19)  // ERROR_WRITE_PROTECT
)

// IsFull reports that a write failed for want of space.
func IsFull(err error) bool {
	return errors.Is(err, diskFull) || errors.Is(err, handleDiskFull) || errors.Is(err, syscall.ENOSPC)
}

// IsReadOnly reports that a write was not permitted.
func IsReadOnly(err error) bool {
	return errors.Is(err, writeProtect) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
}

// isForeign cannot be answered from a mode here; the profile folder's own access list
// keeps others out.
func isForeign(fs.FileInfo) (string, bool) { return "", false }

const openToOthers fs.FileMode = 0
