//go:build unix

package life_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"agentsync/dirsync"
	"agentsync/dirsync/apply"
	"agentsync/dirsync/dataset"
	"agentsync/dirsync/life"
	"agentsync/hashgraph/digest"
	"agentsync/ledger/durable"
	"agentsync/publish/store"
	"agentsync/publish/store/mem"
)

var errCrash = errors.New("crash")

// cut runs act and lets it die before its n-th step; died is false when it had fewer.
func cut(t *testing.T, n int, act func()) (died bool) {
	t.Helper()
	next := func(string) {
		if n--; n < 0 {
			panic(errCrash)
		}
	}
	restore, restoreApply := durable.SetStepHook(next), apply.SetStepHook(next)
	defer func() {
		restore()
		restoreApply()
		if what := recover(); what != nil {
			if what != any(errCrash) {
				panic(what)
			}
			died = true
		}
	}()
	act()
	return false
}

// scene is a machine with a plan, made anew from a seed each time.
func scene(t *testing.T, seed uint64) (*end, *mem.Store, string) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 2))
	s := mem.New()
	here, there := newEnd(t, s, "here").bind(dirsync.Both), newEnd(t, s, "there").bind(dirsync.Both)
	n := 0
	edit(r, here, &n)
	edit(r, here, &n)
	here.sync()
	there.sync()
	edit(r, here, &n)
	edit(r, there, &n)
	here.apply(here.preview(dirsync.Accepts{Missing: true}).ID)
	return there, s, there.preview(dirsync.Accepts{Missing: true}).ID
}

// result is all that a plan leaves behind, but for times.
type result struct {
	files    map[string]string
	ancestor string
	heads    int
	manifest string
	phase    life.Phase
	staged   bool // something of ours is left in the project
}

func resultOf(t *testing.T, e *end, s store.Store, a *life.Applied) result {
	t.Helper()
	ancestor, err := os.ReadFile(filepath.Join(e.Dir, "notes", "ancestor.json"))
	must(t, err)
	h, err := dataset.Open(e.Datasets, "notes").Newest(ctx)
	must(t, err)
	// Keys differ from store to store, and so do the digests of signed heads.
	ancestor = regexp.MustCompile(`"headDigest":"sha256:[0-9a-f]{64}",`).ReplaceAll(ancestor, nil)
	r := result{files: e.files(), ancestor: string(ancestor), phase: a.Phase}
	if _, err := os.Lstat(filepath.Join(e.root, dirsync.ControlFolder)); err == nil {
		r.staged = true
	}
	if h != nil {
		r.heads, r.manifest = int(h.Generation), h.Manifest.String()
	}
	return r
}

func (r result) equal(o result) bool {
	return maps.Equal(r.files, o.files) && r.ancestor == o.ancestor && r.heads == o.heads && r.manifest == o.manifest && r.phase == o.phase && !r.staged
}

func TestAnApplicationCutAnywhereEndsAsAWholeOne(t *testing.T) {
	seeds := uint64(6)
	if testing.Short() {
		seeds = 2
	}
	points := 0
	for seed := range seeds {
		e, s, id := scene(t, seed)
		want := resultOf(t, e, s, e.apply(id))
		for n := 0; ; n++ {
			e, s, id := scene(t, seed)
			died := cut(t, n, func() { e.apply(id) })
			if !died {
				break
			}
			points++
			if got := resultOf(t, e, s, e.apply(id)); !got.equal(want) {
				t.Fatalf("seed %d step %d:\n got %+v\nwant %+v", seed, n, got, want)
			}
			e.preview(dirsync.Accepts{Missing: true})
		}
	}
	t.Logf("%d points", points)
}

func TestAnUploadWithoutAnAnswerIsAskedForBeforeItIsSentAgain(t *testing.T) {
	for _, row := range []struct {
		name  string
		fault mem.Fault
		heads int64
	}{
		{"the head is there", mem.Fault{Op: mem.Commit, Prefix: "heads/", After: errors.New("timed out"), Times: 1}, 1},
		{"the head is not there", mem.Fault{Op: mem.Commit, Prefix: "heads/", Before: errors.New("timed out"), Times: 1}, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := mem.New()
			e := newEnd(t, s, "here").bind(dirsync.Both)
			e.write("a", "one")
			id := e.preview(dirsync.Accepts{}).ID
			s.Inject(row.fault)
			if _, err := e.open().Apply(ctx, id); err == nil {
				t.Fatal("no error")
			}
			state, err := e.open().State()
			must(t, err)
			if state.Phase != life.Applying || state.Upload != life.Unknown {
				t.Fatalf("%+v", state)
			}
			var stop *dirsync.StopError
			if _, err := e.open().Preview(ctx, dirsync.Accepts{}); !errors.As(err, &stop) || stop.Guard != dirsync.PlanApplying {
				t.Errorf("preview meanwhile: %v", err)
			}
			if a := e.apply(id); a.Phase != life.Complete || a.Upload != life.Committed || a.Head != row.heads {
				t.Errorf("%+v", a.State)
			}
			h, err := dataset.Open(e.Datasets, "notes").Newest(ctx)
			if err != nil || h.Generation != row.heads {
				t.Errorf("%+v, %v", h, err)
			}
		})
	}
}

