package lines

import (
	"os"

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
	var h windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(windows.Handle(f.Fd()), &h); err != nil {
		return stat{}, err
	}
	s.device = uint64(h.VolumeSerialNumber)
	s.inode = uint64(h.FileIndexHigh)<<32 | uint64(h.FileIndexLow)
	return s, nil
}
