package codex

import (
	"context"
	"errors"
	"time"

	"agentsync/collect"
	"agentsync/collect/stdio"
	"agentsync/collect/value"
)

// delivery is one prompt on its way through the agent.
type delivery struct {
	live   *live
	server *server
	run    *run
	thread string
	before threadAnswer // the thread as it was loaded
	said   collect.PromptInput
	m      collect.Milestones
	result func(*value.Builder) // further fields of the result
}

// play starts the turn, waits for its end, and says how it ended.
//
// RACE: in a server that others use, one of them can start a turn in this thread between
// the look at its status and here. Then the prompt joins that turn, and the end of that
// turn is the prompt's.
func (t *delivery) play(ctx context.Context) collect.Outcome {
	id, err := t.server.startTurn(ctx, t.thread, t.said, t.live.full)
	if err != nil {
		if !isAnswer(err) && !errors.Is(err, stdio.ErrNotSent) {
			t.live.drop(t.server) // it may still begin what nobody would hear of
		}
		return t.outcome(changing("turn/start", codeTurnUnknown, err))
	}
	if id == "" {
		return t.outcome(collect.Outcome{Status: collect.Unknown, Problem: problemf(codeMissingTurn,
			"the agent took the prompt and named no turn")})
	}
	t.run.expect(t.server, t.thread, id)
	t.underWay(ctx)
	t.m.CancelReady()
	_ = t.m.SessionActive(ctx, t.thread) // whether somebody could look does not change the turn
	o := t.outcome(t.await(ctx))
	o.ProviderOperationID = id
	return o
}

// underWay waits until the turn can be interrupted. A server that does not tell of it is
// waited for no longer than for an answer.
func (t *delivery) underWay(ctx context.Context) {
	patience := time.NewTimer(t.live.limits.interrupt)
	defer patience.Stop()
	select {
	case <-t.run.begun:
	case <-t.server.peer.Done():
	case <-ctx.Done():
	case <-patience.C:
	}
}

func isAnswer(err error) bool {
	_, ok := errors.AsType[*stdio.RPCError](err)
	return ok
}

// await waits for the turn's end. When ctx ends, the turn is interrupted; a server that
// does not say what became of it is ended.
func (t *delivery) await(ctx context.Context) collect.Outcome {
	select {
	case <-t.run.ended:
		return ended(t.run.end)
	case <-t.server.peer.Done():
		return t.lost()
	case <-ctx.Done():
	}
	err := t.run.interrupt(ctx) // the end tells what came of it
	if err == nil || isAnswer(err) {
		patience := time.NewTimer(t.live.limits.interrupt)
		defer patience.Stop()
		select {
		case <-t.run.ended:
			return ended(t.run.end)
		case <-t.server.peer.Done():
			return t.lost()
		case <-patience.C:
		}
	}
	t.live.drop(t.server)
	return t.lost()
}

// lost is the outcome after the connection's end. Whatever the server said before is
// known by now.
func (t *delivery) lost() collect.Outcome {
	select {
	case <-t.run.ended:
		return ended(t.run.end)
	default:
	}
	return collect.Outcome{Status: collect.Unknown, Problem: problemf(codeTurnUnknown,
		"the connection to the agent was lost while the turn ran")}
}

// ended is the outcome of a turn that has ended.
func ended(e ending) collect.Outcome {
	switch e.status {
	case "completed":
		return collect.Outcome{Status: collect.Succeeded}
	case "interrupted":
		return collect.Outcome{Status: collect.Failed, Problem: problemf(codeCancelled, "the turn was interrupted")}
	case "failed":
		message := "the turn failed"
		if e.reason != "" {
			message += ": " + e.reason
		}
		return collect.Outcome{Status: collect.Failed, Problem: problemf(codeTurnFailed, message)}
	}
	return collect.Outcome{Status: collect.Unknown, Problem: problemf(codeTurnUnknown,
		"the turn ended in a way that is not known")}
}

// outcome gives a turn's outcome its details, and the thread its restrictions back.
func (t *delivery) outcome(o collect.Outcome) collect.Outcome {
	_, id, declined := t.run.state()
	b := value.NewBuilder().Record()
	if id != "" {
		b.Key("turnId").String(id)
	}
	if declined > 0 {
		b.Key("declined").Int(int64(declined))
	}
	if kind := t.sandbox(); kind != "" {
		b.Key("sandbox").String(kind)
	}
	if t.live.full && !o.Untouched {
		b.Key("restrictionsRestored").Bool(t.restore())
	}
	if t.result != nil {
		t.result(b)
	}
	o.Result = b.End().Finish()
	return o
}

// sandbox is what the turn was kept in: full access where it is allowed, else whatever the
// person's configuration and the thread's own history say.
func (t *delivery) sandbox() string {
	if t.live.full {
		return fullAccess
	}
	return wordOf(t.before.Sandbox.kind())
}

// restore takes back, after a turn without restrictions, what would stay for all later
// turns of the thread. It reports whether the thread is as it was.
func (t *delivery) restore() bool {
	if t.before.Sandbox.kind() == fullAccess && t.before.ApprovalPolicy == "never" {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), t.live.limits.interrupt)
	defer cancel()
	return t.server.restore(ctx, t.thread, t.before) == nil
}
