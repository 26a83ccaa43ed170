package dirsync

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentsync/hashgraph/digest"
)

var update = flag.Bool("update", false, "write the golden files anew")

func file(content string) Entry {
	return Entry{Kind: File, Digest: digest.Sum([]byte(content)), Size: int64(len(content))}
}

func program(content string) Entry {
	e := file(content)
	e.Executable = true
	return e
}

// contents are what a side can have at a path; the last one no ancestor has.
var contents = []struct {
	word string
	Entry
}{
	{"-", Entry{}}, {"dir", Entry{Kind: Directory}}, {"A", file("A")}, {"A*", program("A")}, {"B", file("B")},
	{"link", Entry{Kind: Link, Target: "x"}}, {"blocked", Entry{Kind: Blocked, Reason: Unreadable}},
}

func single(e Entry) Tree {
	if e.Kind == Absent {
		return Tree{}
	}
	return Tree{[]Node{{Path: "f", Entry: e}}}
}

func word(e Entry) string {
	for _, c := range contents {
		if c.Entry == e {
			return c.word
		}
	}
	return "?"
}

// told renders an outcome of one path.
func told(out Outcome) string {
	var parts []string
	for _, a := range out.Actions {
		parts = append(parts, fmt.Sprintf("%s %s %s", a.Verb(), a.Side, word(a.After)))
	}
	for _, a := range out.Adoptions {
		parts = append(parts, "adopt "+word(a.Entry))
	}
	for _, h := range out.Held {
		parts = append(parts, "held "+string(h.Reason))
	}
	for _, c := range out.Conflicts {
		parts = append(parts, "conflict "+string(c.Code))
	}
	for _, b := range out.Blocked {
		parts = append(parts, "blocked "+b.Side.String())
	}
	for _, l := range out.Local {
		parts = append(parts, "local "+l.Side.String())
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// eachCombination walks over every ancestor, both sides and every direction.
func eachCombination(each func(a, p, d Entry, dir Direction)) {
	for _, dir := range []Direction{Both, ToProject, ToDataset} {
		for _, a := range contents[:len(contents)-1] {
			for _, p := range contents {
				for _, d := range contents {
					each(a.Entry, p.Entry, d.Entry, dir)
				}
			}
		}
	}
}

func TestTheWholeTable(t *testing.T) {
	var b strings.Builder
	eachCombination(func(a, p, d Entry, dir Direction) {
		rules := Rules{Direction: dir}
		out := Reconcile(single(a), single(p), single(d), rules, nil)
		fmt.Fprintf(&b, "%-10s %-4s | %-7s | %-7s => %s", dir, word(a), word(p), word(d), told(out))
		for _, c := range out.Conflicts {
			for _, side := range []Side{Project, Dataset} {
				chosen := Reconcile(single(a), single(p), single(d), rules, []Choice{{c.Path, side, c.Project, c.Dataset}})
				if c.Choosable() {
					fmt.Fprintf(&b, "; %s: %s", side, told(chosen))
				}
			}
		}
		b.WriteByte('\n')
	})
	golden := filepath.Join("testdata", "table.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != string(want) {
		gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(want), "\n")
		for i := range min(len(gotLines), len(wantLines)) {
			if gotLines[i] != wantLines[i] {
				t.Errorf("row %d\n got %s\nwant %s", i+1, gotLines[i], wantLines[i])
			}
		}
		t.Errorf("%d rows, want %d", len(gotLines), len(wantLines))
	}
}

// world is both sides and what they last agreed on, as a plan would leave them.
type world struct {
	ancestor, project, dataset map[string]Entry
	kept                       map[string]Entry // by path and digest, replaced contents
}

func newWorld(a, p, d Tree) *world {
	w := &world{map[string]Entry{}, map[string]Entry{}, map[string]Entry{}, map[string]Entry{}}
	for tree, side := range map[*Tree]map[string]Entry{&a: w.ancestor, &p: w.project, &d: w.dataset} {
		for _, n := range tree.Nodes {
			side[n.Path] = n.Entry
		}
	}
	return w
}

func tree(side map[string]Entry) Tree {
	var nodes []Node
	for path, e := range side {
		if e.Kind != Absent {
			nodes = append(nodes, Node{Path: path, Entry: e})
		}
	}
	return NewTree(nodes)
}

// apply does what a plan says.
func (w *world) apply(out Outcome) {
	for _, a := range out.Actions {
		side := w.project
		if a.Side == Dataset {
			side = w.dataset
		}
		if was := side[a.Path]; was.Kind != Absent {
			w.kept[a.Path+word(was)+was.Digest.Hex()] = was
		}
		side[a.Path] = a.After
		w.ancestor[a.Path] = a.After
	}
	for _, a := range out.Adoptions {
		w.ancestor[a.Path] = a.Entry
	}
}

func (w *world) reconcile(rules Rules, choices []Choice) Outcome {
	return Reconcile(tree(w.ancestor), tree(w.project), tree(w.dataset), rules, choices)
}

// holds reports that a file's content is somewhere.
func (w *world) holds(e Entry) bool {
	for _, side := range []map[string]Entry{w.project, w.dataset, w.kept} {
		for _, one := range side {
			if one.SameContent(e) {
				return true
			}
		}
	}
	return e.Kind != File
}

func TestOnePathKeepsTheLaws(t *testing.T) {
	eachCombination(func(a, p, d Entry, dir Direction) {
		rules := Rules{Direction: dir}
		first := Reconcile(single(a), single(p), single(d), rules, nil)
		rows := [][]Choice{nil}
		for _, c := range first.Conflicts {
			if c.Choosable() {
				rows = append(rows, []Choice{{c.Path, Project, p, d}}, []Choice{{c.Path, Dataset, p, d}})
			}
		}
		for _, choices := range rows {
			at := fmt.Sprintf("%s %s|%s|%s choices %v", dir, word(a), word(p), word(d), len(choices))
			w := newWorld(single(a), single(p), single(d))
			out := w.reconcile(rules, choices)
			w.apply(out)
			checkLaws(t, at, w, out, p, d)
			again := w.reconcile(rules, nil)
			if len(again.Actions)+len(again.Adoptions) > 0 {
				t.Errorf("%s: not settled after one plan: %s", at, told(again))
			}
			if len(choices) > 0 && len(again.Conflicts) > 0 {
				t.Errorf("%s: a choice did not settle it: %s", at, told(again))
			}
		}
	})
}

func checkLaws(t *testing.T, at string, w *world, out Outcome, p, d Entry) {
	t.Helper()
	for _, action := range out.Actions {
		if action.After.Kind == Absent || action.After.Kind == Blocked {
			t.Errorf("%s: a plan removes a path: %s", at, told(out))
		}
		if action.Before.Kind == Blocked {
			t.Errorf("%s: a blocked path is written: %s", at, told(out))
		}
	}
	if !w.holds(p) || !w.holds(d) {
		t.Errorf("%s: a content is lost: %s", at, told(out))
	}
}

func TestSwappingTheSidesMirrorsThePlan(t *testing.T) {
	mirror := map[Direction]Direction{Both: Both, ToProject: ToDataset, ToDataset: ToProject}
	eachCombination(func(a, p, d Entry, dir Direction) {
		one := Reconcile(single(a), single(p), single(d), Rules{Direction: dir}, nil)
		other := Reconcile(single(a), single(d), single(p), Rules{Direction: mirror[dir]}, nil)
		swap := strings.NewReplacer("project", "dataset", "dataset", "project")
		if p.Kind == Blocked && d.Kind == Blocked {
			return // one side is named where both could be
		}
		if told(one) != swap.Replace(told(other)) {
			t.Errorf("%s %s|%s|%s: %s, mirrored %s", dir, word(a), word(p), word(d), told(one), told(other))
		}
	})
}
