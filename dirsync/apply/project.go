// Package apply changes a project directory as a plan says, one action after the other,
// so that a crash at any instruction leaves every path old or new, and a second run
// finishes what the first began.
//
// It decides nothing: what is to happen stands in the plan, and what is not as the plan
// saw it stays. It goes through open directories only, each checked to be the one it
// was, follows no link and leaves the root never. What it replaces is kept.
package apply

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"agentsync/dirsync"
	"agentsync/dirsync/tree"
)

// project is the directory that is changed.
type project struct {
	root  *folder
	open  map[string]*folder // directories below the root, by path on disk
	stage *folder            // this plan's folder of contents on their way
	fresh bool               // the folder was made just now, and is empty
}

// folder is an open directory. Its file is the same directory, for calls that take two.
type folder struct {
	*os.Root
	file *os.File
}

func openFolder(root *os.Root, err error) (*folder, error) {
	if err != nil {
		return nil, err
	}
	file, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &folder{root, file}, nil
}

func (f *folder) close() error { return errors.Join(f.file.Close(), f.Close()) }

// mostOpen is how many directories are kept open at once.
const mostOpen = 64

func openProject(path string, id dirsync.Identity) (*project, error) {
	root, err := openFolder(tree.OpenRoot(path, id))
	if err != nil {
		return nil, err
	}
	return &project{root: root, open: map[string]*folder{}}, nil
}

func (p *project) close() error {
	err := p.forget()
	if p.stage != nil {
		err = errors.Join(err, p.stage.close())
	}
	return errors.Join(err, p.root.close())
}

// forget closes the directories below the root.
func (p *project) forget() error {
	var errs []error
	for path, dir := range p.open {
		errs = append(errs, dir.close())
		delete(p.open, path)
	}
	return errors.Join(errs...)
}

// errNoDirectory reports a parent that is no real directory: absent, a file or a link.
var errNoDirectory = errors.New("its directory is not there any more")

// dir opens the directory of a path on disk, "" being the root. Every part of the way
// must be a real directory.
func (p *project) dir(path string) (*folder, error) {
	if path == "" {
		return p.root, nil
	}
	if known := p.open[path]; known != nil {
		return known, nil
	}
	up, name := split(path)
	above, err := p.dir(up)
	if err != nil {
		return nil, err
	}
	info, err := above.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s: %w", path, errNoDirectory)
	}
	if err != nil {
		return nil, err
	}
	dir, err := openFolder(tree.Enter(above.Root, name, info))
	if err != nil {
		return nil, err
	}
	if len(p.open) >= mostOpen {
		err = p.forget()
	}
	p.open[path] = dir
	return dir, err
}

func split(path string) (dir, name string) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", path
	}
	return path[:i], path[i+1:]
}

// openStage makes the plan's folder of contents on their way, private, below the root:
// so that a content is moved to its place within one file system.
func (p *project) openStage(plan string) error {
	all, _, err := private(p.root.Root, dirsync.ControlFolder)
	if err != nil {
		return err
	}
	stage, fresh, err := private(all, plan)
	p.fresh = fresh
	p.stage, err = openFolder(stage, err)
	return errors.Join(err, all.Close())
}

var errInTheWay = errors.New("it is no folder, and in the way of one")

// private opens a folder of our own and makes it when absent. A link in its place is
// refused.
func private(in *os.Root, name string) (folder *os.Root, made bool, err error) {
	err = in.Mkdir(name, 0o700)
	if made = err == nil; !made && !errors.Is(err, fs.ErrExist) {
		return nil, false, fmt.Errorf("make %s: %w", name, err)
	}
	info, err := in.Lstat(name)
	if err != nil {
		return nil, false, err
	}
	if !info.IsDir() {
		return nil, false, fmt.Errorf("%s: %w", name, errInTheWay)
	}
	folder, err = tree.Enter(in, name, info)
	return folder, made, err
}

// dropStage removes the plan's folder and, when nothing else is in it, the one around.
func (p *project) dropStage(plan string) error {
	info, err := p.root.Lstat(dirsync.ControlFolder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || !info.IsDir() {
		return err
	}
	all, err := tree.Enter(p.root.Root, dirsync.ControlFolder, info)
	if err != nil {
		return err
	}
	if err := errors.Join(all.RemoveAll(plan), all.Close()); err != nil {
		return fmt.Errorf("remove staged contents: %w", err)
	}
	_ = p.root.Remove(dirsync.ControlFolder) // another plan may stage there
	return nil
}
