package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"agentsync/collect"
	"agentsync/collect/lines"
	"agentsync/publish"
)

func (v *invocation) publishVerb() *urfave.Command {
	return &urfave.Command{
		Name:     "publish",
		Category: groupPublish,
		Usage:    "collect, prepare and publish the sessions of this machine",
		Description: "Sessions that did not change since the last publish are kept without being opened; those that only grew are " +
			"read from their last part on. A pass that finds nothing changed writes nothing. A last line that its agent " +
			"has not finished waits until it is, or until ten minutes have gone by, and is told; --full and " +
			"--require-nonempty take it as it stands.\n\n" +
			"A session that is gone from its agent is marked deleted only when its whole source could be listed, and " +
			"what was published of it stays.",
		UsageText: "agentsync publish\nagentsync publish --full --store /srv/agent-sessions\nagentsync publish --dry-run --json",
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "full", Usage: "read every session, changed or not, an unfinished last line as it stands"},
			&urfave.BoolFlag{Name: "dry-run", Usage: "say what would be published and write nothing"},
			sourceFlag(),
			sessionFlag(),
			nonEmptyFlag(),
			&urfave.StringSliceFlag{Name: "accept-gone", Usage: "say that what is not seen of the source `ID` is gone: its sessions are marked deleted (may be repeated)"},
			&urfave.BoolFlag{Name: "take-over", Usage: "publish sources that another installation has published until now"},
		},
		Action: action(0, 0, v.publish),
	}
}

func sessionFlag() urfave.Flag {
	return &urfave.StringSliceFlag{Name: "session", Usage: "only the session `KEY`, or the beginning of one (may be repeated)"}
}

// publishSummary ends a publish.
type publishSummary struct {
	Type         string `json:"message_type"`
	Found        int    `json:"found"`
	Published    int    `json:"published"`
	Unchanged    int    `json:"unchanged"`
	Failed       int    `json:"failed"`
	Deleted      int    `json:"deleted"`
	Unseen       int    `json:"unseen"`
	Partial      int    `json:"partial"`
	Waiting      int    `json:"waiting"`
	Copies       int    `json:"copies"`
	Mended       int    `json:"mended"`
	Documents    int    `json:"documents"`
	BytesWritten int64  `json:"bytes_written"`
	Generation   int64  `json:"generation"`
	Store        string `json:"store"`
	BytesRead    int64  `json:"bytes_read"`
	Retained     int    `json:"retained"`
	Complete     bool   `json:"complete"`
	DryRun       bool   `json:"dry_run"`
	Unfinished   bool   `json:"unfinished"`
}

// publishedObject is what became of one session that was read, in JSON.
type publishedObject struct {
	Type         string `json:"message_type"`
	Key          string `json:"key"`
	Source       string `json:"source"`
	Session      string `json:"session"`
	Status       string `json:"status"`
	Parts        int    `json:"parts"`
	Events       int    `json:"events"`
	Messages     int    `json:"messages"`
	Damaged      int    `json:"damaged"`
	Size         int64  `json:"size"`
	BytesRead    int64  `json:"bytes_read"`
	Waiting      int64  `json:"waiting"`
	Partial      bool   `json:"partial"`
	Resumed      bool   `json:"resumed"`
	Copy         string `json:"copy,omitempty"`
	Why          string `json:"why,omitempty"`
	Mended       bool   `json:"mended"`
	SnapshotHash string `json:"snapshot_hash,omitempty"`
	ManifestHash string `json:"manifest_hash,omitempty"`
}

func publishedOf(kind, status string, s publish.SessionReport) publishedObject {
	return publishedObject{kind, s.Key, s.Source, s.NativeID, status, s.Parts, s.Events, s.Messages, s.Damaged, s.Size, s.Bytes,
		s.Waiting, s.Partial, s.Resumed, copyKey(s), s.Why, s.Mended, s.SnapshotHash, s.ManifestHash}
}

// lostWords say what became of a file whose published copy holds what it lacks.
var lostWords = map[string]string{"shortened": "is shorter now", "diverged": "was rewritten"}

