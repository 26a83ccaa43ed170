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
