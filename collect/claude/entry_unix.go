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
	e, err := stat(int(folder.Fd()), name)
	if err != nil {
		return e, &os.PathError{Op: "lstat", Path: filepath.Join(dir, name), Err: err}
	}
	e.name = name
	return e, nil
}

// look stats one file by its path.
func look(path string) (entry, error) {
	e, err := stat(unix.AT_FDCWD, path)
	if err != nil {
		return e, &os.PathError{Op: "lstat", Path: path, Err: err}
	}
	e.name = filepath.Base(path)
	return e, nil
}

func stat(folder int, path string) (entry, error) {
	var st unix.Stat_t
	for {
		err := unix.Fstatat(folder, path, &st, unix.AT_SYMLINK_NOFOLLOW)
		if err == unix.EINTR {
			continue
		}
		return entry{mode: fileMode(uint32(st.Mode)), stamp: collect.Stamp{
			Device: uint64(st.Dev), Inode: uint64(st.Ino), Size: st.Size, ModTime: st.Mtim.Nano(), ChangeTime: st.Ctim.Nano()}}, err
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
