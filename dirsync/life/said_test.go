//go:build unix

package life_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"agentsync/dirsync"
	"agentsync/publish/store/mem"
)

// TestAnApplicationWritesWhatThePreviewSaid compares the files that a plan names with
// those that differ after it, round by round.
func TestAnApplicationWritesWhatThePreviewSaid(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 9))
	s := mem.New()
	here, there := newEnd(t, s, "here").bind(dirsync.Both), newEnd(t, s, "there").bind(dirsync.Both)
	n, written := 0, 0
	for round := range 20 {
		edit(r, here, &n)
		edit(r, there, &n)
		for _, e := range []*end{here, there} {
			before := e.files()
			p := e.preview(dirsync.Accepts{Missing: true})
			said := map[string]bool{}
			for _, a := range p.Plan.Actions {
				if a.Side == dirsync.Project && a.After.Kind == dirsync.File && a.Verb() != "chmod" {
					said[a.Path] = true
				}
			}
			if !maps.Equal(before, e.files()) {
				t.Fatalf("round %d: the preview wrote", round)
			}
			e.apply(p.ID)
			after := e.files()
			done := map[string]bool{}
			for path, content := range after {
				if was, had := before[path]; !had || was != content {
					done[path] = true
				}
			}
			for path := range before {
				if _, still := after[path]; !still {
					t.Errorf("round %d: %s is gone", round, path)
				}
			}
			if !maps.Equal(said, done) {
				t.Errorf("round %d: said %v, done %v", round, slices.Sorted(maps.Keys(said)), slices.Sorted(maps.Keys(done)))
			}
			written += len(done)
		}
	}
	if written < 10 {
		t.Errorf("only %d files were written", written)
	}
}
