package collect

import "slices"

// Ids finds the ids that a source's files were published under, by where they lie. The
// zero value knows none.
type Ids struct {
	exact map[Placement]string // without their container
	moved map[string]string    // by path alone, of roots that are read no more
	given map[string]bool      // ids that a file was published under
}

// NewIds keeps those of the published sessions that concern says may matter. A file below
// a root that is not read any more is known by its path alone, since a folder can be
// configured anew under another name.
func NewIds(published []Known, read func(root string) bool, concerns func(nativeSessionID string) bool) Ids {
	ids := Ids{exact: map[Placement]string{}, moved: map[string]string{}, given: map[string]bool{}}
	for _, k := range published {
		if !concerns(k.NativeSessionID) {
			continue
		}
		ids.given[k.NativeSessionID] = true
		switch at := k.Placement; {
		case read(at.Root):
			ids.exact[Placement{Root: at.Root, Path: at.Path}] = k.NativeSessionID
		default:
			ids.moved[at.Path] = k.NativeSessionID
		}
	}
	return ids
}

// None reports that nothing is known.
func (i Ids) None() bool { return len(i.exact)+len(i.moved) == 0 }

// Given reports that a file was published under the id, wherever it lies now. While part of
// a source cannot be listed that file may still be there, and no other one gets its id.
func (i Ids) Given(id string) bool { return i.given[id] }

// Of is the id of the file at a place, "" for one that was never published.
func (i Ids) Of(root, path string) string {
	if id, ok := i.exact[Placement{Root: root, Path: path}]; ok {
		return id
	}
	return i.moved[path]
}

// Obscured reports an inventory behind whose problems and notes more files may lie: what
// could not be listed, and links that were left out.
func Obscured(problems, notes []Problem) bool {
	return len(problems) > 0 || slices.ContainsFunc(notes, func(p Problem) bool {
		return p.Code == CodeLink || p.Code == CodeLinkToNothing
	})
}