// copyKey names the kept copy of what a session was, "" for none.
func copyKey(s publish.SessionReport) string {
	if s.Copy == 0 {
		return ""
	}
	return fmt.Sprintf("%s@%d", s.Key, s.Copy)
}

func (v *invocation) publish(ctx context.Context, c *urfave.Context) error {
	s, err := v.settings()
	if err != nil {
		return err
	}
	chosen := newChosen(c.StringSlice("session"))
	pass := publish.Pass{Full: c.Bool("full"), Tails: c.Bool("require-nonempty"), DryRun: c.Bool("dry-run"), TakeOver: c.Bool("take-over"), Only: chosen.filter()}
	if err := s.gone(c.StringSlice("accept-gone")); err != nil {
		return err
	}
	if len(s.accepted) > 0 && pass.Only != nil {
		return usageError("agentsync publish --accept-gone "+s.accepted[0], "--accept-gone and --session do not go together")
	}
	pass.Talk = c.Bool("require-nonempty")
	pass.LeftOut = s.leftOut(c.StringSlice("source"))
	pass.Keeps = s.keeps
	pass.Gone = func(id string) bool { return slices.Contains(s.accepted, id) }
	if pass.Sources, err = v.drivers(s, c.StringSlice("source")); err != nil {
		return err
	}
	ran := false
	report, err := v.lockedPass(ctx, s, pass, func(report publish.Report, err error) error {
		ran = true
		return v.endPublish(s, pass, chosen, report, err)
	})
	if err != nil && !ran {
		return v.leftOnTheWay(report, err)
	}
	return err
}

// endPublish tells what a pass did, and decides how it ends.
func (v *invocation) endPublish(s *settings, pass publish.Pass, chosen *chosen, report publish.Report, err error) error {
	if err != nil {
		return v.leftOnTheWay(report, err)
	}
	if err := v.showPublished(report, pass.DryRun); err != nil {
		return err
	}
	if err := chosen.unanswered(); err != nil {
		return err
	}
	if err := s.unaccepted(report); err != nil {
		return err
	}
	if lacking := pass.Talk && !report.Talk; report.Found+report.Unseen == 0 || lacking {
		if err := v.nothingFound(s, report.Found, lacking); err != nil {
			return err
		}
	}
	return v.out.partial()
}

// leftOnTheWay says what holds of a pass that did not come to its end.
func (v *invocation) leftOnTheWay(report publish.Report, err error) error {
	if !report.Unfinished {
		return &keptError{"nothing of this pass is in the store; what was published before stands; run it again: agentsync publish", err}
	}
	if err := v.showPublished(report, false); err != nil {
		return err
	}
	return &keptError{fmt.Sprintf("what was read so far is in generation %d; to go on from there: agentsync publish", report.Generation), err}
}

// passEnd turns what a pass did, and what it failed with, into how it ends.
type passEnd func(publish.Report, error) error

// lockedPass runs the pass under the pass lock, with its end where there is one. A dry run
// writes nothing, the lock included.
func (v *invocation) lockedPass(ctx context.Context, s *settings, pass publish.Pass, end passEnd) (report publish.Report, err error) {
	if pass.DryRun {
		return v.publishPass(ctx, s, pass, end)
	}
	err = v.withLock(ctx, s.State, publishLock, "publish", func(ctx context.Context) error {
		report, err = v.publishPass(ctx, s, pass, end)
		return err
	})
	return report, err
}

// publishPass opens the store and runs the pass. How one with an end ended is recorded in
// the store.
func (v *invocation) publishPass(ctx context.Context, s *settings, pass publish.Pass, end passEnd) (publish.Report, error) {
	open := v.openForPublishing
	if pass.DryRun {
		open = v.openForPlanning
	}
	target, done, err := open(ctx, s)
	if err != nil {
		return publish.Report{}, err
	}
	defer done()
	report, err := v.runPass(ctx, s, target, pass)
	if end == nil {
		return report, err
	}
	err = end(report, err)
	if !pass.DryRun {
		v.recordPass(ctx, target, err, publishEnded(report))
	}
	return report, err
}

