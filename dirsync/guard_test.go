package dirsync_test

import (
	"fmt"
	"testing"

	"agentsync/dirsync"
	"agentsync/hashgraph/digest"
)

// wide is a tree of n files in its root, and the actions that bring m more to the dataset.
func wide(n, m int) (tree dirsync.Tree, out dirsync.Outcome) {
	entry := dirsync.Entry{Kind: dirsync.File, Digest: digest.Sum(nil)}
	for i := range n {
		tree.Nodes = append(tree.Nodes, dirsync.Node{Path: fmt.Sprintf("f%06d", i), Entry: entry})
	}
	for i := range m {
		out.Actions = append(out.Actions, dirsync.Action{Path: fmt.Sprintf("g%06d", i), Side: dirsync.Dataset, After: entry})
	}
	return tree, out
}

func TestNoMoreIsPublishedThanAManifestHolds(t *testing.T) {
	dataset, out := wide(dirsync.MaxEntries-5, 5)
	if stop := dirsync.Guards(dirsync.Tree{}, dirsync.Tree{}, dataset, dirsync.Folding{}, out, "", dirsync.Accepts{}); stop != nil {
		t.Errorf("as many as fit: %v", stop)
	}
	dataset, out = wide(dirsync.MaxEntries-5, 6)
	all := dirsync.Accepts{Missing: true, Overwrites: 6, Rebase: true}
	stop := dirsync.Guards(dirsync.Tree{}, dirsync.Tree{}, dataset, dirsync.Folding{}, out, "", all)
	if stop == nil || stop.Guard != dirsync.TooMany || stop.Count != dirsync.MaxEntries+1 {
		t.Errorf("one more: %v", stop)
	}
}

func TestAnAncestorMayHoldMoreThanAManifest(t *testing.T) {
	tree, _ := wide(dirsync.MaxEntries+1, 0)
	a := dirsync.Ancestor{Tree: tree, Generation: 1, Fingerprint: "x"}
	text, err := a.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if again, err := dirsync.ParseAncestor(text); err != nil || len(again.Nodes) != len(tree.Nodes) {
		t.Errorf("%d entries, %v", len(again.Nodes), err)
	}
	if _, err := dirsync.ParseManifest(dirsync.EncodeManifest(tree)); err == nil {
		t.Error("a manifest of more than the limit is taken")
	}
}

// changed is a tree of n files, of which those from the first on have another content.
func changed(n, first int, content string) (tree dirsync.Tree) {
	for i := range n {
		text := "as agreed"
		if i >= first {
			text = content
		}
		tree.Nodes = append(tree.Nodes, dirsync.Node{Path: fmt.Sprintf("f%06d", i), Entry: dirsync.Entry{Kind: dirsync.File, Digest: digest.Sum([]byte(text))}})
	}
	return tree
}

func TestWhatTwoGuardsStopPassesWithOneNumber(t *testing.T) {
	ancestor, project, dataset := changed(20, 20, ""), changed(20, 19, "mine"), changed(20, 0, "theirs")
	out := dirsync.Reconcile(ancestor, project, dataset, dirsync.Rules{Direction: dirsync.Both, Names: dirsync.UnixNames}, nil)
	guards := func(overwrites int) *dirsync.StopError {
		return dirsync.Guards(ancestor, project, dataset, dirsync.Folding{}, out, "", dirsync.Accepts{Overwrites: overwrites})
	}
	stop := guards(0)
	if stop == nil || stop.Guard != dirsync.MassOverwrite || stop.Count != 19 {
		t.Fatalf("%v", stop)
	}
	if stop := guards(stop.Count); stop != nil {
		t.Errorf("with the number that was shown: %v", stop)
	}
	if guards(18) == nil {
		t.Error("another number passes")
	}
}
