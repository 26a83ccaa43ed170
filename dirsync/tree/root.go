package tree

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"agentsync/dirsync"
	"agentsync/hashgraph/digest"
)

// OpenRoot opens the project directory, which must be a real directory and, unless id is
// zero, the one that was bound; otherwise it is a *dirsync.StopError.
func OpenRoot(path string, id dirsync.Identity) (*os.Root, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, &dirsync.StopError{Guard: dirsync.RootMissing, Detail: path + ": " + reason(err)}
	}
	if !info.IsDir() {
		return nil, &dirsync.StopError{Guard: dirsync.RootMissing, Detail: path + " is not a directory"}
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, &dirsync.StopError{Guard: dirsync.IncompleteScan, Detail: "open " + path + ": " + reason(err)}
	}
	if root, err = checked(root, info, path); err != nil {
		return nil, err
	}
	if is, err := identityOf(root); err != nil || id != (dirsync.Identity{}) && !id.Same(is) {
		stop := &dirsync.StopError{Guard: dirsync.RootChanged, Detail: path + " is another directory than the one that was bound"}
		return nil, errors.Join(cmp.Or[error](err, stop), root.Close())
	}
	return root, nil
}

// Enter opens a directory of an open one, as info describes it. What was a directory
// when it was looked at may be a link by now: then it is refused.
func Enter(root *os.Root, name string, info fs.FileInfo) (*os.Root, error) {
	below, err := root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	return checked(below, info, name)
}

var errReplaced = errors.New("was replaced while it was opened")

// checked returns root if it is the directory that info describes, else it closes it.
func checked(root *os.Root, info fs.FileInfo, name string) (*os.Root, error) {
	is, err := root.Stat(".")
	if err == nil && !os.SameFile(is, info) {
		err = errReplaced
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open directory %s: %w", name, err), root.Close())
	}
	return root, nil
}

// ErrUnstable reports a file that changed while it was read.
var ErrUnstable = errors.New("changed while it was read")

// HashFile reads a file of an open directory, as info describes it, and returns its
// digest; what is read goes to copyTo as well, unless that is nil. ErrUnstable says that
// it is another file by now, or changed meanwhile.
func HashFile(root *os.Root, name string, info fs.FileInfo, copyTo io.Writer) (digest.Digest, error) {
	file, err := root.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return digest.Digest{}, err
	}
	h := digest.New()
	to := io.Writer(h)
	if copyTo != nil {
		to = io.MultiWriter(h, copyTo)
	}
	before, err := file.Stat()
	if err == nil && (!os.SameFile(before, info) || !before.Mode().IsRegular()) {
		err = ErrUnstable
	}
	if err == nil {
		_, err = io.Copy(to, file)
	}
	if err == nil {
		var after fs.FileInfo
		if after, err = file.Stat(); err == nil && !StampOf(after).SameFile(StampOf(info)) {
			err = ErrUnstable
		}
	}
	return digest.Of(h), errors.Join(err, file.Close())
}

// escaped spells a name that is no text of its own: no dataset can hold the result.
func escaped(name string) string {
	var b strings.Builder
	for len(name) > 0 {
		r, size := utf8.DecodeRuneInString(name)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, name[0])
		case r == '\\':
			b.WriteString(`\\`)
		case r < 0x20 || r == 0x7f:
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		default:
			b.WriteRune(r)
		}
		name = name[size:]
	}
	return b.String()
}

// reason is an error without the path that the message names already.
func reason(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}

// IdentityOf tells which directory stands at a path: a real one, not a link to one.
func IdentityOf(path string) (dirsync.Identity, error) {
	root, err := OpenRoot(path, dirsync.Identity{})
	if err != nil {
		return dirsync.Identity{}, err
	}
	id, err := identityOf(root)
	return id, errors.Join(err, root.Close())
}

func identityOf(root *os.Root) (dirsync.Identity, error) {
	dir, err := root.Open(".")
	if err != nil {
		return dirsync.Identity{}, fmt.Errorf("look at %s: %w", root.Name(), err)
	}
	info, err := dir.Stat()
	if err != nil {
		return dirsync.Identity{}, errors.Join(fmt.Errorf("look at %s: %w", root.Name(), err), dir.Close())
	}
	stamp := StampOf(info)
	id := dirsync.Identity{Device: stamp.Device, Inode: stamp.Inode, Birth: birth(dir, info)}
	return id, dir.Close()
}

// Opener opens files below a root one after the other, and keeps the directory of the
// last one open for the next. It serves one goroutine.
type Opener struct {
	Root *os.Root
	path string   // of dir
	dir  *os.Root // nil at first
}

// Open opens a regular file by its path on disk. Every directory on the way must be a
// real one, and so must the file.
func (o *Opener) Open(path string) (*os.File, error) {
	up, name := "", path
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		up, name = path[:i], path[i+1:]
	}
	if up == "" {
		return openFile(o.Root, name)
	}
	if o.dir == nil || o.path != up {
		if err := o.Close(); err != nil {
			return nil, err
		}
		dir, err := enterAll(o.Root, up)
		if err != nil {
			return nil, err
		}
		o.dir, o.path = dir, up
	}
	return openFile(o.dir, name)
}

// Close closes the directory, not the root.
func (o *Opener) Close() error {
	if o.dir == nil {
		return nil
	}
	err := o.dir.Close()
	o.dir = nil
	return err
}

// enterAll opens a directory below a root, each on the way by its own handle.
func enterAll(root *os.Root, path string) (*os.Root, error) {
	name, rest, more := strings.Cut(path, "/")
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, fmt.Errorf("open %s: %w", name, ErrUnstable)
	}
	dir, err := Enter(root, name, info)
	if err != nil || !more {
		return dir, err
	}
	below, err := enterAll(dir, rest)
	return below, errors.Join(err, dir.Close())
}

func openFile(dir *os.Root, name string) (*os.File, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("open %s: %w", name, ErrUnstable)
	}
	file, err := dir.OpenFile(name, os.O_RDONLY|openFlags, 0)
	if err != nil {
		return nil, err
	}
	if is, err := file.Stat(); err != nil || !os.SameFile(is, info) {
		return nil, errors.Join(fmt.Errorf("open %s: %w", name, ErrUnstable), err, file.Close())
	}
	return file, nil
}
