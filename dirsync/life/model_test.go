//go:build unix

package life_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"agentsync/dirsync"
	"agentsync/dirsync/apply"
	"agentsync/dirsync/dataset"
	"agentsync/dirsync/life"
	"agentsync/fixtures/crashfs"
	"agentsync/hashgraph/digest"
	"agentsync/ledger/durable"
	"agentsync/publish/store"
	"agentsync/publish/store/mem"
)

// model drives three machines that keep a directory in step with one dataset, and knows
// which contents a person wrote and nobody gave up.
type model struct {
	*testing.T
	rng      *rand.Rand
	store    *gate
	machines []*modelEnd
	now      time.Time
	writes   int
	wanted   map[string]string // contents that must be somewhere, and who wrote them
	steps    []string
	nested   bool              // an action of one machine within another's call of the store
	backup   map[string][]byte // of the store
	hits     map[string]int    // what the walk came to see
}

// modelEnd is a machine whose state lies on a disk that may lose power.
type modelEnd struct {
	*end
	name string
	disk *crashfs.FS
	kill int // steps of an application before the process dies; negative is never
}

var errKilled = errors.New("the process was killed")

// gate is the store as the machines see it: between any two calls of one, others act, and
// whoever is killed reaches it no more.
type gate struct {
	store.Store
	before func()
	left   int // calls before the process that uses it dies; negative is never
}

func (g *gate) pass() error {
	if g.left == 0 {
		return errKilled
	}
	g.left--
	if g.before != nil {
		g.before()
	}
	return nil
}

func (g *gate) Get(ctx context.Context, name string, offset, length int64, dst []byte) ([]byte, error) {
	if err := g.pass(); err != nil {
		return dst, err
	}
	return g.Store.Get(ctx, name, offset, length, dst)
}

func (g *gate) Stat(ctx context.Context, name string) (int64, error) {
	if err := g.pass(); err != nil {
		return 0, err
	}
	return g.Store.Stat(ctx, name)
}

func (g *gate) List(ctx context.Context, prefix string, each func(store.Entry) error) error {
	if err := g.pass(); err != nil {
		return err
	}
	return g.Store.List(ctx, prefix, each)
}

func (g *gate) Delete(ctx context.Context, name string) error {
	if err := g.pass(); err != nil {
		return err
	}
	return g.Store.Delete(ctx, name)
}

func (g *gate) Hint(ctx context.Context, name string, content []byte) error {
	if err := g.pass(); err != nil {
		return err
	}
	return g.Store.Hint(ctx, name, content)
}

func (g *gate) Renew(ctx context.Context, name string) error {
	if err := g.pass(); err != nil {
		return err
	}
	return store.Renew(ctx, g.Store, name)
}

func (g *gate) Stage(ctx context.Context) (store.Staged, error) {
	if err := g.pass(); err != nil {
		return nil, err
	}
	staged, err := g.Store.Stage(ctx)
	return gated{staged, g}, err
}

type gated struct {
	store.Staged
	gate *gate
}

func (s gated) Commit(ctx context.Context, name string) error {
	if err := s.gate.pass(); err != nil {
		return err
	}
	return s.Staged.Commit(ctx, name)
}

func newModel(t *testing.T, seed uint64) *model {
	m := &model{T: t, rng: rand.New(rand.NewPCG(seed, 3)), store: &gate{Store: mem.New(), left: -1}, wanted: map[string]string{},
		now: time.Now().Add(time.Hour), hits: map[string]int{}}
	m.steps = []string{fmt.Sprintf("seed %d", seed)}
	for i, name := range []string{"one", "two", "three"} {
		e := &modelEnd{end: newEnd(t, m.store, name), name: name, disk: crashfs.New(seed + uint64(i)), kill: -1}
		must(t, e.disk.Mkdir("/state", 0o700))
		must(t, e.disk.SyncDir("/"))
		e.Disk, e.Dir, e.Forbidden = e.disk, "/state/dirsync", nil
		must(t, e.disk.Mkdir(e.Dir, 0o700))
		must(t, e.disk.SyncDir("/state"))
		e.Now = func() time.Time { return m.now }
		e.bind(dirsync.Both)
		m.machines = append(m.machines, e)
	}
	return m
}

func (m *model) note(format string, args ...any) {
	indent := ""
	if m.nested {
		indent = "    "
	}
	m.steps = append(m.steps, indent+fmt.Sprintf(format, args...))
	if len(m.steps) > 80 {
		m.steps = slices.Delete(m.steps, 1, 2) // the first one says how to run it again
	}
}

