package apply

import (
	"errors"
	"io/fs"
	"syscall"

	"agentsync/dirsync"
	"agentsync/dirsync/tree"
)

// parent opens the directory of an action's path and returns the name in it. It ends
// the action where there is no such directory any more.
func (r *run) parent(i *item) (dir *folder, name string, err error) {
	up, name := split(i.OnDisk())
	if r.broken[up] {
		i.end(Refused, "its directory could not be made")
		return nil, "", nil
	}
	dir, err = r.project.dir(up)
	if errors.Is(err, errNoDirectory) {
		i.end(Drifted, errNoDirectory.Error())
		return nil, "", nil
	}
	return dir, name, err
}

// target looks at what has an action's path now. It ends the action where that is
// neither what the plan saw nor, by its kind, what is to become of it.
func (r *run) target(i *item) (dir *folder, name string, info fs.FileInfo, err error) {
	dir, name, err = r.parent(i)
	if err != nil || i.ended() {
		return nil, "", nil, err
	}
	info, err = dir.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		info, err = nil, nil
	}
	if err != nil {
		return nil, "", nil, err
	}
	switch is := kindOf(info); {
	case is == i.Before.Kind, is == i.After.Kind:
	case is == dirsync.Absent:
		i.end(Drifted, "it is gone")
	default:
		i.end(Drifted, "there is a "+is.String()+" now")
	}
	return dir, name, info, nil
}

func kindOf(info fs.FileInfo) dirsync.Kind {
	switch {
	case info == nil:
		return dirsync.Absent
	case info.IsDir():
		return dirsync.Directory
	case info.Mode().IsRegular():
		return dirsync.File
	case info.Mode()&fs.ModeSymlink != 0:
		return dirsync.Link
	}
	return dirsync.Blocked
}

// act carries one action out and gives it its outcome.
func (r *run) act(i *item) {
	if i.ended() {
		return
	}
	err := r.do(i)
	switch {
	case err != nil && i.unsettled:
		i.fail(err)
	case err != nil && !i.ended():
		i.refuse(err)
	case !i.ended():
		i.end(Done, "")
	}
	up, _ := split(i.OnDisk())
	switch {
	case i.result.State == Done:
		r.touched[up] = true
	case i.result.State == Refused && i.After.Kind == dirsync.Directory:
		r.broken[i.OnDisk()] = true
	}
}

func (r *run) do(i *item) error {
	if i.Verb() == "create" {
		dir, name, err := r.parent(i)
		if err != nil || i.ended() {
			return err
		}
		return r.create(i, dir, name)
	}
	dir, name, info, err := r.target(i)
	if err != nil || i.ended() {
		return err
	}
	switch i.Verb() {
	case "mkdir":
		return r.mkdir(dir, name, info)
	case "chmod":
		return r.chmod(i, dir, name, info)
	case "link":
		return r.link(i, dir, name, info)
	}
	return r.replace(i, dir, name, info)
}

func (r *run) mkdir(dir *folder, name string, info fs.FileInfo) error {
	if info != nil {
		return nil // its kind was judged: it is a directory already
	}
	step("mkdir")
	return dir.Mkdir(name, 0o777)
}

// create puts a staged content where nothing is. A newcomer is never replaced.
func (r *run) create(i *item, dir *folder, name string) error {
	step("create")
	err := moveNew(r.project.stage, i.staged, dir, name)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := dir.Lstat(name)
	if err != nil {
		return err
	}
	return r.arrived(i, dir, name, info)
}

// arrived judges what stands where a content was to be put.
func (r *run) arrived(i *item, dir *folder, name string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		i.end(Drifted, "there is a "+kindOf(info).String()+" now")
		return nil
	}
	sum, err := tree.HashFile(dir.Root, name, info, nil)
	if errors.Is(err, tree.ErrUnstable) {
		i.end(Drifted, "it is being written to")
		return nil
	}
	if err == nil {
		r.judge(i, sum, info)
	}
	return err
}

// replace puts a staged content in the place of a file whose content was kept. Where the
// system can exchange two names, an edit made in the last instant is seen and put back.
func (r *run) replace(i *item, dir *folder, name string, info fs.FileInfo) error {
	if info == nil {
		i.end(Drifted, "it is gone")
		return nil
	}
	if !tree.StampOf(info).SameFile(i.before) {
		return r.arrived(i, dir, name, info)
	}
	step("replace")
	swapped, err := exchange(r.project.stage, i.staged, dir, name)
	if err != nil {
		return err
	}
	if !swapped {
		// RACE: the file can change between the look above and this rename. That edit
		// would be replaced; what the plan saw is kept.
		return moveOver(r.project.stage, i.staged, dir, name)
	}
	step("exchanged")
	return r.checkSwapped(i, dir, name)
}

// checkSwapped looks at the file that an exchange took out. One that was edited since
// it was kept goes back to its place.
func (r *run) checkSwapped(i *item, dir *folder, name string) error {
	i.unsettled = true
	old, err := r.project.stage.Lstat(i.staged)
	if err != nil {
		return err
	}
	was, is := i.before, tree.StampOf(old)
	is.ChangeTime = was.ChangeTime // the exchange itself moved it
	if is.SameFile(was) {
		return r.project.stage.Remove(i.staged)
	}
	if _, err := exchange(r.project.stage, i.staged, dir, name); err != nil {
		return err
	}
	i.end(Drifted, "it was changed since the plan was made")
	return nil
}

// permOf is a replaced file's mode with the executable bit as the plan has it: wherever
// it may be read it may be run.
func permOf(perm fs.FileMode, executable bool) fs.FileMode {
	perm &^= 0o111
	if executable {
		perm |= perm & 0o444 >> 2
	}
	return perm
}

func (r *run) chmod(i *item, dir *folder, name string, info fs.FileInfo) error {
	sum, err := tree.HashFile(dir.Root, name, info, nil)
	if err != nil && !errors.Is(err, tree.ErrUnstable) {
		return err
	}
	if err != nil || sum != i.After.Digest {
		i.end(Drifted, "it was changed since the plan was made")
		return nil
	}
	if hasBit(info) == i.After.Executable {
		return nil
	}
	step("chmod")
	return dir.Chmod(name, permOf(info.Mode().Perm(), i.After.Executable))
}

// link makes a symbolic link, or replaces one that the plan saw.
func (r *run) link(i *item, dir *folder, name string, info fs.FileInfo) error {
	if info == nil {
		step("link")
		return dir.Symlink(i.After.Target, name)
	}
	target, err := dir.Readlink(name)
	switch {
	case err != nil:
		return err
	case target == i.After.Target:
		return nil
	case i.Before.Kind != dirsync.Link || target != i.Before.Target:
		i.end(Drifted, "there is another link now")
		return nil
	}
	if err := r.project.stage.RemoveAll(i.staged); err != nil {
		return err
	}
	if err := r.project.stage.Symlink(i.After.Target, i.staged); err != nil {
		return err
	}
	step("relink")
	return moveOver(r.project.stage, i.staged, dir, name)
}

// ReasonOf is an error without the paths, which the path of the result tells.
func ReasonOf(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Op + ": " + at.Err.Error()
	}
	return err.Error()
}

func ignoreUnsupported(err error) error {
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil // the file system does not sync folders; nothing more can be asked of it
	}
	return err
}
