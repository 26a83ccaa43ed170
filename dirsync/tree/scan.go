package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"agentsync/dirsync"
)

// Options say what is read and how.
type Options struct {
	Root     string
	Identity dirsync.Identity // as recorded when it was bound; zero accepts any directory
	Ignore   []string
	Links    dirsync.LinkPolicy
	Known    Index // of the last scan; digests are taken over from it
	Now      time.Time
	Workers  int // directories read at once; 0 is one
}

// Scan is a directory as it was read.
type Scan struct {
	Tree     dirsync.Tree
	Index    Index    // for the next scan
	Vanished []string // what was listed and then gone; its absence proves nothing, and it is not in the tree
	Hashed   int      // files read
	Bytes    int64    // of them
}

// Read reads the directory. A root that is missing, is no directory or is not the one
// that was bound is a *dirsync.StopError, as is one that cannot be listed; anything
// unreadable below it is a blocked entry.
func Read(ctx context.Context, o Options) (Scan, error) {
	root, err := OpenRoot(o.Root, o.Identity)
	if err != nil {
		return Scan{}, err
	}
	top, err := openDir(root)
	if err = errors.Join(err, root.Close()); err != nil {
		return Scan{}, &dirsync.StopError{Guard: dirsync.IncompleteScan, Detail: "open " + o.Root + ": " + reason(err)}
	}
	w := &walker{Options: o, ctx: ctx, spare: make(chan struct{}, max(0, o.Workers-1)), index: make(Index, len(o.Known)),
		nodes: make([]dirsync.Node, 0, len(o.Known)+len(o.Known)/8)}
	if err := w.walk(top); err != nil {
		return Scan{}, err
	}
	if err := ctx.Err(); err != nil {
		return Scan{}, err
	}
	again, err := OpenRoot(o.Root, o.Identity)
	if err != nil {
		return Scan{}, err
	}
	if err := again.Close(); err != nil {
		return Scan{}, fmt.Errorf("close %s: %w", o.Root, err)
	}
	slices.Sort(w.vanished)
	return Scan{Tree: dirsync.NewTree(w.nodes), Index: w.index, Vanished: w.vanished, Hashed: w.hashed, Bytes: w.bytes}, nil
}

// walker is one running scan.
type walker struct {
	Options
	ctx    context.Context
	device uint64
	spare  chan struct{} // room for directories that are read beside the others
	wait   sync.WaitGroup

	mu       sync.Mutex
	nodes    []dirsync.Node
	index    Index
	vanished []string
	hashed   int
	bytes    int64
}

func (w *walker) walk(top dir) error {
	self, err := top.lstat(".")
	var names []string
	if err == nil {
		w.device = self.Device
		names, err = top.names()
	}
	if err != nil {
		return errors.Join(&dirsync.StopError{Guard: dirsync.IncompleteScan, Detail: "list " + w.Root + ": " + reason(err)}, top.close())
	}
	w.directory(place{dir: top}, names)
	w.wait.Wait()
	return nil
}

// place is an open directory and where it stands below the root.
type place struct {
	dir
	disk string // as spelled on disk
	wire string
}

// found is what a directory holds, gathered before it is handed over in one go.
type found struct {
	nodes    []dirsync.Node
	stamps   []stamped
	vanished []string
	hashed   int
	bytes    int64
}

type stamped struct {
	disk string
	Stamp
}

// directory reads one directory and closes it. Directories in it are read beside it
// while there is room, else right away.
func (w *walker) directory(at place, names []string) {
	var f found
	for _, name := range names {
		if w.ctx.Err() != nil {
			break
		}
		if node, keep := w.entry(at, name, &f); keep {
			f.nodes = append(f.nodes, node)
		}
	}
	_ = at.close() // nothing was written
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nodes = append(w.nodes, f.nodes...)
	for _, s := range f.stamps {
		w.index[s.disk] = s.Stamp
	}
	w.vanished = append(w.vanished, f.vanished...)
	w.hashed += f.hashed
	w.bytes += f.bytes
}