func (m *model) fail(format string, args ...any) {
	m.Helper()
	m.Fatalf("%s\n%s", fmt.Sprintf(format, args...), strings.Join(m.steps, "\n"))
}

func (m *model) chance(percent int) bool { return m.rng.IntN(100) < percent }

var modelPaths = []string{"a", "b", "c", "d/a", "d/b", "d/e/a", "d", "x"}

// giveUp notes that a person saw a content and decided against it.
func (m *model) giveUp(contents ...string) {
	for _, c := range contents {
		delete(m.wanted, c)
	}
}

// below are the contents of a path, and of what is below it, as they stand.
func (e *modelEnd) below(path string) (contents []string) {
	err := filepath.WalkDir(filepath.Join(e.root, path), func(at string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(at)
		contents = append(contents, string(text))
		return err
	})
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		must(e.t, err)
	}
	return contents
}

// edit is a person at work on one machine.
func (m *model) edit(e *modelEnd) {
	path := modelPaths[m.rng.IntN(len(modelPaths))]
	full := filepath.Join(e.root, path)
	for up, err := os.Lstat(filepath.Dir(full)); err == nil && !up.IsDir() || errors.Is(err, syscall.ENOTDIR); up, err = os.Lstat(filepath.Dir(full)) {
		path, full = filepath.Dir(path), filepath.Dir(full) // what is in the way is worked on
	}
	switch m.rng.IntN(8) {
	case 0:
		m.note("%s: remove %s", e.name, path)
		m.giveUp(e.below(path)...)
		must(m, os.RemoveAll(full))
	case 1:
		to := modelPaths[m.rng.IntN(len(modelPaths))]
		info, err := os.Lstat(full)
		if err != nil || info.IsDir() || strings.HasPrefix(path+"/", to+"/") || strings.HasPrefix(to, path+"/") {
			return
		}
		m.makeRoom(e, to)
		m.note("%s: rename %s to %s", e.name, path, to)
		must(m, os.Rename(full, filepath.Join(e.root, to)))
	case 2:
		if info, err := os.Lstat(full); err == nil && info.Mode().IsRegular() {
			m.note("%s: chmod %s", e.name, path)
			must(m, os.Chmod(full, info.Mode().Perm()^0o111))
		}
	case 3:
		m.makeRoom(e, path)
		m.note("%s: link %s", e.name, path)
		must(m, os.Symlink("nowhere", full))
	default:
		m.makeRoom(e, path)
		m.writes++
		content := fmt.Sprintf("content %d", m.writes)
		m.note("%s: write %q to %s", e.name, content, path)
		must(m, os.WriteFile(full, []byte(content), 0o644))
		at := m.now.Add(-time.Hour + time.Duration(m.writes)*time.Millisecond)
		must(m, os.Chtimes(full, at, at)) // a second write in one tick of the clock looks different too
		m.wanted[content] = e.name
	}
}

// makeRoom makes the folders of a path, and removes what stands there or in the way.
func (m *model) makeRoom(e *modelEnd, path string) {
	for up := filepath.Dir(path); up != "."; up = filepath.Dir(up) {
		if info, err := os.Lstat(filepath.Join(e.root, up)); err == nil && !info.IsDir() {
			m.giveUp(e.below(up)...)
			must(m, os.Remove(filepath.Join(e.root, up)))
		}
	}
	full := filepath.Join(e.root, path)
	m.giveUp(e.below(path)...)
	must(m, os.RemoveAll(full))
	must(m, os.MkdirAll(filepath.Dir(full), 0o755))
}

// expected reports an error that a walk may meet.
func (m *model) expected(err error) bool {
	var stop *dirsync.StopError
	switch {
	case err == nil:
		return true
	case errors.As(err, &stop):
		m.hits["stopped: "+string(stop.Guard)]++
	case errors.Is(err, dataset.ErrMoved), errors.Is(err, life.ErrRejected), errors.Is(err, life.ErrPlanChanged):
		m.hits["moved"]++
	case errors.Is(err, errKilled), errors.Is(err, crashfs.ErrPowerOff):
		m.hits["killed"]++
	default:
		return false
	}
	return true
}

