//go:build unix

package life_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentsync/dirsync"
	"agentsync/dirsync/dataset"
	"agentsync/dirsync/life"
	"agentsync/ledger/durable"
	"agentsync/publish/store"
	"agentsync/publish/store/mem"
)

var ctx = context.Background()

// owner signs with a fixed key.
type owner struct{}

var key = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))

func (owner) DID() string { return "did:test:owner" }

func (owner) Sign(message []byte) []byte { return ed25519.Sign(key, message) }

func verify(did string, message, signature []byte) error {
	if did != (owner{}).DID() || !ed25519.Verify(key.Public().(ed25519.PublicKey), message, signature) {
		return errors.New("signature does not match")
	}
	return nil
}

// end is one machine: a project directory, its state, and the store that all share.
type end struct {
	t    testing.TB
	root string
	life.Options
	now time.Time
}

func newEnd(t testing.TB, s store.Store, name string) *end {
	t.Helper()
	base := memoryDir(t)
	e := &end{t: t, root: filepath.Join(base, "project"), now: time.Now().Add(time.Hour)}
	must(t, os.Mkdir(e.root, 0o755))
	e.Options = life.Options{
		Disk: durable.OS(), Dir: filepath.Join(base, "state", "dirsync"), Location: "mem:",
		Datasets:  dataset.Options{Store: s, Owner: owner{}.DID(), Signer: owner{}, Installation: name, Verify: verify},
		Forbidden: []string{filepath.Join(base, "state")}, Workers: 1,
		Now: func() time.Time { return e.now },
	}
	return e
}

func memoryDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "agentsync-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	return dir
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (e *end) bind(direction dirsync.Direction) *end {
	e.t.Helper()
	_, _, err := e.Bind(dirsync.Binding{ID: "notes", Root: e.root, Dataset: "notes", Direction: direction, Links: dirsync.SkipLinks})
	must(e.t, err)
	return e
}

func (e *end) open() *life.Bound {
	e.t.Helper()
	b, err := e.Open("notes")
	must(e.t, err)
	return b
}

func (e *end) preview(accepts dirsync.Accepts) *life.Preview {
	e.t.Helper()
	p, err := e.open().Preview(ctx, accepts)
	must(e.t, err)
	return p
}

func (e *end) apply(id string) *life.Applied {
	e.t.Helper()
	a, err := e.open().Apply(ctx, id)
	must(e.t, err)
	return a
}

// sync previews and applies.
func (e *end) sync() *life.Applied {
	e.t.Helper()
	return e.apply(e.preview(dirsync.Accepts{}).ID)
}

func (e *end) write(path, content string) {
	e.t.Helper()
	full := filepath.Join(e.root, path)
	must(e.t, os.MkdirAll(filepath.Dir(full), 0o755))
	must(e.t, os.WriteFile(full, []byte(content), 0o644))
}

// files are the project's files by path.
func (e *end) files() map[string]string {
	e.t.Helper()
	found := map[string]string{}
	must(e.t, filepath.WalkDir(e.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		rel, _ := filepath.Rel(e.root, path)
		found[rel] = string(content)
		return err
	}))
	return found
}

// kept are the contents that the binding keeps.
func (e *end) kept() (contents []string) {
	e.t.Helper()
	must(e.t, filepath.WalkDir(filepath.Join(e.Dir, "notes", "keep"), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		contents = append(contents, string(content))
		return err
	}))
	return contents
}

func (e *end) wants(want map[string]string) {
	e.t.Helper()
	if got := e.files(); !maps.Equal(got, want) {
		e.t.Errorf("the project holds %q, want %q", got, want)
	}
}