// runPass runs the pass on a store.
func (v *invocation) runPass(ctx context.Context, s *settings, target *publish.Target, pass publish.Pass) (publish.Report, error) {
	pass.Now = v.env.Now()
	if err := v.observe(ctx, s, &pass); err != nil {
		return publish.Report{}, err
	}
	meter := v.meter("publish", "sessions", -1)
	defer meter.hide()
	pass.Progress = func(p publish.Progress) {
		meter.grow(int64(p.Listed))
		meter.set(int64(p.Done))
	}
	pass.Pause = v.pauses()
	report, err := target.Publish(ctx, pass)
	if err == nil && !pass.DryRun {
		err = s.rememberFolders(ctx, report)
	}
	return report, err
}

// A long pass puts a generation on the way after so many bytes, or so long: what a limit of
// a CI job or a unit leaves no time for is then less than this.
const (
	wayBytes = 128 << 20
	wayTime  = time.Minute
)

// pauses decides when a pass puts a generation on the way.
func (v *invocation) pauses() func(written int64) bool {
	last := v.env.Now()
	return func(written int64) bool {
		now := v.env.Now()
		if written < wayBytes && (written == 0 || now.Sub(last) < wayTime) {
			return false
		}
		last = now
		return true
	}
}

// showPublished prints what a pass did.
func (v *invocation) showPublished(report publish.Report, dryRun bool) error {
	for _, source := range report.Sources {
		if err := v.showPublishedSource(source, report.Sessions); err != nil {
			return err
		}
	}
	for _, n := range report.Notes {
		if !v.out.asJSON {
			v.out.warn("%s", withPath(n.Message, n.Path))
		} else if err := v.out.object(noteObject{"note", "", n.Code, n.Message, n.Path}); err != nil {
			return err
		}
	}
	summary := publishSummary{
		"summary", report.Found, report.Published, report.Unchanged, report.Failed, report.Deleted, report.Unseen, report.Partial, report.Waiting, report.Copies, report.Mended,
		report.Documents, report.BytesWritten, report.Generation, report.Store, report.BytesRead, report.Retained,
		!report.Incomplete() && !report.Unfinished, dryRun, report.Unfinished,
	}
	if v.out.asJSON {
		return v.out.object(summary)
	}
	return v.out.note("%s", summary.text())
}

// text is the summary for people: its numbers add up in the order they are read.
func (s publishSummary) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d found = %d published + %d unchanged + %d failed", s.Found, s.Published, s.Unchanged, s.Failed)
	for _, more := range []struct {
		n    int
		word string
	}{{s.Deleted, "deleted"}, {s.Unseen, "not seen"}, {s.Partial, "partial"}, {s.Waiting, "waiting"}, {s.Copies, "kept as copies"}, {s.Mended, "mended"}} {
		if more.n > 0 {
			fmt.Fprintf(&b, ", %d %s", more.n, more.word)
		}
	}
	switch {
	case s.DryRun:
		b.WriteString("; dry run, nothing was written")
	case s.Unfinished:
		fmt.Fprintf(&b, "; interrupted, generation %d of %s holds these", s.Generation, s.Store)
	case s.Documents == 0:
		fmt.Fprintf(&b, "; nothing written, generation %d of %s stands", s.Generation, s.Store)
	default:
		fmt.Fprintf(&b, "; %s, %s, generation %d of %s", counted(s.Documents, "document", "documents"),
			bytesText(s.BytesWritten), s.Generation, s.Store)
	}
	return b.String()
}

