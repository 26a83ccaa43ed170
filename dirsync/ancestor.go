package dirsync

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"agentsync/hashgraph/digest"
)

// Ancestor is what both sides of a binding last agreed on, and under which rules.
type Ancestor struct {
	Tree
	Generation  int64  // raised by every plan that was applied; 0 before the first
	Fingerprint string // of the rules, "" before the first
	Head        Agreed // of the dataset

	entries string // as read
}

// Agreed is the head of the dataset that both sides last agreed on.
type Agreed struct {
	Number int64  // 0 for none
	Digest string // sha256: and digits, of the head's bytes; "" when it could not be asked for
}

// Forgotten is the ancestor without its tree: nothing is known to be common any more.
func (a Ancestor) Forgotten() Ancestor {
	a.Tree, a.entries = Tree{}, ""
	return a
}

// IsManifest reports that the tree, as it was read, is that of the manifest with the digest.
func (a *Ancestor) IsManifest(manifest digest.Digest) bool {
	if a.entries == "" {
		return false
	}
	h := digest.New()
	for _, part := range []string{manifestStart, a.entries, manifestEnd} {
		_, _ = io.WriteString(h, part) // a hash never fails
	}
	return digest.Of(h) == manifest
}

const (
	ancestorStart  = `{"entries":[`
	ancestorSchema = "agentsync.dirsync-ancestor"
)

// ancestorTail is what follows the entries.
type ancestorTail struct {
	Fingerprint string `json:"fingerprint"`
	Generation  string `json:"generation"`
	Head        string `json:"head,omitempty"`
	HeadDigest  string `json:"headDigest,omitempty"`
	Schema      string `json:"schema"`
}

// Encode renders the ancestor: a manifest's entries, then the rest.
func (a *Ancestor) Encode() ([]byte, error) {
	fields := ancestorTail{Fingerprint: a.Fingerprint, Generation: strconv.FormatInt(a.Generation, 10),
		HeadDigest: a.Head.Digest, Schema: ancestorSchema}
	if a.Head.Number > 0 {
		fields.Head = strconv.FormatInt(a.Head.Number, 10)
	}
	tail, err := Canonical(fields)
	if err != nil {
		return nil, err
	}
	b := appendEntries([]byte(ancestorStart), a.Tree)
	b = append(append(b, "],"...), tail[1:]...)
	return append(b, '\n'), nil
}

// ParseAncestor reads what Encode wrote.
func ParseAncestor(text []byte) (Ancestor, error) {
	tree, rest, err := parseEntries(string(text), ancestorStart, false)
	if err != nil {
		return Ancestor{}, fmt.Errorf("ancestor: %w", err)
	}
	var tail ancestorTail
	object := append([]byte("{"), bytes.TrimPrefix([]byte(rest), []byte("],"))...)
	if err := json.Unmarshal(object, &tail); err != nil {
		return Ancestor{}, fmt.Errorf("ancestor: %w", err)
	}
	generation, err := strconv.ParseInt(tail.Generation, 10, 64)
	if tail.Schema != ancestorSchema || err != nil || generation < 1 {
		return Ancestor{}, errors.New("ancestor: it has another schema, or no generation")
	}
	a := Ancestor{Tree: tree, Generation: generation, Fingerprint: tail.Fingerprint, entries: string(text[len(ancestorStart) : len(text)-len(rest)])}
	if tail.Head != "" {
		if a.Head.Number, err = strconv.ParseInt(tail.Head, 10, 64); err != nil || a.Head.Number < 1 {
			return Ancestor{}, errors.New("ancestor: its head has no number")
		}
		a.Head.Digest = tail.HeadDigest
	}
	return a, nil
}

// Moved returns the ancestor after a plan: its adoptions, and the entries of actions
// that were carried out.
func (a Ancestor) Moved(f Folding, adoptions []Adoption, done []Action) Ancestor {
	moved := make(map[string]Node, len(adoptions)+len(done))
	for i := range adoptions {
		moved[f.key(adoptions[i].Path)] = Node{Path: adoptions[i].Path, Entry: adoptions[i].Entry}
	}
	for i := range done {
		moved[f.key(done[i].Path)] = Node{Path: done[i].Path, Entry: done[i].After}
	}
	nodes := make([]Node, 0, len(a.Nodes)+len(moved))
	for _, n := range a.Nodes {
		key := f.key(n.Path)
		if now, ok := moved[key]; ok {
			n = now
			delete(moved, key)
		}
		if n.Kind != Absent {
			nodes = append(nodes, n)
		}
	}
	for _, n := range moved {
		if n.Kind != Absent {
			nodes = append(nodes, n)
		}
	}
	a.Tree, a.entries = NewTree(nodes), ""
	return a
}
