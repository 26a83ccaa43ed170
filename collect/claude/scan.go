package claude

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"agentsync/collect"
)

// scanners is how many project folders are listed at a time. Listing is a chain of
// system calls that wait for no disk once cached: two cores are all it can use here.
const scanners = 2

// kind tells what a session's bytes are.
type kind uint8

const (
	mainSession kind = iota // KEY/UUID.jsonl
	subagent                // KEY/UUID/subagents/…/agent-*.jsonl
	flatSession             // KEY/<other>.jsonl
	sideFiles               // all other files below KEY/UUID, or directly in KEY
)

// found is one session as the scan sees it, before it has an id.
type found struct {
	kind   kind
	root   int
	key    string // name of the project folder
	family string // UUID it belongs to, "" outside of a session's own folder
	path   string // below the project folder, with slashes; of side files their folder
	stamp  collect.Stamp
}

// scanResult is what one project folder or several hold.
type scanResult struct {
	base            string    // the root's folder: what is left out is placed below it
	root            string    // of a placement: base, where there are several roots
	sessions        []found   // of one project folder
	folders         [][]found // of several, a slice each
	problems, notes []collect.Problem
	aside           []collect.Problem // project folders that the configuration leaves aside
}

// scan lists all roots. It opens no file.
func scan(roots []root, wanted func(key string) bool) (scanResult, []presence) {
	var all scanResult
	seen := make([]presence, len(roots))
	for i, r := range roots {
		state, err := r.look()
		seen[i] = state
		switch state {
		case unreadable:
			all.problem(r.dir, err)
		case present:
			all.add(scanRoot(r, i, wanted))
		}
	}
	return all, seen
}

func (s *scanResult) add(o scanResult) {
	if len(o.sessions) > 0 {
		s.folders = append(s.folders, o.sessions)
	}
	s.folders = append(s.folders, o.folders...)
	s.problems = append(s.problems, o.problems...)
	s.notes = append(s.notes, o.notes...)
	s.aside = append(s.aside, o.aside...)
}

// note tells of something left out. What was published from there is not seen, and not
// gone either.
func (s *scanResult) note(code, path, text string) {
	s.notes = append(s.notes, s.placed(code, path, text))
}

func (s *scanResult) placed(code, path, text string) collect.Problem {
	p := collect.Problem{Code: code, Message: text, Path: path}
	if below, err := filepath.Rel(s.base, path); err == nil {
		p.Place = collect.Placement{Root: s.root, Path: filepath.ToSlash(below)}
	}
	return p
}

// fail records what could not be listed; what is gone by now was never there.
func (s *scanResult) fail(path string, err error) {
	if !errors.Is(err, fs.ErrNotExist) {
		s.problem(path, err)
	}
}

func (s *scanResult) problem(path string, err error) {
	s.problems = append(s.problems, collect.Problem{Code: "unreadable", Message: fmt.Sprintf("list %s: %v", path, reason(err)), Path: path})
}

func reason(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	return err
}

// scanRoot lists one root's project folders, some at a time, in a stable order.
func scanRoot(r root, index int, wanted func(key string) bool) scanResult {
	top := scanResult{base: r.dir, root: r.placement()}
	entries, failed, err := list(r.projects())
	if err != nil {
		top.problem(r.projects(), err)
		return top
	}
	top.failAll(failed)
	var folders, links []string
	for _, e := range entries {
		switch {
		case !wanted(e.name):
			top.aside = append(top.aside, top.placed(collect.CodeAside, filepath.Join(r.projects(), e.name), "the cwd of the source leaves this folder aside"))
		case e.isDir():
			folders = append(folders, e.name)
		case e.isLink() && r.follow:
			links = append(links, e.name)
		default:
			top.noteOdd(filepath.Join(r.projects(), e.name), e)
		}
	}
	if len(links) > 0 {
		folders = append(folders, top.follow(r, links)...)
		slices.Sort(folders)
	}
	results := make([]scanResult, len(folders))
	var next sync.Mutex
	var wait sync.WaitGroup
	at := 0
	for range min(scanners, len(folders)) {
		wait.Go(func() {
			for {
				next.Lock()
				i := at
				at++
				next.Unlock()
				if i >= len(folders) {
					return
				}
				results[i] = scanProject(r, index, folders[i])
			}
		})
	}
	wait.Wait()
	for _, result := range results {
		top.add(result)
	}
	return top
}

// follow returns those of the links that lead to a folder, each folder once: one that
// lies within the projects, that they lie within, or that another link leads to is taken
// already. A link to nothing is noted; its target may be a missing mount.
func (s *scanResult) follow(r root, links []string) (folders []string) {
	projects, err := filepath.EvalSymlinks(r.projects())
	if err != nil {
		s.problem(r.projects(), err)
		return nil
	}
	taken := []string{projects}
	for _, name := range links {
		path := filepath.Join(r.projects(), name)
		target, err := filepath.EvalSymlinks(path)
		info, statErr := os.Stat(path)
		overlaps := func(one string) bool {
			other, err := os.Stat(one)
			return within(target, one) || within(one, target) || err == nil && statErr == nil && os.SameFile(other, info)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			s.note(collect.CodeLinkToNothing, path, "a link to nothing")
		case err != nil || statErr != nil:
			s.problem(path, errors.Join(err, statErr))
		case !info.IsDir():
			s.note(collect.CodeLink, path, "a link to a file is not followed")
		case slices.ContainsFunc(taken, overlaps):
			s.note(collect.CodeLink, path, "a link to a folder that is read already")
		default:
			taken, folders = append(taken, target), append(folders, name)
		}
	}
	return folders
}

