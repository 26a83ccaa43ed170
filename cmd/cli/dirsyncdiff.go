package cli

import (
	"context"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	urfave "github.com/urfave/cli/v2"

	"agentsync/dirsync/life"
)

func (v *invocation) diffVerb() *urfave.Command {
	return &urfave.Command{
		Name:     "diff",
		Category: groupSync,
		Usage:    "compare what both sides of a plan's item hold, and what they last agreed on",
		Description: "Texts of up to 256 KiB are compared line by line; what is larger, binary or no longer stored is named as such. With --json the texts " +
			"are printed whole. The directory must still be what the plan saw.",
		ArgsUsage: "PLAN PATH",
		UsageText: "agentsync dirsync diff 1b2c3d4e drafts/plan.md",
		Action: action(2, 2, func(ctx context.Context, c *urfave.Context) error {
			path := wirePath(c.Args().Get(1))
			return v.withPlan(ctx, c.Args().First(), task{verb: "diff", store: true}, func(ctx context.Context, b *life.Bound, id string) error {
				d, err := b.Diff(ctx, id, path)
				if err != nil {
					return err
				}
				return v.showDiff(d, id)
			})
		}),
	}
}

// bodyObject is what one side of an item holds.
type bodyObject struct {
	Type  string      `json:"message_type"`
	Path  string      `json:"path"`
	Side  string      `json:"side"` // ancestor, project or dataset
	Entry entryObject `json:"entry"`
	Text  *string     `json:"text"` // null where the note says why
	Note  string      `json:"note,omitempty"`
}

// diffSummary ends a comparison.
type diffSummary struct {
	Type string `json:"message_type"`
	Plan string `json:"plan"`
	Path string `json:"path"`
	Code string `json:"code,omitempty"` // of the conflict
}

// side is one of the three sides of a comparison.
type side struct {
	name string
	*life.Body
}

func (v *invocation) showDiff(d *life.Diff, plan string) error {
	sides := []side{{"ancestor", &d.Ancestor}, {"project", &d.Project}, {"dataset", &d.Dataset}}
	if v.out.asJSON {
		for _, s := range sides {
			o := bodyObject{"body", d.Path, s.name, entryOf(s.Entry), nil, s.Note}
			if s.Text != nil {
				whole := string(s.Text)
				o.Text = &whole
			}
			if err := v.out.object(o); err != nil {
				return err
			}
		}
		return v.out.object(diffSummary{"summary", plan, d.Path, string(d.Conflict)})
	}
	if err := v.out.line("%s", pathText(d.Path)); err != nil {
		return err
	}
	for _, s := range sides {
		text := entryText(s.Entry)
		if s.Note != "" && s.Note != s.Entry.Kind.String() {
			text += ": " + s.Note
		}
		if err := v.out.line("  %-9s %s", s.name, text); err != nil {
			return err
		}
	}
	for _, pair := range [][2]side{{sides[0], sides[1]}, {sides[0], sides[2]}, {sides[1], sides[2]}} {
		if err := v.unified(pair[0], pair[1]); err != nil {
			return err
		}
	}
	return nil
}

// unified prints the lines in which two texts differ; nothing when one of them is none.
func (v *invocation) unified(from, to side) error {
	if from.Text == nil || to.Text == nil {
		return nil
	}
	_, lines, _ := strings.Cut(string(diff.Diff(from.name, from.Text, to.name, to.Text)), "\n") // its first line is a command of no use here
	for line := range strings.Lines(lines) {
		var b strings.Builder
		for i, part := range strings.Split(strings.TrimSuffix(line, "\n"), "\t") { // a tab does no harm, and belongs to the text
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(printable(part))
		}
		if err := v.out.raw(b.String() + "\n"); err != nil {
			return err
		}
	}
	return nil
}
