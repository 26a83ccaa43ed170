package tree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
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
	device, err := deviceOf(root)
	if err != nil {
		return Scan{}, errors.Join(err, root.Close())
	}
	w := &walker{Options: o, ctx: ctx, device: device, spare: make(chan struct{}, max(0, o.Workers-1)), index: Index{}}
	if err := w.walk(root); err != nil {
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

func (w *walker) walk(root *os.Root) error {
	names, err := list(root)
	if err != nil {
		return errors.Join(&dirsync.StopError{Guard: dirsync.IncompleteScan, Detail: "list " + w.Root + ": " + reason(err)}, root.Close())
	}
	w.directory(place{root: root}, names)
	w.wait.Wait()
	return nil
}

// place is an open directory and where it stands below the root.
type place struct {
	root *os.Root
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
	_ = at.root.Close() // nothing was written
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
	info, err := at.root.Lstat(name)
	if err == nil {
		node.Entry, err = w.read(at, name, node, info, f)
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
func (w *walker) read(at place, name string, node dirsync.Node, info fs.FileInfo, f *found) (dirsync.Entry, error) {
	switch mode := info.Mode(); {
	case mode.IsDir():
		return w.enter(at, name, node, info)
	case mode.IsRegular():
		return w.file(at, name, node, info, f)
	case mode&fs.ModeSymlink != 0:
		return w.link(at, name, node.Path)
	}
	return dirsync.Entry{Kind: dirsync.Blocked, Reason: dirsync.SpecialFile}, nil
}

// enter opens a directory and has it read.
func (w *walker) enter(at place, name string, node dirsync.Node, info fs.FileInfo) (dirsync.Entry, error) {
	if StampOf(info).Device != w.device {
		return dirsync.Entry{Kind: dirsync.Blocked, Reason: dirsync.Mount}, nil
	}
	root, err := Enter(at.root, name, info)
	if err != nil {
		return dirsync.Entry{}, err
	}
	names, err := list(root)
	if err != nil {
		return dirsync.Entry{}, errors.Join(err, root.Close())
	}
	below := place{root, node.OnDisk(), node.Path}
	select {
	case w.spare <- struct{}{}:
		w.wait.Go(func() {
			w.directory(below, names)
			<-w.spare
		})
	default:
		w.directory(below, names)
	}
	return dirsync.Entry{Kind: dirsync.Directory}, nil
}

// young is how close to the scan a file may have been written to be read again next
// time: the clock of a file system may be that coarse.
const young = 2 * time.Second

// file takes a digest over from the last scan, or reads the file.
func (w *walker) file(at place, name string, node dirsync.Node, info fs.FileInfo, f *found) (dirsync.Entry, error) {
	stamp := StampOf(info)
	known, same := w.Known[node.OnDisk()]
	if same = same && known.SameFile(stamp); same {
		stamp.Digest = known.Digest
	} else {
		var err error
		if stamp.Digest, err = HashFile(at.root, name, info, nil); err != nil {
			if errors.Is(err, ErrUnstable) {
				return dirsync.Entry{Kind: dirsync.Blocked, Reason: dirsync.Unstable}, nil
			}
			return dirsync.Entry{}, err
		}
		f.hashed++
		f.bytes += stamp.Size
	}
	if w.Now.Sub(info.ModTime()) > young {
		f.stamps = append(f.stamps, stamped{node.OnDisk(), stamp})
	}
	return dirsync.Entry{Kind: dirsync.File, Digest: stamp.Digest, Size: stamp.Size, Executable: info.Mode()&0o100 != 0}, nil
}

func (w *walker) link(at place, name, wire string) (dirsync.Entry, error) {
	if w.Links != dirsync.PortableLinks {
		return dirsync.Entry{Kind: dirsync.Blocked, Reason: dirsync.LinkSkipped}, nil
	}
	target, err := at.root.Readlink(name)
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
