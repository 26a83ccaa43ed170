package acp

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"agentsync/collect"
	"agentsync/collect/stdio"
	"agentsync/collect/value"
)

// turn is one prompt of ours from its admission to its end.
type turn struct {
	native string // set before sent is closed
	agent  *agent
	sent   chan struct{} // closed when the prompt was written
	ended  chan struct{} // closed when it was answered, or cannot be any more
	answer json.RawMessage
	err    error // of the request, good once ended is closed

	cancelled atomic.Bool // the agent was asked to cancel it while it ran
}

// admit takes a session for a prompt, under each of its ids. It returns nil when one of
// ours runs there already.
func (d *Driver) admit(ids ...string) *turn {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range ids {
		if d.running[id] != nil {
			return nil
		}
	}
	t := &turn{sent: make(chan struct{}), ended: make(chan struct{})}
	for _, id := range ids {
		d.running[id] = t
	}
	return t
}

// also makes a turn known under a further id.
func (d *Driver) also(t *turn, id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running[id] = t
}

// dismiss forgets a turn.
func (d *Driver) dismiss(t *turn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, other := range d.running {
		if other == t {
			delete(d.running, id)
		}
	}
}

// turnIn is the prompt of ours that runs in a session, nil for none.
func (d *Driver) turnIn(id string) *turn {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.running[id]
}

// runs reports that a prompt of ours runs in a session.
func (d *Driver) runs(native string) bool { return d.turnIn(native) != nil }

// Prompt resumes a session, or loads it where the agent cannot resume, sets what it was
// set to before, and sends the text. It returns when the turn has ended. When ctx ends,
// the turn is cancelled, and the outcome is what the agent makes of that soon.
func (d *Driver) Prompt(ctx context.Context, nativeSessionID string, in collect.PromptInput, m collect.Milestones) (collect.Outcome, error) {
	r, err := d.find(ctx, nativeSessionID)
	if err != nil {
		return failure(err), nil
	}
	t := d.admit(r.native)
	if t == nil {
		return failure(errActive), nil
	}
	defer d.dismiss(t)
	prepared, err := d.ready(ctx, r, t)
	if err != nil {
		return failure(err), nil
	}
	defer prepared.release()
	forgotten, failed := prepared.fulfil(ctx)
	if failed != nil {
		return *failed, nil
	}
	o := prepared.perform(ctx, t, in.Text, m)
	if o.Status == collect.Succeeded {
		o.Result = result(func(b *value.Builder) { t.describe(b, forgotten) })
	}
	return o, nil
}

// describe adds what an ended turn's result says.
func (t *turn) describe(b *value.Builder, forgotten []string) {
	b.Key("stopReason").String(stopReason(t.answer))
	if len(forgotten) > 0 {
		b.Key("forgottenSettings").Array()
		for _, id := range forgotten {
			b.String(id)
		}
		b.End()
	}
}

// perform sends the prompt, gives the session's turn back, and waits for the end.
func (r *ready) perform(ctx context.Context, t *turn, text string, m collect.Milestones) collect.Outcome {
	t.native, t.agent = r.native, r.agent
	call, forget := context.WithCancel(context.WithoutCancel(ctx))
	defer forget()
	r.agent.wire.expect(methodPrompt, r.native, &mark{sent: func() { close(t.sent) }})
	go func() {
		defer close(t.ended)
		t.answer, t.err = r.agent.wait(call, methodPrompt, promptParams(r.native, text))
		r.agent.wire.forget(methodPrompt, r.native)
	}()
	select {
	case <-t.sent:
	case <-t.ended:
	case <-ctx.Done():
		if !closed(t.sent) {
			forget() // unless it is being written at this moment, it never will be
			<-t.ended
		}
	}
	r.release()
	if closed(t.sent) {
		t.attend(ctx, forget, m)
	}
	<-t.ended
	return t.outcome()
}

func promptParams(session, text string) any {
	type block struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	return struct {
		SessionID string  `json:"sessionId"`
		Prompt    []block `json:"prompt"`
	}{session, []block{{"text", text}}}
}

