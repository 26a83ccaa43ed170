package cli

import (
	"context"
	"fmt"
	"path/filepath"

	urfave "github.com/urfave/cli/v2"

	"agentsync/dirsync"
	"agentsync/dirsync/life"
	"agentsync/dirsync/tree"
)

// bindingObject is a binding in JSON, with what became of its plan.
type bindingObject struct {
	Type       string   `json:"message_type"`
	Binding    string   `json:"binding"`
	Path       string   `json:"path"` // of the directory
	Dataset    string   `json:"dataset"`
	Store      string   `json:"store"`
	Direction  string   `json:"direction"`
	Links      string   `json:"links"`
	Ignore     []string `json:"ignore"`
	Revision   int64    `json:"revision"`
	Plan       string   `json:"plan,omitempty"`
	Phase      string   `json:"phase,omitempty"`
	Upload     string   `json:"upload,omitempty"`
	Head       int64    `json:"head"`
	Total      int      `json:"total"`
	Applied    int      `json:"applied"`
	Left       int      `json:"left"`
	Failed     int      `json:"failed"`
	UploadLeft int      `json:"upload_left"`
	Conflicts  int      `json:"conflicts"` // of the plan
	StartedAt  string   `json:"started_at,omitempty"`
	EndedAt    string   `json:"ended_at,omitempty"`
	Kept       int      `json:"kept"`
	KeptSize   int64    `json:"kept_size"`
	Holder     string   `json:"holder,omitempty"` // the pass that works on it
}

// bindingsSummary ends a list of bindings.
type bindingsSummary struct {
	Type     string `json:"message_type"`
	Bindings int    `json:"bindings"`
	Applying int    `json:"applying"`
}

// boundState is a binding and what became of its plan.
type boundState struct {
	*life.Bound
	state     life.State
	conflicts int
	kept      int
	keptSize  int64
	holder    string
}

// look reads what is known of a binding, without its directory and its store.
func look(ctx context.Context, o *life.Options, id string) (*boundState, error) {
	b, err := o.Open(id)
	if err != nil {
		return nil, err
	}
	s := &boundState{Bound: b}
	if s.state, err = b.State(); err != nil {
		return nil, err
	}
	plan, planID, err := b.Plan()
	if err != nil {
		return nil, err
	}
	if plan != nil {
		s.conflicts = len(plan.Conflicts)
		if planID != s.state.Plan { // the pass that made it died before it said so
			s.state = life.State{Plan: planID, Phase: life.Ready, Upload: life.NoUpload}
		}
	}
	if s.kept, s.keptSize, err = b.Kept(); err != nil {
		return nil, err
	}
	locks, err := lockHeld(ctx, filepath.Join(o.Dir, id), "lock")
	if err == nil && len(locks) > 0 {
		s.holder = locks[0].Holder
	}
	return s, err
}

func (s *boundState) object() bindingObject {
	ignore := s.Ignore
	if ignore == nil {
		ignore = []string{}
	}
	return bindingObject{"binding", s.ID, s.Root, s.Dataset, s.Store, string(s.Direction), string(s.Links), ignore, s.Revision,
		s.state.Plan, string(s.state.Phase), string(s.state.Upload), s.state.Head, s.state.Total, s.state.Applied, s.state.Left, s.state.Failed,
		s.state.UploadLeft, s.conflicts, s.state.Started, s.state.Ended, s.kept, s.keptSize, s.holder}
}

func (v *invocation) bindingsVerb() *urfave.Command {
	return &urfave.Command{
		Name:      "ls",
		Category:  groupSync,
		Usage:     "list the bindings of this installation",
		UsageText: "agentsync dirsync ls\nagentsync dirsync ls --json",
		Action:    action(0, 0, func(ctx context.Context, _ *urfave.Context) error { return v.listBindings(ctx, false) }),
	}
}

func (v *invocation) syncStatusVerb() *urfave.Command {
	return &urfave.Command{
		Name:      "status",
		Category:  groupSync,
		Usage:     "show how far the plans of all bindings, or of one, came",
		ArgsUsage: "[BINDING]",
		UsageText: "agentsync dirsync status\nagentsync dirsync status notes --json",
		Action: action(0, 1, func(ctx context.Context, c *urfave.Context) error {
			if c.NArg() == 0 {
				return v.listBindings(ctx, true)
			}
			return v.bindingStatus(ctx, c.Args().First())
		}),
	}
}

