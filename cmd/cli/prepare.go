package cli

import (
	"context"

	urfave "github.com/urfave/cli/v2"

	"agentsync/publish"
)

func (v *invocation) prepareVerb() *urfave.Command {
	return &urfave.Command{
		Name:      "prepare",
		Category:  groupPublish,
		Usage:     "compute the parts and hashes of sessions and compare them with what is published",
		ArgsUsage: "[KEY…]",
		Description: "Reads the named sessions whole, or all of them, and writes nothing. A session is unchanged when its manifest hash " +
			"is the published one.",
		UsageText: "agentsync prepare\nagentsync prepare claude/0f3c9a1b --json",
		Flags:     []urfave.Flag{sourceFlag()},
		Action:    action(0, -1, v.prepare),
	}
}

// prepareSummary ends the pass.
type prepareSummary struct {
	Type      string `json:"message_type"`
	Found     int    `json:"found"`
	Changed   int    `json:"changed"`
	Unchanged int    `json:"unchanged"`
	Failed    int    `json:"failed"`
	Size      int64  `json:"size"`
}

func (v *invocation) prepare(ctx context.Context, c *urfave.Context) error {
	s, err := v.settings()
	if err != nil {
		return err
	}
	chosen := newChosen(c.Args().Slice())
	pass := publish.Pass{Full: true, DryRun: true, Only: chosen.filter(), LeftOut: s.leftOut(c.StringSlice("source"))}
	if pass.Sources, err = v.drivers(s, c.StringSlice("source")); err != nil {
		return err
	}
	report, err := v.publishPass(ctx, s, pass, nil)
	if err != nil {
		return err
	}
	if err := v.showPrepared(report); err != nil {
		return err
	}
	if err := chosen.unanswered(); err != nil {
		return err
	}
	return v.out.partial()
}

func (v *invocation) showPrepared(report publish.Report) error {
	summary := prepareSummary{Type: "summary", Failed: report.Failed}
	keys := make([]string, len(report.Sessions))
	for i, s := range report.Sessions {
		keys[i] = s.Key
		switch s.Status {
		case publish.SessionPublished:
			summary.Changed++
		case publish.SessionUnchanged:
			summary.Unchanged++
		}
		summary.Size += s.Bytes
	}
	summary.Found = summary.Changed + summary.Unchanged + summary.Failed
	show := v.preparedTable
	if v.out.asJSON {
		show = v.preparedObjects
	}
	if err := show(report.Sessions, abbreviate(keys)); err != nil {
		return err
	}
	for _, source := range report.Sources {
		for _, p := range source.Problems {
			v.out.problem(problemFailure(source.Source.ID, p))
		}
	}
	if v.out.asJSON {
		return v.out.object(summary)
	}
	return v.out.note("%d found = %d to publish + %d unchanged + %d failed; %s read", summary.Found, summary.Changed,
		summary.Unchanged, summary.Failed, bytesText(summary.Size))
}

// preparedStatus says of a session what a publish would do with it.
func preparedStatus(s publish.SessionReport) string {
	if s.Status == publish.SessionPublished {
		return "changed"
	}
	return s.Status
}

func (v *invocation) preparedObjects(sessions []publish.SessionReport, _ map[string]string) error {
	for _, s := range sessions {
		if err := v.out.object(publishedOf("prepared", preparedStatus(s), s)); err != nil {
			return err
		}
	}
	return nil
}

func (v *invocation) preparedTable(sessions []publish.SessionReport, short map[string]string) error {
	list := newTable(column{title: "KEY"}, column{title: "STATUS"}, column{title: "SIZE", right: true},
		column{title: "PARTS", right: true}, column{title: "EVENTS", right: true}, column{title: "MANIFEST", flexible: true})
	for _, s := range sessions {
		list.row(short[s.Key], preparedStatus(s), bytesText(s.Bytes), number(s.Parts), number(s.Events), s.ManifestHash)
	}
	return v.out.table(list)
}