func TestAPlanThatCannotBeFinishedCanBeAbandoned(t *testing.T) {
	s := mem.New()
	here, there := newEnd(t, s, "here").bind(dirsync.Both), newEnd(t, s, "there").bind(dirsync.Both)
	for i := range 4 {
		here.write(fmt.Sprintf("f%d", i), fmt.Sprint("content ", i))
	}
	here.sync()
	id := there.preview(dirsync.Accepts{}).ID
	broken := errors.New("gone")
	s.Inject(mem.Fault{Op: mem.Get, Prefix: store.ObjectName(digest.Sum([]byte("content 2"))), Before: broken})
	a := there.apply(id)
	if a.Phase != life.Applying || a.Applied != 3 || a.Failed != 1 || len(a.Results) != 1 {
		t.Fatalf("%+v", a)
	}
	a, err := there.open().Abandon(ctx, id)
	must(t, err)
	if a.Phase != life.Abandoned || a.Applied != 3 {
		t.Errorf("%+v", a.State)
	}
	s.Heal()
	there.sync()
	there.wants(here.files())
}

func TestAnAbandonedUploadIsUnknownUnlessTheDatasetTells(t *testing.T) {
	for _, row := range []struct {
		name     string
		fault    mem.Fault
		unplug   bool
		upload   life.Upload
		ancestor int // entries that both sides are known to agree on
	}{
		{"nothing was asked for", mem.Fault{Op: mem.Stage, Before: errors.New("gone"), Times: 1}, false, life.NotCommitted, 0},
		{"the head is there", mem.Fault{Op: mem.Commit, Prefix: "heads/", After: errors.New("timed out"), Times: 1}, false, life.Committed, 1},
		{"the head is not there yet", mem.Fault{Op: mem.Commit, Prefix: "heads/", Before: errors.New("timed out"), Times: 1}, false, life.Unknown, 0},
		{"nobody can be asked", mem.Fault{Op: mem.Commit, Prefix: "heads/", After: errors.New("timed out"), Times: 1}, true, life.Unknown, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := mem.New()
			e := newEnd(t, s, "here").bind(dirsync.Both)
			e.write("a", "one")
			id := e.preview(dirsync.Accepts{}).ID
			s.Inject(row.fault)
			if _, err := e.open().Apply(ctx, id); err == nil {
				t.Fatal("no error")
			}
			s.Heal()
			if row.unplug {
				e.Datasets.Store = nil
			}
			a, err := e.open().Abandon(ctx, id)
			must(t, err)
			if a.Phase != life.Abandoned || a.Upload != row.upload {
				t.Errorf("%+v", a.State)
			}
			e.Datasets.Store = s
			p := e.preview(dirsync.Accepts{})
			if agreed := 1 - len(p.Plan.Actions) - len(p.Plan.Adoptions); agreed != row.ancestor {
				t.Errorf("%d agreed: %+v", agreed, p.Plan)
			}
		})
	}
}

// A store that is put back while a plan is applying may have another head under the number
// that the plan was made from. What was merged with the earlier one is not put over it.
func TestAPlanWhoseBaseIsAnotherOneIsRejected(t *testing.T) {
	s := mem.New()
	here, there := newEnd(t, s, "here").bind(dirsync.Both), newEnd(t, s, "there").bind(dirsync.Both)
	here.write("a", "one")
	here.sync()
	there.sync()
	here.write("b", "of here")
	id := here.preview(dirsync.Accepts{}).ID
	s.Inject(mem.Fault{Op: mem.Commit, Prefix: "heads/", Before: errors.New("timed out"), Times: 1})
	if _, err := here.open().Apply(ctx, id); err == nil {
		t.Fatal("no error")
	}
	must(t, s.Delete(ctx, store.HeadName("dataset-notes", 1)))
	must(t, s.Delete(ctx, store.HintName("dataset-notes")))
	there.write("a", "of there")
	there.apply(there.preview(dirsync.Accepts{Past: true}).ID)

	if _, err := here.open().Apply(ctx, id); !errors.Is(err, dataset.ErrMoved) {
		t.Errorf("%v", err)
	}
	h, err := dataset.Open(here.Datasets, "notes").Newest(ctx)
	must(t, err)
	if h.Generation != 1 || h.Installation != "there" {
		t.Errorf("%+v", h)
	}
	var stop *dirsync.StopError
	if _, err := here.open().Preview(ctx, dirsync.Accepts{}); !errors.As(err, &stop) || stop.Guard != dirsync.DatasetPast {
		t.Errorf("%v", err)
	}
}

// Nothing names what was sent before the head was put: by the time that the plan is gone
// on with, a prune may have taken it.
func TestWhatAPruneTookIsSentAgain(t *testing.T) {
	s := mem.New()
	e := newEnd(t, s, "here").bind(dirsync.Both)
	e.write("a", "one")
	id := e.preview(dirsync.Accepts{}).ID
	s.Inject(mem.Fault{Op: mem.Commit, Prefix: "heads/", Before: errors.New("timed out"), Times: 1})
	if _, err := e.open().Apply(ctx, id); err == nil {
		t.Fatal("no error")
	}
	r, err := dataset.Prune(ctx, e.Datasets, dataset.PruneOptions{Keep: 1, Apply: true, Now: e.now})
	must(t, err)
	if len(r.Removed) != 2 {
		t.Fatalf("%+v", r)
	}
	if a := e.apply(id); a.Phase != life.Complete || a.Head != 1 {
		t.Errorf("%+v", a.State)
	}
	if r, err := dataset.Check(ctx, e.Datasets, true, nil); err != nil || len(r.Problems) > 0 || r.Heads != 1 {
		t.Errorf("%+v, %v", r, err)
	}
}