func (v *invocation) showPublishedSource(source publish.SourceReport, sessions []publish.SessionReport) error {
	id := source.Source.ID
	own := slices.DeleteFunc(slices.Clone(sessions), func(s publish.SessionReport) bool { return s.Source != id })
	if v.out.asJSON {
		for _, s := range own {
			if err := v.out.object(publishedOf("session", s.Status, s)); err != nil {
				return err
			}
		}
		for _, n := range source.Notes {
			if err := v.out.object(noteObject{"note", id, n.Code, n.Message, n.Path}); err != nil {
				return err
			}
		}
	} else if err := v.publishedLine(source); err != nil {
		return err
	}
	for _, s := range own {
		v.showDamage(s)
		v.showWaiting(s)
		if s.Copy > 0 {
			v.out.warn("%s: its file %s; what it was before is kept as %s", s.Key, lostWords[s.Why], copyKey(s))
		}
		if s.Mended {
			v.out.warn("%s: its published copy was damaged; it has been written anew", s.Key)
		}
	}
	for _, p := range source.Problems {
		v.out.problem(problemFailure(id, p))
	}
	return nil
}

func (v *invocation) publishedLine(source publish.SourceReport) error {
	for _, n := range source.Notes {
		v.out.warn("%s: %s", source.Source.ID, withPath(n.Message, n.Path))
	}
	if source.Absent {
		what := "not on this machine"
		if source.Unseen > 0 {
			what = "not seen any more"
		}
		return v.out.note("%s (%s): %s", source.Source.ID, source.Source.Driver, what)
	}
	incomplete := ""
	if !source.Complete {
		incomplete = ", inventory incomplete"
	}
	return v.out.note("%s (%s): %s%s", source.Source.ID, source.Source.Driver, counted(source.Found, "session", "sessions"), incomplete)
}

// showDamage tells of records that are no plain JSON lines. Their bytes are kept, so
// nothing is missing.
func (v *invocation) showDamage(s publish.SessionReport) {
	if s.Damaged == 0 || s.Status != publish.SessionPublished {
		return
	}
	where := ""
	if len(s.Problems) > 0 {
		p := s.Problems[0]
		where = "; the first: " + p.Message
	}
	v.out.warn("%s: %s kept byte for byte%s", s.Key, counted(s.Damaged, "damaged record", "damaged records"), where)
}

// showWaiting tells of an unfinished last line that was left to its writer: those bytes
// are not published yet, so the pass is not whole.
func (v *invocation) showWaiting(s publish.SessionReport) {
	if s.Waiting > 0 {
		v.out.problem(waitingFailure(s))
	}
}

func waitingFailure(s publish.SessionReport) *failure {
	f := &failure{exit: exitPartial, code: lines.CodeWaiting, source: s.Source, session: s.Key, retryable: true,
		message: fmt.Sprintf("%s: its last line is not finished, %s of it wait", s.Key, counted(int(s.Waiting), "byte", "bytes")),
		hint:    "the next pass takes it when the agent finished it or left it alone for ten minutes; as it stands now: agentsync publish --full"}
	for _, p := range s.Problems {
		if p.Code == lines.CodeWaiting {
			f.path = p.Path
			f.message += fmt.Sprintf(" (line %d)", p.Line)
		}
	}
	return f
}

// chosen are the sessions that --session names.
type chosen struct {
	typed    []string
	answered []bool
}

func newChosen(typed []string) *chosen {
	return &chosen{typed: typed, answered: make([]bool, len(typed))}
}

// filter returns the pass's filter, nil when every session is meant. It is called by
// one goroutine at a time.
func (c *chosen) filter() func(sourceID string, l collect.Listing) bool {
	if len(c.typed) == 0 {
		return nil
	}
	return func(sourceID string, l collect.Listing) bool {
		key, err := collect.SessionKey(sourceID, l.NativeSessionID)
		return err == nil && c.matches(key)
	}
}

func (c *chosen) matches(key string) bool {
	found := false
	for i, typed := range c.typed {
		if answers(typed, key) {
			c.answered[i], found = true, true
		}
	}
	return found
}

// unanswered reports a typed key that no session of the sources had.
func (c *chosen) unanswered() error {
	for i, typed := range c.typed {
		if !c.answered[i] {
			return &failure{exit: exitFailed, code: "no-such-session", session: typed,
				message: "no session of this machine answers to " + typed, hint: "see them all: agentsync collect"}
		}
	}
	return nil
}
