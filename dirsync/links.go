package dirsync

import (
	"maps"
	"slices"
	"strings"
)

// WithLinks is the tree with the links blocked that a binding may not carry: all of them
// under SkipLinks, and else those that mean something else elsewhere or lead out of the
// root, be it by way of other links. A link that is harmless alone can lead outside
// together with one of the other side, so both sides' links count, whichever of two at one
// path comes to stand.
func (t Tree) WithLinks(policy LinkPolicy, other Tree, f Folding) Tree {
	mine, theirs := linksOf(t, f), linksOf(other, f)
	if len(mine) == 0 {
		return t
	}
	over, under := maps.Clone(theirs), maps.Clone(mine)
	maps.Copy(over, mine)
	maps.Copy(under, theirs)
	out := Tree{Nodes: slices.Clone(t.Nodes)}
	for i := range out.Nodes {
		n := &out.Nodes[i]
		switch {
		case n.Kind != Link:
		case policy != PortableLinks:
			n.Entry = Entry{Kind: Blocked, Reason: LinkSkipped}
		case !SafeTarget(n.Path, n.Target) || !over.inside(n, f) || !under.inside(n, f):
			n.Entry = Entry{Kind: Blocked, Reason: LinkUnsafe}
		}
	}
	return out
}

// links are the targets of a tree's links, by the keys of their paths.
type links map[string]string

func linksOf(t Tree, f Folding) links {
	found := links{}
	for i := range t.Nodes {
		if n := &t.Nodes[i]; n.Kind == Link {
			found[f.key(n.Path)] = n.Target
		}
	}
	return found
}

const mostHops = 40 // links on the way to one place; systems follow as many, or fewer

// inside reports a link whose target, with all links on the way followed, stays below the root.
func (l links) inside(n *Node, f Folding) bool {
	at := strings.Split(n.Path, "/")
	hops := 0
	_, ok := l.walk(at[:len(at)-1], n.Target, f, &hops)
	return ok
}

// walk follows a path from a folder, as a system does: a link on the way is replaced by
// where it leads, and .. is the folder above that.
func (l links) walk(at []string, path string, f Folding, hops *int) ([]string, bool) {
	if strings.HasPrefix(path, "/") {
		return nil, false
	}
	at = slices.Clone(at)
	for segment := range strings.SplitSeq(path, "/") {
		switch segment {
		case "", ".":
			continue
		case "..":
			if len(at) == 0 {
				return nil, false
			}
			at = at[:len(at)-1]
			continue
		}
		at = append(at, segment)
		target, linked := l[f.key(strings.Join(at, "/"))]
		if !linked {
			continue
		}
		if *hops++; *hops > mostHops {
			return nil, false
		}
		next, ok := l.walk(at[:len(at)-1], target, f, hops)
		if !ok {
			return nil, false
		}
		at = next
	}
	return at, true
}
