//go:build unix

package gitinfo

import (
	"io/fs"
	"os"
	"syscall"
)

// nonBlocking keeps opening a pipe from waiting for its writer.
const nonBlocking = syscall.O_NONBLOCK

// deviceOf identifies the file system that info's file is on.
func deviceOf(info fs.FileInfo) uint64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(stat.Dev)
	}
	return 0
}

// ownedByUs reports that every path belongs to the user of this process. Links are
// looked at, not through.
func ownedByUs(paths ...string) bool {
	us := uint32(os.Geteuid())
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil {
			return false
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); !ok || stat.Uid != us {
			return false
		}
	}
	return true
}
