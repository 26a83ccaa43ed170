package dirsync

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
)

// LinkPolicy says what becomes of symbolic links.
type LinkPolicy string

// The link policies: skipped links are shown as blocked, portable ones are copied.
const (
	SkipLinks     LinkPolicy = "skip"
	PortableLinks LinkPolicy = "portable"
)

// Binding ties a project directory to a dataset. Its id is chosen once and kept; every
// change of it raises the revision.
type Binding struct {
	ID           string     `json:"id"`
	Root         string     `json:"root"`  // absolute path of the project directory
	Store        string     `json:"store"` // its location, without credentials
	Dataset      string     `json:"dataset"`
	Direction    Direction  `json:"direction"`
	Links        LinkPolicy `json:"links"`
	Ignore       []string   `json:"ignore,omitempty"` // see Ignores
	Revision     int64      `json:"revision"`
	Identity     Identity   `json:"identity"`
	Folding      Folding    `json:"folding"`
	NoExecutable bool       `json:"noExecutable"`
}

// Identity tells a directory from another one at the same path.
type Identity struct {
	Device uint64 `json:"device,string"`
	Inode  uint64 `json:"inode,string"`
	Birth  int64  `json:"birth,string"` // nanoseconds since 1970 UTC; 0 where it is not known
}

// Same reports one and the same directory. Numbers of devices may change when a machine
// starts, and numbers of inodes are given again: a time of birth decides where there is one.
func (i Identity) Same(o Identity) bool {
	if i.Birth != 0 && o.Birth != 0 {
		return i.Inode == o.Inode && i.Birth == o.Birth
	}
	return i.Inode == o.Inode && i.Device == o.Device
}

var idForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// IsID reports a text that can be the id of a binding or the name of a dataset: 1 to 128
// letters, digits, _ and -.
func IsID(text string) bool { return idForm.MatchString(text) }

// Check returns an error unless the binding's facts are well formed.
func (b *Binding) Check() error {
	switch {
	case !idForm.MatchString(b.ID):
		return fmt.Errorf("binding id %.140q: 1 to 128 letters, digits, _ and - are allowed", b.ID)
	case !idForm.MatchString(b.Dataset):
		return fmt.Errorf("dataset %.140q: 1 to 128 letters, digits, _ and - are allowed", b.Dataset)
	case !filepath.IsAbs(b.Root):
		return errors.New("the project directory must be absolute")
	case !b.Direction.Valid():
		return fmt.Errorf("direction %.40q: both, to-project or to-dataset", b.Direction)
	case b.Links != SkipLinks && b.Links != PortableLinks:
		return fmt.Errorf("link policy %.40q: skip or portable", b.Links)
	}
	return checkIgnore(b.Ignore)
}

// Rules are what the binding's plans go by, on a system with these name rules.
func (b *Binding) Rules(names NameRules) Rules {
	return Rules{Direction: b.Direction, Folding: b.Folding, Names: names, NoExecutable: b.NoExecutable}
}

// Fingerprint is the part of the rules that an ancestor depends on, as text that can be
// compared and shown.
func (b *Binding) Fingerprint() string {
	return fmt.Sprintf("direction %s, links %s, ignore %q, case folding %t, composition folding %t",
		b.Direction, b.Links, b.Ignore, b.Folding.Case, b.Folding.Composition)
}