// listBindings shows every binding; those that cannot be read are named.
func (v *invocation) listBindings(ctx context.Context, states bool) error {
	s, err := v.settings()
	if err != nil {
		return err
	}
	found, broken, err := v.everyBinding(ctx, s)
	if err != nil {
		return err
	}
	code := exitDone
	for i := range broken {
		about := concern{binding: broken[i].ID}
		f := classify(ctx, about.of(broken[i].Err))
		if code != exitDamaged {
			code = f.exit
		}
		v.out.problem(f)
		found = append(found, asDamaged(&broken[i]))
	}
	sum := bindingsSummary{Type: "summary", Bindings: len(found)}
	for _, one := range found {
		if one.state.Phase == life.Applying {
			sum.Applying++
		}
	}
	if v.out.asJSON {
		for _, one := range found {
			if err := v.out.object(one.object()); err != nil {
				return err
			}
		}
		if err := v.out.object(sum); err != nil {
			return err
		}
		return endList(code)
	}
	t := bindingsTable(found, v.env.Home)
	if states {
		t = statesTable(found)
	}
	if err := v.out.table(t); err != nil {
		return err
	}
	if len(found) == 0 {
		return v.out.note("no directory is bound; to bind one: agentsync dirsync bind DIR DATASET --id NAME --direction both")
	}
	return endList(code)
}

// endList is the exit code of a list of which some could not be read: damage goes first.
func endList(code exitCode) error {
	switch code {
	case exitDone:
		return nil
	case exitDamaged:
		return reported(exitDamaged)
	}
	return errPartial
}

// everyBinding reads all bindings, each by itself.
func (v *invocation) everyBinding(ctx context.Context, s *settings) (found []*boundState, broken []life.Broken, err error) {
	o := v.bindings(s)
	list, broken, err := o.List()
	for _, one := range list {
		b, err := look(ctx, o, one.ID)
		if err != nil {
			broken = append(broken, life.Broken{Binding: one, Err: err})
			continue
		}
		found = append(found, b)
	}
	return found, broken, err
}

// asDamaged is what a list shows of a binding that cannot be read.
func asDamaged(b *life.Broken) *boundState {
	return &boundState{Bound: &life.Bound{Binding: b.Binding}, state: life.State{Phase: damagedPhase}}
}

// damagedPhase stands where a list has the phase of a plan.
const damagedPhase life.Phase = "damaged"

func bindingsTable(found []*boundState, home string) *table {
	t := newTable(column{title: "ID"}, column{title: "DIRECTION"}, column{title: "DATASET"}, column{title: "PLAN"}, column{title: "DIRECTORY", flexible: true, keepEnd: true})
	for _, b := range found {
		t.row(b.ID, string(b.Direction), b.Dataset, string(b.state.Phase), pathText(homePath(home, b.Root)))
	}
	return t
}

func statesTable(found []*boundState) *table {
	t := newTable(column{title: "ID"}, column{title: "PLAN"}, column{title: "STATE"}, column{title: "PROJECT"},
		column{title: "DATASET"}, column{title: "CONFLICTS", right: true}, column{title: "KEPT", right: true})
	for _, b := range found {
		kept := ""
		if b.kept > 0 {
			kept = bytesText(b.keptSize)
		}
		project, upload := b.outcomes()
		t.row(b.ID, planDigits(b.state.Plan), firstOf(string(b.state.Phase), "none"), project, upload, countOrNone(b.conflicts), kept)
	}
	return t
}

// outcomes are those of both sides in a few characters, "" where nothing was begun.
func (s *boundState) outcomes() (project, upload string) {
	if s.state.Phase == life.NoPlan || s.state.Phase == life.Ready {
		return "", ""
	}
	if s.state.Total > 0 {
		project = fmt.Sprintf("%d of %d", s.state.Applied, s.state.Total)
	}
	switch s.state.Upload {
	case life.NoUpload:
		return project, ""
	case life.Committed:
		return project, fmt.Sprintf("head %d", s.state.Head)
	}
	return project, string(s.state.Upload)
}

