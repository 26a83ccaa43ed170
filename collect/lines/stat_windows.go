package lines

import (
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// openFile refuses a link unless it may follow. Pipes have no names in folders here.
func openFile(path string, follow bool) (*os.File, error) {
	if !follow {
		info, err := os.Lstat(path)
		if err != nil {
			return nil, err
		}
		if !info.Mode().IsRegular() && !info.IsDir() {
			return nil, &NotRegularError{path, info.Mode().Type()}
		}
	}
	return os.Open(path)
}

func statFile(f *os.File) (stat, error) {
	info, err := f.Stat()
	if err != nil {
		return stat{}, err
	}
	s := stat{kind: info.Mode().Type(), size: info.Size(), modTime: info.ModTime().UnixNano()}
	if s.kind != 0 {
		return s, nil
	}
	s.device, s.inode, s.changeTime, err = Identity(windows.Handle(f.Fd()))
	return s, err
}

// Identity tells an open file from others, and when its record changed last, in
// nanoseconds since 1970 UTC.
func Identity(file windows.Handle) (device, inode uint64, changeTime int64, err error) {
	var h windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(file, &h); err != nil {
		return 0, 0, 0, err
	}
	device, inode = uint64(h.VolumeSerialNumber), uint64(h.FileIndexHigh)<<32|uint64(h.FileIndexLow)
	var basic struct {
		created, accessed, written, changed windows.Filetime
		attributes, _                       uint32
	}
	err = windows.GetFileInformationByHandleEx(file, windows.FileBasicInfo, (*byte)(unsafe.Pointer(&basic)), uint32(unsafe.Sizeof(basic)))
	if err != nil { // a file system without such a record
		return device, inode, 0, nil
	}
	return device, inode, basic.changed.Nanoseconds(), nil
}
