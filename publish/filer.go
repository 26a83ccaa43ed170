package publish

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"agentsync/collect"
	"agentsync/publish/document"
)

// filer writes the files of one session below a root, one at a time, each under a name
// of its own beside its place; they get their names together. Of a dry run it only
// compares.
type filer struct {
	*restorer
	root    *os.Root // nil in a dry run for a folder that is not there
	place   Place
	allows  func(path string) bool
	row     *document.Row
	when    time.Time
	zstd    bool            // the agent may keep the file compressed, under the same name and one more suffix
	folders map[string]bool // that were looked at, and are no links
	made    []string        // folders that were not there before
	items   []*item
	now     *item    // that is written, the last of items; nil before the first
	file    *os.File // nil in a dry run
	trial   *trial   // of a dry run
	out     *bufio.Writer
	size    int64 // bytes of all files
}

// item is one file on its way.
type item struct {
	RestoredFile
	at   string // as the session names it
	name string // below the base, with slashes
	mode uint32
	temp string // where its bytes are, "" when it is not to be written
}

const (
	tempsMost = 10_000         // names that are tried for one unfinished file
	tempAge   = 24 * time.Hour // a restore that left an unfinished file so long ago is dead
)

// open makes the file at a path the one that is written; the one before is finished.
// What stops it alone is noted in it; an error stops the session.
func (f *filer) open(at string, mode uint32) error {
	if f.now != nil && f.now.at == at {
		return nil
	}
	f.end()
	if !below(at) || !f.allows(at) {
		return &DamagedError{f.row.Key, fmt.Errorf("no session of its agent can have lain at %.200q", at)}
	}
	f.now = &item{at: at, name: path.Join(f.place.Below, at), mode: mode}
	f.now.RestoredFile = RestoredFile{Key: f.row.Key, Path: filepath.Join(f.place.Base, filepath.FromSlash(f.now.name))}
	f.items = append(f.items, f.now)
	var err error
	switch owner := f.taken.claim(f.now.Path, f.row.Key); owner {
	case "":
		err = f.begin()
	case f.row.Key:
		return &DamagedError{f.row.Key, fmt.Errorf("it has the file %.200q twice", at)}
	default:
		err = fmt.Errorf("session %s has the same file", owner)
	}
	if err != nil {
		f.fail(err)
	}
	return nil
}

// below reports a path that leads down from a folder, and is written in one way only.
func below(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return filepath.IsLocal(filepath.FromSlash(name)) && !strings.Contains(name, "\x00")
}

// begin opens what the bytes go to.
func (f *filer) begin() error {
	if f.DryRun {
		if err := f.walk(f.now.name); err != nil {
			return err
		}
		f.trial = f.newTrial()
		f.writeTo(f.trial)
		return nil
	}
	for range tempsMost {
		if err := f.walk(f.now.name); err != nil {
			return err
		}
		temp := path.Join(path.Dir(f.now.name), collect.Unfinished+strconv.Itoa(f.taken.next()))
		file, err := f.root.OpenFile(temp, os.O_CREATE|os.O_EXCL|os.O_RDWR, fs.FileMode(f.now.mode)|0o200)
		switch {
		case errors.Is(err, fs.ErrNotExist): // a session that failed took its folders back
			clear(f.folders)
		case err == nil:
			f.file, f.now.temp = file, temp
			f.writeTo(file)
			f.sweep(path.Dir(temp))
			return nil
		case !errors.Is(err, fs.ErrExist):
			return err
		}
	}
	return fmt.Errorf("no name is free for an unfinished file")
}

// sweep removes what restores that were killed have left in a folder. The file system's
// own clock, which has stamped the open file, tells how old it is.
func (f *filer) sweep(folder string) {
	if !f.taken.sweeps(filepath.Join(f.place.Base, folder)) {
		return
	}
	now, err := f.file.Stat()
	dir, errOpen := f.root.Open(folder)
	if err != nil || errOpen != nil {
		return // the next restore will do it
	}
	defer dir.Close()
	entries, _ := dir.ReadDir(-1)
	for _, e := range entries {
		if !collect.IsUnfinished(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil && now.ModTime().Sub(info.ModTime()) > tempAge {
			_ = f.root.Remove(path.Join(folder, e.Name()))
		}
	}
}

func (f *filer) writeTo(w io.Writer) {
	if f.out == nil {
		f.out = bufio.NewWriterSize(w, 256<<10)
		return
	}
	f.out.Reset(w)
}

// write adds bytes to the open file.
func (f *filer) write(p []byte) {
	f.size += int64(len(p))
	f.now.Bytes += int64(len(p))
	if _, err := f.out.Write(p); err != nil {
		f.fail(err)
	}
}

// fail ends the open file; what else it would get is dropped.
func (f *filer) fail(err error) {
	f.now.Status, f.now.Err = FileFailed, fmt.Errorf("restore %s: %w", f.now.at, err)
	f.abandon()
	f.writeTo(io.Discard)
}

// walk looks at the folders on the way to name, and makes those that are not there. It
// refuses one that is a link, even one that stays below the root: what is restored lies
// where it says.
// RACE: a folder can be replaced by a link after this look; the root then still keeps
// every write below itself.
func (f *filer) walk(name string) error {
	for i := range len(name) {
		if name[i] != '/' || f.root == nil || f.folders[name[:i]] {
			continue
		}
		folder := name[:i]
		info, err := f.root.Lstat(folder)
		if errors.Is(err, fs.ErrNotExist) {
			if f.DryRun {
				return nil
			}
			if err := f.root.Mkdir(folder, 0o700); err == nil {
				f.made = append(f.made, folder)
			} else if !errors.Is(err, fs.ErrExist) {
				return err
			}
			info, err = f.root.Lstat(folder)
		}
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return fmt.Errorf("%s is a link or a file, and no folder", filepath.Join(f.place.Base, filepath.FromSlash(folder)))
		}
		f.folders[folder] = true
	}
	return nil
}

