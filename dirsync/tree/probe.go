package tree

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"agentsync/dirsync"
)

// Probe finds out how the project's file system treats names and the executable bit, by
// files that it makes in our own folder below the root and removes again. Where nothing
// can be written it is fs.ErrPermission or the like, and nothing was changed.
func Probe(path string) (folding dirsync.Folding, noExecutable bool, err error) {
	root, err := OpenRoot(path, dirsync.Identity{})
	if err != nil {
		return folding, false, err
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	const folder = dirsync.ControlFolder
	switch err := root.Mkdir(folder, 0o700); {
	case err == nil:
		defer func() { _ = root.Remove(folder) }() // a plan may stage there by now
	case !errors.Is(err, fs.ErrExist):
		return folding, false, fmt.Errorf("probe %s: %w", path, err)
	}
	info, err := root.Lstat(folder)
	if err != nil || !info.IsDir() {
		return folding, false, errors.Join(err, fmt.Errorf("probe %s: %s is in the way", path, folder))
	}
	dir, err := Enter(root, folder, info)
	if err != nil {
		return folding, false, err
	}
	defer func() { err = errors.Join(err, dir.Close()) }()
	return probe(dir)
}

const (
	probeName       = "probe-\u00e9"  // composed
	probeUpper      = "PROBE-\u00c9"  // in capitals
	probeDecomposed = "probe-e\u0301" // the same letter and its accent apart
)

func probe(dir *os.Root) (folding dirsync.Folding, noExecutable bool, err error) {
	for _, name := range []string{probeName, probeUpper, probeDecomposed} {
		if err := dir.RemoveAll(name); err != nil {
			return folding, false, fmt.Errorf("probe names: %w", err)
		}
	}
	file, err := dir.OpenFile(probeName, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return folding, false, fmt.Errorf("probe names: %w", err)
	}
	info, err := file.Stat()
	if err == nil {
		noExecutable = info.Mode()&0o100 == 0
	}
	_, upper := dir.Lstat(probeUpper)
	_, decomposed := dir.Lstat(probeDecomposed)
	folding = dirsync.Folding{Case: upper == nil, Composition: decomposed == nil}
	return folding, noExecutable, errors.Join(err, file.Close(), dir.Remove(probeName))
}
