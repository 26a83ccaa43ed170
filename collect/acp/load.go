package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"agentsync/collect/stdio"
)

// window takes the updates of one load while it is open.
type window struct {
	mu     sync.Mutex
	spool  *spool // nil lets the updates pass
	closed bool
	err    error
	timer  *time.Timer // ends a load that brings nothing
	idle   time.Duration
}

func (w *window) take(u update) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.timer.Reset(w.idle)
	if w.spool != nil && w.err == nil {
		w.err = w.spool.add(u.text)
	}
}

// close lets nothing more in.
func (w *window) close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	return w.err
}

// acquire waits for a session's turn: one at a time loads it or prepares it for a prompt.
func (a *agent) acquire(ctx context.Context, session string) error {
	a.mu.Lock()
	turn := a.turns[session]
	if turn == nil {
		turn = make(chan struct{}, 1)
		a.turns[session] = turn
	}
	a.mu.Unlock()
	patience := time.NewTimer(a.limits.idle)
	defer patience.Stop()
	select {
	case turn <- struct{}{}:
		return nil
	case <-a.peer.Done():
		return fmt.Errorf("wait for the session's turn: %w", stdio.ErrClosed)
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-patience.C:
		return fmt.Errorf("the session is still being loaded after %s", a.limits.idle)
	}
}

// release gives the turn back.
func (a *agent) release(session string) {
	a.mu.Lock()
	turn := a.turns[session]
	a.mu.Unlock()
	<-turn
}

// sessionParams name a session as load, resume and new want it.
type sessionParams struct {
	SessionID string `json:"sessionId,omitempty"`
	Cwd       string `json:"cwd"`
	Servers   []any  `json:"mcpServers"`
}

func paramsOf(session, cwd string) sessionParams {
	return sessionParams{SessionID: session, Cwd: cwd, Servers: []any{}}
}

// load replays a session into a spool (nil for none) and returns the load's result. The
// caller has the turn. When the load is given up, the turn stays taken until its answer
// comes: what else came meanwhile could not be told from what a next load brings. Then
// kept is true.
func (a *agent) load(ctx context.Context, session, cwd string, s *spool) (result json.RawMessage, kept bool, err error) {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	w := &window{spool: s, idle: a.limits.idle}
	w.timer = time.AfterFunc(w.idle, func() {
		giveUp(fmt.Errorf("the agent sent nothing for %s during %s", w.idle, methodLoad))
	})
	defer w.timer.Stop()
	late := &lateness{}
	a.wire.expect(methodLoad, session, &mark{
		begin: func() { late.begin(); a.open(session, w) },
		answered: func() {
			a.shut(session, w)
			if late.answer() {
				a.release(session)
			}
		},
	})
	result, err = a.wait(ctx, methodLoad, paramsOf(session, cwd))
	a.wire.forget(methodLoad, session)
	kept = late.abandon()
	if full := w.close(); err == nil {
		err = full
	}
	return result, kept, err
}

func (a *agent) open(session string, w *window) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.windows[session] = w
}

func (a *agent) shut(session string, w *window) {
	_ = w.close()
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.windows, session)
}

// lateness settles who gives a turn back: whoever waited for the answer, or the answer
// itself when nobody waits for it any more.
type lateness struct {
	mu                         sync.Mutex
	begun, answered, abandoned bool
}

func (l *lateness) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = true
}

// answer notes that the answer came, and reports that nobody waits for it.
func (l *lateness) answer() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answered = true
	return l.abandoned
}

// abandon notes that nobody waits any more, and reports that an answer may still come.
func (l *lateness) abandon() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.abandoned = l.begun && !l.answered
	return l.abandoned
}

// prepare makes a session ready for a prompt or a setting, and returns the result that
// names its controls. The caller has the turn; kept as load says.
func (a *agent) prepare(ctx context.Context, session, cwd string) (result json.RawMessage, kept bool, err error) {
	if !a.resumes {
		return a.load(ctx, session, cwd, nil)
	}
	result, err = a.call(ctx, methodResume, paramsOf(session, cwd))
	return result, false, err
}

// letGo closes a session that was loaded only to be read, where the agent can do that. A
// refusal changes nothing: the session stays loaded until the process ends.
func (a *agent) letGo(ctx context.Context, session string) {
	if !a.closes {
		return
	}
	_, _ = a.call(ctx, methodClose, struct {
		SessionID string `json:"sessionId"`
	}{session})
}
