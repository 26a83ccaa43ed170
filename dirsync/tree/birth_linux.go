package tree

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// birth is when a directory was made, 0 where the file system does not tell.
func birth(dir *os.File, _ fs.FileInfo) int64 {
	var x unix.Statx_t
	err := unix.Statx(int(dir.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_BTIME, &x)
	if err != nil || x.Mask&unix.STATX_BTIME == 0 {
		return 0
	}
	return x.Btime.Sec*1e9 + int64(x.Btime.Nsec)
}
