package dirsync_test

import (
	"fmt"
	"testing"

	"agentsync/dirsync"
)

func linked(pairs ...string) (t dirsync.Tree) {
	for i := 0; i < len(pairs); i += 2 {
		t.Nodes = append(t.Nodes, dirsync.Node{Path: pairs[i], Entry: dirsync.Entry{Kind: dirsync.Link, Target: pairs[i+1]}})
	}
	return t
}

func TestLinksThatLeadOutsideAreBlocked(t *testing.T) {
	none := dirsync.Tree{}
	for _, test := range []struct {
		name        string
		tree, other dirsync.Tree
		folding     dirsync.Folding
		want        string // l for a link that stays, x for one that is blocked
	}{
		{"plain ones", linked("a", "b", "d/a", "../b", "d/b", "."), none, dirsync.Folding{}, "lll"},
		{"absolute", linked("a", "/etc/passwd"), none, dirsync.Folding{}, "x"},
		{"up and out", linked("a", "../x", "d/b", "../../x"), none, dirsync.Folding{}, "xx"},
		{"through a link of its own", linked("d/esc", "s/../..", "d/s", ".."), none, dirsync.Folding{}, "xl"},
		{"through a link of the other side", linked("d/esc", "s/../.."), linked("d/s", ".."), dirsync.Folding{}, "x"},
		{"through a link that would be replaced", linked("d/esc", "s/../..", "d/s", "e/f"), linked("d/s", ".."), dirsync.Folding{}, "xl"},
		{"through links in links", linked("a/b/c", "../../p/../..", "p", "q", "q", "."), none, dirsync.Folding{}, "xll"},
		{"harmless through links", linked("d/in", "s/e/../..", "d/s", "e/f"), none, dirsync.Folding{}, "ll"},
		{"in circles", linked("a", "b", "b", "a"), none, dirsync.Folding{}, "xx"},
		{"another case, where case folds", linked("d/esc", "S/../.."), linked("d/s", ".."), dirsync.Folding{Case: true}, "x"},
		{"another case, where it does not", linked("d/esc", "S/../.."), linked("d/s", ".."), dirsync.Folding{}, "l"},
	} {
		got := ""
		for _, n := range test.tree.WithLinks(dirsync.PortableLinks, test.other, test.folding).Nodes {
			switch {
			case n.Kind == dirsync.Link:
				got += "l"
			case n.Kind == dirsync.Blocked && n.Reason == dirsync.LinkUnsafe:
				got += "x"
			default:
				got += fmt.Sprint(n)
			}
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
	for _, n := range linked("a", "b", "c", "/x").WithLinks(dirsync.SkipLinks, none, dirsync.Folding{}).Nodes {
		if n.Kind != dirsync.Blocked || n.Reason != dirsync.LinkSkipped {
			t.Errorf("skipped: %+v", n)
		}
	}
}