// bindingStatus shows one binding whole.
func (v *invocation) bindingStatus(ctx context.Context, id string) error {
	s, err := v.settings()
	if err != nil {
		return err
	}
	about := concern{binding: id}
	b, err := look(ctx, v.bindings(s), id)
	if err != nil {
		return about.of(err)
	}
	if v.out.asJSON {
		applying := 0
		if b.state.Phase == life.Applying {
			applying = 1
		}
		if err := v.out.object(b.object()); err != nil {
			return err
		}
		return v.out.object(bindingsSummary{"summary", 1, applying})
	}
	for _, fact := range b.facts(v.env.Home) {
		if fact[1] == "" {
			continue
		}
		if err := v.out.line("%-9s  %s", fact[0], fact[1]); err != nil {
			return err
		}
	}
	return nil
}

func (s *boundState) facts(home string) [][2]string {
	plan, next := "none", "agentsync dirsync preview "+s.ID
	if s.state.Phase != life.NoPlan {
		plan = planDigits(s.state.Plan) + ", " + phaseTexts[s.state.Phase]
	}
	if s.state.Phase == life.Ready || s.state.Phase == life.Applying {
		next = "agentsync dirsync apply " + planDigits(s.state.Plan)
	}
	facts := [][2]string{{"binding", fmt.Sprintf("%s, revision %d", s.ID, s.Revision)}, {"directory", pathText(homePath(home, s.Root))},
		{"dataset", s.Dataset + " of " + s.Store}, {"direction", string(s.Direction)}, {"links", string(s.Links)}, {"ignore", joined(s.Ignore)}, {"plan", plan}}
	if s.state.Phase != life.NoPlan && s.state.Phase != life.Ready {
		facts = append(facts, [2]string{"project", applicationText(&s.state)}, [2]string{"upload", uploadText(&s.state)})
	}
	if s.conflicts > 0 {
		facts = append(facts, [2]string{"conflicts", number(s.conflicts)})
	}
	if s.kept > 0 {
		facts = append(facts, [2]string{"kept", counted(s.kept, "replaced content", "replaced contents") + ", " + bytesText(s.keptSize)})
	}
	return append(facts, [2]string{"running", s.holder}, [2]string{"next", next})
}

// lookAtBindings warns of plans that are still applying, and of bindings that cannot be
// read.
func (v *invocation) lookAtBindings(ctx context.Context, s *settings, got *screen) {
	if s.State == "" {
		return
	}
	found, broken, err := v.everyBinding(ctx, s)
	if err != nil {
		got.warn("dirsync: "+err.Error(), "agentsync dirsync status")
	}
	for _, b := range broken {
		got.warn("dirsync "+b.ID+": "+b.Err.Error(), "agentsync dirsync status "+b.ID)
	}
	for _, b := range found {
		if c := checkBinding(ctx, b); c.Verdict != verdictOK {
			got.warn("dirsync "+c.Message, c.Hint)
		}
	}
}

// bindings looks at every binding for a doctor.
func (x *examination) bindings(ctx context.Context, s *settings) error {
	found, broken, err := x.v.everyBinding(ctx, s)
	if err != nil {
		return x.add(fail("dirsync", classify(ctx, err).hint, "%v", err))
	}
	for _, b := range broken {
		about := concern{binding: b.ID}
		if err := x.add(fail("dirsync", classify(ctx, about.of(b.Err)).hint, "%s: %v", b.ID, b.Err)); err != nil {
			return err
		}
	}
	for _, b := range found {
		if err := x.add(checkBinding(ctx, b)); err != nil {
			return err
		}
	}
	return nil
}

func checkBinding(ctx context.Context, b *boundState) check {
	id, err := tree.IdentityOf(b.Root)
	if err == nil && !b.Identity.Same(id) {
		err = &dirsync.StopError{Guard: dirsync.RootChanged, Detail: b.Root + " is another directory than the one that was bound"}
	}
	digits := planDigits(b.state.Plan)
	switch {
	case b.state.Phase == life.Applying && b.state.Upload == life.Unknown:
		return warn("dirsync", "agentsync dirsync apply "+digits, "%s: whether plan %s was published is not known", b.ID, digits)
	case b.state.Phase == life.Applying:
		return warn("dirsync", "agentsync dirsync apply "+digits, "%s: plan %s is still applying", b.ID, digits)
	case err != nil:
		about := concern{binding: b.ID}
		return warn("dirsync", classify(ctx, about.of(err)).hint, "%s: %v", b.ID, err)
	case b.kept > 0:
		return ok("dirsync", "%s: plan %s; %s kept of replaced files", b.ID, firstOf(string(b.state.Phase), "none"), bytesText(b.keptSize))
	}
	return ok("dirsync", "%s: plan %s", b.ID, firstOf(string(b.state.Phase), "none"))
}
