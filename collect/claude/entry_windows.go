package claude

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"

	"agentsync/collect"
	"agentsync/collect/lines"
)

// lookAt looks at a name in a folder.
func lookAt(_ *os.File, dir, name string) (entry, error) { return look(filepath.Join(dir, name)) }

// look also asks for the file's identity, which costs a handle here.
func look(path string) (entry, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return entry{}, err
	}
	e := entry{name: filepath.Base(path), mode: info.Mode() & (os.ModeType | os.ModePerm),
		stamp: collect.Stamp{Size: info.Size(), ModTime: info.ModTime().UnixNano()}}
	if !e.isRegular() {
		return e, nil
	}
	e.stamp.Device, e.stamp.Inode, e.stamp.ChangeTime, err = identity(path)
	return e, err
}

func identity(path string) (device, inode uint64, changeTime int64, err error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, 0, 0, err
	}
	h, err := windows.CreateFile(name, 0, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE,
		nil, windows.OPEN_EXISTING, windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	if err != nil {
		return 0, 0, 0, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer windows.CloseHandle(h)
	if device, inode, changeTime, err = lines.Identity(h); err != nil {
		err = &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return device, inode, changeTime, err
}
