package claude

import (
	"cmp"
	"slices"
	"strings"
)

// session is a found session with its native id.
type session struct {
	found
	id, parent string
}

// catalog is one complete look at the source, in a stable order: roots as configured,
// project folders by name, transcripts before what belongs to them.
type catalog struct {
	scanResult
	seen     []presence
	sessions []session
	byID     map[string]int
}

// newCatalog gives every session its id. Ids are unique: a session's UUID, which the
// newest copy bears alone and the others behind their folder's name, then the path
// below it for what belongs to a session, and names below the folder's for the rest.
func newCatalog(roots []root, result scanResult, seen []presence) *catalog {
	c := &catalog{scanResult: result, seen: seen}
	c.sessions = make([]session, len(result.sessions))
	c.byID = make(map[string]int, len(result.sessions))
	families := nameFamilies(roots, result.sessions)
	for i, f := range result.sessions {
		s := session{found: f}
		s.id, s.parent = identify(f, folderID(roots, f), families)
		for _, taken := c.byID[s.id]; taken; _, taken = c.byID[s.id] {
			s.id += ".jsonl" // a transcript called like a set of side files
		}
		c.sessions[i] = s
		c.byID[s.id] = i
	}
	c.scanResult.sessions = nil
	return c
}

func (c *catalog) find(id string) (session, bool) {
	i, ok := c.byID[id]
	if !ok {
		return session{}, false
	}
	return c.sessions[i], true
}

// folderID names a project folder; those of further roots start with the root's name.
func folderID(roots []root, f found) string {
	if name := roots[f.root].name; name != "" {
		return name + "/" + f.key
	}
	return f.key
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
func nameFamilies(roots []root, all []found) familyNames {
	first := make(map[string]copyOf, len(all))
	repeated := map[string]map[copyOf]*found{}
	note := func(f *found) {
		copies := repeated[f.family]
		here := copyOf{f.root, f.key}
		if best := copies[here]; best == nil || f.kind == mainSession {
			copies[here] = f
		}
	}
	for i := range all {
		f := &all[i]
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
	for i := range all {
		if repeated[all[i].family] != nil {
			note(&all[i])
		}
	}
	names := familyNames{}
	for family, copies := range repeated {
		names[family] = nameCopies(roots, family, copies)
	}
	return names
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
