package claude

import (
	"cmp"
	"iter"
	"slices"
)

// wholeReadSize is the largest file that the client reads whole; of a larger one it
// drops what stands before the last compaction that keeps no lines. In bytes.
const wholeReadSize = 5 << 20

// ChainOptions are those of the client's reading of a conversation.
type ChainOptions struct {
	Size          int64 // of the transcript in bytes
	System        bool  // system lines are part of the answer
	Offset, Limit int   // of the answer; Limit 0 is no limit
	Agent         *AgentOptions
}

// AgentOptions make the transcript one of a sub-agent.
type AgentOptions struct {
	ToolUseID     string // the call that started it, "" when unknown
	ParentAgentID string // the agent that made the call, "" for the session itself
}

// Entry is one message of a conversation.
type Entry struct {
	Index            int    // of the line it is made of
	ID               string // as answered
	Queued           bool   // typed while a turn was running
	CompletedCommand bool   // a local command that ran, or its output
}

// Conversation is what is visible of a session.
type Conversation struct {
	Messages []Entry // what the client answers
	// Before are the messages that compactions took away from Messages, oldest first.
	Before []Entry
	// Notes are lines on the shown branch that the client leaves out, by index.
	Notes []int
	// Summaries are the lines that stand for what was compacted away, by index.
	Summaries []int
	// Break is the index of the branch's first line when that names a parent that no line
	// has, else -1: what stands before it cannot be told to belong to the branch.
	Break int
	agent *AgentOptions
}

// Chain finds the messages that the client shows of a transcript (spec, agents 3.3): one
// branch of the tree that its lines form. It remembers each line's place in the tree and
// nothing of its content. The lines are those of a file or the events of a session; each
// index is given back in the entries.
func Chain(lines iter.Seq2[int, []byte], o ChainOptions) *Conversation {
	t := readTree(lines, o.Size > wholeReadSize)
	t.relink()
	path, below := t.path(o.Agent != nil)
	c := &Conversation{agent: o.Agent, Break: t.breakOf(path)}
	visible := t.withParallel(path)
	all := append(visible, below...)
	c.Messages = t.entries(all, len(visible), o)
	c.Before = t.before(path, visible, o)
	c.Notes = notes(all, c.Messages)
	for _, n := range t.nodes {
		if n.summary {
			c.Summaries = append(c.Summaries, n.index)
		}
	}
	c.Messages = c.Messages[min(o.Offset, len(c.Messages)):]
	if o.Limit > 0 {
		c.Messages = c.Messages[:min(o.Limit, len(c.Messages))]
	}
	return c
}

// tree are a transcript's lines, linked by their parents.
type tree struct {
	nodes []*node // in the file's order; of a repeated uuid the last line at the first one's place
	byID  map[string]*node
}

func readTree(lines iter.Seq2[int, []byte], large bool) *tree {
	t := &tree{byID: map[string]*node{}}
	var r lineReader
	for index, line := range lines {
		n := r.node(index, line)
		if n == nil {
			continue
		}
		if large && n.boundary && n.keeps == nil {
			for _, earlier := range t.nodes {
				earlier.dropped = true
			}
		}
		if old, ok := t.byID[n.uuid]; ok && !old.dropped {
			*old = *n
			continue
		}
		t.byID[n.uuid] = n
		t.nodes = append(t.nodes, n)
	}
	return t
}

// get returns a line that the client looks at.
func (t *tree) get(uuid string) *node {
	if n := t.byID[uuid]; n != nil && !n.dropped {
		return n
	}
	return nil
}

// relink puts the lines that compactions keep below their summaries, and what followed a
// summary below the last of them. A list that is not whole gives way to the segment.
func (t *tree) relink() {
	var children map[string][]*node // by parent; a line that was moved stands in both places
	for _, n := range t.nodes {
		for _, k := range n.keeps {
			if n.dropped || !k.segment && !t.complete(k) {
				continue
			}
			if children == nil {
				children = t.children()
			}
			t.move(k, children)
			break
		}
	}
}

func (t *tree) children() map[string][]*node {
	children := map[string][]*node{}
	for _, n := range t.nodes {
		if !n.dropped {
			children[n.parent] = append(children[n.parent], n)
		}
	}
	return children
}

func (t *tree) move(k preserved, children map[string][]*node) {
	put := func(n *node, parent string) {
		n.parent = parent
		children[parent] = append(children[parent], n)
	}
	first, last := k.uuids[0], k.uuids[len(k.uuids)-1]
	for _, child := range slices.Clone(children[k.anchor]) {
		if child.parent == k.anchor && child.uuid != first {
			put(child, last)
		}
	}
	if head := t.get(first); head != nil {
		put(head, k.anchor)
	}
	if k.segment {
		return
	}
	for i := 1; i < len(k.uuids); i++ {
		put(t.get(k.uuids[i]), k.uuids[i-1])
	}
}