// sync previews, chooses and applies on one machine, as far as that goes.
func (m *model) sync(e *modelEnd) error {
	b, err := e.Open("notes")
	if err != nil {
		return err
	}
	if state, err := b.State(); err != nil {
		return err
	} else if state.Phase == life.Applying {
		if m.chance(10) {
			m.note("%s: abandon", e.name)
			m.hits["abandoned"]++
			_, err = b.Abandon(ctx, state.Plan)
			return err
		}
		return m.apply(e, state.Plan)
	}
	accepts := dirsync.Accepts{Missing: true, Past: m.chance(50)}
	p, err := b.Preview(ctx, accepts)
	if err != nil {
		m.note("%s: preview: %v", e.name, err)
		return err
	}
	var paths []string
	side := dirsync.Side(m.rng.IntN(2))
	for _, c := range p.Plan.Conflicts {
		if c.Choosable() && m.chance(50) {
			paths = append(paths, c.Path)
			m.giveUp(m.loser(e, c, side)...)
		}
	}
	m.note("%s: previewed %d actions, %d conflicts, %d held", e.name, len(p.Plan.Actions), len(p.Plan.Conflicts), len(p.Plan.Held))
	if len(paths) > 0 {
		m.note("%s: choose %s for %q", e.name, side, paths)
		m.hits["chosen"]++
		if p, err = b.Choose(ctx, p.ID, side, paths); err != nil {
			return err
		}
	}
	if m.chance(15) {
		m.edit(e)
	}
	return m.apply(e, p.ID)
}

// loser are the contents that a choice decides against.
func (m *model) loser(e *modelEnd, c dirsync.Conflict, side dirsync.Side) (contents []string) {
	entry := c.Dataset
	if side == dirsync.Dataset {
		entry = c.Project
	}
	for content := range m.wanted {
		if entry.Kind == dirsync.File && digest.Sum([]byte(content)) == entry.Digest {
			contents = append(contents, content)
		}
	}
	return contents
}

func (m *model) apply(e *modelEnd, plan string) error {
	b, err := e.Open("notes")
	if err != nil {
		return err
	}
	a, err := b.Apply(ctx, plan)
	if err != nil {
		m.note("%s: apply: %v", e.name, err)
		return err
	}
	m.hits[string(a.Phase)]++
	m.note("%s: applied: %s, %s, %d written, %d left", e.name, a.Phase, a.Upload, a.Applied, a.Left)
	for _, r := range a.Results {
		if r.State == apply.Damaged || r.State == apply.Refused {
			return fmt.Errorf("%s: %s: %s", r.Path, r.State, r.Reason)
		}
	}
	return nil
}

// killed runs act, which may die at a step of its own, of its disk or of the store.
func (m *model) killed(e *modelEnd, act func() error) {
	if m.chance(30) {
		switch m.rng.IntN(3) {
		case 0:
			m.store.left = m.rng.IntN(20)
		case 1:
			e.disk.StopBefore(m.rng.IntN(40))
		case 2:
			e.kill = m.rng.IntN(12)
		}
	}
	err := m.caught(e, act)
	died := errors.Is(err, errKilled) || errors.Is(err, crashfs.ErrPowerOff) || e.disk.Stopped()
	m.store.left, e.kill = -1, -1
	e.disk.StopBefore(1 << 30)
	if died {
		m.note("%s: died: %v", e.name, err)
		if m.chance(50) || e.disk.Stopped() {
			e.disk.Crash()
		} else {
			e.disk.Kill()
		}
	}
	if !m.expected(err) {
		m.fail("%s: %v", e.name, err)
	}
}

// caught runs act and makes an error of a death within an application.
func (m *model) caught(e *modelEnd, act func() error) (err error) {
	restore := apply.SetStepHook(func(name string) {
		if m.nested {
			return
		}
		if e.kill == 0 {
			panic(errKilled)
		}
		e.kill--
		if m.chance(3) {
			m.note("%s: in the middle of %q:", e.name, name)
			m.edit(e)
		}
	})
	defer func() {
		restore()
		if what := recover(); what != nil {
			if what != any(errKilled) {
				panic(what)
			}
			err = errKilled
		}
	}()
	return act()
}

// meanwhile lets another machine act within a call of the store.
func (m *model) meanwhile(e *modelEnd) {
	m.store.before = func() {
		if m.nested || !m.chance(3) {
			return
		}
		left := m.store.left
		m.nested, m.store.left = true, -1
		m.hits["interleaved"]++
		other := m.machines[m.rng.IntN(len(m.machines))]
		switch {
		case m.chance(20):
			m.prune()
		case other == e:
		case m.chance(30):
			m.edit(other)
		default:
			if err := m.sync(other); !m.expected(err) {
				m.Errorf("%s: %v", other.name, err)
			}
		}
		m.nested, m.store.left = false, left
	}
}

const modelGrace = 7 * 24 * time.Hour

