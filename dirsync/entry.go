package dirsync

import (
	"agentsync/hashgraph/digest"
)

// Kind is what stands at a path.
type Kind uint8

// Kinds of entries. A blocked one exists and may be neither read as its kind nor written.
const (
	Absent Kind = iota
	Directory
	File
	Link
	Blocked
)

var kindWords = [...]string{"absent", "directory", "file", "link", "blocked"}

// String is the kind's word in documents and output.
func (k Kind) String() string { return kindWords[k] }

// Reason says why an entry is blocked.
type Reason string

// Reasons for a blocked entry.
const (
	Unreadable        Reason = "unreadable"
	SpecialFile       Reason = "special-file"   // socket, pipe or device
	Mount             Reason = "mount"          // a directory on another device
	LinkSkipped       Reason = "link"           // the binding's policy skips links
	LinkUnsafe        Reason = "link-unsafe"    // absolute, or leads out of the root
	NameCollision     Reason = "name-collision" // two names that one side cannot tell apart
	UnrepresentedName Reason = "unrepresentable-name"
	Unstable          Reason = "changed-while-read"
	Ignored           Reason = "ignored"
	Control           Reason = "control" // our own folders below the root
	BelowBlocked      Reason = "below-blocked"
)

// Entry is what one side has at a path.
type Entry struct {
	Kind       Kind
	Digest     digest.Digest // of a file's content
	Size       int64         // of a file, bytes
	Executable bool          // of a file
	Target     string        // of a link
	Reason     Reason        // of a blocked entry
}

// Same reports entries that say the same of a path. Nothing is the same as a blocked
// entry, not even another one.
func (e Entry) Same(o Entry) bool {
	if e.Kind != o.Kind {
		return false
	}
	switch e.Kind {
	case File:
		return e.Digest == o.Digest && e.Executable == o.Executable
	case Link:
		return e.Target == o.Target
	}
	return e.Kind != Blocked
}

// SameContent reports files with equal bytes, whatever their executable bit.
func (e Entry) SameContent(o Entry) bool {
	return e.Kind == File && o.Kind == File && e.Digest == o.Digest
}

// Side is one end of a binding.
type Side uint8

// The two sides.
const (
	Project Side = iota
	Dataset
)

// String is the side's word.
func (s Side) String() string {
	if s == Project {
		return "project"
	}
	return "dataset"
}

// Other is the side across.
func (s Side) Other() Side { return 1 - s }

// ParseSide reads a side's word.
func ParseSide(word string) (Side, bool) {
	switch word {
	case "project":
		return Project, true
	case "dataset":
		return Dataset, true
	}
	return 0, false
}

// Direction says which way contents travel.
type Direction string

// The directions of a binding.
const (
	Both      Direction = "both"
	ToProject Direction = "to-project"
	ToDataset Direction = "to-dataset"
)

// Valid reports one of the three directions.
func (d Direction) Valid() bool { return d == Both || d == ToProject || d == ToDataset }

// writes reports whether the direction lets contents travel to a side.
func (d Direction) writes(to Side) bool {
	return d == Both || d == ToProject && to == Project || d == ToDataset && to == Dataset
}