func TestTwoDirectoriesMeetInADataset(t *testing.T) {
	s := mem.New()
	here, there := newEnd(t, s, "here").bind(dirsync.Both), newEnd(t, s, "there").bind(dirsync.Both)
	here.write("a.md", "one")
	here.write("d/b.md", "two")
	if a := here.sync(); a.Phase != life.Complete || a.Upload != life.Committed || a.Total != 0 {
		t.Fatalf("%+v", a.State)
	}
	if a := there.sync(); a.Phase != life.Complete || a.Upload != life.NoUpload || a.Applied != 3 {
		t.Fatalf("%+v", a.State)
	}
	there.wants(here.files())
	there.preview(dirsync.Accepts{}) // reads once what was just written
	for _, e := range []*end{here, there} {
		if p := e.preview(dirsync.Accepts{}); len(p.Plan.Actions)+len(p.Plan.Conflicts) > 0 || p.Hashed > 0 {
			t.Errorf("after a sync: %+v, %d files read", p.Plan.Actions, p.Hashed)
		}
	}
	here.write("a.md", "one, edited here")
	there.write("a.md", "one, edited there")
	there.write("c.md", "new")
	here.sync()
	p := there.preview(dirsync.Accepts{})
	if len(p.Plan.Conflicts) != 1 || p.Plan.Conflicts[0].Path != "a.md" || len(p.Plan.Actions) != 1 {
		t.Fatalf("%+v", p.Plan)
	}
	there.apply(p.ID)
	there.wants(map[string]string{"a.md": "one, edited there", "d/b.md": "two", "c.md": "new"})
	p = there.preview(dirsync.Accepts{})
	q, err := there.open().Choose(ctx, p.ID, dirsync.Dataset, []string{"a.md"})
	must(t, err)
	if q.ID == p.ID || len(q.Plan.Conflicts) != 0 {
		t.Fatalf("%+v", q.Plan)
	}
	if _, err := there.open().Apply(ctx, p.ID); !errors.Is(err, life.ErrPlanChanged) {
		t.Errorf("the former plan: %v", err)
	}
	if a := there.apply(q.ID); len(a.Kept) != 1 || !slices.Equal(there.kept(), []string{"one, edited there"}) {
		t.Errorf("%+v, kept %q", a, there.kept())
	}
	here.sync()
	there.wants(here.files())
}

func TestTenRoundsOfEditsFromBothEndsLoseNothing(t *testing.T) {
	seeds := uint64(12)
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 1))
		s := mem.New()
		ends := []*end{newEnd(t, s, "here").bind(dirsync.Both), newEnd(t, s, "there").bind(dirsync.Both)}
		n := 0
		for round := range 10 {
			for _, e := range ends {
				edit(r, e, &n)
			}
			before := [][]string{contents(ends[0]), contents(ends[1])}
			for i, e := range []*end{ends[0], ends[1], ends[0], ends[1]} {
				settle(t, r, e)
				if i < 2 {
					lost(t, fmt.Sprintf("seed %d round %d", seed, round), before[i], e, s)
				}
			}
		}
		settle(t, r, ends[0])
		settle(t, r, ends[1])
	}
}

// edit changes, adds and deletes files of one end.
func edit(r *rand.Rand, e *end, n *int) {
	for range 1 + r.IntN(5) {
		path := []string{"a", "b", "d/a", "d/b", "d/e/a", "f"}[r.IntN(6)]
		*n++
		if r.IntN(4) == 0 {
			_ = os.RemoveAll(filepath.Join(e.root, path))
			continue
		}
		e.write(path, fmt.Sprintf("content %d", *n))
	}
	e.now = e.now.Add(time.Hour)
}

func contents(e *end) []string { return slices.Collect(maps.Values(e.files())) }

// settle syncs one end and takes a random side in every conflict.
func settle(t *testing.T, r *rand.Rand, e *end) {
	t.Helper()
	accepts := dirsync.Accepts{Missing: true}
	p := e.preview(accepts)
	for range 4 {
		var paths []string
		for _, c := range p.Plan.Conflicts {
			if c.Choosable() {
				paths = append(paths, c.Path)
			}
		}
		if len(paths) == 0 {
			break
		}
		q, err := e.open().Choose(ctx, p.ID, dirsync.Side(r.IntN(2)), paths)
		must(t, err)
		p = q
	}
	if a := e.apply(p.ID); a.Phase != life.Complete {
		t.Fatalf("%+v", a)
	}
}

