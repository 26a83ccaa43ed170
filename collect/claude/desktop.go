package claude

import (
	"context"
	"errors"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"time"

	"agentsync/collect"
	"agentsync/collect/value"
)

const (
	maxLinkPrompt = 14336 // UTF-16 units; the app takes no longer one from a link
	openerLimit   = 30 * time.Second
)

// openerVars are the variables that a program which opens links in a desktop needs beside
// the ordinary ones.
var openerVars = []string{"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_CURRENT_DESKTOP", "XDG_SESSION_TYPE",
	"XDG_DATA_DIRS", "XDG_CONFIG_DIRS", "DESKTOP_SESSION", "BROWSER"}

// startInApp opens a link that puts the prompt before a person in the client's app. It
// sends nothing itself, so it reaches no milestone and changes no session.
func (d *Driver) startInApp(ctx context.Context, id string, in collect.StartInput) (collect.Outcome, error) {
	if in.Mode != "" {
		return *refused(collect.Unsupported, "claude-desktop-mode-unsupported",
			"a start in the app takes no mode: the app's own setting applies", false), nil
	}
	if _, long := cutUnits(in.Text, maxLinkPrompt); long {
		return *refused(collect.Failed, "claude-desktop-prompt-too-long", "the prompt is longer than a link can hold", false), nil
	}
	dir, problem := d.startDir(in.Cwd)
	if problem != nil && problem.Problem.Code == "claude-start-cwd-not-directory" {
		problem.Problem.Code = "claude-desktop-cwd-not-directory"
	}
	if problem != nil {
		return *problem, nil
	}
	program := d.lookUp(d.config.Opener[0])
	if program == "" {
		return *refused(collect.Failed, "claude-desktop-not-installed",
			"the program that opens links was not found; name it with the source's key opener:", true), nil
	}
	start, problem := d.expectStart(ctx, id, dir, in.Text)
	if problem != nil {
		return *problem, nil
	}
	o := d.openLink(ctx, program, linkOf(dir, in.Text), dir)
	if o.Status == collect.Failed {
		return o, d.forgetStart(context.WithoutCancel(ctx), start)
	}
	return o, nil
}

// expectStart remembers a start before its link is opened, with the sessions that are
// there already: an inventory that is not whole cannot tell them.
func (d *Driver) expectStart(ctx context.Context, id, dir, prompt string) (pendingStart, *collect.Outcome) {
	d.pairing.Lock()
	defer d.pairing.Unlock()
	start := pendingStart{ID: id, Dir: d.real(dir), Opening: openingDigest(prompt), Boundary: d.env.Now.UnixMilli(), Known: []string{}}
	known := d.list()
	if len(known.problems)+len(known.missing(d.roots)) > 0 {
		return start, refused(collect.Failed, "claude-desktop-inventory-incomplete",
			"the source's sessions could not all be listed, so a new one could not be told from them", true)
	}
	for s := range d.sessionsSince(known, start.Boundary) {
		start.Known = append(start.Known, s.id)
	}
	waiting, err := d.pending()
	if err == nil {
		err = d.keepPending(ctx, append(waiting, start))
	}
	if err != nil {
		return start, lookupFailed(err)
	}
	return start, nil
}

// forgetStart takes back a start whose link was not opened.
func (d *Driver) forgetStart(ctx context.Context, start pendingStart) error {
	d.pairing.Lock()
	defer d.pairing.Unlock()
	waiting, err := d.pending()
	if err != nil {
		return err
	}
	return d.keepPending(ctx, slices.DeleteFunc(waiting, func(p pendingStart) bool {
		return p.ID == start.ID && p.Boundary == start.Boundary
	}))
}

func linkOf(dir, prompt string) string {
	escape := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
	return "claude://code/new?folder=" + escape(dir) + "&q=" + escape(prompt)
}

// openLink runs the opener and waits for it alone: the app that it starts goes on.
func (d *Driver) openLink(ctx context.Context, program, link, dir string) collect.Outcome {
	limited, end := context.WithTimeout(ctx, openerLimit)
	defer end()
	cmd := exec.CommandContext(limited, program, append(slices.Clone(d.config.Opener[1:]), link)...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, d.openerEnvironment(), time.Second
	cmd.Stdin, cmd.Stdout, cmd.Stderr = nil, nil, nil
	err := cmd.Run()
	result := value.NewBuilder().Record().Key("affectedSession").Null().Key("cwd").String(dir).End().Finish()
	switch {
	case err == nil:
		return collect.Outcome{Status: collect.Succeeded, Result: result, Untouched: true}
	case limited.Err() != nil && cmd.ProcessState != nil:
		return collect.Outcome{Status: collect.Unknown, Untouched: true, Problem: &collect.OperationProblem{
			Code: "claude-desktop-outcome-unknown", Message: "the program that opens links did not end; the app may have opened"}}
	}
	return *refused(collect.Failed, "claude-desktop-open-failed", "the app could not be opened: "+openError(err), true)
}

// openError tells how the opener failed without the link, which holds the prompt.
func openError(err error) string {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return exit.ProcessState.String()
	}
	return reason(err).Error()
}

func (d *Driver) openerEnvironment() []string {
	list := d.environment(0)
	for _, name := range openerVars {
		if s := d.getenv(name); s != "" {
			list = append(list, name+"="+s)
		}
	}
	return list
}
