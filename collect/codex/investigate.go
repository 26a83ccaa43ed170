package codex

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"

	"agentsync/collect"
	"agentsync/collect/value"
)

// codeNoEvidence is the problem of an investigation that proved nothing.
const codeNoEvidence = "no-evidence"

// Where a history was looked at, as results name it.
const (
	fromRollout = "rollout"
	fromServer  = "app-server"
)

// Investigate looks for the traces of an operation in the files of the source. When they
// do not have the session and the source is a server that runs already, that server is
// asked to read it, which wakes nothing.
func (d *Driver) Investigate(ctx context.Context, nativeSessionID string, t collect.Trace) (collect.Outcome, error) {
	switch t.Operation {
	case "prompt", "cancel":
		return d.investigateTurn(ctx, nativeSessionID, t)
	case "start":
		return d.investigateStart(ctx, nativeSessionID, t)
	case "rename":
		return d.investigateName(nativeSessionID, t), nil
	}
	return unproven("", "nothing that a "+t.Operation+" does is kept anywhere"), nil
}

// unproven is the outcome of evidence that proves nothing.
func unproven(history, why string) collect.Outcome {
	o := collect.Outcome{Status: collect.Unknown, Problem: problemf(codeNoEvidence, why)}
	if history != "" {
		o.Result = value.NewBuilder().Record().Key("history").String(history).End().Finish()
	}
	return o
}

// investigateTurn judges a prompt by the turn that it began, and a cancellation by the
// turn that it was to end.
func (d *Driver) investigateTurn(ctx context.Context, id string, t collect.Trace) (collect.Outcome, error) {
	if t.Operation == "cancel" && t.ProviderOperationID == "" {
		return unproven("", "which turn was to be cancelled is not known"), nil
	}
	d.look() // the operation may have made the file
	sought, err := d.seek(ctx, id, soughtOf(t))
	if errors.Is(err, fs.ErrNotExist) {
		if d.live.launch.transport != transportProxy {
			return unproven(fromRollout, "the session has no file"), nil
		}
		return d.askTurn(ctx, id, t)
	}
	if err != nil {
		return collect.Outcome{}, fmt.Errorf("investigate session %s: %w", id, err)
	}
	return verdict(t, sought, fromRollout), nil
}

// soughtOf says by what an operation's turn is known: its id, else its prompt.
func soughtOf(t collect.Trace) search {
	s := search{turn: t.ProviderOperationID, since: math.MinInt64}
	if s.turn == "" {
		s.text = bytes.TrimSpace([]byte(t.Text))
		s.since = t.ClaimedAt.UnixMilli()
	}
	return s
}

// verdict says what the turns that were found prove.
func verdict(t collect.Trace, s search, history string) collect.Outcome {
	switch {
	case s.matches == 0:
		return unproven(history, "the session has no such turn")
	case s.matches > 1:
		return unproven(history, "several turns since the claim have this prompt")
	}
	o := judged(s.found.end)
	if t.Operation == "cancel" {
		o = cancelJudged(s.found.end)
	}
	o.ProviderOperationID = s.found.id
	b := value.NewBuilder().Record().Key("history").String(history)
	if s.found.id != "" {
		b.Key("turnId").String(s.found.id)
	}
	o.Result = b.End().Finish()
	return o
}

// judged is the outcome of a prompt whose turn was found.
func judged(e ending) collect.Outcome {
	switch e.status {
	case endedCut:
		return collect.Outcome{Status: collect.Failed, Problem: problemf(codeTurnFailed,
			"the turn broke off without an end; the session went on without it")}
	case "":
		return collect.Outcome{Status: collect.Unknown, Problem: problemf(codeNoEvidence,
			"the turn began and has no end: it may still run, or its program was ended")}
	}
	return ended(e)
}

// cancelJudged is the outcome of a cancellation whose turn was found.
func cancelJudged(e ending) collect.Outcome {
	switch e.status {
	case "interrupted":
		return collect.Outcome{Status: collect.Succeeded}
	case "completed", "failed":
		return collect.Outcome{Status: collect.Failed, Problem: problemf(codeNoTurn, "the turn ended by itself")}
	}
	return collect.Outcome{Status: collect.Unknown, Problem: problemf(codeNoEvidence, "the turn has no end that is known")}
}

// investigateName compares the name of a thread with the one it was to get.
func (d *Driver) investigateName(id string, t collect.Trace) collect.Outcome {
	c := d.look()
	f, found := c.find(id)
	switch {
	case !found:
		return unproven(fromRollout, "the session has no file")
	case c.title(f) == t.Title && t.Title != "":
		return collect.Outcome{Status: collect.Succeeded}
	}
	return unproven(fromRollout, "the thread has another name, or none: it was not named, or named again since")
}

// investigateStart looks for the thread that a start made: the agent gave it an id of its
// own, so it is known by the time in that id, its folder and its first prompt.
func (d *Driver) investigateStart(ctx context.Context, id string, t collect.Trace) (collect.Outcome, error) {
	var ids []string
	var last collect.Outcome
	for _, thread := range d.startedSince(t) {
		sought, err := d.seek(ctx, thread, soughtOf(t))
		if err != nil {
			return collect.Outcome{}, fmt.Errorf("investigate session %s: %w", thread, err)
		}
		if sought.matches > 0 {
			ids = append(ids, thread)
			last = verdict(t, sought, fromRollout)
		}
	}
	switch {
	case len(ids) > 1:
		return unproven(fromRollout, "several threads since the claim have this prompt"), nil
	case len(ids) == 1:
		last.Session = otherThan(id, ids[0])
		return last, nil
	case d.live.launch.transport == transportProxy:
		return d.askStart(ctx, id, t)
	}
	return unproven(fromRollout, "no thread since the claim has this prompt"), nil
}

// startedSince lists the threads that came to be since a start was claimed, in its folder
// when it named one.
func (d *Driver) startedSince(t collect.Trace) []string {
	var ids []string
	for _, f := range d.look().files {
		id, ok := threadID(f.rel)
		if began, timed := uuidMillis(id); !ok || !timed || began < t.ClaimedAt.UnixMilli() {
			continue
		}
		h, err := d.readHead(f)
		if err != nil || h.own == nil || t.Cwd != "" && h.own.cwd != t.Cwd {
			continue
		}
		ids = append(ids, f.id)
	}
	return ids
}
