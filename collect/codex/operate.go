package codex

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"agentsync/collect"
	"agentsync/collect/value"
)

var (
	_ collect.Operator     = (*Driver)(nil)
	_ collect.Investigator = (*Driver)(nil)
)

// Prompt loads a thread, starts a turn with the text and waits for the turn's end. A
// thread that is at work already is left alone: the text would join that work.
func (d *Driver) Prompt(ctx context.Context, nativeSessionID string, in collect.PromptInput, m collect.Milestones) (collect.Outcome, error) {
	if refused := d.refuse(nativeSessionID); refused != nil {
		return *refused, nil
	}
	return d.alone(ctx, nativeSessionID, func(s *server, r *run) collect.Outcome {
		before, err := s.resume(ctx, nativeSessionID)
		switch {
		case err != nil:
			return asking("thread/resume", err)
		case before.Thread.Status.kind() == "active":
			return active()
		case ctx.Err() != nil:
			return unreachable(ctx.Err())
		}
		t := &delivery{live: d.live, server: s, run: r, thread: nativeSessionID, before: before, said: in, m: m}
		return t.play(ctx)
	}), nil
}

// alone has a turn played with the server while no other turn of this driver runs in the
// session.
func (d *Driver) alone(ctx context.Context, id string, play func(*server, *run) collect.Outcome) collect.Outcome {
	r := newRun()
	if !d.live.runs.admit(id, r) {
		return active()
	}
	defer d.live.runs.release(r)
	s, err := d.live.reach(ctx)
	if err != nil {
		return unreachable(err)
	}
	return play(s, r)
}

func active() collect.Outcome {
	return collect.Outcome{Status: collect.NeedsConfirmation, Untouched: true, Problem: &collect.OperationProblem{
		Code: codeActive, Message: "the thread is at work; a prompt would join its turn", Retryable: true}}
}

// refuse finds what an operation cannot be asked for, nil when nothing is against it.
func (d *Driver) refuse(id string) *collect.Outcome {
	var o collect.Outcome
	switch f, found := d.known().find(id); {
	case !isUUID(id):
		o = failed(codeInvalidID, "this session is a file and no thread of the agent")
	case found && d.homes[f.home].dir != d.live.launch.home:
		o = failed(codeOtherHome, "the thread lies in another root than the agent's home")
	case found && f.archived:
		o = failed(codeArchived, "the thread is archived")
	default:
		return nil
	}
	return &o
}

// Cancel interrupts the turn that this driver runs in a thread. The outcome of the
// operation that started the turn tells how the turn ended.
func (d *Driver) Cancel(ctx context.Context, nativeSessionID string) (collect.Outcome, error) {
	r := d.live.runs.find(nativeSessionID)
	if r == nil {
		return failed(codeNoTurn, "no turn of this connection runs in the session"), nil
	}
	at, id, _ := r.state()
	if id == "" {
		return failed(codeNoTurn, "the turn has not begun"), nil
	}
	if err := r.interrupt(ctx); err != nil {
		return changing("turn/interrupt", codeCancelUnknown, err), nil
	}
	return collect.Outcome{Status: collect.Succeeded, ProviderOperationID: id, Session: otherThan(nativeSessionID, at.thread)}, nil
}

// otherThan is a thread's id when it is not the one that was asked for.
func otherThan(asked, thread string) string {
	if asked == thread {
		return ""
	}
	return thread
}

// Rename names a thread. It need not be loaded, and it is not woken.
func (d *Driver) Rename(ctx context.Context, nativeSessionID, title string) (collect.Outcome, error) {
	if refused := d.refuse(nativeSessionID); refused != nil {
		return *refused, nil
	}
	s, err := d.live.reach(ctx)
	if err != nil {
		return unreachable(err), nil
	}
	if err := s.setName(ctx, nativeSessionID, title); err != nil {
		return changing("thread/name/set", codeRenameUnknown, err), nil
	}
	return collect.Outcome{Status: collect.Succeeded}, nil
}

// SetMode is unsupported: a turn's policies are no modes that a thread keeps by name.
func (d *Driver) SetMode(ctx context.Context, id, mode string) (collect.Outcome, error) {
	return collect.NoOperations{}.SetMode(ctx, id, mode)
}

// SetConfigOption is unsupported.
func (d *Driver) SetConfigOption(ctx context.Context, id, key string, v value.Value) (collect.Outcome, error) {
	return collect.NoOperations{}.SetConfigOption(ctx, id, key, v)
}

// StartSession starts a thread and a turn in it. The agent gives the thread an id of its
// own, which the outcome tells as the session; until the end, Cancel takes either id. It is
// the agent's that is said to be active: the one that was asked for does not come to be.
func (d *Driver) StartSession(ctx context.Context, nativeSessionID string, in collect.StartInput, m collect.Milestones) (collect.Outcome, error) {
	if in.Mode != "" {
		return collect.NotSupported("start a session in a mode"), nil
	}
	cwd, refused := d.startFolder(in.Cwd)
	if refused != nil {
		return *refused, nil
	}
	return d.alone(ctx, nativeSessionID, func(s *server, r *run) collect.Outcome {
		before, err := s.newThread(ctx, cwd)
		switch {
		case err != nil:
			return asking("thread/start", err) // an unprompted thread leaves no trace
		case before.Thread.ID == "":
			return failed(codeRefused, "the agent named no thread")
		case ctx.Err() != nil:
			return unreachable(ctx.Err())
		}
		return d.startTurn(ctx, &delivery{live: d.live, server: s, run: r, thread: before.Thread.ID, before: before,
			said: in.PromptInput, m: m}, nativeSessionID, in.Title)
	}), nil
}

// startTurn names a new thread and plays its first turn.
func (d *Driver) startTurn(ctx context.Context, t *delivery, asked, title string) collect.Outcome {
	if t.thread != asked {
		d.live.runs.admit(t.thread, t.run)
		// What is not remembered costs the pairing in the index, and no start.
		_ = collect.RememberStart(ctx, d.env.Memory, d.source.ID, t.thread, asked)
	}
	named := true
	if title != "" {
		named = t.server.setName(ctx, t.thread, title) == nil
	}
	t.result = func(b *value.Builder) {
		b.Key("nativeSessionId").String(t.thread)
		b.Key("startedAs").String(asked)
		b.Key("cwd").String(t.before.Cwd)
		if title != "" {
			b.Key("titled").Bool(named)
		}
	}
	o := t.play(ctx)
	o.Session = otherThan(asked, t.thread)
	o.Untouched = o.Untouched && title == ""
	return o
}

// startFolder is where a session starts: where it was asked for, else where the source
// is configured to. The agent takes any text for a folder, so it is looked at here.
func (d *Driver) startFolder(asked string) (string, *collect.Outcome) {
	cwd := asked
	if cwd == "" {
		cwd = d.cwd
	}
	if strings.TrimSpace(cwd) == "" {
		o := failed(codeCwdRequired, "a start needs a folder: neither the command nor the source names one")
		return "", &o
	}
	if info, err := os.Stat(cwd); !filepath.IsAbs(cwd) || err != nil || !info.IsDir() {
		o := failed(codeCwdNoFolder, "the session's folder is no folder of this machine")
		return "", &o
	}
	return filepath.Clean(cwd), nil
}
