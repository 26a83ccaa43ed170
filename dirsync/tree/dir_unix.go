//go:build unix

package tree

import (
	"errors"
	"io/fs"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"agentsync/hashgraph/digest"
)

// dir is an open directory. It is used by its descriptor alone, and no call takes more
// than one name: so nothing outside of it can be reached, and no link is followed.
type dir struct{ fd int }

// meta is what the file system tells of a name.
type meta struct {
	mode fs.FileMode // type bits, and the owner's executable bit
	Stamp
}

// openDir opens the directory that root has open.
func openDir(root *os.Root) (dir, error) {
	file, err := root.Open(".")
	if err != nil {
		return dir{}, err
	}
	d, err := dir{int(file.Fd())}.open(".")
	return d, errors.Join(err, file.Close())
}

func (d dir) open(name string) (dir, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(d.fd, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	})
	return dir{fd}, pathError("open", name, err)
}

// enter opens a directory that was listed, if it is still that one.
func (d dir) enter(name string, listed meta) (dir, error) {
	below, err := d.open(name)
	if err != nil {
		return dir{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(below.fd, &st); err != nil || !sameInode(stampFrom(&st), listed.Stamp) {
		return dir{}, errors.Join(pathError("open", name, errReplaced), err, below.close())
	}
	return below, nil
}

func (d dir) close() error { return unix.Close(d.fd) }

// listings are buffers for names, one for each directory that is read at once.
var listings = sync.Pool{New: func() any { return new([32 << 10]byte) }}

func (d dir) names() ([]string, error) {
	buffer := listings.Get().(*[32 << 10]byte)
	defer listings.Put(buffer)
	var names []string
	for {
		n, err := retry(func() (int, error) { return unix.ReadDirent(d.fd, buffer[:]) })
		if n <= 0 || err != nil {
			return names, pathError("list", ".", err)
		}
		_, _, names = unix.ParseDirent(buffer[:n], -1, names)
	}
}

func (d dir) lstat(name string) (meta, error) {
	var st unix.Stat_t
	_, err := retry(func() (int, error) { return 0, unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		return meta{}, pathError("look at", name, err)
	}
	return meta{modeFrom(&st), stampFrom(&st)}, nil
}

func (d dir) readlink(name string) (string, error) {
	buffer := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(d.fd, name, buffer)
	if err != nil {
		return "", pathError("read link", name, err)
	}
	return string(buffer[:n]), nil
}

// hash reads a file that was listed. ErrUnstable says that it is another one by now, or
// changed meanwhile.
func (d dir) hash(name string, listed meta) (digest.Digest, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(d.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return digest.Digest{}, pathError("open", name, err)
	}
	sum, err := hashOpen(fd, listed)
	return sum, errors.Join(pathError("read", name, err), unix.Close(fd))
}

// contents are buffers for what is read of files.
var contents = sync.Pool{New: func() any { return new([128 << 10]byte) }}

func hashOpen(fd int, listed meta) (digest.Digest, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return digest.Digest{}, err
	}
	if !sameInode(stampFrom(&st), listed.Stamp) || !modeFrom(&st).IsRegular() {
		return digest.Digest{}, ErrUnstable
	}
	buffer := contents.Get().(*[128 << 10]byte)
	defer contents.Put(buffer)
	h := digest.New()
	for {
		n, err := retry(func() (int, error) { return unix.Read(fd, buffer[:]) })
		if err != nil {
			return digest.Digest{}, err
		}
		if n == 0 {
			break
		}
		h.Write(buffer[:n])
	}
	if err := unix.Fstat(fd, &st); err != nil {
		return digest.Digest{}, err
	}
	if !stampFrom(&st).SameFile(listed.Stamp) {
		return digest.Digest{}, ErrUnstable
	}
	return digest.Of(h), nil
}

// retry repeats a call that a signal interrupted.
func retry(call func() (int, error)) (n int, err error) {
	for {
		if n, err = call(); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

func sameInode(a, b Stamp) bool { return a.Device == b.Device && a.Inode == b.Inode }

func stampFrom(st *unix.Stat_t) Stamp {
	return Stamp{Device: uint64(st.Dev), Inode: uint64(st.Ino), Size: st.Size, ModTime: st.Mtim.Nano(), ChangeTime: st.Ctim.Nano()}
}

func modeFrom(st *unix.Stat_t) fs.FileMode {
	mode := fs.FileMode(st.Mode) & 0o100
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return mode
	case unix.S_IFDIR:
		return mode | fs.ModeDir
	case unix.S_IFLNK:
		return mode | fs.ModeSymlink
	}
	return mode | fs.ModeIrregular
}

func pathError(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}