func (m *model) prune() {
	e := m.machines[m.rng.IntN(len(m.machines))]
	r, err := dataset.Prune(ctx, e.Datasets, dataset.PruneOptions{Keep: 1 + m.rng.IntN(3), Grace: modelGrace, Apply: true, Now: m.now})
	m.note("prune: %d removed, %v", len(r.Removed), err)
	if len(r.Removed) > 0 {
		m.hits["pruned"]++
	}
	if err != nil && !m.expected(err) {
		m.Errorf("prune: %v", err)
	}
}

// everything is the store, by name.
func (m *model) everything() map[string][]byte {
	all := map[string][]byte{}
	must(m, m.store.Store.List(ctx, "", func(e store.Entry) error {
		text, err := m.store.Store.Get(ctx, e.Name, 0, -1, nil)
		all[e.Name] = text
		return err
	}))
	return all
}

func (m *model) putBack() {
	for name := range m.everything() {
		must(m, m.store.Store.Delete(ctx, name))
	}
	for name, text := range m.backup {
		must(m, m.store.Store.Hint(ctx, name, text))
	}
}

// step does one thing at random.
func (m *model) step() {
	m.now = m.now.Add(time.Duration(m.rng.IntN(600)) * time.Minute)
	m.store.Store.(*mem.Store).SetTime(m.now)
	e := m.machines[m.rng.IntN(len(m.machines))]
	switch n := m.rng.IntN(100); {
	case n < 35:
		for range 1 + m.rng.IntN(3) {
			m.edit(e)
		}
	case n < 85:
		m.meanwhile(e)
		m.killed(e, func() error { return m.sync(e) })
		m.store.before = nil
	case n < 91:
		m.now = m.now.Add(modelGrace)
		m.store.Store.(*mem.Store).SetTime(m.now)
		m.prune()
	case n < 95:
		m.note("copy the store")
		m.backup = m.everything()
	case n < 97 && m.backup != nil:
		m.note("put the store back")
		m.hits["put back"]++
		m.putBack()
	case n < 99:
		err := e.disk.Remove(e.Dir + "/notes/ancestor.json")
		m.note("%s: lose what was agreed on: %v", e.name, err)
	}
	m.check()
}

// check holds the two laws: no content is nowhere, and every kept head is whole.
func (m *model) check() {
	m.Helper()
	if m.Failed() {
		m.fail("above")
	}
	found := map[string]bool{}
	for _, e := range m.machines {
		for _, content := range e.below(".") {
			found[content] = true
		}
		for _, path := range e.disk.Files() {
			if strings.Contains(path, "/keep/") {
				text, err := durable.ReadFile(e.disk, path, 1<<20)
				must(m, err)
				found[string(text)] = true
			}
		}
	}
	options := m.machines[0].Datasets
	options.Store = m.store.Store
	m.newest(options, found)
	for _, content := range slices.Sorted(maps.Keys(m.wanted)) {
		if !found[content] {
			m.fail("%q, written on %s, is nowhere", content, m.wanted[content])
		}
	}
	r, err := dataset.Check(ctx, options, true, nil)
	if err != nil || len(r.Problems) > 0 {
		m.fail("a kept head is not whole: %v, %v", r.Problems, err)
	}
}

// newest adds what the newest head holds.
func (m *model) newest(options dataset.Options, found map[string]bool) {
	d := dataset.Open(options, "notes")
	h, err := d.Newest(ctx)
	must(m, err)
	tree, err := d.Tree(ctx, h)
	if err != nil {
		m.fail("the newest head is not whole: %v", err)
	}
	for i := range tree.Nodes {
		if n := &tree.Nodes[i]; n.Kind == dirsync.File {
			text, err := options.Store.Get(ctx, store.ObjectName(n.Digest), 0, -1, nil)
			must(m, err)
			found[string(text)] = true
		}
	}
}

// TestNoContentIsNowhereAndEveryHeadIsWhole walks at random. AGENTSYNC_MODEL_STEPS makes it
// longer, AGENTSYNC_MODEL_SEED begins at another seed.
func TestNoContentIsNowhereAndEveryHeadIsWhole(t *testing.T) {
	steps, first := 1000, uint64(1)
	if text := os.Getenv("AGENTSYNC_MODEL_STEPS"); text != "" {
		n, err := strconv.Atoi(text)
		must(t, err)
		steps = n
	}
	if text := os.Getenv("AGENTSYNC_MODEL_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		must(t, err)
		first = n
	}
	const walk = 200 // steps of one seed
	hits := map[string]int{}
	for seed := first; steps > 0; seed++ {
		m := newModel(t, seed)
		for range min(walk, steps) {
			m.step()
		}
		steps -= walk
		for what, n := range m.hits {
			hits[what] += n
		}
	}
	t.Logf("%v", hits)
}
