//go:build unix

package codex

import (
	"os"
	"syscall"

	"agentsync/collect"
)

// stampOf is the stamp of a file that was looked at.
func stampOf(_ string, info os.FileInfo) (collect.Stamp, error) {
	s := collect.Stamp{Size: info.Size(), ModTime: info.ModTime().UnixNano()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.Device, s.Inode, s.ChangeTime = uint64(st.Dev), uint64(st.Ino), changeTime(st)
	}
	return s, nil
}
