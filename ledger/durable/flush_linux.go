package durable

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

var _ Flusher = osFS{}

// SyncAll syncs the whole file system. Since Linux 5.8 a failed write shows here.
func (osFS) SyncAll(path string) error {
	step("syncall")
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	err = unix.Syncfs(int(folder.Fd()))
	if err != nil {
		err = &os.PathError{Op: "sync the file system of", Path: path, Err: err}
	}
	return errors.Join(err, folder.Close())
}
