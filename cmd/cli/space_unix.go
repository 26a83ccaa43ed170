//go:build linux || darwin

package cli

import "syscall"

// freeSpace returns how many bytes this user may still write to the file system that
// the existing path lies on.
func freeSpace(path string) (free int64, known bool) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(path, &s); err != nil {
		return 0, false
	}
	return int64(s.Bavail) * int64(s.Bsize), true
}
