package codex

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"agentsync/collect"
)

// The folders of a home that hold rollouts.
const (
	sessionsDir = "sessions"
	archivedDir = "archived_sessions"
)

// Codes of what a listing finds besides sessions.
const (
	codeAbsentRoot = "absent-root"
	codeLink       = "link-skipped"
	codeIrregular  = "not-regular"
	codeHidden     = "hidden-file"
	codeShadowed   = "compressed-copy" // of a rollout whose plain copy is there too
)

// file is one session's file as the scan sees it.
type file struct {
	id       string // native session id, given by the catalog
	parent   string // native id of the file that this one goes on with, "" for none
	home     int
	rel      string // below its home, with slashes; of a compressed file the plain name
	zstd     bool
	broken   bool // named like a compressed file, and none: read as the bytes it has
	archived bool
	stamp    collect.Stamp
}

// path is where the file lies.
func (f file) path(homes []home) string {
	path := filepath.Join(homes[f.home].dir, filepath.FromSlash(f.rel))
	if f.zstd {
		path += zstdSuffix
	}
	return path
}

const zstdSuffix = ".zst"

// Restores reports a path below a home, with slashes, where a session's file may lie:
// below the folders of sessions, and the list of the threads' names.
func Restores(path string) bool {
	folder, file, _ := strings.Cut(path, "/")
	return path == indexFile || file != "" && (folder == sessionsDir || folder == archivedDir)
}

// found is what one look at the source gave.
type found struct {
	files    []file
	problems []collect.Problem
	notes    []collect.Problem
	absent   int // homes without any folder of sessions
}

func (f *found) problem(path string, err error) {
	f.problems = append(f.problems, collect.Problem{Code: collect.CodeUnreadable, Path: path,
		Message: fmt.Sprintf("list %s: %v", path, reason(err))})
}

func (f *found) note(code, path, message string) {
	f.notes = append(f.notes, collect.Problem{Code: code, Path: path, Message: message})
}

// reason is an error without the path, which a problem names itself.
func reason(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// scan lists every home. It opens no file.
func scan(homes []home) found {
	var all found
	for i, h := range homes {
		all.scanHome(h, i)
	}
	if all.absent > 0 && all.absent < len(homes) {
		all.absentHomes(homes)
	}
	return all
}

// absentHomes makes a problem of each home that is missing beside others that are not:
// what it held cannot be told from what was deleted.
func (f *found) absentHomes(homes []home) {
	for _, h := range homes {
		if state, _ := h.look(h.dir); state == absent {
			f.problems = append(f.problems, collect.Problem{Code: codeAbsentRoot, Path: h.dir,
				Message: "this root is missing, others are there"})
		}
	}
}

// scanHome lists the two folders of a home. A thread that is archived or brought back
// meanwhile moves between them: the archive is listed first, and once more if it changed
// since, so that the thread is seen at least once.
func (f *found) scanHome(h home, index int) {
	state, err := h.look(h.dir)
	if state != present {
		f.missing(state, h.dir, err)
		return
	}
	archive := filepath.Join(h.dir, archivedDir)
	w := walk{found: f, home: h, index: index, archived: true}
	before := modTime(archive)
	archiveState := w.top(archivedDir)
	w.archived = false
	sessionsState := w.top(sessionsDir)
	if modTime(archive) != before {
		w.archived = true
		archiveState = w.top(archivedDir)
	}
	w.threadNames()
	if archiveState == absent && sessionsState == absent {
		f.absent++
	} else if sessionsState == absent {
		path := filepath.Join(h.dir, sessionsDir)
		f.problems = append(f.problems, collect.Problem{Code: codeAbsentRoot, Path: path,
			Message: "this folder is missing, that of the archive is there"})
	}
}

// threadNames adds the file of a home that names its threads: it is kept like a session.
func (w *walk) threadNames() {
	path := filepath.Join(w.home.dir, indexFile)
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		w.problem(path, err)
	case info.Mode().IsRegular():
		w.add(indexFile, path, info)
	}
}

// missing records a home or a folder of sessions that cannot be listed. One behind a
// link that is not followed is a problem and no note: its sessions are not gone.
func (f *found) missing(state presence, path string, err error) {
	switch state {
	case absent:
		f.absent++
	case linked:
		f.problems = append(f.problems, collect.Problem{Code: codeLink, Path: path,
			Message: "a link, which is not followed (set symlinks: follow)"})
	case unreadable:
		f.problem(path, err)
	}
}

// modTime is when a folder changed last, 0 for a missing one.
func modTime(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.ModTime().UnixNano()
}

// walk lists one folder of a home with everything below it.
type walk struct {
	*found
	home     home
	index    int
	archived bool
	above    []os.FileInfo // folders from the top to here, against circles of links
}

// top lists one of the home's two folders, if it is there.
func (w *walk) top(name string) presence {
	path := filepath.Join(w.home.dir, name)
	state, err := w.home.look(path)
	if state == present {
		w.folder(name)
	} else if state != absent {
		w.missing(state, path, err)
	}
	return state
}

// folder lists a folder, named below the home. One that cannot be listed is a problem,
// and the rest is listed all the same.
func (w *walk) folder(rel string) {
	path := filepath.Join(w.home.dir, filepath.FromSlash(rel))
	if w.home.follow && !w.enter(path) {
		return
	}
	entries, err := os.ReadDir(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.problem(path, err)
	}
	for _, e := range entries {
		w.entry(rel+"/"+e.Name(), filepath.Join(path, e.Name()), e)
	}
	if w.home.follow {
		w.above = w.above[:len(w.above)-1]
	}
}

// enter goes down into a folder; it refuses one that leads back to a folder above it.
func (w *walk) enter(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		w.problem(path, err)
		return false
	}
	for _, one := range w.above {
		if os.SameFile(one, info) {
			w.note(codeLink, path, "a link that leads back to a folder above it")
			return false
		}
	}
	w.above = append(w.above, info)
	return true
}

// entry looks at one name. What vanished since the folder was listed was moved or
// deleted, and is no problem.
func (w *walk) entry(rel, path string, e fs.DirEntry) {
	if e.IsDir() {
		w.folder(rel)
		return
	}
	info, err := e.Info()
	if err == nil && info.Mode()&os.ModeSymlink != 0 {
		if !w.home.follow {
			w.note(codeLink, path, "a link, which is not followed")
			return
		}
		if info, err = os.Stat(path); err != nil { // its target may be a missing mount
			w.problem(path, err)
			return
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		w.problem(path, err)
	case info.IsDir():
		w.folder(rel)
	case !info.Mode().IsRegular():
		w.note(codeIrregular, path, "not a regular file")
	case strings.HasPrefix(e.Name(), "."):
		w.note(codeHidden, path, "a hidden file")
	default:
		w.add(rel, path, info)
	}
}

func (w *walk) add(rel, path string, info os.FileInfo) {
	stamp, err := stampOf(path, info)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			w.problem(path, err)
		}
		return
	}
	plain, compressed := strings.CutSuffix(rel, zstdSuffix)
	compressed = compressed && strings.HasSuffix(plain, rolloutSuffix)
	if !compressed {
		plain = rel
	}
	w.files = append(w.files, file{home: w.index, rel: plain, zstd: compressed, archived: w.archived, stamp: stamp})
}
