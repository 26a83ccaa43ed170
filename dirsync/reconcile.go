package dirsync

import (
	"cmp"
	"slices"
)

// Rules are what a reconciliation goes by.
type Rules struct {
	Direction    Direction
	Folding      Folding   // of the project's file system
	Names        NameRules // of the project's system
	NoExecutable bool      // the project's file system keeps no executable bit
}

// Reconcile decides what becomes of every path. The ancestor is what both sides last
// agreed on; an empty one makes equal entries adopted and different ones conflicts.
// Choices that no longer fit are passed over.
func Reconcile(ancestor, project, dataset Tree, rules Rules, choices []Choice) Outcome {
	r := &reconciler{rules: rules, parents: map[string]*place{}, chosen: map[string]*Choice{}}
	for i := range choices {
		r.chosen[rules.Folding.key(choices[i].Path)] = &choices[i]
	}
	lists := [3][]keyed{
		keyedNodes(ancestor, rules.Folding), keyedNodes(project, rules.Folding), keyedNodes(dataset, rules.Folding),
	}
	for i := range choices {
		r.restoreAbove(&choices[i], lists)
	}
	for {
		at := r.next(&lists)
		if at == nil { // parent-held is found below its directory
			slices.SortStableFunc(r.out.Conflicts, func(a, b Conflict) int { return cmp.Compare(a.Path, b.Path) })
			return r.out
		}
		r.path(at)
	}
}

// triple is one path with what the ancestor and the sides have there.
type triple struct {
	key     string
	nodes   [3]*Node // ancestor, project, dataset; nil where there is none
	a, p, d Entry
	path    string // the dataset's spelling
	disk    string // the project's
	choice  *Choice
	above   *place // of the directory that holds it, nil where both sides have one
}

// place is a path that is not simply a directory on both sides: what it means for
// everything below.
type place struct {
	path                       string
	has                        [2]bool // a directory is there, or will be after this plan
	blocked                    bool
	deleted                    bool    // the ancestor had it and one side deleted it
	shown                      bool    // the conflict parent-held is listed
	choice                     *Choice // that decides a deleted directory
	ancestor, project, dataset Entry
}

type reconciler struct {
	rules   Rules
	parents map[string]*place
	spelled [2]map[string]string // how a side spells a directory, by key, where it is not the key
	chosen  map[string]*Choice
	restore [2]map[string]bool // deleted directories, by key, that a choice needs back
	out     Outcome
	at      triple
}

// next takes the least key off the three lists; nil at their end.
func (r *reconciler) next(lists *[3][]keyed) *triple {
	least, any := "", false
	for _, list := range lists {
		if len(list) > 0 && (!any || list[0].key < least) {
			least, any = list[0].key, true
		}
	}
	if !any {
		return nil
	}
	r.at = triple{key: least}
	for i := range lists {
		if len(lists[i]) > 0 && lists[i][0].key == least {
			r.at.nodes[i] = lists[i][0].node
			lists[i] = lists[i][1:]
		}
	}
	r.at.fill(r)
	return &r.at
}

func (t *triple) fill(r *reconciler) {
	for i, e := range []*Entry{&t.a, &t.p, &t.d} {
		if t.nodes[i] != nil {
			*e = t.nodes[i].Entry
		}
	}
	if len(r.parents) > 0 {
		t.above = r.parents[parent(t.key)]
	}
	t.path, t.disk = r.spelling(t)
	if len(r.chosen) > 0 {
		t.choice = r.chosen[t.key]
	}
	if r.rules.NoExecutable && t.p.Kind == File {
		t.p.Executable = borrowedBit(t.a, t.p, t.d)
	}
}

// borrowedBit is the executable bit of a file on a side that keeps none: that of the
// other side where the contents are equal, else the ancestor's, else false.
func borrowedBit(ancestor, own, other Entry) bool {
	switch {
	case other.SameContent(own):
		return other.Executable
	case ancestor.Kind == File:
		return ancestor.Executable
	}
	return false
}

// path decides one path.
func (r *reconciler) path(t *triple) {
	if t.above != nil && t.above.blocked || t.p.Kind == Blocked || t.d.Kind == Blocked {
		r.block(t)
		return
	}
	base := t.a
	if t.choice != nil && t.choice.fits(t.p, t.d) {
		base = t.choice.loser()
	} else {
		t.choice = nil
	}
	r.settle(t, judge(base, t.p, t.d))
	if t.nodes[1] != nil && t.nodes[2] != nil && t.nodes[1].Path != t.nodes[2].Path {
		r.out.Held = append(r.out.Held, Held{t.path, CaseRename})
	}
}

// verdict is what the table says of one path, before direction and parents are asked.
type verdict uint8

