package cli

import (
	"context"
	"path"
	"path/filepath"

	urfave "github.com/urfave/cli/v2"
	"golang.org/x/text/unicode/norm"

	"agentsync/dirsync"
	"agentsync/dirsync/life"
)

func allItemsFlag() urfave.Flag {
	return &urfave.BoolFlag{Name: "all", Usage: "name every item"}
}

func (v *invocation) previewVerb() *urfave.Command {
	return &urfave.Command{
		Name:     "preview",
		Category: groupSync,
		Usage:    "compare directory and dataset, and make a plan",
		Description: "Changes neither side. The plan takes the place of the binding's earlier one, unless that is applying. The exit code is 4 when a " +
			"conflict needs a side, and 3 when something could not be read; the plan is good for the rest.\n\n" +
			"When a guard stops it (5), no plan is made. The flags let one guard pass, for one plan: look before you type them, and keep them out of scripts.",
		ArgsUsage: "BINDING",
		UsageText: "agentsync dirsync preview notes\nagentsync dirsync preview notes --all --json",
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "accept-missing", Usage: "most known files, or all, are gone on one side, and that is meant"},
			&urfave.BoolFlag{Name: "accept-past", Usage: "the store was put back from an older copy, and that is meant: nothing counts as agreed on"},
			&urfave.IntFlag{Name: "accept-overwrites", DefaultText: "none", Usage: "most files are to be replaced, exactly `N` of them, and that is meant"},
			&urfave.BoolFlag{Name: "rebase", Usage: "the binding's direction or rules changed, and that is meant"},
			allItemsFlag(),
		},
		Action: action(1, 1, v.preview),
	}
}

func (v *invocation) preview(ctx context.Context, c *urfave.Context) error {
	if c.Int("accept-overwrites") < 0 {
		return usageError("the error that stopped the preview names the number", "a negative --accept-overwrites")
	}
	s, err := v.settings()
	if err != nil {
		return err
	}
	accepts := dirsync.Accepts{Missing: c.Bool("accept-missing"), Overwrites: c.Int("accept-overwrites"), Past: c.Bool("accept-past"), Rebase: c.Bool("rebase")}
	return v.withBinding(ctx, s, c.Args().First(), task{verb: "preview", store: true, about: concern{accepts: accepts},
		work: func(ctx context.Context, b *life.Bound) error {
			p, err := b.Preview(ctx, accepts)
			if err != nil {
				return err
			}
			return v.endPreview(b, p, c.Bool("all"))
		}})
}

// endPreview shows a plan that was just made.
func (v *invocation) endPreview(b *life.Bound, p *life.Preview, all bool) error {
	v.out.progress.hide()
	for _, gone := range p.Vanished {
		v.inform("%s went away while it was read", pathText(gone))
	}
	v.nameUnread(p.Plan)
	if err := v.showPlan(&synced{b, p.Plan, p.ID, life.Ready}, all); err != nil {
		return err
	}
	return v.endPlan(p.Plan)
}

// nameUnread names what could not be read, which makes the plan partial.
func (v *invocation) nameUnread(plan *dirsync.Plan) {
	for _, blocked := range plan.Blocked {
		if text, unread := unreadTexts[blocked.Reason]; unread {
			v.out.problem(&failure{exit: exitPartial, code: string(blocked.Reason), path: blocked.Path, retryable: true,
				message: pathText(blocked.Path) + " " + text + "; it and what is below stays as it is"})
		}
	}
}

// endPlan is the exit code of a plan.
func (v *invocation) endPlan(plan *dirsync.Plan) error {
	if len(plan.Conflicts) > 0 {
		return reported(exitConflict)
	}
	return v.out.partial()
}

// unreadTexts are the reasons that make a plan partial: what is there is not known.
var unreadTexts = map[dirsync.Reason]string{
	dirsync.Unreadable: "cannot be read",
	dirsync.Unstable:   "was changed while it was read",
}

func (v *invocation) showPlanVerb() *urfave.Command {
	return &urfave.Command{
		Name:      "show",
		Category:  groupSync,
		Usage:     "print a plan with every item",
		ArgsUsage: "PLAN",
		UsageText: "agentsync dirsync show 1b2c3d4e\nagentsync dirsync show 1b2c3d4e --json",
		Action: action(1, 1, func(_ context.Context, c *urfave.Context) error {
			s, err := v.settings()
			if err != nil {
				return err
			}
			o := v.bindings(s)
			id, typed, err := v.planOf(o, c.Args().First())
			if err != nil {
				return err
			}
			b, err := o.Open(id)
			if err != nil {
				return err
			}
			about := concern{binding: id, plan: typed}
			plan, found, err := b.Plan()
			if err == nil && found != typed {
				err = life.ErrPlanChanged
			}
			if err != nil {
				return about.of(err)
			}
			state, err := b.State()
			if err != nil {
				return about.of(err)
			}
			if state.Plan != found {
				state.Phase = life.Ready
			}
			return v.showPlan(&synced{b, plan, found, state.Phase}, true)
		}),
	}
}

func (v *invocation) chooseVerb() *urfave.Command {
	return &urfave.Command{
		Name:     "choose",
		Category: groupSync,
		Usage:    "name the side that wins conflicts of a plan, and make a new plan",
		Description: "Changes neither directory nor dataset, and answers with a new plan under a new id; the old one can no longer be applied. A choice counts " +
			"for exactly the two contents that the plan saw. When one of the paths is no conflict, none of the choices is taken.",
		ArgsUsage: "PLAN PATH…",
		UsageText: "agentsync dirsync choose --side project 1b2c3d4e drafts/plan.md",
		Flags:     []urfave.Flag{&urfave.StringFlag{Name: "side", Usage: "what wins: `SIDE` is project or dataset"}, allItemsFlag()},
		Action: action(2, -1, func(ctx context.Context, c *urfave.Context) error {
			side, err := sideFlag(c)
			if err != nil {
				return err
			}
			var paths []string
			for _, typed := range c.Args().Slice()[1:] {
				paths = append(paths, wirePath(typed))
			}
			return v.withPlan(ctx, c.Args().First(), task{verb: "choose", store: true}, func(ctx context.Context, b *life.Bound, id string) error {
				p, err := b.Choose(ctx, id, side, paths)
				if err != nil {
					return err
				}
				return v.endPreview(b, p, c.Bool("all"))
			})
		}),
	}
}

// wirePath is a path as datasets spell it, of one that was typed.
func wirePath(typed string) string { return path.Clean(norm.NFC.String(filepath.ToSlash(typed))) }
