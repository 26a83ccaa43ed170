package cli

import (
	"context"
	"fmt"
	"path/filepath"

	"agentsync/collect"
	"agentsync/collect/drivers"
	"agentsync/collect/programs"
	"agentsync/ledger"
	"agentsync/publish"
)

// standingObject is how remote commands stand, in JSON.
type standingObject struct {
	Type      string `json:"message_type"`
	DID       string `json:"did"` // this installation's key, "" when there is none yet
	Waiting   int    `json:"waiting"`
	Elsewhere int    `json:"elsewhere"`
	Unowned   int    `json:"unowned"`
	Claimed   int    `json:"claimed"`
	Refused   int    `json:"refused"`
	Unknown   int    `json:"unknown"`          // of the newest receipts
	Pending   int    `json:"pending"`          // receipts that are not in the store yet
	Newest    string `json:"newest,omitempty"` // time of the newest receipt
}

// commandStanding looks at the queues, the receipts and the ledger.
func commandStanding(ctx context.Context, s *settings, target *publish.Target) (o standingObject, err error) {
	o.Type = "commands"
	if o.DID, err = ownDID(s.State); err != nil {
		return o, err
	}
	list, refused, err := queuedCommands(ctx, s, target, false)
	if err != nil {
		return o, err
	}
	summary := commandsSummary{}
	for _, one := range list {
		summary.count(one.State)
	}
	o.Waiting, o.Elsewhere, o.Unowned, o.Claimed, o.Refused = summary.Waiting, summary.Elsewhere, summary.Unowned, summary.Claimed, len(refused)
	rows, err := target.Receipts(ctx)
	for _, row := range rows {
		if row.Status == ledger.Unknown {
			o.Unknown++
		}
		o.Newest = max(o.Newest, row.UpdatedAt)
	}
	if err != nil {
		return o, err
	}
	book, err := readLedger(s)
	if book != nil && err == nil {
		o.Pending = len(book.Pending())
	}
	return o, err
}

// warn makes warnings of what deserves a look.
func (o standingObject) warn(got *screen) {
	for _, one := range []struct {
		n          int
		what, hint string
	}{
		{o.Unknown, "with an unknown outcome", "agentsync reconcile"},
		{o.Pending, "whose receipt is not in the store yet", "agentsync drain"},
		{o.Claimed, "claimed here and not settled; a drain runs it, or died", "agentsync drain"},
		{o.Refused, "refused", "agentsync command ls"},
	} {
		if one.n > 0 {
			got.warn(counted(one.n, "command", "commands")+" "+one.what, one.hint)
		}
	}
}

// text is the line for people, "" when nobody ever sent a command.
func (o standingObject) text() string {
	if o.Newest == "" && o.Waiting+o.Elsewhere+o.Unowned+o.Claimed+o.Refused+o.Pending == 0 {
		return ""
	}
	text := fmt.Sprintf("%d waiting, %d elsewhere, %d unowned, %d claimed", o.Waiting, o.Elsewhere, o.Unowned, o.Claimed)
	if o.Newest != "" {
		text += "; newest receipt " + timeText(&o.Newest)
	}
	return text
}

// checkCommands judges the ledger and the receipts of this installation.
func (v *invocation) checkCommands(ctx context.Context, s *settings) []check {
	var checks []check
	book, err := readLedger(s)
	if err != nil {
		return []check{fail("ledger", classify(ctx, err).hint, "%v", err)}
	}
	if book != nil {
		for _, note := range book.Notes() {
			checks = append(checks, warn("ledger", "what stands there is kept; nothing is run again because of it", "%s", note))
		}
	}
	target, done, err := v.openReader(ctx, s)
	if err != nil {
		return checks // the check of the store says so
	}
	defer done()
	o, err := commandStanding(ctx, s, target)
	if err != nil {
		return append(checks, fail("commands", classify(ctx, err).hint, "%v", err))
	}
	var got screen
	o.warn(&got)
	for _, w := range got.warnings {
		checks = append(checks, warn("commands", w[1], "%s", w[0]))
	}
	if text := o.text(); text != "" && len(got.warnings) == 0 {
		checks = append(checks, ok("commands", "%s", text))
	}
	return checks
}

// checkProgram says whether the agent's program is there, which commands need and
// reading does not.
func (v *invocation) checkProgram(source collect.SourceConfig) []check {
	name, key := agentProgram(source)
	if name == "" {
		return nil
	}
	search, own := source.Env["PATH"]
	if !own {
		search = v.env.Getenv("PATH")
	}
	found, err := programs.Find(name, search)
	c := ok("program", "%s", found)
	if err != nil {
		c = ok("program", "%s is not found; sessions are read without it, and commands to them would fail", name)
		c.Hint = "only for remote commands: name it in the configuration, " + key
	}
	c.Source = source.ID
	return []check{c}
}

// agentProgram is the program that runs a source's commands, and the key that names it.
func agentProgram(source collect.SourceConfig) (program, key string) {
	switch {
	case len(source.Command) > 0:
		return filepath.FromSlash(source.Command[0]), "command: [program, argument]"
	case source.Driver == drivers.Codex:
		return firstOf(source.CodexBin, "codex"), "codexBin: program"
	case source.Driver == drivers.Claude:
		return "claude", "command: [program]"
	}
	return "", ""
}
