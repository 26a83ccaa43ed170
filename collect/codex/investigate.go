package codex

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"

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
		s.mark = t.Mark
		s.text = bytes.TrimSpace([]byte(t.Text))
		s.since = t.ClaimedAt.UnixMilli()
	}
	return s
}

// verdict says what the turns that were found prove.
func verdict(t collect.Trace, s search, history string) collect.Outcome {
	found := s.result()
	switch {
	case found.turns == 0 && s.marked:
		return unproven(history, "the agent keeps the marks of prompts, and no turn of the session has this one's")
	case found.turns == 0:
		return unproven(history, "the session has no such turn")
	case found.turns > 1 && s.marked:
		return unproven(history, "several turns have this prompt's mark")
	case found.turns > 1:
		return unproven(history, "several turns since the claim have this prompt")
	}
	o := judged(found.last.end)
	if t.Operation == "cancel" {
		o = cancelJudged(found.last.end)
	}
	o.ProviderOperationID = found.last.id
	b := value.NewBuilder().Record().Key("history").String(history)
	if found.last.id != "" {
		b.Key("turnId").String(found.last.id)
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
	var c candidates
	for _, thread := range d.startedSince(t) {
		sought, err := d.seek(ctx, thread, soughtOf(t))
		if err != nil {
			return collect.Outcome{}, fmt.Errorf("investigate session %s: %w", thread, err)
		}
		c.add(thread, sought)
	}
	if len(c.found()) == 0 && d.live.launch.transport == transportProxy {
		return d.askStart(ctx, id, t)
	}
	return c.verdict(t, id, fromRollout), nil
}

// candidates are the threads that may be the one that a start made.
type candidates struct {
	exact, alike []candidate
	marked       bool // the agent keeps marks: what is alike is another's
}

// candidate is a thread in which a turn was found.
type candidate struct {
	thread string
	sought search
}

func (c *candidates) add(thread string, s search) {
	c.marked = c.marked || s.marked
	switch {
	case s.result().turns == 0:
	case s.exact.turns > 0:
		c.exact = append(c.exact, candidate{thread, s})
	default:
		c.alike = append(c.alike, candidate{thread, s})
	}
}

// found are those that the best evidence leaves.
func (c *candidates) found() []candidate {
	if len(c.exact) > 0 || c.marked {
		return c.exact
	}
	return c.alike
}

// verdict says what the candidates prove of a start that asked for an id.
func (c *candidates) verdict(t collect.Trace, asked, history string) collect.Outcome {
	found := c.found()
	switch len(found) {
	case 0:
		return unproven(history, "no thread since the claim has this prompt")
	case 1:
		o := verdict(t, found[0].sought, history)
		o.Session = otherThan(asked, found[0].thread)
		return o
	}
	return unproven(history, "several threads since the claim have this prompt")
}

// folderOf is where a start was asked to begin, as the agent was told it; "" for no matter
// where.
func folderOf(t collect.Trace) string {
	if t.Cwd == "" {
		return ""
	}
	return filepath.Clean(t.Cwd)
}

// startedSince lists the threads that came to be since a start was claimed, in its folder
// when it named one.
func (d *Driver) startedSince(t collect.Trace) []string {
	var ids []string
	cwd := folderOf(t)
	for _, f := range d.look().files {
		id, segment, ok := threadID(f.rel)
		if began, timed := uuidMillis(id); !ok || segment != "" || !timed || began < t.ClaimedAt.UnixMilli() {
			continue
		}
		h, err := d.readHead(f)
		if err != nil || h.own == nil || cwd != "" && h.own.cwd != cwd {
			continue
		}
		ids = append(ids, f.id)
	}
	return ids
}
