//go:build unix

package durable

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// Touch gives a file the time of now.
func (osFS) Touch(path string) error {
	if err := unix.Utimes(path, nil); err != nil {
		return &fs.PathError{Op: "touch", Path: path, Err: err}
	}
	return nil
}