// entry reads one name of a directory.
func (w *walker) entry(at place, name string, f *found) (node dirsync.Node, keep bool) {
	disk := joined(at.disk, name)
	wire, ok := dirsync.Wire(joined(at.wire, name))
	if !ok {
		return blocked(joined(at.wire, escaped(name)), disk, dirsync.UnrepresentedName), true
	}
	node = dirsync.Node{Path: wire}
	if disk != wire {
		node.Disk = disk
	}
	if reason, ignored := dirsync.Ignores(w.Ignore, wire); ignored {
		node.Entry = dirsync.Entry{Kind: dirsync.Blocked, Reason: reason}
		return node, true
	}
	listed, err := at.lstat(name)
	if err == nil {
		node.Entry, err = w.read(at, name, node, listed, f)
	}
	if errors.Is(err, fs.ErrNotExist) {
		f.vanished = append(f.vanished, wire)
		return node, false
	}
	if err != nil {
		node.Entry = dirsync.Entry{Kind: dirsync.Blocked, Reason: dirsync.Unreadable}
	}
	return node, true
}

// read turns what was listed into an entry.
func (w *walker) read(at place, name string, node dirsync.Node, listed meta, f *found) (dirsync.Entry, error) {
	switch {
	case listed.mode.IsDir():
		return w.enter(at, name, node, listed)
	case listed.mode.IsRegular():
		return w.file(at, name, node, listed, f)
	case listed.mode&fs.ModeSymlink != 0:
		return w.link(at, name, node.Path)
	}
	return dirsync.Entry{Kind: dirsync.Blocked, Reason: dirsync.SpecialFile}, nil
}

// enter opens a directory and has it read.
func (w *walker) enter(at place, name string, node dirsync.Node, listed meta) (dirsync.Entry, error) {
	if listed.Device != w.device {
		return dirsync.Entry{Kind: dirsync.Blocked, Reason: dirsync.Mount}, nil
	}
	below, err := at.enter(name, listed)
	if err != nil {
		return dirsync.Entry{}, err
	}
	names, err := below.names()
	if err != nil {
		return dirsync.Entry{}, errors.Join(err, below.close())
	}
	next := place{below, node.OnDisk(), node.Path}
	select {
	case w.spare <- struct{}{}:
		w.wait.Go(func() {
			w.directory(next, names)
			<-w.spare
		})
	default:
		w.directory(next, names)
	}
	return dirsync.Entry{Kind: dirsync.Directory}, nil
}

// young is how close to the scan a file may have been written to be read again next
// time: the clock of a file system may be that coarse.
const young = 2 * time.Second

// file takes a digest over from the last scan, or reads the file.
func (w *walker) file(at place, name string, node dirsync.Node, listed meta, f *found) (dirsync.Entry, error) {
	stamp := listed.Stamp
	if known, ok := w.Known[node.OnDisk()]; ok && known.SameFile(stamp) {
		stamp.Digest = known.Digest
	} else {
		var err error
		stamp.Digest, err = at.hash(name, listed)
		if errors.Is(err, ErrUnstable) {
			return dirsync.Entry{Kind: dirsync.Blocked, Reason: dirsync.Unstable}, nil
		}
		if err != nil {
			return dirsync.Entry{}, err
		}
		f.hashed++
		f.bytes += stamp.Size
	}
	if w.Now.Sub(time.Unix(0, stamp.ModTime)) > young {
		f.stamps = append(f.stamps, stamped{node.OnDisk(), stamp})
	}
	return dirsync.Entry{Kind: dirsync.File, Digest: stamp.Digest, Size: stamp.Size, Executable: listed.mode&0o100 != 0}, nil
}

func (w *walker) link(at place, name, wire string) (dirsync.Entry, error) {
	if w.Links != dirsync.PortableLinks {
		return dirsync.Entry{Kind: dirsync.Blocked, Reason: dirsync.LinkSkipped}, nil
	}
	target, err := at.readlink(name)
	if err != nil {
		return dirsync.Entry{}, err
	}
	if !dirsync.SafeTarget(wire, target) {
		return dirsync.Entry{Kind: dirsync.Blocked, Reason: dirsync.LinkUnsafe}, nil
	}
	return dirsync.Entry{Kind: dirsync.Link, Target: target}, nil
}

func blocked(wire, disk string, reason dirsync.Reason) dirsync.Node {
	return dirsync.Node{Path: wire, Disk: disk, Entry: dirsync.Entry{Kind: dirsync.Blocked, Reason: reason}}
}

func joined(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
