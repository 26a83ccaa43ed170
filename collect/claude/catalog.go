package claude

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"sync"

	"agentsync/collect"
)

// session is a found session with its native id.
type session struct {
	found
	id, parent string
}

// catalog is one complete look at the source, in a stable order: roots as configured,
// project folders by name, transcripts before what belongs to them.
type catalog struct {
	problems, notes []collect.Problem
	aside           []collect.Problem
	seen            []presence
	sessions        []session
	indexed         sync.Once
	byID            map[string]int
}

// newCatalog gives every session its id: a session's UUID, which the newest copy bears
// alone and the others behind their folder's name, then the path below it for what
// belongs to a session, and names below the folder's for the rest.
func newCatalog(roots []root, result scanResult, seen []presence) *catalog {
	c := &catalog{problems: result.problems, notes: result.notes, aside: result.aside, seen: seen}
	total := 0
	for _, folder := range result.folders {
		total += len(folder)
	}
	c.sessions = make([]session, 0, total)
	families := nameFamilies(roots, result.folders, total)
	for _, folder := range result.folders {
		name := folderID(roots, folder[0])
		for _, f := range folder {
			s := session{found: f}
			s.id, s.parent = identify(f, name, families)
			c.sessions = append(c.sessions, s)
		}
	}
	return c
}

func (c *catalog) find(id string) (session, bool) {
	c.indexed.Do(func() {
		c.byID = make(map[string]int, len(c.sessions))
		for i, s := range c.sessions {
			c.byID[s.id] = i
		}
	})
	i, ok := c.byID[id]
	if !ok {
		return session{}, false
	}
	return c.sessions[i], true
}

// folderID names a project folder; those of further roots start with the root's name,
// and one that is called like a session must not be taken for it.
func folderID(roots []root, f found) string {
	name := f.key
	if isUUID(name) {
		name = "projects/" + name
	}
	if root := roots[f.root].name; root != "" {
		return root + "/" + name
	}
	return name
}

// copyOf is one project folder's part of the sessions with one UUID.
type copyOf struct {
	root int
	key  string
}

// copyName is how one copy of a UUID is named, and which session what lies in its
// folder belongs to: the copy itself, or the one that bears the UUID where the copy
// has no transcript.
type copyName struct{ id, parent string }

// familyNames are the names of sessions whose UUID occurs in more than one project
// folder. All others are named by their UUID.
type familyNames map[string]map[copyOf]copyName

func (n familyNames) of(f found) copyName {
	if copies, ok := n[f.family]; ok {
		return copies[copyOf{f.root, f.key}]
	}
	return copyName{f.family, f.family}
}

// nameFamilies decides which copy of a repeated UUID bears it alone.
func nameFamilies(roots []root, folders [][]found, total int) familyNames {
	first := make(map[string]copyOf, total)
	repeated := map[string]map[copyOf]*found{}
	note := func(f *found) {
		copies := repeated[f.family]
		here := copyOf{f.root, f.key}
		if best := copies[here]; best == nil || f.kind == mainSession {
			copies[here] = f
		}
	}
	for f := range each(folders) {
		if f.family == "" {
			continue
		}
		here := copyOf{f.root, f.key}
		if known, ok := first[f.family]; !ok {
			first[f.family] = here
		} else if known != here && repeated[f.family] == nil {
			repeated[f.family] = map[copyOf]*found{}
		}
	}
	if len(repeated) == 0 {
		return nil
	}
	for f := range each(folders) {
		if repeated[f.family] != nil {
			note(f)
		}
	}
	names := familyNames{}
	for family, copies := range repeated {
		names[family] = nameCopies(roots, family, copies)
	}
	return names
}

func each(folders [][]found) iter.Seq[*found] {
	return func(yield func(*found) bool) {
		for _, folder := range folders {
			for i := range folder {
				if !yield(&folder[i]) {
					return
				}
			}
		}
	}
}

// nameCopies gives the bare UUID to the copy with a transcript that is newest, the
// first in order among equals.
func nameCopies(roots []root, family string, copies map[copyOf]*found) map[copyOf]copyName {
	order := make([]*found, 0, len(copies))
	for _, f := range copies {
		order = append(order, f)
	}
	slices.SortFunc(order, func(a, b *found) int {
		return cmp.Or(
			cmp.Compare(min(a.kind, subagent), min(b.kind, subagent)),
			cmp.Compare(b.stamp.ModTime, a.stamp.ModTime),
			cmp.Compare(a.root, b.root),
			cmp.Compare(a.key, b.key))
	})
	names := make(map[copyOf]copyName, len(order))
	for i, f := range order {
		name := copyName{family, family}
		if i > 0 {
			name.id = folderID(roots, *f) + "/" + family
		}
		if i > 0 && f.kind == mainSession {
			name.parent = name.id
		}
		names[copyOf{f.root, f.key}] = name
	}
	return names
}

// identify returns a session's native id and that of the session it belongs to. The
// parent of a transcript that lies beside the others is known only from its first line.
func identify(f found, folder string, families familyNames) (id, parent string) {
	switch {
	case f.kind == mainSession:
		return families.of(f).id, ""
	case f.kind == flatSession:
		if f.path == "files.jsonl" { // files is the name of the side files
			return folder + "/" + f.path, ""
		}
		return folder + "/" + strings.TrimSuffix(f.path, ".jsonl"), ""
	case f.family == "":
		return folder + "/files", ""
	}
	name := families.of(f)
	if f.kind == sideFiles {
		return name.id + "/files", name.parent
	}
	return name.id + strings.TrimSuffix(f.path[len(f.family):], ".jsonl"), name.parent
}