// lost fails when a content that an end had is neither there nor kept nor stored.
func lost(t *testing.T, at string, had []string, e *end, s store.Store) {
	t.Helper()
	here := append(contents(e), e.kept()...)
	must(t, s.List(ctx, "objects/", func(entry store.Entry) error {
		text, err := s.Get(ctx, entry.Name, 0, -1, nil)
		here = append(here, string(text))
		return err
	}))
	for _, content := range had {
		if !slices.Contains(here, content) {
			t.Fatalf("%s: %q is nowhere", at, content)
		}
	}
}

func TestGuardsStopAPlan(t *testing.T) {
	many := func(e *end) {
		for i := range 20 {
			e.write(fmt.Sprintf("f%02d", i), fmt.Sprint("content ", i))
		}
	}
	for _, row := range []struct {
		name    string
		act     func(t *testing.T, e *end)
		guard   dirsync.Guard
		accepts dirsync.Accepts
	}{
		{"an emptied directory", func(t *testing.T, e *end) {
			for path := range e.files() {
				must(t, os.Remove(filepath.Join(e.root, path)))
			}
		}, dirsync.RootEmptied, dirsync.Accepts{Missing: true}},
		{"most files gone", func(t *testing.T, e *end) {
			for i := range 15 {
				must(t, os.Remove(filepath.Join(e.root, fmt.Sprintf("f%02d", i))))
			}
		}, dirsync.MassMissing, dirsync.Accepts{Missing: true}},
		{"every file changed", func(_ *testing.T, e *end) {
			for i := range 20 {
				e.write(fmt.Sprintf("f%02d", i), "re-encoded")
			}
		}, dirsync.AllChanged, dirsync.Accepts{Overwrites: 20}},
		{"most files of the other side to be replaced", func(_ *testing.T, e *end) {
			for i := range 15 {
				e.write(fmt.Sprintf("f%02d", i), "edited")
			}
		}, dirsync.MassOverwrite, dirsync.Accepts{Overwrites: 15}},
		{"no directory", func(t *testing.T, e *end) { must(t, os.Rename(e.root, e.root+"-away")) }, dirsync.RootMissing, dirsync.Accepts{}},
		{"another directory of the name", func(t *testing.T, e *end) {
			must(t, os.Rename(e.root, e.root+"-away"))
			must(t, os.Mkdir(e.root, 0o755))
		}, dirsync.RootChanged, dirsync.Accepts{}},
		{"another direction", func(t *testing.T, e *end) {
			must(t, e.open().SetDirection(dirsync.ToProject, 1))
		}, dirsync.RulesChanged, dirsync.Accepts{Rebase: true}},
	} {
		t.Run(row.name, func(t *testing.T) {
			e := newEnd(t, mem.New(), "here").bind(dirsync.Both)
			many(e)
			e.sync()
			row.act(t, e)
			_, planBefore, err := e.open().Plan()
			must(t, err)
			var stop *dirsync.StopError
			if _, err := e.open().Preview(ctx, dirsync.Accepts{}); !errors.As(err, &stop) || stop.Guard != row.guard {
				t.Fatalf("%v", err)
			}
			if _, after, err := e.open().Plan(); err != nil || after != planBefore {
				t.Errorf("a guard replaced the plan: %s, %v", after, err)
			}
			p, err := e.open().Preview(ctx, row.accepts)
			if row.accepts == (dirsync.Accepts{}) {
				if err == nil {
					t.Error("accepted")
				}
				return
			}
			must(t, err)
			e.apply(p.ID)
		})
	}
}

