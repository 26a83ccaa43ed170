package dirsync

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// randomSide makes a side out of few names, so that the sides meet often. Every parent
// is a directory.
func randomSide(r *rand.Rand, blocked bool) map[string]Entry {
	side := map[string]Entry{}
	kinds := len(contents)
	if !blocked {
		kinds--
	}
	var fill func(dir string, depth int)
	fill = func(dir string, depth int) {
		for _, name := range []string{"a", "a-b", "b"} {
			path := join(dir, name)
			e := contents[r.IntN(kinds)].Entry
			if depth < 2 && r.IntN(2) == 0 {
				e = Entry{Kind: Directory}
			}
			if e.Kind == Absent {
				continue
			}
			side[path] = e
			if e.Kind == Directory && depth < 2 {
				fill(path, depth+1)
			}
		}
	}
	fill("", 0)
	return side
}

// edited is a side after some random changes.
func edited(r *rand.Rand, side map[string]Entry) map[string]Entry {
	out := maps.Clone(side)
	for _, path := range slices.Sorted(maps.Keys(side)) {
		if _, still := out[path]; !still || r.IntN(4) != 0 {
			continue
		}
		for below := range side {
			if below == path || strings.HasPrefix(below, path+"/") {
				delete(out, below)
			}
		}
		if r.IntN(3) > 0 {
			out[path] = contents[1+r.IntN(len(contents)-2)].Entry
		}
	}
	fresh := randomSide(r, false)
	for _, path := range slices.Sorted(maps.Keys(fresh)) {
		e := fresh[path]
		up, known := out[parent(path)]
		if _, taken := out[path]; !taken && r.IntN(6) == 0 && (parent(path) == "" || known && up.Kind == Directory) {
			out[path] = e
		}
	}
	return out
}

// sound checks that every entry of a side stands in a directory.
func sound(side map[string]Entry) error {
	for path, e := range side {
		if up := parent(path); e.Kind != Absent && up != "" && side[up].Kind != Directory {
			return fmt.Errorf("%s stands below %s, which is %s", path, up, side[up].Kind)
		}
	}
	return nil
}

func randomWorld(r *rand.Rand) *world {
	base := randomSide(r, false)
	w := &world{ancestor: base, project: edited(r, base), dataset: edited(r, base), kept: map[string]Entry{}}
	if r.IntN(4) == 0 {
		w.ancestor = map[string]Entry{}
	}
	if r.IntN(4) == 0 {
		w.project = randomSide(r, true)
	}
	return w
}

func randomRules(r *rand.Rand) Rules {
	return Rules{Direction: []Direction{Both, Both, ToProject, ToDataset}[r.IntN(4)]}
}

// chooseAll takes a random side in every conflict that can be settled.
func chooseAll(r *rand.Rand, out Outcome) []Choice {
	var list []Choice
	for _, c := range out.Conflicts {
		if c.Choosable() {
			list = append(list, Choice{c.Path, Side(r.IntN(2)), c.Project, c.Dataset})
		}
	}
	return list
}

func TestRandomTreesKeepTheLaws(t *testing.T) {
	for seed := range uint64(4000) {
		r := rand.New(rand.NewPCG(seed, 1))
		w, rules := randomWorld(r), randomRules(r)
		project, dataset := maps.Clone(w.project), maps.Clone(w.dataset)
		var choices []Choice
		settled := false
		for round := 0; round < 6 && !settled; round++ {
			out := w.reconcile(rules, choices)
			w.apply(out)
			if err := checkPlan(w, out, project, dataset); err != nil {
				t.Fatalf("seed %d round %d: %v", seed, round, err)
			}
			again := w.reconcile(rules, nil)
			if len(again.Actions)+len(again.Adoptions) > 0 {
				t.Fatalf("seed %d round %d: a plan is left after a plan: %s", seed, round, told(again))
			}
			choices = chooseAll(r, again)
			settled = len(choices) == 0
		}
		if !settled {
			t.Fatalf("seed %d: choosing a side does not end: %v", seed, choices)
		}
	}
}

