package claude

import (
	"cmp"
	"fmt"
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
	lone       bool // a copy behind a folder's name, and none that bears the UUID alone is there
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

// newCatalog gives every session its id: a session's UUID, which one copy bears alone and
// the others behind their folder's name, then the path below it for what belongs to a
// session, and names below the folder's for the rest. A transcript that was published
// keeps its id; of new copies the newest has the UUID, unless another one bears it.
func newCatalog(roots []root, result scanResult, seen []presence, published collect.Ids) *catalog {
	c := &catalog{problems: result.problems, notes: result.notes, aside: result.aside, seen: seen}
	total := 0
	for _, folder := range result.folders {
		total += len(folder)
	}
	c.sessions = make([]session, 0, total)
	families := nameFamilies(roots, result.folders, total, naming{published, len(result.aside) > 0 || collect.Obscured(result.problems, result.notes)})
	for _, folder := range result.folders {
		name := folderID(roots, folder[0])
		for _, f := range folder {
			s := session{found: f}
			s.id, s.parent = identify(f, name, families)
			if s.lone = f.kind == mainSession && s.id != f.family && !families.borne(f.family); s.lone {
				s.stamp.Side ^= loneSide
			}
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

// loneSide marks the stamp of a copy that is alone: what is told of it depends on that.
const loneSide = 0x9e3779b97f4a7c15

// borne reports that a copy of the UUID bears it alone.
func (n familyNames) borne(family string) bool {
	for _, name := range n[family] {
		if name.id == family {
			return true
		}
	}
	return len(n[family]) == 0
}

func (n familyNames) of(f found) copyName {
	if copies, ok := n[f.family]; ok {
		return copies[copyOf{f.root, f.key}]
	}
	return copyName{f.family, f.family}
}

// naming is what decides on ids beside the files themselves.
type naming struct {
	published collect.Ids
	troubled  bool // part of the source could not be listed
}

// withheld reports a UUID that no new file may bear: the one that does may be where nothing
// could be listed.
func (n naming) withheld(family string) bool { return n.troubled && n.published.Given(family) }

// transcriptAt is where a session's own transcript lies.
func transcriptAt(roots []root, f *found) (dir, path string) {
	return roots[f.root].placement(), "projects/" + f.key + "/" + f.path
}

// nameFamilies decides which copy of a repeated UUID bears it alone. A UUID with one copy
// counts as repeated when that copy was published under another id.
func nameFamilies(roots []root, folders [][]found, total int, by naming) familyNames {
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
		if f.kind == mainSession && !by.published.None() && repeated[f.family] == nil {
			if id := by.published.Of(transcriptAt(roots, f)); id != "" && id != f.family || id == "" && by.withheld(f.family) {
				repeated[f.family] = map[copyOf]*found{}
			}
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
		names[family] = nameCopies(roots, family, copies, by)
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

// nameCopies leaves each copy the id that it was published under. Where no copy bears the
// bare UUID then, the one with a transcript that is newest does, the first in order among
// equals.
func nameCopies(roots []root, family string, copies map[copyOf]*found, by naming) map[copyOf]copyName {
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
	taken := map[string]bool{}
	for _, f := range order {
		if f.kind != mainSession {
			continue
		}
		if id := by.published.Of(transcriptAt(roots, f)); id != "" && !taken[id] && strings.HasSuffix("/"+id, "/"+family) {
			names[copyOf{f.root, f.key}], taken[id] = copyName{id, id}, true
		}
	}
	taken[family] = taken[family] || by.withheld(family)
	for _, f := range order {
		here := copyOf{f.root, f.key}
		if _, known := names[here]; known {
			continue
		}
		name := copyName{family, family}
		if taken[family] {
			name.id = folderID(roots, *f) + "/" + family
			for n := 2; taken[name.id]; n++ { // a file that was published from there lies elsewhere by now
				name.id = fmt.Sprintf("%s@%d/%s", folderID(roots, *f), n, family)
			}
			if f.kind == mainSession {
				name.parent = name.id
			}
		}
		names[here], taken[name.id] = name, true
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
