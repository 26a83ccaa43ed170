package cli

import (
	"context"
	"errors"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"agentsync/collect"
	"agentsync/publish"
)

func (v *invocation) verifyVerb() *urfave.Command {
	return &urfave.Command{
		Name:     "verify",
		Category: groupKeep,
		Usage:    "check everything that a kept generation reaches",
		Description: "Checks signatures, the chain of generations, every link, every byte of every pack. It changes nothing and goes " +
			"on after damage, which is listed. What lies in a queue and is no valid command is refused, not damaged: it is named, and the exit code is 3. With --repair, sessions whose published copy is damaged are read again from " +
			"their agents' files and published anew, as the next generation; what cannot be mended stays listed.",
		UsageText: "agentsync verify\nagentsync verify --deep\nagentsync verify --sources\nagentsync verify --repair",
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "deep", Usage: "also recompute every canonical hash"},
			&urfave.BoolFlag{Name: "sources", Usage: "also compare the agents' files on this machine with what is published, byte by byte"},
			&urfave.BoolFlag{Name: "repair", Usage: "publish damaged sessions anew from the agents' files on this machine"},
			sourceFlag(),
		},
		Action: action(0, 0, v.verify),
	}
}

// verifySummary ends a check.
type verifySummary struct {
	Type        string           `json:"message_type"`
	Sound       bool             `json:"sound"`
	Problems    int              `json:"problems"`
	Refused     int              `json:"refused"`
	Generations int              `json:"generations"`
	Packs       int              `json:"packs"`
	Size        int64            `json:"size"`
	Documents   int              `json:"documents"`
	Unneeded    int              `json:"unneeded"`
	Sessions    int              `json:"sessions"`
	Hashes      int              `json:"hashes"`
	Mended      int              `json:"mended"`
	Deep        bool             `json:"deep"`
	Sources     *sourcesSummary  `json:"sources,omitempty"`
	Datasets    *datasetsSummary `json:"datasets,omitempty"`
	Store       string           `json:"store"`
}

// sourcesSummary says what came of a comparison. Compared is Same + Differing.
type sourcesSummary struct {
	Compared  int   `json:"compared"`
	Same      int   `json:"same"`
	Differing int   `json:"differing"`
	Unlisted  int   `json:"unlisted"`
	Size      int64 `json:"size"`
}

func (v *invocation) verify(ctx context.Context, c *urfave.Context) error {
	if c.IsSet("source") && !c.Bool("sources") {
		return usageError("agentsync verify --sources --source ID", "--source chooses what --sources compares")
	}
	s, target, done, err := v.reading(ctx)
	if err != nil {
		return err
	}
	defer done()
	mended := 0
	if c.Bool("repair") {
		if mended, err = v.repair(ctx, s, target); err != nil {
			return err
		}
	}
	report, err := v.checkStored(ctx, target, c.Bool("deep"))
	if err != nil {
		return err
	}
	summary := verifySummary{"summary", len(report.Problems) == 0, len(report.Problems), len(report.Refused), report.Generations, report.Packs,
		report.Bytes, report.Documents, report.Unneeded, report.Sessions, report.Hashes, mended, c.Bool("deep"), nil, nil, target.Store.Location()}
	if summary.Datasets, err = v.checkDatasets(ctx, target, c.Bool("deep")); err != nil {
		return err
	}
	if summary.Datasets != nil {
		summary.Problems += summary.Datasets.problems
		summary.Sound = summary.Problems == 0
	}
	if c.Bool("sources") && summary.Sound && report.Generations > 0 {
		if summary.Sources, err = v.compareSources(ctx, s, target, c.StringSlice("source")); err != nil {
			return err
		}
	}
	if err := v.endVerify(summary); err != nil {
		return err
	}
	if !summary.Sound {
		return reported(exitDamaged)
	}
	return v.out.partial()
}

// repair publishes anew the sessions whose newest copy is damaged, and returns how many
// it mended. What is left is for the check that follows to tell.
func (v *invocation) repair(ctx context.Context, s *settings, target *publish.Target) (int, error) {
	report, err := v.look(ctx, target, false)
	if err != nil || len(report.Problems) == 0 {
		return 0, err
	}
	damaged := map[string]bool{}
	for _, key := range report.Damaged {
		damaged[key] = true
	}
	pass := publish.Pass{Full: true, Only: func(sourceID string, l collect.Listing) bool {
		key, err := collect.SessionKey(sourceID, l.NativeSessionID)
		return err == nil && damaged[key]
	}}
	if pass.Sources, err = v.drivers(s, nil); err != nil {
		return 0, err
	}
	done, err := v.lockedPass(ctx, s, pass, nil)
	var beyond *publish.DamagedError
	if errors.As(err, &beyond) {
		return 0, nil // the index itself is damaged
	}
	if err != nil {
		return 0, err
	}
	for _, one := range done.Sessions {
		if one.Mended {
			v.out.warn("%s: its published copy was damaged; it has been written anew", one.Key)
		}
	}
	for _, n := range done.Notes {
		v.out.warn("%s", n.Message)
	}
	return done.Mended, nil
}

