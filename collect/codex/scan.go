package codex

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
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
	codeIrregular = "not-regular"
	codeHidden    = "hidden-file"
	codeShadowed  = "compressed-copy" // of a rollout whose plain copy is there too
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
	absent   int    // homes without any folder of sessions
	bare     []home // of them, those that are there
}

func (f *found) problem(path string, err error) {
	f.problems = append(f.problems, collect.Problem{Code: collect.CodeUnreadable, Path: path,
		Message: fmt.Sprintf("list %s: %v", path, reason(err))})
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
	if all.absent < len(homes) {
		for _, h := range all.bare {
			all.folderMissing(h.dir, "this folder holds no sessions folder, those of other roots do")
		}
	}
	return all
}

func (f *found) folderMissing(path, message string) {
	f.problems = append(f.problems, collect.Problem{Code: collect.CodeFolderMissing, Path: path, Message: message})
}

// scanHome lists the two folders of a home. A thread that is archived or brought back
// meanwhile moves between them: the archive is listed first, and once more if it changed
// since, so that the thread is seen at least once.
func (f *found) scanHome(h home, index int) {
	switch state, err := look(h.dir); state {
	case absent:
		f.absent++
		if h.named {
			f.folderMissing(h.dir, "a folder of this source is not there")
		}
		return
	case unreadable:
		f.problem(h.dir, err)
		return
	}
	archive := filepath.Join(h.dir, archivedDir)
	w := walk{found: f, home: h, index: index, archived: true, taken: identity(h.dir)}
	before := modTime(archive)
	archiveState := w.top(archivedDir)
	w.archived = false
	sessionsState := w.top(sessionsDir)
	if modTime(archive) != before {
		w.archived, w.taken = true, identity(h.dir)
		archiveState = w.top(archivedDir)
	}
	w.threadNames()
	if archiveState == absent && sessionsState == absent {
		f.absent++
		f.bare = append(f.bare, h)
	} else if sessionsState == absent {
		f.folderMissing(filepath.Join(h.dir, sessionsDir), "this folder is missing, that of the archive is there")
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
	case info.Mode()&os.ModeSymlink != 0:
		w.note(collect.CodeLink, indexFile, "a link is not followed")
	case info.Mode().IsRegular():
		w.add(indexFile, path, info)
	}
}

// identity is a folder that a link below it must not lead back to.
func identity(dir string) []os.FileInfo {
	info, err := os.Stat(dir)
	if err != nil {
		return nil
	}
	return []os.FileInfo{info}
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
	taken    []os.FileInfo // with links followed: the folders that were listed, each of which is listed once
	links    []string      // links, below the home, that are looked at when all else was listed
}

// note tells of something left out, named below the home. What was published from there
// is not seen, and not gone either.
func (w *walk) note(code, rel, message string) {
	w.notes = append(w.notes, collect.Problem{Code: code, Path: filepath.Join(w.home.dir, filepath.FromSlash(rel)), Message: message,
		Place: collect.Placement{Root: w.home.placement(), Path: strings.TrimSuffix(rel, zstdSuffix)}})
}

// top lists one of the home's two folders, if it is there.
func (w *walk) top(name string) presence {
	path := filepath.Join(w.home.dir, name)
	state, err := look(path)
	switch state {
	case present:
		w.folder(name)
		for len(w.links) > 0 {
			next := w.links[0]
			w.links = w.links[1:]
			w.link(next)
		}
	case unreadable:
		w.problem(path, err)
	}
	return state
}

// folder lists a folder, named below the home. One that cannot be listed is a problem,
// and the rest is listed all the same.
func (w *walk) folder(rel string) {
	path := filepath.Join(w.home.dir, filepath.FromSlash(rel))
	if w.home.follow && !w.enter(rel, path) {
		return
	}
	entries, err := os.ReadDir(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.problem(path, err)
	}
	for _, e := range entries {
		w.entry(rel+"/"+e.Name(), filepath.Join(path, e.Name()), e)
	}
}

// enter goes down into a folder; it refuses one that was listed already, by whatever name.
func (w *walk) enter(rel, path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		w.problem(path, err)
		return false
	}
	if slices.ContainsFunc(w.taken, func(one os.FileInfo) bool { return os.SameFile(one, info) }) {
		w.note(collect.CodeLink, rel, "a link to a folder that is read already")
		return false
	}
	w.taken = append(w.taken, info)
	return true
}

// link follows a link below one of the home's two folders. One to nothing is noted; its
// target may be a missing mount.
func (w *walk) link(rel string) {
	path := filepath.Join(w.home.dir, filepath.FromSlash(rel))
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		w.note(collect.CodeLinkToNothing, rel, "a link to nothing")
	case err != nil:
		w.problem(path, err)
	case info.IsDir():
		w.folder(rel)
	case slices.ContainsFunc(w.files, func(f file) bool { return f.home == w.index && sameFile(f.stamp, path, info) }):
		w.note(collect.CodeLink, rel, "a link to a file that is read already")
	default:
		w.regular(rel, path, info)
	}
}

// entry looks at one name. What vanished since the folder was listed was moved or
// deleted, and is no problem.
func (w *walk) entry(rel, path string, e fs.DirEntry) {
	if e.IsDir() {
		w.folder(rel)
		return
	}
	info, err := e.Info()
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		w.problem(path, err)
	case info.Mode()&os.ModeSymlink != 0 && w.home.follow:
		w.links = append(w.links, rel)
	case info.Mode()&os.ModeSymlink != 0:
		w.note(collect.CodeLink, rel, "a link is not followed")
	default:
		w.regular(rel, path, info)
	}
}

func (w *walk) regular(rel, path string, info os.FileInfo) {
	switch {
	case !info.Mode().IsRegular():
		w.note(codeIrregular, rel, "not a regular file")
	case strings.HasPrefix(filepath.Base(path), "."):
		w.note(codeHidden, rel, "a hidden file")
	default:
		w.add(rel, path, info)
	}
}

// sameFile reports that a listed file is the one at path.
func sameFile(listed collect.Stamp, path string, info os.FileInfo) bool {
	stamp, err := stampOf(path, info)
	return err == nil && stamp.Inode != 0 && stamp.Inode == listed.Inode && stamp.Device == listed.Device
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