// complete reports that every line of a list that a compaction keeps is there. A segment's
// ends are linked each for itself.
func (t *tree) complete(k preserved) bool {
	if len(k.uuids) == 0 || t.get(k.anchor) == nil {
		return false
	}
	return !slices.ContainsFunc(k.uuids, func(id string) bool { return t.get(id) == nil })
}

// path returns the visible branch from its root to its tip, and the queued prompts that
// hang below the tip.
func (t *tree) path(agent bool) (path, below []*node) {
	tip := t.tip(agent)
	if tip == nil {
		return nil, nil
	}
	for n := range t.up(tip) {
		path = append(path, n)
	}
	slices.Reverse(path)
	return path, t.queuedBelow(path)
}

// queuedBelow finds the prompts that were queued after the tip and that nobody answered:
// those below it, as the lines were written, with no message below them.
func (t *tree) queuedBelow(path []*node) (below []*node) {
	w := &descent{children: map[string][]*node{}, seen: map[*node]bool{}}
	for _, n := range path {
		w.seen[n] = true
	}
	for _, n := range t.nodes {
		if n.dropped {
			continue
		}
		w.children[n.parent] = append(w.children[n.parent], n)
		if n.written != n.parent { // a line that a compaction moved counts in both places
			w.children[n.written] = append(w.children[n.written], n)
		}
	}
	w.visit(path[len(path)-1])
	return w.queued
}

// descent walks down a tree, siblings by time.
type descent struct {
	children map[string][]*node
	seen     map[*node]bool
	queued   []*node
}

// step is a line on the way down, whose children are being visited.
type step struct {
	n      *node
	next   int  // child
	counts bool // a queued prompt
	at     int  // its place among those found
	spoken bool // a message is below
}

// visit collects the queued prompts below a line that no message is below of.
func (w *descent) visit(top *node) {
	steps := []step{w.enter(top)}
	for len(steps) > 0 {
		s := &steps[len(steps)-1]
		children := w.children[s.n.uuid]
		if s.next == len(children) {
			steps = w.leave(steps)
			continue
		}
		child := children[s.next]
		s.next++
		switch {
		case w.seen[child]:
		case child.spoken():
			w.seen[child], s.spoken = true, true
		default:
			steps = append(steps, w.enter(child))
		}
	}
}

func (w *descent) enter(n *node) step {
	w.seen[n] = true
	byTime(w.children[n.uuid])
	s := step{n: n, at: len(w.queued), counts: n.queued != nil && n.kept()}
	if s.counts {
		w.queued = append(w.queued, n)
	}
	return s
}

func (w *descent) leave(steps []step) []step {
	s := steps[len(steps)-1]
	steps = steps[:len(steps)-1]
	if s.spoken && s.counts {
		w.queued = slices.Delete(w.queued, s.at, s.at+1)
	}
	if len(steps) > 0 && s.spoken {
		steps[len(steps)-1].spoken = true
	}
	return steps
}

// leaves are the lines that may end the conversation and that no such line names.
func (t *tree) leaves() (leaves []*node) {
	named := map[string]bool{}
	for _, n := range t.nodes {
		if n.kept() {
			named[n.parent] = true
		}
	}
	for _, n := range t.nodes {
		if n.kept() && !named[n.uuid] {
			leaves = append(leaves, n)
		}
	}
	slices.SortFunc(leaves, func(a, b *node) int { return cmp.Compare(a.index, b.index) })
	return leaves
}

// up walks from a line to its root, and ends at a line seen before.
func (t *tree) up(n *node) iter.Seq[*node] {
	return func(yield func(*node) bool) {
		seen := map[*node]bool{}
		for n := n; n != nil && !seen[n]; n = t.get(n.parent) {
			seen[n] = true
			if !yield(n) {
				return
			}
		}
	}
}

// tip finds the last line of the branch that was written to last.
func (t *tree) tip(agent bool) *node {
	if agent {
		return t.lastSpoken()
	}
	for _, leaf := range slices.Backward(t.leaves()) {
		if n := t.firstSpoken(leaf); n != nil {
			return n
		}
	}
	return t.anyTip()
}

func (t *tree) lastSpoken() *node {
	for _, n := range slices.Backward(t.nodes) {
		if n.spoken() && !n.dropped {
			return n
		}
	}
	return nil
}

func (t *tree) firstSpoken(n *node) *node {
	for n := range t.up(n) {
		if n.spoken() {
			return n
		}
	}
	return nil
}

// anyTip is the tip of a transcript none of whose childless lines is an ordinary one.
func (t *tree) anyTip() (tip *node) {
	named := map[string]bool{}
	for _, n := range t.nodes {
		if !n.dropped {
			named[n.parent] = true
		}
	}
	for _, n := range t.nodes {
		if n.dropped || named[n.uuid] {
			continue
		}
		s := t.firstSpoken(n)
		if s != nil && !s.sidechain && !s.team && !s.meta && (tip == nil || s.index > tip.index) {
			tip = s
		}
	}
	return tip
}
