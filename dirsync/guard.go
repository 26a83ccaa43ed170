package dirsync

import (
	"fmt"
	"strings"
)

// Guard names a reason not to plan at all.
type Guard string

// The guards. The first ones are found while the sides are read.
const (
	RootMissing    Guard = "root-missing"
	RootChanged    Guard = "root-changed"
	IncompleteScan Guard = "incomplete-scan"
	Overlap        Guard = "overlap"
	PlanApplying   Guard = "plan-applying"
	RootEmptied    Guard = "root-emptied"
	MassMissing    Guard = "mass-missing"
	MassOverwrite  Guard = "mass-overwrite"
	AllChanged     Guard = "all-changed"
	RulesChanged   Guard = "rules-changed"
	DatasetPast    Guard = "dataset-past"
	TooMany        Guard = "too-many-entries"
)

// StopError reports that a guard refused to plan. Nothing has been changed.
type StopError struct {
	Guard  Guard
	Side   Side
	Count  int    // files missing, changed or to be replaced
	Known  int    // of so many
	Detail string // for guards that do not count; a path or a reason
}

func (e *StopError) Error() string {
	switch e.Guard {
	case RootEmptied:
		return fmt.Sprintf("sync stopped: the %s side is empty, and %d entries were known at its top", e.Side, e.Known)
	case MassMissing:
		return fmt.Sprintf("sync stopped: the %s side lacks %d of %d known files", e.Side, e.Count, e.Known)
	case MassOverwrite:
		return fmt.Sprintf("sync stopped: %d of %d files on the %s side would be replaced", e.Count, e.Known, e.Side)
	case AllChanged:
		return fmt.Sprintf("sync stopped: all %d known files changed on the %s side", e.Known, e.Side)
	case RulesChanged:
		return "sync stopped: the rules are not those of the last common state: " + e.Detail
	}
	return fmt.Sprintf("sync stopped: %s: %s", strings.ReplaceAll(string(e.Guard), "-", " "), e.Detail)
}

// Accepts are the guards that a person lets pass, for one plan.
type Accepts struct {
	Missing    bool `json:"missing"`    // root-emptied and mass-missing
	Overwrites int  `json:"overwrites"` // mass-overwrite and all-changed, of exactly so many files; see accepted
	Past       bool `json:"past"`       // dataset-past
	Rebase     bool `json:"rebase"`     // rules-changed
}

// Sight is what a store shows of a dataset's heads now.
type Sight struct {
	Newest int64  // number of the newest, 0 for none
	There  string // digest of the head that has the agreed number, "" when it is gone
	Before string // that the head after the agreed number names as the one before it, "" when that is gone
}

// WentBack returns the guard that fires when the dataset is behind what both sides agreed
// on, or another one: a store that was put back from a copy, a replica that lags. What was
// common is then no base for a comparison, and would revert whoever is newer.
func WentBack(agreed Agreed, now Sight) *StopError {
	detail := ""
	switch {
	case agreed.Number == 0:
	case now.Newest < agreed.Number:
		detail = fmt.Sprintf("head %d of the dataset was agreed on, and the newest one is now %d", agreed.Number, now.Newest)
	case agreed.Digest == "":
	case now.There != "" && now.There != agreed.Digest, now.There == "" && now.Before != "" && now.Before != agreed.Digest:
		detail = fmt.Sprintf("head %d of the dataset is another one than was agreed on", agreed.Number)
	}
	if detail == "" {
		return nil
	}
	return &StopError{Guard: DatasetPast, Side: Dataset, Detail: detail}
}

// The limits of the guards that count.
const (
	massShare = 2  // more than one in so many
	massLeast = 10 // files, fewer are no mass
)

// Guards returns what stops the plan, nil when nothing does. changed names the rules
// that differ from the ancestor's, "" for none.
func Guards(ancestor, project, dataset Tree, f Folding, out Outcome, changed string, accepts Accepts) *StopError {
	if n := published(dataset, out); n > MaxEntries {
		return &StopError{Guard: TooMany, Side: Dataset, Count: n, Known: MaxEntries,
			Detail: fmt.Sprintf("the dataset would have %d, and %d is the most that a manifest holds", n, MaxEntries)}
	}
	if changed != "" && !accepts.Rebase {
		return &StopError{Guard: RulesChanged, Detail: changed}
	}
	for _, side := range []Side{Project, Dataset} {
		tree := project
		if side == Dataset {
			tree = dataset
		}
		if stop := guardSide(side, ancestor, tree, f, out, accepts); stop != nil {
			return stop
		}
	}
	return nil
}

// published counts the entries of the dataset after the plan.
func published(dataset Tree, out Outcome) int {
	n := len(dataset.Nodes)
	for i := range out.Actions {
		if a := &out.Actions[i]; a.Side == Dataset && a.Before.Kind == Absent {
			n++
		}
	}
	return n
}

func guardSide(side Side, ancestor, tree Tree, f Folding, out Outcome, accepts Accepts) *StopError {
	if top := ancestor.top(); top >= 2 && len(tree.Nodes) == 0 && !accepts.Missing {
		return &StopError{Guard: RootEmptied, Side: side, Known: top}
	}
	known, missing, changed := compared(keyedNodes(ancestor, f), keyedNodes(tree, f))
	if missing >= massLeast && missing*massShare > known && !accepts.Missing {
		return &StopError{Guard: MassMissing, Side: side, Count: missing, Known: known}
	}
	if known >= massLeast && changed == known && !accepted(accepts.Overwrites, changed, out) {
		return &StopError{Guard: AllChanged, Side: side, Count: changed, Known: known}
	}
	replaced, files := out.replaced(side), tree.Files()
	if replaced >= massLeast && replaced*massShare > files && accepts.Overwrites != replaced {
		return &StopError{Guard: MassOverwrite, Side: side, Count: replaced, Known: files}
	}
	return nil
}

// accepted reports that a person agreed to files that changed all: to their number, or to
// that of the files which are replaced for it, since only one number can be given.
func accepted(overwrites, changed int, out Outcome) bool {
	return overwrites > 0 && (overwrites == changed || overwrites == out.replaced(Project) || overwrites == out.replaced(Dataset))
}

// replaced counts the files of a side that get another content.
func (o *Outcome) replaced(side Side) int {
	n := 0
	for i := range o.Actions {
		if a := &o.Actions[i]; a.Side == side && a.Before.Kind == File && a.Verb() == "replace" {
			n++
		}
	}
	return n
}

// compared counts the ancestor's files, those that a side lacks, and those whose
// content it changed.
func compared(ancestor, tree []keyed) (known, missing, changed int) {
	for _, was := range ancestor {
		if was.node.Kind != File {
			continue
		}
		known++
		for len(tree) > 0 && tree[0].key < was.key {
			tree = tree[1:]
		}
		if len(tree) == 0 || tree[0].key != was.key {
			missing++
			continue
		}
		if is := tree[0].node; is.Kind == File && is.Digest != was.node.Digest {
			changed++
		}
	}
	return known, missing, changed
}
