package claude

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"agentsync/collect"
)

var _ collect.Operator = (*Driver)(nil)

// Prompt runs the program for one turn of a session, in the directory that the session
// was last in. It can be cancelled from its first moment on.
func (d *Driver) Prompt(ctx context.Context, nativeSessionID string, in collect.PromptInput, m collect.Milestones) (collect.Outcome, error) {
	t, busy := d.admit(ctx, nativeSessionID, in)
	if busy != nil {
		return *busy, nil
	}
	m.CancelReady()
	q, problem := d.resumption(t.ctx, nativeSessionID, in.Text)
	if problem != nil {
		return d.release(t, *problem), nil
	}
	return d.release(t, d.ask(t, q, m)), nil
}

// resumption prepares a prompt for a session that there is.
func (d *Driver) resumption(ctx context.Context, id, prompt string) (query, *collect.Outcome) {
	s, problem := d.conversation(id)
	if problem != nil {
		return query{}, problem
	}
	summary, err := d.Summarize(ctx, id)
	if err != nil {
		return query{}, lookupFailed(err)
	}
	dir := d.cwd
	if summary.Cwd != nil {
		dir = *summary.Cwd
	}
	if dir == "" {
		return query{}, refused(collect.Failed, "claude-cwd-unknown",
			"the session does not say which directory it is in, and the source has no cwd:", false)
	}
	if !isFolder(dir) {
		return query{}, refused(collect.Failed, "claude-cwd-not-directory",
			"the session's directory "+dir+" is not there", true)
	}
	args := append([]string{"--resume=" + id}, d.settings(id, "")...)
	return query{session: id, dir: dir, root: s.root, args: args, prompt: prompt}, nil
}

// conversation finds a session that can be gone on with: one that the program knows by
// its id.
func (d *Driver) conversation(id string) (session, *collect.Outcome) {
	s, err := d.session(id)
	if errors.Is(err, fs.ErrNotExist) {
		return s, refused(collect.Failed, "claude-session-not-found", "there is no session of this id in the source", false)
	}
	if err != nil {
		return s, lookupFailed(err)
	}
	if s.kind != mainSession || s.id != s.family {
		return s, refused(collect.Failed, "claude-session-id-invalid",
			"what has this id is a part or a copy of a session, and claude does not know it by this id", false)
	}
	return s, nil
}

func lookupFailed(err error) *collect.Outcome {
	return refused(collect.Failed, "claude-session-lookup-failed", err.Error(), true)
}

// StartSession begins a session under the id, which must be a UUID, in the source's own
// directory or, when it has none, in the one that the start names. With an opener it is
// begun in the client's app instead, by whoever sends the prompt there.
func (d *Driver) StartSession(ctx context.Context, nativeSessionID string, in collect.StartInput, m collect.Milestones) (collect.Outcome, error) {
	if !isUUID(nativeSessionID) {
		return *refused(collect.Failed, "claude-session-id-invalid", "a new session's id must be a UUID", false), nil
	}
	if len(d.config.Opener) > 0 {
		return d.startInApp(ctx, nativeSessionID, in)
	}
	if in.Mode != "" && !d.advertises(in.Mode) {
		return *d.modeUnsupported(), nil
	}
	t, busy := d.admit(ctx, nativeSessionID, in.PromptInput)
	if busy != nil {
		return *busy, nil
	}
	m.CancelReady()
	q, problem := d.beginning(nativeSessionID, in)
	if problem != nil {
		return d.release(t, *problem), nil
	}
	o := d.ask(t, q, m)
	var err error
	if o.Status == collect.Succeeded && in.Mode != "" {
		err = d.remember(context.WithoutCancel(ctx), nativeSessionID, modeKey, in.Mode)
	}
	return d.release(t, o), err
}

// beginning prepares the start of a session that there is not yet. The program itself
// would not see one of another directory.
func (d *Driver) beginning(id string, in collect.StartInput) (query, *collect.Outcome) {
	dir, problem := d.startDir(in.Cwd)
	if problem != nil {
		return query{}, problem
	}
	result, _ := scan(d.roots, func(string) bool { return true })
	for f := range each(result.folders) {
		if f.kind == mainSession && f.family == id {
			return query{}, refused(collect.Failed, "claude-session-exists", "there is already a session of this id", false)
		}
	}
	real, err := d.resolve(dir)
	if err != nil {
		return query{}, lookupFailed(err)
	}
	args := append([]string{"--session-id=" + id}, d.settings(id, in.Mode)...)
	return query{session: id, dir: dir, args: args, title: in.Title, prompt: in.Text,
		appears: filepath.Join(d.roots[0].projects(), collect.ProjectKey(real), id+".jsonl")}, nil
}

// startDir is the directory that a start runs in. What is relative lies in the home
// folder, for a command from afar knows no other.
func (d *Driver) startDir(asked string) (string, *collect.Outcome) {
	dir := asked
	if dir != "" && !filepath.IsAbs(dir) && d.env.Home != "" {
		dir = filepath.Join(d.env.Home, dir)
	}
	switch {
	case d.cwd != "" && asked != "" && !d.sameFolder(dir, d.cwd):
		return "", refused(collect.Failed, "claude-start-cwd-not-source",
			"the source's sessions are those of "+d.cwd+", and a start cannot name another directory", false)
	case d.cwd != "":
		dir = d.cwd
	case asked == "":
		return "", refused(collect.Failed, "claude-start-cwd-required",
			"the source has no cwd:, so a start must name its directory", false)
	}
	if !filepath.IsAbs(dir) || !isFolder(dir) {
		return "", refused(collect.Failed, "claude-start-cwd-not-directory", "the directory of the start is not there, or is no absolute path", true)
	}
	return filepath.Clean(dir), nil
}

// sameFolder compares directories by name, and by what links in them lead to.
func (d *Driver) sameFolder(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	realA, errA := d.resolve(a)
	realB, errB := d.resolve(b)
	return errA == nil && errB == nil && realA == realB
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Cancel interrupts the prompt that this driver runs in a session, or keeps it from
// being sent, and waits for its end.
func (d *Driver) Cancel(ctx context.Context, nativeSessionID string) (collect.Outcome, error) {
	t := d.turns.find(nativeSessionID)
	if t == nil {
		return *refused(collect.Failed, "claude-not-running", "no prompt of this installation is running in the session", false), nil
	}
	unsent := t.stop()
	select {
	case <-t.done:
	case <-ctx.Done():
		return collect.Outcome{Status: collect.Unknown, ProviderOperationID: t.id, Problem: &collect.OperationProblem{
			Code: "claude-cancel-outcome-unknown", Message: "claude did not say in time whether it stopped"}}, nil
	}
	o := collect.Outcome{Status: collect.Succeeded, ProviderOperationID: t.outcome.ProviderOperationID, Untouched: t.outcome.Untouched}
	switch p := t.outcome.Problem; {
	case p != nil && p.Code == "cancelled":
	case t.outcome.Status == collect.Unknown:
		o.Status, o.Problem = collect.Unknown, &collect.OperationProblem{Code: "claude-cancel-outcome-unknown",
			Message: "the prompt ended without saying how"}
	default:
		o.Status, o.Problem = collect.Failed, &collect.OperationProblem{Code: "claude-cancel-too-late",
			Message: "the prompt had ended before it could be interrupted"}
	}
	if unsent != nil && o.Problem != nil {
		o.Problem.Message += "; the interruption could not be sent"
	}
	return o, nil
}
