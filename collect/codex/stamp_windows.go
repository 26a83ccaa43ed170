package codex

import (
	"os"
	"syscall"

	"golang.org/x/sys/windows"

	"agentsync/collect"
	"agentsync/collect/lines"
)

// stampOf is the stamp of a file that was looked at. A file's identity costs a handle here.
func stampOf(path string, info os.FileInfo) (collect.Stamp, error) {
	s := collect.Stamp{Size: info.Size(), ModTime: info.ModTime().UnixNano()}
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return s, &os.PathError{Op: "open", Path: path, Err: err}
	}
	h, err := syscall.CreateFile(name, 0, syscall.FILE_SHARE_READ|syscall.FILE_SHARE_WRITE|syscall.FILE_SHARE_DELETE,
		nil, syscall.OPEN_EXISTING, 0, 0)
	if err != nil {
		return s, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.CloseHandle(h)
	if s.Device, s.Inode, s.ChangeTime, err = lines.Identity(windows.Handle(h)); err != nil {
		return s, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return s, nil
}
