package lines

import (
	"os"

	"agentsync/collect"
)

// stat is what an open file's handle tells. Two equal ones say that nothing was written
// in between.
type stat struct {
	kind          os.FileMode // type bits, 0 for a regular file
	device, inode uint64
	size          int64
	modTime       int64 // nanoseconds since 1970 UTC
	changeTime    int64 // of the file's record where the system keeps one, else 0
}

func (s stat) stamp() collect.Stamp {
	return collect.Stamp{Device: s.device, Inode: s.inode, Size: s.size, ModTime: s.modTime, ChangeTime: s.changeTime}
}

func typeName(mode os.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&os.ModeSymlink != 0:
		return "a symbolic link"
	case mode&os.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&os.ModeSocket != 0:
		return "a socket"
	case mode&os.ModeDevice != 0:
		return "a device"
	default:
		return "of an unknown type"
	}
}
