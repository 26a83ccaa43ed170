package dirsync

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"agentsync/hashgraph/digest"
)

// Node is one entry and where it stands.
type Node struct {
	Path string // slash-separated, UTF-8, NFC; "a/b"
	Disk string // the same as the project's file system spells it, "" where it is Path
	Entry
}

// OnDisk is the node's path as the file system spells it.
func (n *Node) OnDisk() string {
	if n.Disk != "" {
		return n.Disk
	}
	return n.Path
}

// Tree is what one side holds: nodes by the bytes of their paths, each path once, every
// directory before what is in it.
type Tree struct{ Nodes []Node }

// NewTree sorts nodes into a tree. Nodes of one path become a single blocked one.
func NewTree(nodes []Node) Tree {
	if !slices.IsSortedFunc(nodes, byPath) {
		slices.SortFunc(nodes, byPath)
	}
	out := nodes[:0]
	for _, n := range nodes {
		if last := len(out) - 1; last >= 0 && out[last].Path == n.Path {
			out[last] = Node{Path: n.Path, Disk: out[last].Disk, Entry: Entry{Kind: Blocked, Reason: NameCollision}}
			continue
		}
		out = append(out, n)
	}
	return Tree{out}
}

func byPath(a, b Node) int { return cmp.Or(cmp.Compare(a.Path, b.Path), cmp.Compare(a.Disk, b.Disk)) }

// Find returns the entry at a path, an absent one where there is none.
func (t Tree) Find(path string) Entry {
	i, found := slices.BinarySearchFunc(t.Nodes, path, func(n Node, path string) int { return cmp.Compare(n.Path, path) })
	if !found {
		return Entry{}
	}
	return t.Nodes[i].Entry
}

// Files counts the files.
func (t Tree) Files() int {
	n := 0
	for i := range t.Nodes {
		if t.Nodes[i].Kind == File {
			n++
		}
	}
	return n
}

// top counts the entries that stand in the root itself.
func (t Tree) top() int {
	n := 0
	for i := range t.Nodes {
		if t.Nodes[i].Kind != Blocked && !strings.Contains(t.Nodes[i].Path, "/") {
			n++
		}
	}
	return n
}

// Digest is the SHA-256 over every node, one line each: kind, bits, content and path.
// Spellings on disk are left out.
func (t Tree) Digest() digest.Digest {
	h := digest.New()
	var line []byte
	for i := range t.Nodes {
		line = t.Nodes[i].appendLine(line[:0])
		h.Write(line)
	}
	return digest.Of(h)
}

func (n *Node) appendLine(b []byte) []byte {
	b = append(append(b, n.Kind.String()...), ' ')
	switch n.Kind {
	case File:
		b = strconv.AppendBool(b, n.Executable)
		b = append(b, ' ')
		b = append(b, n.Digest[:]...)
	case Link:
		b = append(b, n.Target...)
	case Blocked:
		b = append(b, n.Reason...)
	}
	b = append(b, 0)
	b = append(b, n.Path...)
	return append(b, 0)
}

// parent is the path of the directory that holds a path, "" for the root.
func parent(path string) string {
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		return path[:i]
	}
	return ""
}

// base is the last segment of a path.
func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// join is a path in a directory, "" being the root.
func join(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
