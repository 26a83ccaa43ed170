package tree

import (
	"io/fs"
	"os"
	"syscall"
)

// birth is when a directory was made, 0 where the file system does not tell.
func birth(_ *os.File, info fs.FileInfo) int64 {
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		return sys.Birthtimespec.Nano()
	}
	return 0
}
