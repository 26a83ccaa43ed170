package life

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"agentsync/dirsync"
	"agentsync/dirsync/dataset"
	"agentsync/dirsync/tree"
	"agentsync/ledger/durable"
)

// Preview is a plan that was just made, and what was seen on the way.
type Preview struct {
	ID       string
	Plan     *dirsync.Plan
	Vanished []string // files that went away while the project was read
	Hashed   int      // files read for it
	Notes    []string
}

// world is both sides, read, and what they last agreed on.
type world struct {
	ancestor dirsync.Ancestor
	scan     tree.Scan
	head     *dataset.Head
	// what the head's manifest says, and the same with what the rules leave out blocked
	published, dataset dirsync.Tree
}

// Preview reads both sides and writes a plan, which replaces the retained one. It changes
// neither side. What stops it is a *dirsync.StopError; no plan is made then.
func (b *Bound) Preview(ctx context.Context, accepts dirsync.Accepts) (*Preview, error) {
	if err := b.idle(); err != nil {
		return nil, err
	}
	w, err := b.look(ctx, accepts)
	if err != nil {
		return nil, err
	}
	choices, err := b.choices()
	if err != nil {
		return nil, err
	}
	return b.plan(w, choices, accepts)
}

// plan decides on what was read, and retains the plan.
func (b *Bound) plan(w *world, choices []dirsync.Choice, accepts dirsync.Accepts) (*Preview, error) {
	out := dirsync.Reconcile(w.ancestor.Tree, w.scan.Tree, w.dataset, b.Rules(b.Names), choices)
	if stop := dirsync.Guards(w.ancestor.Tree, w.scan.Tree, w.dataset, b.Folding, out, b.changedRules(w), accepts); stop != nil {
		return nil, stop
	}
	plan := &dirsync.Plan{
		Binding: b.ID, Revision: b.Revision, Direction: b.Direction, Ancestor: w.ancestor.Generation,
		Project: w.scan.Tree.Digest().String(), Accepts: accepts,
		Actions: out.Actions, Adoptions: out.Adoptions, Held: out.Held, Conflicts: out.Conflicts, Blocked: out.Blocked,
		Local: out.Local, Choices: out.Choices,
	}
	if w.head != nil {
		plan.Head, plan.Manifest = w.head.Generation, w.head.Manifest.String()
	}
	text, id := plan.Encode()
	if err := b.retain(text, id); err != nil {
		return nil, err
	}
	return &Preview{ID: id, Plan: plan, Vanished: w.scan.Vanished, Hashed: w.scan.Hashed, Notes: b.notes}, nil
}

// changedRules tells the rules of the ancestor when they are not today's.
func (b *Bound) changedRules(w *world) string {
	if w.ancestor.Generation == 0 || w.ancestor.Fingerprint == b.Fingerprint() {
		return ""
	}
	return "then " + w.ancestor.Fingerprint + "; now " + b.Fingerprint()
}

// retain writes the plan, unless it is the retained one and ready.
func (b *Bound) retain(text []byte, id string) error {
	if s, err := b.State(); err != nil || s.Plan == id && s.Phase == Ready {
		return err
	}
	if err := b.write(planFile, text); err != nil {
		return err
	}
	return b.writeJSON(stateFile, State{Plan: id, Phase: Ready, Upload: NoUpload})
}

// look reads both sides and the ancestor. A dataset that went back stops it, unless that
// is accepted: then nothing is common.
func (b *Bound) look(ctx context.Context, accepts dirsync.Accepts) (*world, error) {
	if b.Location != b.Store {
		return nil, fmt.Errorf("binding %s of the store %s, opened with %s: %w", b.ID, b.Store, b.Location, ErrOtherStore)
	}
	if stop := b.overlap(); stop != nil {
		return nil, stop
	}
	w := &world{}
	b.progress("read both sides", 0, 0)
	var note string
	var scanErr error
	var wait sync.WaitGroup
	wait.Go(func() { w.scan, note, scanErr = b.scan(ctx) })
	err := b.remembered(ctx, w, accepts)
	wait.Wait()
	if note != "" {
		b.notes = append(b.notes, note)
	}
	scanned := w.scan.Tree
	w.scan.Tree = scanned.WithLinks(b.Links, w.dataset, b.Folding)
	w.dataset = w.dataset.WithLinks(b.Links, scanned, b.Folding)
	return w, errors.Join(scanErr, err)
}

// remembered reads the ancestor and the dataset. A dataset that is still what both sides
// agreed on is not read again.
func (b *Bound) remembered(ctx context.Context, w *world, accepts dirsync.Accepts) (err error) {
	if w.ancestor, err = b.ancestor(); err != nil {
		return err
	}
	set := b.open()
	sight, err := set.Sight(ctx, w.ancestor.Head.Number)
	if err != nil {
		return err
	}
	past := dirsync.WentBack(w.ancestor.Head, sight)
	if past != nil && !accepts.Past {
		return past
	}
	if w.head, err = set.At(ctx, sight.Newest); err != nil {
		return err
	}
	if w.head != nil && w.ancestor.IsManifest(w.head.Manifest) {
		w.published = w.ancestor.Tree
	} else if w.published, err = set.Tree(ctx, w.head); err != nil {
		return err
	}
	if past != nil {
		w.ancestor = w.ancestor.Forgotten()
	}
	w.dataset = w.published.WithoutIgnored(b.Ignore)
	return nil
}