// checkPlan holds an applied plan against the sides as they were.
func checkPlan(w *world, out Outcome, project, dataset map[string]Entry) error {
	for _, sides := range [][2]map[string]Entry{{project, w.project}, {dataset, w.dataset}} {
		for path, was := range sides[0] {
			if sides[1][path].Kind == Absent {
				return fmt.Errorf("%s was removed", path)
			}
			if was.Kind == Blocked && sides[1][path] != was {
				return fmt.Errorf("blocked %s was touched", path)
			}
			if !w.holds(was) {
				return fmt.Errorf("the content of %s is nowhere any more", path)
			}
		}
		if err := sound(sides[1]); err != nil {
			return err
		}
	}
	for _, a := range out.Actions {
		for up := parent(a.Path); up != ""; up = parent(up) {
			if project[up].Kind == Blocked || dataset[up].Kind == Blocked {
				return fmt.Errorf("%s is written below a blocked directory", a.Path)
			}
		}
	}
	return nil
}

func TestAChangeUnderOnePathChangesOnlyItemsUnderIt(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 2))
		w, rules := randomWorld(r), randomRules(r)
		before := items(w.reconcile(rules, nil), "b")
		for path := range maps.Clone(w.project) {
			if path == "a" || strings.HasPrefix(path, "a/") {
				delete(w.project, path)
			}
		}
		w.project["a"] = file("new content")
		if after := items(w.reconcile(rules, nil), "b"); after != before {
			t.Fatalf("seed %d: items under b were\n%s\nand are\n%s", seed, before, after)
		}
	}
}

// items renders what an outcome says of one name and all below it.
func items(out Outcome, top string) string {
	var b strings.Builder
	say := func(path string, what ...any) {
		if path == top || strings.HasPrefix(path, top+"/") {
			fmt.Fprintln(&b, append([]any{path}, what...)...)
		}
	}
	for _, a := range out.Actions {
		say(a.Path, a.Verb(), a.Side, word(a.After))
	}
	for _, a := range out.Adoptions {
		say(a.Path, "adopt", word(a.Entry))
	}
	for _, h := range out.Held {
		say(h.Path, h.Reason)
	}
	for _, c := range out.Conflicts {
		say(c.Path, c.Code)
	}
	for _, x := range out.Blocked {
		say(x.Path, x.Reason, x.Side)
	}
	for _, l := range out.Local {
		say(l.Path, l.Side)
	}
	return b.String()
}

func TestLosingTheAncestorOverwritesNothing(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 3))
		w, rules := randomWorld(r), randomRules(r)
		w.ancestor = map[string]Entry{}
		for _, a := range w.reconcile(rules, nil).Actions {
			if a.Before.Kind != Absent {
				t.Fatalf("seed %d: %s replaces %s at %s", seed, a.Verb(), word(a.Before), a.Path)
			}
		}
	}
}

func TestTheSameWorldGivesTheSamePlan(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 4))
		w, rules := randomWorld(r), randomRules(r)
		one := planOf(t, w, rules)
		if other := planOf(t, w, rules); one != other {
			t.Fatalf("seed %d: %s and %s", seed, one, other)
		}
	}
}

// planOf encodes the plan of a world, reads it back, and returns its id.
func planOf(t *testing.T, w *world, rules Rules) string {
	t.Helper()
	out := w.reconcile(rules, nil)
	plan := Plan{Binding: "notes", Revision: 1, Direction: rules.Direction, Ancestor: 3, Project: tree(w.project).Digest().String(),
		Actions: out.Actions, Adoptions: out.Adoptions, Held: out.Held, Conflicts: out.Conflicts, Blocked: out.Blocked,
		Local: out.Local, Choices: out.Choices}
	text, id := plan.Encode()
	back, err := ParsePlan(text)
	if err != nil {
		t.Fatal(err)
	}
	if _, again := back.Encode(); again != id {
		t.Fatalf("read back as %s", again)
	}
	return id
}

func BenchmarkReconcile(b *testing.B) {
	var nodes []Node
	for i := range 50_000 {
		if i%20 == 0 {
			nodes = append(nodes, Node{Path: fmt.Sprintf("d%05d", i/20), Entry: Entry{Kind: Directory}})
		}
		nodes = append(nodes, Node{Path: fmt.Sprintf("d%05d/f%05d", i/20, i), Entry: file(fmt.Sprint(i))})
	}
	same := NewTree(nodes)
	for _, f := range []Folding{{}, {Case: true}} {
		b.Run(fmt.Sprintf("50000 files unchanged, case folding %t", f.Case), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if out := Reconcile(same, same, same, Rules{Direction: Both, Folding: f}, nil); len(out.Actions) > 0 {
					b.Fatal(told(out))
				}
			}
		})
	}
}
