//go:build unix

package claude

import (
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"agentsync/collect"
)

// lookAt stats a name relative to its open folder, which spares the kernel the path
// and the garbage collector a string a file.
func lookAt(folder *os.File, dir, name string) (entry, error) {
	var st unix.Stat_t
	for {
		err := unix.Fstatat(int(folder.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return entry{}, &os.PathError{Op: "lstat", Path: filepath.Join(dir, name), Err: err}
		}
		return entry{name: name, mode: fileMode(uint32(st.Mode)), stamp: collect.Stamp{
			Device: uint64(st.Dev), Inode: uint64(st.Ino), Size: st.Size, ModTime: st.Mtim.Nano()}}, nil
	}
}

func fileMode(mode uint32) os.FileMode {
	m := os.FileMode(mode & 0o777)
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		m |= os.ModeDir
	case unix.S_IFLNK:
		m |= os.ModeSymlink
	case unix.S_IFIFO:
		m |= os.ModeNamedPipe
	case unix.S_IFSOCK:
		m |= os.ModeSocket
	default:
		m |= os.ModeDevice
	}
	return m
}
