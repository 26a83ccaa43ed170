package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	urfave "github.com/urfave/cli/v2"

	"agentsync/collect"
	"agentsync/collect/drivers"
	"agentsync/ledger"
	"agentsync/ledger/durable"
	"agentsync/publish"
	"agentsync/publish/document"
)

func (v *invocation) doctorVerb() *urfave.Command {
	return &urfave.Command{
		Name:     "doctor",
		Category: groupSetUp,
		Usage:    "check sources, state folder, store and free space, and say what to do",
		Description: "Changes nothing. Every line is ok, warn or fail, with a hint where there is something to do. Exit code 1 when a publish " +
			"would fail, 3 when it would be done in part. With --repair, a format.json that the store has lost is made anew, when " +
			"everything that the owner has signed there agrees on it.",
		UsageText: "agentsync doctor\nagentsync doctor --json\nagentsync doctor --repair",
		Flags:     []urfave.Flag{&urfave.BoolFlag{Name: "repair", Usage: "bring a lost format.json of the store back first"}},
		Action:    action(0, 0, v.doctor),
	}
}

// Verdicts of a check.
const (
	verdictOK   = "ok"
	verdictWarn = "warn"
	verdictFail = "fail"
)

// check is what one look found.
type check struct {
	Type    string `json:"message_type"`
	Check   string `json:"check"`
	Verdict string `json:"status"`
	Source  string `json:"source,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// doctorSummary ends the examination.
type doctorSummary struct {
	Type string `json:"message_type"`
	OK   int    `json:"ok"`
	Warn int    `json:"warn"`
	Fail int    `json:"fail"`
}

func ok(name, format string, args ...any) check {
	return check{Type: "check", Check: name, Verdict: verdictOK, Message: fmt.Sprintf(format, args...)}
}

func warn(name, hint, format string, args ...any) check {
	return check{Type: "check", Check: name, Verdict: verdictWarn, Hint: hint, Message: fmt.Sprintf(format, args...)}
}

func fail(name, hint, format string, args ...any) check {
	return check{Type: "check", Check: name, Verdict: verdictFail, Hint: hint, Message: fmt.Sprintf(format, args...)}
}

// examination runs checks and remembers how they went.
type examination struct {
	v         *invocation
	summary   doctorSummary
	broken    bool              // a publish would fail
	published []document.Source // in the store's newest generation
}

// aboutCommands are the checks whose failure a publish does not meet.
var aboutCommands = map[string]bool{"ledger": true, "commands": true, "dirsync": true}

func (x *examination) add(checks ...check) error {
	for _, c := range checks {
		switch c.Verdict {
		case verdictOK:
			x.summary.OK++
		case verdictWarn:
			x.summary.Warn++
		default:
			x.summary.Fail++
			x.broken = x.broken || c.Source == "" && !aboutCommands[c.Check]
		}
		if err := x.v.showCheck(c); err != nil {
			return err
		}
	}
	return nil
}

func (v *invocation) showCheck(c check) error {
	v.out.progress.hide()
	if v.out.asJSON {
		return v.out.object(c)
	}
	if v.out.quiet && c.Verdict == verdictOK {
		return nil
	}
	name := c.Check
	if c.Source != "" {
		name += " " + c.Source
	}
	if err := v.out.line("%-4s  %-16s  %s", c.Verdict, name, clean(c.Message)); err != nil {
		return err
	}
	if c.Hint == "" {
		return nil
	}
	return v.out.line("%24s%s", "hint: ", clean(c.Hint))
}

func (v *invocation) doctor(ctx context.Context, c *urfave.Context) error {
	x := &examination{v: v, summary: doctorSummary{Type: "summary"}}
	s, err := v.settings()
	if err != nil {
		return err
	}
	if c.Bool("repair") {
		if err := v.repairStore(ctx, s); err != nil {
			return err
		}
	}
	if err := x.add(checkConfig(s), checkState(s.State), checkIdentity(s.State)); err != nil {
		return err
	}
	published, sources, storeChecks := v.checkStore(ctx, s)
	x.published = sources
	if err := x.add(append(storeChecks, checkSpace(s)...)...); err != nil {
		return err
	}
	if err := x.add(v.checkCommands(ctx, s)...); err != nil {
		return err
	}
	if err := x.sources(ctx, s, published); err != nil {
		return err
	}
	if err := x.bindings(ctx, s); err != nil {
		return err
	}
	return x.end()
}

func (x *examination) end() error {
	if x.v.out.asJSON {
		if err := x.v.out.object(x.summary); err != nil {
			return err
		}
	} else if err := x.v.out.note("%d ok, %d to look at, %d failed", x.summary.OK, x.summary.Warn, x.summary.Fail); err != nil {
		return err
	}
	switch {
	case x.broken:
		return reported(exitFailed)
	case x.summary.Fail > 0:
		return errPartial
	}
	return nil
}

func checkConfig(s *settings) check {
	if s.File == "" {
		return ok("config", "none: agents are looked for in their standard folders")
	}
	return ok("config", "%s", s.File)
}

func checkState(folder string) check {
	err := durable.CheckPrivate(durable.OS(), folder)
	var open *durable.NotPrivateError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ok("state", "%s will be made", folder)
	case errors.As(err, &open):
		return fail("state", open.Hint, "%v", err)
	case err != nil:
		return fail("state", "", "%v", err)
	}
	if err := tryWrite(folder); err != nil {
		return fail("state", "choose another one with --state", "%v", err)
	}
	return ok("state", "%s", folder)
}

// tryWrite makes an empty file in a folder and removes it.
func tryWrite(folder string) error {
	disk := durable.OS()
	file, name, err := durable.CreateTemp(disk, folder, "doctor", 0o600)
	if err != nil {
		return fmt.Errorf("write into %s: %w", folder, err)
	}
	return errors.Join(file.Close(), disk.Remove(name))
}

func checkIdentity(folder string) check {
	if _, err := durable.OS().Lstat(folder); errors.Is(err, fs.ErrNotExist) {
		return ok("identity", "made by the first publish")
	}
	state, err := ledger.OpenState(durable.OS(), folder)
	if err != nil {
		return fail("identity", "", "%v", err)
	}
	identity, err := ledger.ReadIdentity(state)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ok("identity", "made by the first publish")
	case err != nil:
		return fail("identity", "bring the key file back from a backup; what is published belongs to it", "%v", err)
	}
	return ok("identity", "%s", identity.DID())
}

const (
	tightSpace = 1 << 30   // bytes; below it a doctor warns
	noSpace    = 100 << 20 // bytes; below it one pack does not fit
)

// checkSpace looks at the file systems of store and state folder.
func checkSpace(s *settings) []check {
	var checks []check
	seen := make(map[int64]bool)
	for _, folder := range []string{s.Store.Path, s.State} {
		place := existing(folder)
		free, known := freeSpace(place)
		if folder == "" || !known || seen[free] {
			continue
		}
		seen[free] = true
		switch {
		case free < noSpace:
			checks = append(checks, fail("space", "make room, or choose another place with --store", "%s free at %s", bytesText(free), place))
		case free < tightSpace:
			checks = append(checks, warn("space", "make room soon", "%s free at %s", bytesText(free), place))
		default:
			checks = append(checks, ok("space", "%s free at %s", bytesText(free), place))
		}
	}
	return checks
}

// existing returns the nearest folder at or above path that is there.
func existing(path string) string {
	for {
		if _, err := durable.OS().Lstat(path); err == nil || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

// sources looks at every source.
func (x *examination) sources(ctx context.Context, s *settings, published map[string]bool) error {
	unlooked, err := s.unlooked(x.published)
	if err != nil {
		return err
	}
	for _, source := range unlooked {
		c := fail("source", absenceHint(publish.CodeSourceAbsent, source.ID), "%s", unlookedText(source))
		c.Source = source.ID
		if err := x.add(c); err != nil {
			return err
		}
	}
	if len(s.sources) == 0 {
		return x.add(warn("sources", "to see it work on made-up sessions: "+demo, "no agent was found; %s", lookedIn(s.looked)))
	}
	meter := x.v.meter("doctor", "sessions", -1)
	for _, source := range s.sources {
		driver, err := drivers.New(source, s.env)
		if err != nil {
			c := fail("source", driverHint(err), "%v", err)
			c.Source = source.ID
			if err := x.add(c); err != nil {
				return err
			}
			continue
		}
		if err := x.source(ctx, s, driver, published, meter); err != nil {
			return err
		}
		if err := x.add(x.v.checkProgram(source)...); err != nil {
			return err
		}
	}
	return nil
}

// source looks at one source: its inventory, its ages, and into some sessions.
func (x *examination) source(ctx context.Context, s *settings, driver collect.Driver, published map[string]bool, meter *meter) error {
	got, err := takeInventory(ctx, driver, meter)
	if err != nil {
		return err
	}
	if err := x.add(checkInventory(got, s.detected)...); err != nil {
		return err
	}
	if err := x.add(checkUnseen(got, x.published)...); err != nil {
		return err
	}
	if err := x.add(checkExpiring(got, s.keeps(got.source.Source), published, s.env.Now)...); err != nil {
		return err
	}
	looked, err := takeSample(ctx, driver, got.sessions)
	if err != nil {
		return err
	}
	return x.add(looked.checks(got.source.Source)...)
}

// checkUnseen tells of a source of which sessions are published and none is seen.
func checkUnseen(got inventory, published []document.Source) []check {
	id := got.source.Source
	at := slices.IndexFunc(published, func(s document.Source) bool { return s.ID == id })
	if at < 0 || got.source.Found > 0 || published[at].SessionCount == 0 {
		return nil
	}
	c := fail("source", absenceHint(publish.CodeSessionsGone, id), "none of the %s that are published is seen",
		counted(published[at].SessionCount, "session", "sessions"))
	c.Source = id
	return []check{c}
}

// mostProblems is how many problems of one source a doctor names.
const mostProblems = 10

// checkInventory judges what could be listed of a source.
func checkInventory(got inventory, detected bool) []check {
	id := got.source.Source
	about := func(c check) check {
		c.Source = id
		return c
	}
	if got.source.Absent && len(got.problems) == 0 {
		if detected {
			return []check{about(ok("source", "not on this machine"))}
		}
		return []check{about(warn("source", "mount it, correct its folder in the configuration, or set enabled: false",
			"its folder is not there; nothing is marked deleted"))}
	}
	var checks []check
	for i, p := range got.problems {
		if i == mostProblems {
			checks = append(checks, about(fail("source", "agentsync collect", "and %d more", len(got.problems)-i)))
			break
		}
		f := problemFailure(id, p)
		checks = append(checks, about(fail("source", f.hint, "%s", f.message)))
	}
	if len(checks) == 0 {
		checks = append(checks, about(ok("source", "%s, %s", counted(got.source.Found, "session", "sessions"), bytesText(got.source.Size))))
	}
	return checks
}

// keeps is after how long the agent of a source removes sessions by itself, 0 for never.
func (s *settings) keeps(source string) time.Duration {
	for _, one := range s.sources {
		if id, err := collect.SourceID(one.ID); err == nil && id == source {
			return drivers.CleanUpAfter(one.Driver, drivers.Folder(one, s.env))
		}
	}
	return 0
}

// nearCleanup is how long before the agent's clean-up a doctor speaks up.
const nearCleanup = 5 * 24 * time.Hour

// checkExpiring warns of sessions that their agent will delete soon, which keeps them so
// long, and that are not published. published is nil when that is not known.
func checkExpiring(got inventory, keeps time.Duration, published map[string]bool, now time.Time) []check {
	if keeps == 0 || len(got.sessions) == 0 {
		return nil
	}
	near, unpublished := 0, 0
	for _, s := range got.sessions {
		if s.modified.IsZero() || now.Sub(s.modified) < keeps-nearCleanup {
			continue
		}
		near++
		if !published[s.Key] {
			unpublished++
		}
	}
	days := int(keeps / (24 * time.Hour))
	c := ok("clean-up", "%s near the agent's clean-up after %d days, all published", counted(near, "session", "sessions"), days)
	if unpublished > 0 {
		c = warn("clean-up", "agentsync publish", "%s not published and near the agent's clean-up after %d days",
			counted(unpublished, "session is", "sessions are"), days)
	}
	if near == 0 {
		c = ok("clean-up", "no session is near the agent's clean-up after %d days", days)
	}
	c.Source = got.source.Source
	return []check{c}
}