func (b *Bound) open() *dataset.Dataset { return dataset.Open(b.Datasets, b.Dataset) }

// scan reads the project. What was read last time is a help only: without it every file
// is read. The note says that this scan will be none to the next one.
func (b *Bound) scan(ctx context.Context) (s tree.Scan, note string, err error) {
	known, err := b.known()
	if err != nil {
		return s, "", err
	}
	s, err = tree.Read(ctx, tree.Options{Root: b.Root, Identity: b.Identity, Ignore: b.Ignore, Links: b.Links, Known: known,
		Now: b.Now(), Workers: b.Workers})
	if err != nil {
		return s, "", err
	}
	if s.Hashed > 0 || len(s.Index) != len(known) {
		err := durable.Replace(b.Disk, b.path(scanFile), s.Index.Encode(), private, false)
		if err != nil {
			note = "the next scan will read every file again: " + err.Error()
		}
	}
	return s, note, nil
}

func (b *Bound) known() (tree.Index, error) {
	text, err := b.read(scanFile)
	if text == nil || err != nil {
		return nil, err
	}
	known, err := tree.ParseIndex(text)
	if err != nil {
		return nil, nil //nolint:nilerr // a cache that cannot be read is no cache
	}
	return known, nil
}

// choices are those that no plan has used up yet.
func (b *Bound) choices() ([]dirsync.Choice, error) {
	var list []dirsync.Choice
	_, err := b.readJSON(choicesFile, &list)
	return list, err
}

// Choose names the side that wins each of the paths, all of them conflicts of the ready
// plan, and makes a new plan with a new id. If a path is no conflict, or cannot be
// settled, or either side is no longer what the plan saw, nothing is stored.
func (b *Bound) Choose(ctx context.Context, planID string, side dirsync.Side, paths []string) (*Preview, error) {
	plan, s, err := b.current(planID)
	if err != nil {
		return nil, err
	}
	if s.Phase != Ready {
		return nil, fmt.Errorf("plan %.80s is %s: %w", planID, s.Phase, ErrPlanChanged)
	}
	chosen, err := choose(plan, side, paths)
	if err != nil {
		return nil, err
	}
	w, err := b.look(ctx, plan.Accepts)
	if err != nil {
		return nil, err
	}
	if w.scan.Tree.Digest().String() != plan.Project || headNumber(w.head) != plan.Head {
		return nil, fmt.Errorf("a side moved since plan %.80s was made: %w", planID, ErrPlanChanged)
	}
	have, err := b.choices()
	if err != nil {
		return nil, err
	}
	all := merge(have, chosen)
	if err := b.writeJSON(choicesFile, all); err != nil {
		return nil, err
	}
	return b.plan(w, all, plan.Accepts)
}

func headNumber(h *dataset.Head) int64 {
	if h == nil {
		return 0
	}
	return h.Generation
}

// NoConflictError reports paths for which no side can be chosen.
type NoConflictError struct {
	Path string
	Code dirsync.ConflictCode // "" when it is no conflict at all
}

func (e *NoConflictError) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("%.200q is no conflict of the plan", e.Path)
	}
	return fmt.Sprintf("%.200q is a conflict that choosing a side does not settle: %s", e.Path, e.Code)
}

// choose makes the choices for paths.
func choose(plan *dirsync.Plan, side dirsync.Side, paths []string) ([]dirsync.Choice, error) {
	byPath := map[string]*dirsync.Conflict{}
	for i := range plan.Conflicts {
		byPath[plan.Conflicts[i].Path] = &plan.Conflicts[i]
	}
	var list []dirsync.Choice
	var errs []error
	for _, path := range paths {
		switch c := byPath[path]; {
		case c == nil:
			errs = append(errs, &NoConflictError{Path: path})
		case !c.Choosable():
			errs = append(errs, &NoConflictError{path, c.Code})
		default:
			list = append(list, dirsync.Choice{Path: path, Side: side, Project: c.Project, Dataset: c.Dataset})
		}
	}
	return list, errors.Join(errs...)
}

// merge puts newer choices in the place of older ones.
func merge(have, chosen []dirsync.Choice) []dirsync.Choice {
	newer := map[string]bool{}
	for _, c := range chosen {
		newer[c.Path] = true
	}
	var all []dirsync.Choice
	for _, c := range have {
		if !newer[c.Path] {
			all = append(all, c)
		}
	}
	return append(all, chosen...)
}
