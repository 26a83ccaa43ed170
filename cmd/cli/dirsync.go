package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"agentsync/dirsync"
	"agentsync/dirsync/dataset"
	"agentsync/dirsync/life"
	"agentsync/ledger"
	"agentsync/ledger/durable"
	"agentsync/publish"
)

const (
	// bindingsFolder of the state folder holds what is known of each binding.
	bindingsFolder = "dirsync"
	// bindLock is held while a binding is made, so that two do not overlap.
	bindLock = "dirsync.lock"
)

func (v *invocation) dirsyncVerb() *urfave.Command {
	return &urfave.Command{
		Name:     "dirsync",
		Category: groupSync,
		Usage:    "keep a directory in step with a dataset in the store, by plans that can be read first",
		Description: "A binding ties a directory to a dataset. preview compares both with what they last agreed on, changes neither, and makes a " +
			"plan; apply carries it out. Deletions are never carried over, a file that was edited after the preview is left alone, and where both " +
			"sides changed a person chooses. A plan that was interrupted is gone on with by applying it again.",
		Subcommands: []*urfave.Command{
			v.bindVerb(),
			v.bindingsVerb(),
			v.previewVerb(),
			v.showPlanVerb(),
			v.diffVerb(),
			v.chooseVerb(),
			v.applyVerb("apply", "carry out a plan, or go on with it"),
			v.applyVerb("resume", "go on with a plan: the same as apply"),
			v.syncStatusVerb(),
			v.directionVerb(),
			v.abandonVerb(),
			v.unbindVerb(),
		},
	}
}

// bindings are the options of verbs that need no store.
func (v *invocation) bindings(s *settings) *life.Options {
	return &life.Options{
		Disk: durable.OS(), Dir: filepath.Join(s.State, bindingsFolder), Forbidden: []string{s.State, s.Store.Path},
		Names: life.SystemNames(), Now: v.env.Now, Workers: workers(),
	}
}

// openDatasets opens the store for verbs that look at a dataset, in the owner's name. It
// must be there unless it may be made: a store that is not mounted is not an empty one.
func (v *invocation) openDatasets(ctx context.Context, s *settings, o *life.Options, create bool) (func(), error) {
	open := v.openOwned
	if create {
		open = v.openForPublishing
	}
	target, done, err := open(ctx, s)
	if err != nil {
		return nil, err
	}
	o.Location, o.Datasets = target.Store.Location(), datasetsOf(target)
	return done, nil
}

// datasetsOf are the datasets of an opened store.
func datasetsOf(target *publish.Target) dataset.Options {
	return dataset.Options{Store: target.Store, Owner: target.OwnerDID(), Signer: target.Signer, Installation: target.Installation,
		Verify: ledger.VerifyDID}
}

// task is a piece of work on one binding.
type task struct {
	verb  string
	store bool                                             // it looks at the dataset
	alone bool                                             // it goes on when the store cannot be opened
	open  func(*life.Options, string) (*life.Bound, error) // nil is Open
	about concern
	work  func(context.Context, *life.Bound) error
}

// withBinding does a task while it holds the binding's lock.
func (v *invocation) withBinding(ctx context.Context, s *settings, id string, t task) error {
	o := v.bindings(s)
	t.about.binding = id
	if t.open == nil {
		t.open = (*life.Options).Open
	}
	if _, err := t.open(o, id); err != nil {
		return t.about.of(err)
	}
	path, err := o.LockPath(id)
	if err != nil {
		return err
	}
	return v.withLock(ctx, filepath.Dir(path), filepath.Base(path), "dirsync "+t.verb, func(ctx context.Context) error {
		if t.store {
			done, err := v.openDatasets(ctx, s, o, false)
			switch {
			case err == nil:
				defer done()
			case t.alone && ctx.Err() == nil:
				v.out.warn("the store cannot be asked: %v", err)
			default:
				return t.about.of(err)
			}
		}
		o.Progress = v.steps()
		b, err := t.open(o, id)
		if err != nil {
			return t.about.of(err)
		}
		err = t.work(ctx, b)
		v.out.progress.hide()
		for _, note := range b.Notes() {
			v.out.warn("%s", note)
		}
		return t.about.of(err)
	})
}

// steps shows the progress of a task, a meter for each of its steps.
func (v *invocation) steps() func(step string, done, total int) {
	var current string
	var m *meter
	return func(step string, done, total int) {
		if step != current {
			m.hide()
			current, m = step, v.meter(step, "items", -1)
		}
		if total > 0 {
			m.grow(int64(total))
		}
		m.set(int64(done))
	}
}

// withPlan does a task on the binding whose retained plan was typed.
func (v *invocation) withPlan(ctx context.Context, typed string, t task, work func(context.Context, *life.Bound, string) error) error {
	s, err := v.settings()
	if err != nil {
		return err
	}
	binding, plan, err := v.planOf(v.bindings(s), typed)
	if err != nil {
		return err
	}
	t.about.plan = plan
	t.work = func(ctx context.Context, b *life.Bound) error { return work(ctx, b, plan) }
	return v.withBinding(ctx, s, binding, t)
}

// shortPlan is the least number of digits by which a plan is named.
const shortPlan = 8

// planOf finds the retained plan of which the beginning was typed, and its binding.
func (v *invocation) planOf(o *life.Options, typed string) (binding, plan string, err error) {
	digits := strings.ToLower(strings.TrimPrefix(typed, "sha256:"))
	if len(digits) < shortPlan || strings.Trim(digits, "0123456789abcdef") != "" {
		return "", "", usageError("the plans there are: agentsync dirsync status", "plan %.80q: at least %d of its digits are needed", typed, shortPlan)
	}
	bindings, broken, err := o.List()
	if err != nil {
		return "", "", err
	}
	var found [][2]string
	for _, one := range bindings {
		b, err := o.Open(one.ID)
		if err != nil {
			return "", "", err
		}
		id, err := retained(b)
		if err != nil {
			v.out.warn("%s", err)
			continue
		}
		if strings.HasPrefix(id, "sha256:"+digits) {
			found = append(found, [2]string{one.ID, id})
		}
	}
	switch {
	case len(found) == 1:
		return found[0][0], found[0][1], nil
	case len(found) > 1:
		return "", "", usageError("type more of it: agentsync dirsync status", "several plans begin with %s", digits)
	case len(broken) > 0:
		return "", "", broken[0].Err
	}
	return "", "", &failure{exit: exitFailed, code: "plan-changed", hint: "the plans there are: agentsync dirsync status",
		message: fmt.Sprintf("no binding has a plan %.80s; a newer preview may have taken its place", typed)}
}

// retained is the id of a binding's plan, "" for none.
func retained(b *life.Bound) (string, error) {
	s, err := b.State()
	if err != nil || s.Phase != life.NoPlan && s.Phase != life.Ready {
		return s.Plan, err
	}
	return b.PlanID() // a pass may have died between plan and state
}

// planDigits is how a plan is named where it is to be typed.
func planDigits(id string) string {
	digits := strings.TrimPrefix(id, "sha256:")
	return digits[:min(12, len(digits))]
}

// sideFlag reads --side.
func sideFlag(c *urfave.Context) (dirsync.Side, error) {
	side, known := dirsync.ParseSide(c.String("side"))
	if !known {
		return 0, usageError("choose one: --side project, --side dataset", "no side %q", c.String("side"))
	}
	return side, nil
}
