package claude

import (
	"cmp"
	"slices"
)

// withParallel adds to the branch what calls made at once left beside it: the other lines
// of the same answer, and the results that came back on other branches.
func (t *tree) withParallel(path []*node) []*node {
	g := newGroups(t, path)
	if len(g.lines) == 0 {
		return path
	}
	out := make([]*node, 0, len(path))
	for i, n := range path {
		out = append(out, n)
		if n.kind == assistantLine && n.messageID != "" && g.last[n.messageID] == i {
			out = append(out, g.beside(n.messageID)...)
		}
	}
	return out
}

// groups are the lines of the answers that the branch passes through.
type groups struct {
	on       map[*node]bool     // on the branch, or added to it
	last     map[string]int     // an answer's last line on the branch
	lines    map[string][]*node // all lines of an answer
	results  map[string][]*node // results off the branch, by what links them to an answer
	answered map[string]bool    // calls whose result is visible
}

func newGroups(t *tree, path []*node) *groups {
	g := &groups{on: map[*node]bool{}, last: map[string]int{}, lines: map[string][]*node{}, answered: map[string]bool{}, results: map[string][]*node{}}
	for i, n := range path {
		g.on[n] = true
		if n.kind == assistantLine && n.messageID != "" {
			g.last[n.messageID] = i
		}
		for _, call := range n.answers {
			g.answered[call] = true
		}
	}
	for _, n := range t.nodes {
		if n.dropped {
			continue
		}
		if _, ok := g.last[n.messageID]; ok && n.kind == assistantLine {
			g.lines[n.messageID] = append(g.lines[n.messageID], n)
		}
		if !g.on[n] && n.kind == userLine && len(n.answers) > 0 {
			g.link(n)
		}
	}
	return g
}

// The ways in which a result tells what it belongs to.
const (
	byParent = "p" // an answer's line is its parent
	bySource = "s" // it names an answer's line
	byCall   = "c" // it answers one of its calls
)

func (g *groups) link(result *node) {
	keys := []string{byParent + result.parent, bySource + result.source}
	for _, call := range result.answers {
		keys = append(keys, byCall+call)
	}
	for _, key := range keys {
		g.results[key] = append(g.results[key], result)
	}
}

// beside returns what an answer left off the branch: its other lines, then its results.
// Those of one time keep the order of the lines they belong to.
func (g *groups) beside(messageID string) []*node {
	var others, results []*node
	add := func(n *node) {
		g.on[n] = true
		results = append(results, n)
		for _, call := range n.answers {
			g.answered[call] = true
		}
	}
	lines := g.lines[messageID]
	for _, n := range lines {
		if !g.on[n] {
			others = append(others, n)
		}
		for _, child := range g.results[byParent+n.uuid] {
			if !g.on[child] {
				add(child)
			}
		}
	}
	for _, n := range lines {
		for _, key := range n.callKeys() {
			for _, result := range g.results[key] {
				if !g.on[result] && g.open(result) {
					add(result)
				}
			}
		}
	}
	return append(byTime(others), byTime(results)...)
}

// callKeys are the links of results that answer one of the line's calls.
func (n *node) callKeys() []string {
	keys := []string{bySource + n.uuid}
	for _, call := range n.calls {
		keys = append(keys, byCall+call)
	}
	return keys
}

// open reports a result of a call that nothing visible answers.
func (g *groups) open(result *node) bool {
	return slices.ContainsFunc(result.answers, func(call string) bool { return !g.answered[call] })
}

func byTime(nodes []*node) []*node {
	slices.SortStableFunc(nodes, func(a, b *node) int { return cmp.Compare(a.timestamp, b.timestamp) })
	return nodes
}