// checkStored checks the store and names every problem.
func (v *invocation) checkStored(ctx context.Context, target *publish.Target, deep bool) (publish.VerifyReport, error) {
	report, err := v.look(ctx, target, deep)
	if err != nil {
		return report, err
	}
	for _, p := range report.Problems {
		f := &failure{exit: exitDamaged, code: "damaged", message: withWhat(p.What, p.Message)}
		if strings.HasPrefix(p.What, "packs/") || strings.HasPrefix(p.What, "heads/") {
			f.path = p.What
		} else {
			f.session = p.What
		}
		v.out.problem(f)
	}
	for _, p := range report.Refused {
		v.out.problem(refusedFailure(p))
	}
	if len(report.Problems) > 0 && !v.out.asJSON {
		v.out.diagnose("hint", "sessions that their agents still have are published anew by agentsync verify --repair; for the rest bring the named files back from a copy of the store")
	}
	return report, nil
}

// refusedFailure is something in a queue that is no valid command. It never runs, so it is
// left out rather than damaged.
func refusedFailure(p collect.Problem) *failure {
	return &failure{exit: exitPartial, code: p.Code, path: p.Path, message: "refused: " + withPath(p.Message, p.Path),
		hint: "it never runs; what a person sent is sent again under another id, and the file is removed from the store"}
}

// look checks the store.
func (v *invocation) look(ctx context.Context, target *publish.Target, deep bool) (publish.VerifyReport, error) {
	meter := v.meter("verify", "packs", 0)
	defer meter.hide()
	return target.Verify(ctx, publish.VerifyOptions{Deep: deep, Workers: workers(),
		Progress: func(done, total int, what string) {
			meter.unit = "packs"
			if !strings.HasPrefix(what, "packs/") {
				meter.unit = "sessions"
			}
			meter.grow(int64(total))
			meter.set(int64(done))
		}})
}

func withWhat(what, message string) string {
	if strings.Contains(message, what) {
		return message
	}
	return what + ": " + message
}

// differenceHints say what each kind of difference calls for.
var differenceHints = map[string]string{
	publish.SourceGrown:       "agentsync publish; with --full it takes an unfinished last line as it stands",
	publish.SourceUnpublished: "agentsync publish",
	publish.SourceChanged:     "take the change over: agentsync publish --full; or bring the published bytes back: agentsync restore",
	publish.SourceShrunk:      "take the change over: agentsync publish --full; or bring the published bytes back: agentsync restore",
	publish.SourceMissing:     "bring it back: agentsync restore",
	publish.SourceUnreadable:  "make it readable for this user",
}

// differenceTexts say what each kind of difference is.
var differenceTexts = map[string]string{
	publish.SourceGrown:       "has grown since it was published",
	publish.SourceUnpublished: "was not published yet",
	publish.SourceChanged:     "was changed in place",
	publish.SourceShrunk:      "has become shorter than what was published",
	publish.SourceMissing:     "is not in its source any more",
	publish.SourceUnreadable:  "cannot be read",
}

// compareSources compares the agents' files with the store and names what differs.
func (v *invocation) compareSources(ctx context.Context, s *settings, target *publish.Target, only []string) (*sourcesSummary, error) {
	drivers, err := v.drivers(s, only)
	if err != nil {
		return nil, err
	}
	meter := v.meter("compare", "sessions", -1)
	report, err := target.CompareSources(ctx, drivers, publish.CompareOptions{Workers: workers(),
		Progress: func(done, _ int, _ string) { meter.set(int64(done)) }})
	meter.hide()
	if err != nil {
		return nil, err
	}
	for _, p := range report.Problems {
		v.out.problem(problemFailure(p.Source, p.Problem))
	}
	for _, d := range report.Differing {
		message := d.Key + " " + differenceTexts[d.Status]
		if d.Status == publish.SourceChanged || d.Status == publish.SourceShrunk {
			message += ", after " + bytesText(d.Offset)
		}
		if d.Err != nil {
			message += ": " + d.Err.Error()
		}
		v.out.problem(&failure{exit: exitPartial, code: "source-" + d.Status, message: message, hint: differenceHints[d.Status] + hintKey(d),
			source: d.Source, session: d.Key})
	}
	return &sourcesSummary{report.Same + len(report.Differing), report.Same, len(report.Differing), len(report.Problems), report.Bytes}, nil
}

// hintKey completes the hints that end in a restore.
func hintKey(d publish.Difference) string {
	if strings.HasSuffix(differenceHints[d.Status], "restore") {
		return " " + d.Key
	}
	return ""
}

func (v *invocation) endVerify(s verifySummary) error {
	if v.out.asJSON {
		return v.out.object(s)
	}
	line := counted(s.Generations, "generation", "generations") + ", " + counted(s.Packs, "pack", "packs") + " (" + bytesText(s.Size) + "), " +
		counted(s.Documents, "document", "documents") + ", " + counted(s.Sessions, "session copy", "session copies")
	if s.Deep {
		line += ", " + counted(s.Hashes, "hash", "hashes") + " recomputed"
	}
	if s.Datasets != nil {
		line += "; " + s.Datasets.text()
	}
	if s.Sources != nil {
		line += "; " + counted(s.Sources.Compared, "session", "sessions") + " of the sources compared = " + number(s.Sources.Same) + " same + " +
			number(s.Sources.Differing) + " differing"
	}
	if s.Mended > 0 {
		line += "; " + counted(s.Mended, "session", "sessions") + " mended"
	}
	if s.Refused > 0 {
		line += "; " + number(s.Refused) + " refused"
	}
	verdict := "sound"
	if !s.Sound {
		verdict = counted(s.Problems, "problem", "problems")
	}
	return v.out.note("%s: %s", line, verdict)
}
