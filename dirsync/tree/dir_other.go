//go:build !unix

package tree

import (
	"errors"
	"io/fs"
	"os"

	"agentsync/hashgraph/digest"
)

// dir is an open directory.
type dir struct{ root *os.Root }

// meta is what the file system tells of a name.
type meta struct {
	mode fs.FileMode
	Stamp
	info fs.FileInfo
}

// openDir opens the directory that root has open.
func openDir(root *os.Root) (dir, error) {
	again, err := root.OpenRoot(".")
	return dir{again}, err
}

// enter opens a directory that was listed, if it is still that one.
func (d dir) enter(name string, listed meta) (dir, error) {
	root, err := Enter(d.root, name, listed.info)
	return dir{root}, err
}

func (d dir) close() error { return d.root.Close() }

func (d dir) names() ([]string, error) {
	open, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	names, err := open.Readdirnames(-1)
	return names, errors.Join(err, open.Close())
}

func (d dir) lstat(name string) (meta, error) {
	info, err := d.root.Lstat(name)
	if err != nil {
		return meta{}, err
	}
	return meta{info.Mode(), StampOf(info), info}, nil
}

func (d dir) readlink(name string) (string, error) { return d.root.Readlink(name) }

// hash reads a file that was listed. ErrUnstable says that it is another one by now, or
// changed meanwhile.
func (d dir) hash(name string, listed meta) (digest.Digest, error) {
	return HashFile(d.root, name, listed.info, nil)
}
