//go:build unix

package tree

import (
	"io/fs"
	"syscall"
)

// openFlags keep an open from following a link and from waiting for a pipe's other end.
const openFlags = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// StampOf is what the file system tells of a file; the digest is zero.
func StampOf(info fs.FileInfo) Stamp {
	s := Stamp{Size: info.Size(), ModTime: info.ModTime().UnixNano()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Device, s.Inode = uint64(sys.Dev), sys.Ino
		s.ChangeTime = changeTime(sys)
	}
	return s
}
