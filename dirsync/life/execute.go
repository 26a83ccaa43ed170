package life

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"agentsync/dirsync"
	"agentsync/dirsync/apply"
	"agentsync/dirsync/dataset"
	"agentsync/hashgraph/digest"
	"agentsync/ledger/durable"
	"agentsync/publish/store"
)

// Applied is what became of a plan.
type Applied struct {
	State
	Results []apply.Result // what was left or failed, by path
	Kept    []string       // files that hold replaced contents
}

// Apply carries out the retained plan, or goes on with it. Dataset first: if that has
// moved on, the plan is rejected and no file was touched. A plan at its end is returned
// as it is. It is repeated with the same id until its phase is final.
func (b *Bound) Apply(ctx context.Context, planID string) (*Applied, error) {
	plan, s, err := b.current(planID)
	if err != nil {
		return nil, err
	}
	switch s.Phase {
	case Complete, Drifted, Abandoned:
		return b.applied(s, nil)
	case Rejected:
		return nil, fmt.Errorf("plan %.80s: %w", planID, ErrRejected)
	}
	x := &execution{Bound: b, plan: plan, state: s}
	if s.Phase == Ready {
		if err := x.begin(ctx); err != nil {
			return nil, err
		}
	}
	if err := x.upload(ctx); err != nil {
		return nil, err
	}
	results, err := x.download(ctx)
	if err != nil {
		return nil, err
	}
	if err := x.close(ctx); err != nil {
		return nil, err
	}
	return b.applied(x.state, results)
}

// execution is one run of a plan.
type execution struct {
	*Bound
	plan  *dirsync.Plan
	state State
	seen  *world // both sides as this run found them; nil when it goes on with an earlier one
}

