package claude

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"

	"agentsync/collect"
)

// entry is one name in a folder, looked at without following or opening it.
type entry struct {
	name  string
	mode  os.FileMode // type and permission bits
	stamp collect.Stamp
}

func (e entry) isDir() bool     { return e.mode.IsDir() }
func (e entry) isRegular() bool { return e.mode.IsRegular() }
func (e entry) isLink() bool    { return e.mode&os.ModeSymlink != 0 }

// list returns a folder's entries by name. Entries that vanish meanwhile are left out;
// those that cannot be looked at are returned in failed.
func list(dir string) (entries []entry, failed []error, err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return nil, nil, err
	}
	entries = make([]entry, 0, len(names))
	for _, name := range names {
		if collect.IsUnfinished(name) {
			continue
		}
		e, err := lookAt(f, dir, name)
		switch {
		case err == nil:
			entries = append(entries, e)
		case !errors.Is(err, fs.ErrNotExist):
			failed = append(failed, err)
		}
	}
	slices.SortFunc(entries, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	return entries, failed, nil
}

// find returns the entry of a name in a folder's sorted entries.
func find(entries []entry, name string) (entry, bool) {
	i, ok := slices.BinarySearchFunc(entries, name, func(e entry, n string) int { return cmp.Compare(e.name, n) })
	if !ok {
		return entry{}, false
	}
	return entries[i], true
}