const (
	nothing verdict = iota
	adopt           // the sides agree, and the ancestor learns it
	toDataset
	toProject
	heldOnProject // deleted there, kept on the other side
	heldOnDataset
	clash
	clashDeleted
	clashKinds
)

// judge is the table: what follows from the ancestor and the two sides, none of which
// is blocked.
func judge(a, p, d Entry) verdict {
	switch {
	case p.Same(d) && a.Same(p):
		return nothing
	case p.Same(d):
		return adopt
	case a.Same(p) && d.Kind == Absent:
		return heldOnDataset
	case a.Same(d) && p.Kind == Absent:
		return heldOnProject
	case p.Kind != Absent && d.Kind != Absent && p.Kind != d.Kind:
		return clashKinds
	case a.Same(p):
		return toProject
	case a.Same(d):
		return toDataset
	case p.Kind == Absent || d.Kind == Absent:
		return clashDeleted
	}
	return clash
}

// settle turns a verdict into items of the outcome.
func (r *reconciler) settle(t *triple, v verdict) {
	switch v {
	case nothing:
		if t.p.Kind == Directory {
			return
		}
	case adopt:
		r.adopt(t, t.p)
	case toProject:
		r.write(t, Project, t.p, t.d)
		return
	case toDataset:
		r.write(t, Dataset, t.d, t.p)
		return
	case heldOnProject:
		r.deleted(t, Project, t.p, t.d)
		return
	case heldOnDataset:
		r.deleted(t, Dataset, t.d, t.p)
		return
	default:
		r.conflict(t, v)
		return
	}
	r.use(t)
}

func (r *reconciler) adopt(t *triple, e Entry) {
	r.out.Adoptions = append(r.out.Adoptions, Adoption{t.path, e})
}

// use records that a choice decided the path.
func (r *reconciler) use(t *triple) {
	if t.choice != nil {
		r.out.Choices = append(r.out.Choices, *t.choice)
	}
}

// cutOff reports a path whose directory is missing on a side for another reason than
// its deletion: there is a conflict about it.
func (t *triple) cutOff() bool {
	up := t.above
	return up != nil && !up.deleted && !(up.has[Project] && up.has[Dataset])
}

// wait holds a path until the conflict above it is settled.
func (r *reconciler) wait(t *triple) {
	r.out.Held = append(r.out.Held, Held{t.path, BelowConflict})
	r.mark(t, &place{})
}

// deleted deals with what one side has deleted and the other kept.
func (r *reconciler) deleted(t *triple, on Side, gone, kept Entry) {
	if t.cutOff() {
		r.wait(t)
		return
	}
	reason := DeletedOnProject
	if on == Dataset {
		reason = DeletedOnDataset
	}
	if t.choice == nil && kept.Kind == Directory && r.restore[on][t.key] {
		r.write(t, on, gone, kept)
		return
	}
	r.hold(t, reason, kept)
}

// hold leaves a deletion where it is. A choice that led here has to be remembered by
// the ancestor, or the conflict would come back.
func (r *reconciler) hold(t *triple, reason HeldReason, kept Entry) {
	r.out.Held = append(r.out.Held, Held{t.path, reason})
	if t.choice != nil && !t.a.Same(kept) {
		r.adopt(t, kept)
	}
	r.use(t)
	if kept.Kind == Directory {
		r.mark(t, &place{deleted: true})
	}
}

// conflict lists a path for which somebody must choose. Below a conflict about the
// directory itself no choice could be carried out.
func (r *reconciler) conflict(t *triple, v verdict) {
	if t.cutOff() {
		r.wait(t)
		return
	}
	code := BothChanged
	switch v {
	case clashDeleted:
		code = DeletedVsChanged
	case clashKinds:
		code = TypeDiffers
	}
	r.out.Conflicts = append(r.out.Conflicts, Conflict{t.path, code, t.a, t.p, t.d})
	r.mark(t, &place{})
}

// block leaves a path alone, on both sides.
func (r *reconciler) block(t *triple) {
	side, reason := Project, t.p.Reason
	if t.p.Kind != Blocked {
		side, reason = Dataset, t.d.Reason
	}
	switch {
	case t.above != nil && t.above.blocked:
	case reason == Ignored || reason == Control:
	default:
		r.out.Blocked = append(r.out.Blocked, BlockedItem{t.path, side, reason})
	}
	r.mark(t, &place{blocked: true})
}

// mark remembers what a path means for the paths below it.
func (r *reconciler) mark(t *triple, p *place) {
	p.path, p.choice = t.path, t.choice
	p.has[Project] = p.has[Project] || t.p.Kind == Directory
	p.has[Dataset] = p.has[Dataset] || t.d.Kind == Directory
	p.ancestor, p.project, p.dataset = t.a, t.p, t.d
	r.parents[t.key] = p
}