// end finishes the open file, if there is one: its bytes are whole, and stay only where
// they are to be moved to its name.
func (f *filer) end() {
	if f.now == nil || f.now.Status != "" {
		return
	}
	err := f.out.Flush()
	if err == nil {
		err = f.settle()
	}
	if err != nil {
		f.fail(err)
	}
}

// settle decides what becomes of the open file.
func (f *filer) settle() (err error) {
	if f.DryRun {
		defer f.trial.close()
		f.now.Status, err = f.trial.status(f.Force)
		return err
	}
	same, exists, err := f.compare(f.file, f.now.Bytes)
	switch {
	case err != nil:
		return err
	case same:
		f.now.Status = FileSame
	case exists && !f.Force:
		f.now.Status = FileDiffers
	case exists:
		f.now.Status = FileReplaced
	default:
		f.now.Status = FileWritten
	}
	if same || exists && !f.Force {
		f.abandon()
		return nil
	}
	err = f.file.Close()
	f.file = nil
	return err
}

// finish gives the files of a session of so many bytes their names, and notes what became
// of each.
func (f *filer) finish(size int64) error {
	f.end()
	if f.size != size {
		return &DamagedError{f.row.Key, fmt.Errorf("it has %d bytes, its manifest says %d", f.size, size)}
	}
	for _, one := range f.items {
		if one.temp != "" {
			if err := f.move(one); err != nil {
				one.Status, one.Err = FileFailed, fmt.Errorf("restore %s: %w", one.at, err)
			}
		}
		f.files = append(f.files, one.RestoredFile)
	}
	return nil
}

// move gives a finished file its mode, its name and then its time: one that is unfinished
// never looks old.
func (f *filer) move(one *item) error {
	if one.mode&0o200 == 0 {
		if err := f.root.Chmod(one.temp, fs.FileMode(one.mode)); err != nil {
			return err
		}
	}
	if err := f.name(one); err != nil || one.Status == FileSame || one.Status == FileDiffers || f.when.IsZero() {
		return err
	}
	return f.root.Chtimes(one.name, f.when, f.when)
}

// name gives a finished file its name.
// RACE: a file that appears between the comparison and the rename is replaced. The link
// refuses it where nothing was there before.
func (f *filer) name(one *item) error {
	if one.Status == FileWritten {
		err := f.root.Link(one.temp, one.name)
		if errors.Is(err, fs.ErrExist) {
			return f.overtaken(one)
		}
		if err == nil {
			return f.discard(one)
		}
	}
	if err := f.root.Rename(one.temp, one.name); err != nil {
		return err
	}
	one.temp = ""
	return nil
}

// overtaken settles a file whose name somebody else has taken meanwhile.
func (f *filer) overtaken(one *item) error {
	file, err := f.root.Open(one.temp)
	if err != nil {
		return err
	}
	defer file.Close()
	f.now = one
	same, _, err := f.compare(file, one.Bytes)
	if err != nil {
		return err
	}
	one.Status = FileDiffers
	if same {
		one.Status = FileSame
	}
	return f.discard(one)
}

// discard removes what a file was written to.
func (f *filer) discard(one *item) error {
	temp := one.temp
	one.temp = ""
	return f.root.Remove(temp)
}

// abandon gives up the open file.
func (f *filer) abandon() {
	if f.trial != nil {
		f.trial.close()
	}
	if f.file != nil {
		f.file.Close()
		f.file = nil
	}
	if f.now != nil && f.now.temp != "" {
		_ = f.discard(f.now)
	}
}

// drop removes what did not come to its place, and the folders made for it.
func (f *filer) drop() {
	if f.root == nil {
		return
	}
	f.abandon()
	for _, one := range f.items {
		if one.temp != "" {
			_ = f.discard(one)
		}
	}
	for _, folder := range slices.Backward(f.made) {
		_ = f.root.Remove(folder) // unless something lies in it
	}
}
