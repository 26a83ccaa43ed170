//go:build unix

package lines

import (
	"os"

	"golang.org/x/sys/unix"
)

// openFile does not wait for a pipe's writer, and refuses a link unless it may follow.
func openFile(path string, follow bool) (*os.File, error) {
	flags := os.O_RDONLY | unix.O_NONBLOCK | unix.O_NOCTTY
	if !follow {
		flags |= unix.O_NOFOLLOW
	}
	return os.OpenFile(path, flags, 0)
}

func statFile(f *os.File) (stat, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return stat{}, err
	}
	var st unix.Stat_t
	var statErr error
	if err := conn.Control(func(fd uintptr) { statErr = unix.Fstat(int(fd), &st) }); err != nil {
		return stat{}, err
	}
	if statErr != nil {
		return stat{}, &os.PathError{Op: "stat", Path: f.Name(), Err: statErr}
	}
	s := stat{device: uint64(st.Dev), inode: uint64(st.Ino), size: st.Size,
		modTime: st.Mtim.Nano(), changeTime: st.Ctim.Nano()}
	if uint32(st.Mode)&unix.S_IFMT != unix.S_IFREG {
		info, err := f.Stat()
		if err != nil {
			return stat{}, err
		}
		s.kind = info.Mode().Type()
	}
	return s, nil
}