// begin checks that the plan still stands, and writes that it is being applied before
// anything else happens.
func (x *execution) begin(ctx context.Context) error {
	if x.plan.Revision != x.Revision {
		return fmt.Errorf("binding %s has revision %d, the plan was made under %d: %w", x.ID, x.Revision, x.plan.Revision, ErrPlanChanged)
	}
	w, err := x.look(ctx, x.plan.Accepts)
	if err != nil {
		return err
	}
	if w.ancestor.Generation != x.plan.Ancestor {
		return fmt.Errorf("the last common state is another one: %w", ErrPlanChanged)
	}
	if headNumber(w.head) != x.plan.Head {
		return fmt.Errorf("apply plan %.80s: %w", x.state.Plan, dataset.ErrMoved)
	}
	out := dirsync.Outcome{Actions: x.plan.Actions}
	if stop := dirsync.Guards(w.ancestor.Tree, w.scan.Tree, w.dataset, x.Folding, out, x.changedRules(w), x.plan.Accepts); stop != nil {
		return stop
	}
	if err := x.Disk.Remove(x.path(progressFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("begin plan %.80s: %w", x.state.Plan, err)
	}
	if err := durable.Create(x.Disk, x.path(progressFile), nil, private); err != nil {
		return err
	}
	x.state.Phase, x.state.Started = Applying, stamp(x.Now())
	x.state.Total = x.plan.Writes(dirsync.Project)
	if x.plan.Writes(dirsync.Dataset) > 0 {
		x.state.Upload = Pending
	}
	x.seen = w
	return x.save()
}

func (x *execution) save() error { return x.writeJSON(stateFile, x.state) }

// download changes the project.
func (x *execution) download(ctx context.Context) ([]apply.Result, error) {
	recorded, err := x.outcomes(x.state.Plan)
	if err != nil {
		return nil, err
	}
	done := map[string]bool{}
	for path := range recorded[dirsync.Project] {
		done[path] = true
	}
	keep := x.path(keepFolder)
	for _, folder := range []string{keep, x.keepOf(x.state.Plan)} {
		if err := durable.MkdirPrivate(x.Disk, folder); err != nil {
			return nil, err
		}
	}
	set := x.open()
	results, err := apply.Run(ctx, apply.Job{
		Plan: x.state.Plan, Root: x.Root, Identity: x.Identity, Actions: x.plan.Actions, Done: done,
		Keep: x.keepOf(x.state.Plan), Disk: x.Disk, Content: set.Content, Judge: x.judge(ctx), Workers: x.Workers,
		Record:   func(r []apply.Result) error { return x.record(x.state.Plan, dirsync.Project, r) },
		Progress: func(n int) { x.progress("change the project", len(done)+n, x.state.Total) },
	})
	if err != nil {
		return results, fmt.Errorf("apply plan %.80s: %w", x.state.Plan, err)
	}
	return results, nil
}

// judge says what an error of reading a content makes of an action. A content that is gone
// is no damage where the dataset went on, or back, since the plan was made.
func (x *execution) judge(ctx context.Context) func(error) apply.State {
	newest := sync.OnceValues(func() (bool, error) { return x.restsOnNewest(ctx) })
	return func(err error) apply.State {
		var damaged *dataset.DamagedError
		if !errors.As(err, &damaged) {
			return apply.Failed
		}
		if !errors.Is(err, store.ErrNotFound) {
			return apply.Damaged
		}
		switch stands, err := newest(); {
		case err != nil:
			return apply.Failed
		case !stands:
			return apply.Drifted
		}
		return apply.Damaged
	}
}

func (b *Bound) keepOf(plan string) string {
	return b.path(keepFolder + "/" + strings.TrimPrefix(plan, "sha256:"))
}

// close moves the ancestor by what was carried out and gives the plan its last phase,
// unless something failed that can be tried again.
func (x *execution) close(ctx context.Context) error {
	recorded, err := x.outcomes(x.state.Plan)
	if err != nil {
		return err
	}
	done := x.count(recorded)
	if x.state.Failed > 0 {
		return x.save()
	}
	x.state.Phase = Complete
	if x.state.Left+x.state.UploadLeft > 0 {
		x.state.Phase = Drifted
	}
	return x.end(ctx, done)
}

// count sums up the outcomes and returns the actions that were carried out.
func (x *execution) count(recorded map[dirsync.Side]map[string]apply.Result) (done []dirsync.Action) {
	x.state.Applied, x.state.Left, x.state.Failed, x.state.UploadLeft = 0, 0, 0, 0
	for _, a := range x.plan.Actions {
		r, known := recorded[a.Side][a.Path]
		switch {
		case a.Side == dirsync.Dataset && known && r.State != apply.Done:
			x.state.UploadLeft++
		case a.Side == dirsync.Dataset:
			if x.state.Upload == Committed {
				done = append(done, a)
			}
		case !known:
			x.state.Failed++
		case r.State == apply.Done:
			x.state.Applied++
			done = append(done, a)
		default:
			x.state.Left++
		}
	}
	return done
}

// end writes the ancestor, cleans up, and writes the phase last, so that a plan at its
// end has left nothing behind. Each step may be repeated: an ancestor that has moved
// already is recognized by its generation.
func (x *execution) end(ctx context.Context, done []dirsync.Action) error {
	a, err := x.agreed()
	if err != nil {
		return err
	}
	if a.Generation == x.plan.Ancestor {
		if x.plan.Accepts.Past {
			a = a.Forgotten() // for a run that goes on with an earlier one
		}
		a = a.Moved(x.Folding, x.plan.Adoptions, done)
		a.Generation++
		a.Head = x.reached(ctx)
		a.Fingerprint = x.Fingerprint()
		if err := x.saveAncestor(a); err != nil {
			return err
		}
	}
	if err := x.consume(); err != nil {
		return err
	}
	if err := x.clean(ctx); err != nil {
		return err
	}
	x.state.Ended = stamp(x.Now())
	return x.save()
}

// reached is the head of the dataset that the plan leaves both sides with. Where the store
// cannot be asked any more its number is all that is known.
func (x *execution) reached(ctx context.Context) dirsync.Agreed {
	at := dirsync.Agreed{Number: x.plan.Head}
	if x.state.Upload == Committed {
		at.Number = x.state.Head
	}
	if at.Number == 0 || x.Datasets.Store == nil {
		return at
	}
	if h, err := x.open().At(ctx, at.Number); err == nil {
		at.Digest = h.Digest()
	}
	return at
}

// agreed is the ancestor. Who holds the lock is the only one to move it, so what was read
// at the beginning still stands.
func (x *execution) agreed() (dirsync.Ancestor, error) {
	if x.seen != nil {
		return x.seen.ancestor, nil
	}
	return x.ancestor()
}

// consume forgets the choices that the plan used up.
func (x *execution) consume() error {
	have, err := x.choices()
	if err != nil || len(x.plan.Choices) == 0 {
		return err
	}
	used := map[string]bool{}
	for _, c := range x.plan.Choices {
		used[c.Path] = true
	}
	return x.writeJSON(choicesFile, slices.DeleteFunc(have, func(c dirsync.Choice) bool { return used[c.Path] }))
}

// clean removes staged contents, and what earlier plans kept: what this one replaced
// stays until the next has been applied.
func (x *execution) clean(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := apply.Clean(x.Root, x.Identity, x.state.Plan); err != nil {
		x.notes = append(x.notes, "staged contents are left in the project: "+err.Error())
	}
	entries, err := x.Disk.ReadDir(x.path(keepFolder))
	if errors.Is(err, fs.ErrNotExist) || len(x.plan.Actions) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == strings.TrimPrefix(x.state.Plan, "sha256:") {
			continue
		}
		if err := x.removeKept(x.path(keepFolder + "/" + e.Name())); err != nil {
			return err
		}
	}
	return nil
}

