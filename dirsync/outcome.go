package dirsync

// Action is one change of one side. Nothing is ever removed: After is never absent.
type Action struct {
	Path   string `json:"path"`           // in the dataset's spelling
	Disk   string `json:"disk,omitempty"` // in the project's spelling, "" where it is Path
	Side   Side   `json:"side"`           // that is written
	Before Entry  `json:"before"`
	After  Entry  `json:"after"`
}

// OnDisk is the action's path as the project spells it.
func (a *Action) OnDisk() string {
	if a.Disk != "" {
		return a.Disk
	}
	return a.Path
}

// Verb names the change: mkdir, create, replace, chmod or link.
func (a *Action) Verb() string {
	switch {
	case a.After.Kind == Directory:
		return "mkdir"
	case a.After.Kind == Link:
		return "link"
	case a.Before.Kind == Absent:
		return "create"
	case a.Before.SameContent(a.After):
		return "chmod"
	}
	return "replace"
}

// Adoption moves the ancestor at a path without changing a side; an absent entry lets
// the ancestor forget it.
type Adoption struct {
	Path  string `json:"path"`
	Entry Entry  `json:"entry"`
}

// HeldReason says why a difference is left as it is.
type HeldReason string

// Reasons to hold a difference.
const (
	DeletedOnProject HeldReason = "deleted-on-project"
	DeletedOnDataset HeldReason = "deleted-on-dataset"
	BelowDeleted     HeldReason = "below-deleted"  // a choice keeps its directory deleted
	BelowConflict    HeldReason = "below-conflict" // waits for a conflict above it
	CaseRename       HeldReason = "case-rename"
)

// Held is a difference that stays: deletions are never carried over.
type Held struct {
	Path   string     `json:"path"`
	Reason HeldReason `json:"reason"`
}

// ConflictCode says what two sides disagree about.
type ConflictCode string

// Conflicts.
const (
	BothChanged      ConflictCode = "both-changed"
	DeletedVsChanged ConflictCode = "deleted-vs-changed"
	TypeDiffers      ConflictCode = "type-differs" // never settled by a choice
	ParentHeld       ConflictCode = "parent-held"
)

// Conflict is a path for which a person must name a side.
type Conflict struct {
	Path     string       `json:"path"`
	Code     ConflictCode `json:"code"`
	Ancestor Entry        `json:"ancestor"`
	Project  Entry        `json:"project"`
	Dataset  Entry        `json:"dataset"`
}

// Choosable reports that naming a side settles the conflict.
func (c *Conflict) Choosable() bool { return c.Code != TypeDiffers }

// BlockedItem is a path that neither side touches, and the side that cannot.
type BlockedItem struct {
	Path   string `json:"path"`
	Side   Side   `json:"side"`
	Reason Reason `json:"reason"`
}

// Local is a change that stays on its side, because the direction does not carry it.
type Local struct {
	Path  string `json:"path"`
	Side  Side   `json:"side"`
	Entry Entry  `json:"entry"`
}

// Choice names the side that wins a conflict. It holds only while both sides are what
// they were when it was made.
type Choice struct {
	Path    string `json:"path"`
	Side    Side   `json:"side"`
	Project Entry  `json:"project"`
	Dataset Entry  `json:"dataset"`
}

// fits reports a choice that was made for exactly these entries.
func (c *Choice) fits(project, dataset Entry) bool {
	return c.Project.Same(project) && c.Dataset.Same(dataset)
}

// loser is the entry whose change the choice says has been seen.
func (c *Choice) loser() Entry {
	if c.Side == Project {
		return c.Dataset
	}
	return c.Project
}

// Outcome is what follows from two trees and their ancestor, each list by path.
type Outcome struct {
	Actions   []Action
	Adoptions []Adoption
	Held      []Held
	Conflicts []Conflict
	Blocked   []BlockedItem // what lies below a blocked directory, and what is ignored, is not listed
	Local     []Local
	Choices   []Choice // that were used
}
