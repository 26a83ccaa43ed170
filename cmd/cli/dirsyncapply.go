package cli

import (
	"context"
	"fmt"
	"path/filepath"

	urfave "github.com/urfave/cli/v2"

	"agentsync/dirsync"
	"agentsync/dirsync/apply"
	"agentsync/dirsync/life"
)

func (v *invocation) applyVerb(name, usage string) *urfave.Command {
	return &urfave.Command{
		Name:     name,
		Category: groupSync,
		Usage:    usage,
		Description: "The dataset goes first: when it has moved on since the preview, nothing is changed here (75). Then each file is replaced whole, and only " +
			"if it still is what the plan saw: one that was edited, or that the system does not let be written, is left (3) for the next plan, as is one whose stored content is damaged (12). A replaced content is kept until the next plan has been applied. A plan " +
			"that was interrupted, or of which something failed, is still applying (6 or 130): apply it again. Conflicts that no side was chosen for stay " +
			"as they are (4).",
		ArgsUsage: "PLAN",
		UsageText: "agentsync dirsync " + name + " 1b2c3d4e",
		Action: action(1, 1, func(ctx context.Context, c *urfave.Context) error {
			return v.withPlan(ctx, c.Args().First(), task{verb: name, store: true}, v.apply)
		}),
	}
}

func (v *invocation) apply(ctx context.Context, b *life.Bound, id string) error {
	applied, err := b.Apply(ctx, id)
	if err != nil {
		about := concern{binding: b.ID, plan: id}
		if s, unknown := b.State(); unknown == nil && s.Phase == life.Applying {
			about.applying = true
		}
		return about.of(err)
	}
	plan, _, err := b.Plan()
	if err != nil {
		return err
	}
	return v.endApply(b, applied, plan)
}

// applySummary ends an application. The two sides have outcomes of their own.
type applySummary struct {
	Type       string `json:"message_type"`
	Plan       string `json:"plan"`
	Binding    string `json:"binding"`
	Phase      string `json:"phase"`
	Upload     string `json:"upload"`
	Head       int64  `json:"head"` // under which the upload was published, 0 for none
	Total      int    `json:"total"`
	Applied    int    `json:"applied"`
	Left       int    `json:"left"`
	Failed     int    `json:"failed"`
	UploadLeft int    `json:"upload_left"`
	Conflicts  int    `json:"conflicts"`
	Kept       int    `json:"kept"`
	Store      string `json:"store"`
}

// keptObject is a file that holds a replaced content.
type keptObject struct {
	Type string `json:"message_type"`
	Path string `json:"path"`
}

// endApply shows what became of a plan, names each item that is not done, and is the
// exit code.
func (v *invocation) endApply(b *life.Bound, a *life.Applied, plan *dirsync.Plan) error {
	v.out.progress.hide()
	damaged := false
	for _, r := range a.Results {
		f := &failure{exit: exitPartial, code: "left", path: r.Path, message: pathText(r.Path) + " was left as it is: " + r.Reason}
		switch r.State {
		case apply.Failed:
			f = &failure{exit: exitApplying, code: "failed", path: r.Path, message: pathText(r.Path) + ": " + r.Reason, retryable: true}
		case apply.Damaged:
			f.exit, f.code, damaged = exitDamaged, "damaged", true
		}
		v.out.problem(f)
	}
	if a.Phase != life.Abandoned {
		v.nameUnread(plan)
	}
	if err := v.showApplied(b, a, plan); err != nil {
		return err
	}
	if a.Phase == life.Applying {
		v.hint("agentsync dirsync apply %s", planDigits(a.Plan))
		return reported(exitApplying)
	}
	if damaged {
		v.hint("%s", damagedHint)
		return reported(exitDamaged)
	}
	if a.Phase == life.Drifted {
		v.hint("what is different now is in the next plan: agentsync dirsync preview %s", b.ID)
	}
	if a.Phase == life.Abandoned {
		return nil
	}
	return v.endPlan(plan)
}