func (x *execution) removeKept(folder string) error {
	files, err := x.Disk.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := x.Disk.Remove(folder + "/" + f.Name()); err != nil {
			return err
		}
	}
	return x.Disk.Remove(folder)
}

// applied gathers what a caller is told.
func (b *Bound) applied(s State, results []apply.Result) (*Applied, error) {
	a := &Applied{State: s}
	recorded, err := b.outcomes(s.Plan)
	if err != nil {
		return nil, err
	}
	for _, side := range recorded {
		for _, r := range side {
			if r.State != apply.Done {
				a.Results = append(a.Results, r)
			}
		}
	}
	for _, r := range results {
		if r.State == apply.Failed {
			a.Results = append(a.Results, r)
		}
	}
	slices.SortFunc(a.Results, func(x, y apply.Result) int { return strings.Compare(x.Path, y.Path) })
	files, err := b.Disk.ReadDir(b.keepOf(s.Plan))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, f := range files {
		if !durable.IsTemp(f.Name()) {
			a.Kept = append(a.Kept, b.keepOf(s.Plan)+"/"+f.Name())
		}
	}
	return a, nil
}

// Abandon ends a plan that is applying and cannot be finished, whatever it wrote: what
// was carried out counts, nothing is undone or repeated, and an upload without an answer
// stays unknown. Without a store in the options nobody is asked.
func (b *Bound) Abandon(ctx context.Context, planID string) (*Applied, error) {
	plan, s, err := b.current(planID)
	if err != nil {
		return nil, err
	}
	if s.Phase != Applying {
		return nil, fmt.Errorf("plan %.80s is %s, not applying: %w", planID, s.Phase, ErrPlanChanged)
	}
	x := &execution{Bound: b, plan: plan, state: s}
	if x.state.Upload == Pending || x.state.Upload == Unknown {
		x.abandonUpload(ctx)
	}
	recorded, err := x.outcomes(planID)
	if err != nil {
		return nil, err
	}
	done := x.count(recorded)
	x.state.Phase = Abandoned
	if err := x.end(ctx, done); err != nil {
		return nil, err
	}
	return b.applied(x.state, nil)
}

// abandonUpload finds out what can be known of an upload that is not gone on with. The
// store may be out of reach for good.
func (x *execution) abandonUpload(ctx context.Context) {
	switch {
	case x.state.Manifest == "": // nothing was asked for
		x.state.Upload = NotCommitted
	case x.Datasets.Store == nil || x.ask(ctx) != nil || x.state.Upload == Pending:
		x.state.Upload = Unknown
	}
}

func parseDigest(text string) (digest.Digest, error) {
	return digest.Parse(strings.TrimPrefix(text, "sha256:"))
}