// attend reports the milestones of a prompt that was sent, and sees to its end: once ctx
// has ended, the agent is asked to cancel it, and is not waited for much longer.
func (t *turn) attend(ctx context.Context, forget func(), m collect.Milestones) {
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-t.ended:
		case <-ctx.Done():
			_ = t.cancel() // a connection that takes nothing more ends the turn too
			if !within(t.ended, t.agent.limits.grace) {
				forget()
			}
		}
	}()
	m.CancelReady()
	_ = m.SessionActive(ctx, t.native) // a look that failed changes nothing for the turn
	<-watched
}

// cancel asks the agent to end the turn, unless it has ended.
func (t *turn) cancel() error {
	if closed(t.ended) {
		return nil
	}
	t.cancelled.Store(true)
	return t.agent.peer.Notify(methodCancel, struct {
		SessionID string `json:"sessionId"`
	}{t.native})
}

// outcome is what became of the turn.
func (t *turn) outcome() collect.Outcome {
	switch {
	case t.err != nil && !closed(t.sent) && errors.Is(t.err, stdio.ErrNotSent):
		return failure(t.err)
	case t.err != nil && errors.Is(t.err, context.Canceled):
		return problem(collect.Unknown, codePromptUnknown, "the agent did not say in time how the interrupted turn ended", false)
	case t.err != nil:
		return answered(t.err, codePromptUnknown)
	}
	switch reason := stopReason(t.answer); {
	case reason == "":
		return problem(collect.Unknown, codePromptUnknown, "the agent did not say how the turn ended", false)
	case reason == "cancelled":
		return problem(collect.Failed, codeCancelled, "the turn was cancelled", false)
	case t.cancelled.Load():
		// A real agent that is asked to cancel very early answers with the end of the turn
		// before, and the model never saw the prompt.
		return problem(collect.Unknown, codePromptUnknown, "the agent was asked to cancel the turn, and says that it ended by itself", false)
	}
	return collect.Outcome{Status: collect.Succeeded}
}

// stopReason is why a turn ended, "" when the agent does not say.
func stopReason(answer json.RawMessage) string {
	var end struct {
		Reason string `json:"stopReason"`
	}
	_ = json.Unmarshal(answer, &end)
	return end.Reason
}

// Cancel asks the agent to end the turn of a prompt of ours, and waits a little for its end.
func (d *Driver) Cancel(ctx context.Context, nativeSessionID string) (collect.Outcome, error) {
	t := d.turnIn(nativeSessionID)
	if t == nil {
		return untouched(problem(collect.Failed, codeNotActive, "no prompt of this source is running in the session", false)), nil
	}
	select {
	case <-t.sent:
	case <-t.ended:
		return ended(t), nil
	case <-ctx.Done():
		return failure(context.Cause(ctx)), nil
	}
	if err := t.cancel(); err != nil && !closed(t.ended) {
		return answered(err, codeCancelUnknown), nil
	}
	if !within(t.ended, t.agent.limits.grace) {
		return problem(collect.Unknown, codeCancelUnknown, "the agent did not end the turn soon", false), nil
	}
	return ended(t), nil
}

// ended is the outcome of the cancellation of a turn that has ended.
func ended(t *turn) collect.Outcome {
	reason := stopReason(t.answer)
	switch {
	case t.err != nil:
		return problem(collect.Unknown, codeCancelUnknown, "nobody saw how the turn ended", false)
	case reason != "cancelled" && t.cancelled.Load():
		return problem(collect.Unknown, codeCancelUnknown, "the agent says that the turn ended by itself", false)
	case reason != "cancelled":
		return untouched(problem(collect.Failed, codeNotCancelled, "the turn had ended by itself", false))
	}
	return collect.Outcome{Status: collect.Succeeded, Result: result(func(b *value.Builder) { b.Key("stopReason").String(reason) })}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// within waits for a channel to be closed, and reports whether it was before the limit.
func within(c <-chan struct{}, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return closed(c)
	}
}
