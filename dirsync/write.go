package dirsync

import (
	"cmp"
	"slices"
)

// write plans that a side takes over an entry, if the direction, the name and the
// directory above allow it.
func (r *reconciler) write(t *triple, to Side, before, after Entry) {
	switch {
	case !r.rules.Direction.writes(to):
		r.local(t, to.Other(), before, after)
	case to == Project && before.Kind == Absent && r.rules.Names.refuses(base(t.path)):
		r.out.Blocked = append(r.out.Blocked, BlockedItem{t.path, Project, UnrepresentedName})
		r.mark(t, &place{blocked: true})
	case t.above != nil && !t.above.has[to]:
		r.below(t, to, after)
	default:
		r.act(t, to, before, after)
	}
}

// act plans the change.
func (r *reconciler) act(t *triple, to Side, before, after Entry) {
	action := Action{Path: t.path, Side: to, Before: before, After: after}
	if t.disk != t.path {
		action.Disk = t.disk
	}
	r.out.Actions = append(r.out.Actions, action)
	r.use(t)
	if after.Kind == Directory {
		r.mark(t, &place{has: [2]bool{true, true}})
	}
}

// local leaves a change on its side. A choice that led here is remembered by the
// ancestor.
func (r *reconciler) local(t *triple, side Side, other, own Entry) {
	r.out.Local = append(r.out.Local, Local{t.path, side, own})
	if t.choice != nil && !t.a.Same(other) {
		r.adopt(t, other)
	}
	r.use(t)
	if own.Kind == Directory {
		r.mark(t, &place{})
	}
}

// below deals with an entry whose directory is missing on the side it should go to.
func (r *reconciler) below(t *triple, to Side, after Entry) {
	up := t.above
	gone := to == Project && up.project.Kind == Absent || to == Dataset && up.dataset.Kind == Absent
	switch {
	case up.deleted && gone && up.choice != nil:
		r.out.Held = append(r.out.Held, Held{t.path, BelowDeleted})
		r.adopt(t, after)
	case up.deleted && gone:
		if !up.shown {
			up.shown = true
			r.out.Conflicts = append(r.out.Conflicts, Conflict{up.path, ParentHeld, up.ancestor, up.project, up.dataset})
		}
		r.out.Held = append(r.out.Held, Held{t.path, BelowConflict})
	default:
		r.out.Held = append(r.out.Held, Held{t.path, BelowConflict})
	}
	if after.Kind == Directory {
		r.mark(t, &place{deleted: up.deleted, shown: true, choice: up.choice})
	}
}

// restoreAbove notes the directories that a choice brings an entry back into: who takes
// a file back means the way to it, too.
func (r *reconciler) restoreAbove(c *Choice, lists [3][]keyed) {
	key := r.rules.Folding.key(c.Path)
	if !c.fits(found(lists[1], key), found(lists[2], key)) || c.loser().Kind != Absent {
		return
	}
	to := c.Side.Other()
	for up := parent(key); up != ""; up = parent(up) {
		if r.restore[to] == nil {
			r.restore[to] = map[string]bool{}
		}
		r.restore[to][up] = true
	}
}

// found is the entry of a key, an absent one where there is none.
func found(list []keyed, key string) Entry {
	i, ok := slices.BinarySearchFunc(list, key, func(k keyed, key string) int { return cmp.Compare(k.key, key) })
	if !ok {
		return Entry{}
	}
	return list[i].node.Entry
}

// keyed is a node and what it shares with the nodes that the project cannot tell apart.
type keyed struct {
	key  string
	node *Node
}

// keyedNodes lists a tree by key. Nodes with one key become blocked, each: no winner is
// picked.
func keyedNodes(t Tree, f Folding) []keyed {
	list := make([]keyed, len(t.Nodes))
	for i := range t.Nodes {
		list[i] = keyed{f.key(t.Nodes[i].Path), &t.Nodes[i]}
	}
	if !f.Case {
		return list
	}
	slices.SortStableFunc(list, func(a, b keyed) int { return cmp.Compare(a.key, b.key) })
	out := list[:0]
	for _, one := range list {
		if last := len(out) - 1; last >= 0 && out[last].key == one.key {
			out[last].node = &Node{Path: out[last].node.Path, Disk: out[last].node.Disk,
				Entry: Entry{Kind: Blocked, Reason: NameCollision}}
			continue
		}
		out = append(out, one)
	}
	return out
}

// spelling returns how the dataset and the project spell a path: as each has it, or as
// it would be called below the directories that they have.
func (r *reconciler) spelling(t *triple) (path, disk string) {
	own, other := t.nodes[2], t.nodes[1]
	dir := parent(t.key)
	switch {
	case own != nil:
		path = own.Path
	case other != nil:
		path = join(r.spelledDir(Dataset, dir), base(other.Path))
	default:
		path = t.nodes[0].Path
	}
	switch {
	case other != nil:
		disk = other.OnDisk()
	default:
		disk = join(r.spelledDir(Project, dir), base(path))
	}
	if t.p.Kind == Directory || t.d.Kind == Directory {
		r.remember(Dataset, t.key, path)
		r.remember(Project, t.key, disk)
	}
	return path, disk
}

func (r *reconciler) spelledDir(s Side, key string) string {
	if path, other := r.spelled[s][key]; other {
		return path
	}
	return key
}

func (r *reconciler) remember(s Side, key, path string) {
	if path == key {
		return
	}
	if r.spelled[s] == nil {
		r.spelled[s] = map[string]string{}
	}
	r.spelled[s][key] = path
}