func (v *invocation) hint(format string, args ...any) {
	if !v.out.quiet {
		v.out.diagnose("hint", fmt.Sprintf(format, args...))
	}
}

func (v *invocation) showApplied(b *life.Bound, a *life.Applied, plan *dirsync.Plan) error {
	if v.out.asJSON {
		for _, path := range a.Kept {
			if err := v.out.object(keptObject{"kept", path}); err != nil {
				return err
			}
		}
		return v.out.object(applySummary{"summary", a.Plan, b.ID, string(a.Phase), string(a.Upload), a.Head, a.Total, a.Applied, a.Left, a.Failed,
			a.UploadLeft, len(plan.Conflicts), len(a.Kept), b.Store})
	}
	lines := []string{
		fmt.Sprintf("%s: %s", b.ID, phaseTexts[a.Phase]),
		"project: " + applicationText(&a.State),
		"dataset: " + uploadText(&a.State),
	}
	if n := len(a.Kept); n > 0 {
		lines = append(lines, fmt.Sprintf("kept: %s, until the next plan has been applied, in %s", counted(n, "replaced content", "replaced contents"),
			filepath.Dir(a.Kept[0])))
	}
	if n := len(plan.Conflicts); n > 0 && a.Phase != life.Abandoned {
		lines = append(lines, fmt.Sprintf("conflicts: %d, left as they are; agentsync dirsync preview %s", n, b.ID))
	}
	for _, line := range lines {
		if err := v.out.note("%s", line); err != nil {
			return err
		}
	}
	return nil
}

// phaseTexts are what a person is told of a plan.
var phaseTexts = map[life.Phase]string{
	life.NoPlan:    "no plan",
	life.Ready:     "ready to apply",
	life.Applying:  "still applying",
	life.Complete:  "applied",
	life.Drifted:   "applied, but for what was left as it is",
	life.Rejected:  "rejected: the dataset had moved on",
	life.Abandoned: "abandoned",
}

func applicationText(s *life.State) string {
	if s.Phase == life.Ready || s.Phase == life.NoPlan {
		return "not begun"
	}
	if s.Total == 0 {
		return "nothing to write"
	}
	text := fmt.Sprintf("%d of %d written", s.Applied, s.Total)
	for _, more := range []struct {
		n    int
		word string
	}{{s.Left, "left"}, {s.Failed, "failed or not begun"}} {
		if more.n > 0 {
			text += fmt.Sprintf(", %d %s", more.n, more.word)
		}
	}
	return text
}

func uploadText(s *life.State) string {
	text := map[life.Upload]string{
		life.NoUpload: "nothing to upload", life.Pending: "upload not begun or under way", life.Committed: fmt.Sprintf("published as head %d", s.Head),
		life.NotCommitted: "not published", life.Unknown: "upload unknown: whether it was published is asked before anything is sent again", "": "not begun",
	}[s.Upload]
	if s.Phase == life.Ready {
		return "not begun"
	}
	if s.UploadLeft > 0 {
		text += fmt.Sprintf(", without %s left", counted(s.UploadLeft, "file that was", "files that were"))
	}
	return text
}

func (v *invocation) abandonVerb() *urfave.Command {
	return &urfave.Command{
		Name:     "abandon",
		Category: groupSync,
		Usage:    "end a plan that is applying and cannot be finished",
		Description: "What was carried out counts, nothing is undone and nothing repeated; whether an upload without an answer was published stays unknown if " +
			"the dataset does not tell. The next preview shows what is different then.",
		ArgsUsage: "PLAN",
		UsageText: "agentsync dirsync abandon 1b2c3d4e",
		Action: action(1, 1, func(ctx context.Context, c *urfave.Context) error {
			return v.withPlan(ctx, c.Args().First(), task{verb: "abandon", store: true, alone: true}, func(ctx context.Context, b *life.Bound, id string) error {
				a, err := b.Abandon(ctx, id)
				if err != nil {
					return err
				}
				plan, _, err := b.Plan()
				if err != nil {
					return err
				}
				return v.endApply(b, a, plan)
			})
		}),
	}
}
