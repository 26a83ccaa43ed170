package dirsync

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// ControlFolder is our own folder below a project's root: contents on their way. No
// side ever holds it.
const ControlFolder = ".agentsync-stage"

func checkIgnore(patterns []string) error {
	for _, p := range patterns {
		if _, err := path.Match(strings.Trim(p, "/"), "x"); err != nil || strings.Trim(p, "/") == "" {
			return fmt.Errorf("ignore rule %.80q is no pattern", p)
		}
	}
	return nil
}

// Ignores says whether a rule leaves a path out, and which reason it is blocked for.
// A rule with a slash at its beginning or inside matches from the root on, any other one
// a name at any depth. What lies below an ignored directory is ignored with it.
func Ignores(patterns []string, wire string) (Reason, bool) {
	name := base(wire)
	if strings.EqualFold(name, ControlFolder) { // some file systems take both for one
		return Control, true
	}
	for _, p := range patterns {
		inner, subject := strings.Trim(p, "/"), name
		if strings.HasPrefix(p, "/") || strings.Contains(inner, "/") {
			subject = wire
		}
		if ok, _ := path.Match(inner, subject); ok {
			return Ignored, true
		}
	}
	return "", false
}

// WithoutIgnored is the tree with the nodes blocked that the rules leave out.
func (t Tree) WithoutIgnored(patterns []string) Tree {
	out := t
	for i := range t.Nodes {
		reason, ignored := Ignores(patterns, t.Nodes[i].Path)
		if !ignored {
			continue
		}
		if &out.Nodes[0] == &t.Nodes[0] {
			out.Nodes = slices.Clone(t.Nodes)
		}
		out.Nodes[i].Entry = Entry{Kind: Blocked, Reason: reason}
	}
	return out
}