// within reports that a path is a folder or lies below it; both are clean.
func within(path, folder string) bool {
	below, err := filepath.Rel(folder, path)
	return err == nil && below != ".." && !strings.HasPrefix(below, ".."+string(filepath.Separator))
}

func (s *scanResult) failAll(errs []error) {
	for _, err := range errs {
		path := ""
		if p, ok := errors.AsType[*fs.PathError](err); ok {
			path = p.Path
		}
		s.fail(path, err)
	}
}

// noteOdd notes what is left out because of its type.
func (s *scanResult) noteOdd(path string, e entry) {
	switch {
	case e.isLink():
		s.note(collect.CodeLink, path, "a link is not followed")
	case e.isRegular():
		s.note("stray-file", path, "a file outside of the project folders belongs to no session")
	default:
		s.note("not-regular", path, "not a regular file ("+typeName(e.mode)+")")
	}
}

func typeName(mode os.FileMode) string {
	switch {
	case mode&os.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&os.ModeSocket != 0:
		return "a socket"
	default:
		return "a device"
	}
}

// scanProject lists one project folder: its transcripts first, then what belongs to them.
func scanProject(r root, index int, key string) scanResult {
	out := scanResult{base: r.dir, root: r.placement()}
	dir := filepath.Join(r.projects(), key)
	entries, failed, err := list(dir)
	if err != nil {
		out.fail(dir, err)
		return out
	}
	out.failAll(failed)
	loose := sideStamp{}
	mains := make([]found, 0, len(entries))
	for _, e := range entries {
		if stem, ok := strings.CutSuffix(e.name, ".jsonl"); ok && e.isRegular() {
			f := found{kind: flatSession, root: index, key: key, path: e.name, stamp: e.stamp}
			if isUUID(stem) {
				f.kind, f.family = mainSession, stem
			}
			mains = append(mains, f)
		}
	}
	for _, e := range entries {
		switch {
		case e.isDir() && isUUID(e.name):
			out.scanFamily(dir, index, key, e.name, mains)
		case e.isDir():
			out.collectSide(dir, e.name, &loose)
		case !e.isRegular():
			out.noteOdd(filepath.Join(dir, e.name), e)
		case !strings.HasSuffix(e.name, ".jsonl"):
			loose.add(e.name, e)
		}
	}
	if len(mains) > 0 {
		out.sessions = append(mains, out.sessions...)
	}
	if loose.files > 0 {
		out.sessions = append(out.sessions, found{kind: sideFiles, root: index, key: key, stamp: loose.stamp()})
	}
	return out
}

// scanFamily lists a session's own folder.
func (s *scanResult) scanFamily(dir string, index int, key, family string, mains []found) {
	side := sideStamp{}
	before := len(s.sessions)
	s.walk(dir, family, func(path string, e entry, siblings []entry) {
		if !isSubagent(path, family) {
			side.add(path, e)
			return
		}
		f := found{kind: subagent, root: index, key: key, family: family, path: path, stamp: e.stamp}
		if meta, ok := find(siblings, metaName(e.name)); ok {
			f.stamp.Side = digestOf(meta)
		}
		s.sessions = append(s.sessions, f)
	}, func(folder string, siblings []entry) {
		if folder == family {
			stampSidecars(mains, family, siblings)
		}
	})
	if side.files > 0 {
		f := found{kind: sideFiles, root: index, key: key, family: family, path: family, stamp: side.stamp()}
		s.sessions = slices.Insert(s.sessions, before, f)
	}
}

// collectSide stamps every file below a folder that is no session's own.
func (s *scanResult) collectSide(dir, folder string, side *sideStamp) {
	s.walk(dir, folder, func(path string, e entry, _ []entry) { side.add(path, e) }, nil)
}

// walk visits the regular files below dir/folder by name, folders in between as they
// come. Paths are relative to dir, with slashes.
func (s *scanResult) walk(dir, folder string, file func(path string, e entry, siblings []entry), entered func(folder string, entries []entry)) {
	full := filepath.Join(dir, filepath.FromSlash(folder))
	entries, failed, err := list(full)
	if err != nil {
		s.fail(full, err)
		return
	}
	s.failAll(failed)
	if entered != nil {
		entered(folder, entries)
	}
	for _, e := range entries {
		path := folder + "/" + e.name
		switch {
		case e.isDir():
			s.walk(dir, path, file, entered)
		case e.isRegular():
			file(path, e, entries)
		default:
			s.noteOdd(filepath.Join(full, e.name), e)
		}
	}
}

// isSubagent reports a transcript below a session's subagents folder.
func isSubagent(path, family string) bool {
	inside, ok := strings.CutPrefix(path[len(family)+1:], "subagents/")
	if !ok || !strings.HasSuffix(inside, ".jsonl") {
		return false
	}
	return strings.HasPrefix(inside[strings.LastIndexByte(inside, '/')+1:], "agent-")
}

func metaName(transcript string) string {
	return strings.TrimSuffix(transcript, ".jsonl") + ".meta.json"
}

// isUUID reports 8-4-4-4-12 hexadecimal digits of either case.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		c := s[i]
		switch {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
		default:
			return false
		}
	}
	return true
}