func TestAPlanWhoseDatasetMovedOnTouchesNoFile(t *testing.T) {
	s := mem.New()
	here, there := newEnd(t, s, "here").bind(dirsync.Both), newEnd(t, s, "there").bind(dirsync.Both)
	here.write("a", "one")
	here.sync()
	p := there.preview(dirsync.Accepts{})
	here.write("b", "two")
	here.sync()
	if _, err := there.open().Apply(ctx, p.ID); !errors.Is(err, dataset.ErrMoved) {
		t.Fatal(err)
	}
	there.wants(map[string]string{})
	there.sync()
	there.wants(here.files())
}

func TestTheBindingsFactsAreChecked(t *testing.T) {
	e := newEnd(t, mem.New(), "here").bind(dirsync.Both)
	again := dirsync.Binding{ID: "notes", Root: e.root, Dataset: "notes", Direction: dirsync.Both, Links: dirsync.SkipLinks}
	b, created, err := e.Bind(again)
	if err != nil || created || b.Revision != 1 {
		t.Errorf("the same again: %v %t", err, created)
	}
	other := again
	other.Dataset = "else"
	if _, _, err := e.Bind(other); !errors.Is(err, life.ErrBindingChanged) {
		t.Errorf("other facts: %v", err)
	}
	if err := e.open().SetDirection(dirsync.ToDataset, 7); !errors.Is(err, life.ErrBindingChanged) || e.open().Direction != dirsync.Both {
		t.Errorf("a stale revision: %v", err)
	}
	for name, root := range map[string]string{"the same": e.root, "above": filepath.Dir(e.root), "the state": e.Dir} {
		must(t, os.MkdirAll(root, 0o700))
		want := again
		want.ID, want.Root = "other", root
		var stop *dirsync.StopError
		if _, _, err := e.Bind(want); !errors.As(err, &stop) || stop.Guard != dirsync.Overlap {
			t.Errorf("%s: %v", name, err)
		}
	}
	want := again
	want.ID, want.Root = "absent", filepath.Join(e.root, "absent")
	if _, _, err := e.Bind(want); err == nil {
		t.Error("a directory that is not there was bound")
	}
	if _, err := os.Lstat(want.Root); !errors.Is(err, fs.ErrNotExist) {
		t.Error("binding made the directory")
	}
	if left, err := filepath.Glob(filepath.Join(e.root, ".*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	e.write("a", "one")
	e.sync()
	if _, err := e.open().Unbind(); err != nil {
		t.Error(err)
	}
	if _, err := e.Open("notes"); !errors.Is(err, life.ErrUnknownBinding) {
		t.Error(err)
	}
	e.wants(map[string]string{"a": "one"})
}

func TestALostAncestorOverwritesNothing(t *testing.T) {
	s := mem.New()
	here, there := newEnd(t, s, "here").bind(dirsync.Both), newEnd(t, s, "there").bind(dirsync.Both)
	here.write("a", "one")
	here.write("b", "two")
	here.sync()
	there.sync()
	here.write("a", "one, edited")
	here.sync()
	must(t, os.WriteFile(filepath.Join(there.Dir, "notes", "ancestor.json"), []byte("{"), 0o600))
	p := there.preview(dirsync.Accepts{})
	if len(p.Notes) != 1 || !strings.Contains(p.Notes[0], "set aside") || len(p.Plan.Conflicts) != 1 || len(p.Plan.Actions) != 0 {
		t.Errorf("%q %+v", p.Notes, p.Plan)
	}
	there.apply(p.ID)
	there.wants(map[string]string{"a": "one", "b": "two"})
}

// TestLinksComeByTheRuleOfTheBindingThatReceives publishes links from one machine and looks
// what becomes of them on others.
func TestLinksComeByTheRuleOfTheBindingThatReceives(t *testing.T) {
	s := mem.New()
	bound := func(name string, links dirsync.LinkPolicy) *end {
		e := newEnd(t, s, name)
		_, _, err := e.Bind(dirsync.Binding{ID: "notes", Root: e.root, Dataset: "notes", Direction: dirsync.Both, Links: links})
		must(t, err)
		return e
	}
	a, skips, takes := bound("a", dirsync.PortableLinks), bound("b", dirsync.SkipLinks), bound("c", dirsync.PortableLinks)
	a.write("d/file", "content")
	must(t, os.Symlink("file", filepath.Join(a.root, "d", "link")))
	must(t, os.Symlink("..", filepath.Join(a.root, "d", "up")))
	must(t, os.Symlink("up/../..", filepath.Join(a.root, "d", "out")))
	must(t, os.Symlink("/etc/passwd", filepath.Join(a.root, "away")))
	a.sync()
	reasons := func(e *end) string {
		var list []string
		for _, b := range e.preview(dirsync.Accepts{}).Plan.Blocked {
			list = append(list, fmt.Sprintf("%s %s %s", b.Side, b.Path, b.Reason))
		}
		slices.Sort(list)
		return strings.Join(list, ", ")
	}
	if got := reasons(a); got != "project away link-unsafe, project d/out link-unsafe" {
		t.Errorf("where they are: %s", got)
	}
	there := func(e *end, name string) bool {
		_, err := os.Lstat(filepath.Join(e.root, name))
		return err == nil
	}
	if got := reasons(skips); got != "dataset d/link link, dataset d/up link" {
		t.Errorf("a binding that skips them: %s", got)
	}
	skips.sync()
	if there(skips, "d/link") || there(skips, "d/up") || !there(skips, "d/file") {
		t.Error("a binding that skips links writes them")
	}
	// What stands here makes a link of the dataset lead outside.
	must(t, os.Mkdir(filepath.Join(takes.root, "d"), 0o755))
	must(t, os.Symlink("../d", filepath.Join(takes.root, "d", "up")))
	takes.sync()
	if !there(takes, "d/link") || there(takes, "d/out") || there(takes, "away") {
		t.Error("a binding that takes links has others than the harmless ones")
	}
}

// atDelete calls a function before the first deletion that is asked of a store.
type atDelete struct {
	*mem.Store
	do func()
}

func (s *atDelete) Delete(ctx context.Context, name string) error {
	if do := s.do; do != nil {
		s.do = nil
		do()
	}
	return s.Store.Delete(ctx, name)
}

// TestAPruneBesideAnUploadTakesNothingThatItRestsOn brings an old content back while a prune
// is about to remove it.
func TestAPruneBesideAnUploadTakesNothingThatItRestsOn(t *testing.T) {
	s := &atDelete{Store: mem.New()}
	e := newEnd(t, s, "a").bind(dirsync.Both)
	start := time.Unix(0, 0).UTC()
	for _, text := range []string{"first", "second"} {
		e.write("x.md", text)
		e.write("k.md", "kept")
		e.sync()
	}
	e.write("x.md", "first")
	now := start.Add(30 * 24 * time.Hour)
	s.SetTime(now)
	p := e.preview(dirsync.Accepts{})
	applied := false
	s.do = func() { e.apply(p.ID); applied = true }
	o := e.Datasets
	r, err := dataset.Prune(ctx, o, dataset.PruneOptions{Keep: 1, Grace: 7 * 24 * time.Hour, Apply: true, Now: now})
	must(t, err)
	if !applied || len(r.Removed) == 0 {
		t.Fatalf("nothing was removed: %+v", r)
	}
	report, err := dataset.Check(ctx, o, true, func(int, int) {})
	must(t, err)
	for _, problem := range report.Problems {
		t.Errorf("%s: %v", problem.Name, problem.Err)
	}
	other := newEnd(t, s, "b").bind(dirsync.Both)
	other.sync()
	other.wants(map[string]string{"x.md": "first", "k.md": "kept"})
}
