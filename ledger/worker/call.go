package worker

import (
	"context"
	"fmt"
	"runtime/debug"
	"strconv"
	"time"

	"agentsync/collect"
	"agentsync/ledger"
)

// operation is one call of an operator.
type operation func(context.Context, collect.Operator, collect.Milestones) (collect.Outcome, error)

// answer is what came of a call.
type answer struct {
	outcome collect.Outcome
	err     error
	broken  *PanicError
}

// PanicError reports a driver that panicked. Its text quotes nothing; the stack is for
// who mends the driver.
type PanicError struct {
	Type  string // of the value it panicked with
	Stack []byte
}

func (e *PanicError) Error() string { return "the driver panicked with a " + e.Type }

// newPanic describes a panic while it is recovered from.
func newPanic(broke any) *PanicError {
	return &PanicError{Type: fmt.Sprintf("%T", broke), Stack: debug.Stack()}
}

// perform calls the provider of a claimed command and returns the outcome. The payload
// is read before, so that a wrong one reaches no provider.
func (w *Worker) perform(t *task, claim ledger.Receipt) collect.Outcome {
	operator, open := w.o.Operators[t.SourceID]
	if !open {
		return unavailable()
	}
	call, err := operationOf(t.Queued)
	if err != nil {
		outcome := callFailed(err, t.Queued)
		outcome.Untouched = true
		return outcome
	}
	if w.work.Err() != nil {
		return notBegun()
	}
	w.running(t.Queued, true)
	defer w.running(t.Queued, false)
	a, answered := w.call(t, operator, call)
	switch {
	case !answered:
		return unanswered()
	case a.broken != nil:
		w.fail(t.Queued, a.broken)
		return broken()
	case a.err != nil && w.work.Err() != nil:
		return unanswered()
	case a.err != nil:
		return callFailed(a.err, t.Queued)
	}
	return a.outcome
}

func (w *Worker) running(q Queued, begun bool) {
	if w.o.Running != nil {
		w.o.Running(q, begun)
	}
}

// call runs an operation and waits for it; after Interrupt no longer than the grace
// period. answered is false when that is over: then the operation's goroutine is left
// to end with its driver, and whatever it still says counts for nothing. The context
// outlives the operation, since a driver may begin with it what serves later ones.
func (w *Worker) call(t *task, operator collect.Operator, run operation) (a answer, answered bool) {
	m := &milestones{w: w, turn: t, done: make(chan struct{})}
	defer w.locked(func() { close(m.done) })
	answers := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if broke := recover(); broke != nil {
				a.broken = newPanic(broke)
			}
			answers <- a
		}()
		a.outcome, a.err = run(w.work, operator, m)
	}()
	select {
	case a = <-answers:
		return a, true
	case <-w.work.Done():
	}
	timer := time.NewTimer(w.o.Grace)
	defer timer.Stop()
	select {
	case a = <-answers:
		return a, true
	case <-timer.C:
		return answer{}, false
	}
}

// markOf names a command to its provider: no two commands of all owners and queues have
// the same mark, and one has the same for ever. It is for people to read and holds no
// control characters.
func markOf(q Queued) string {
	mark := "agentsync command " + strconv.Quote(q.Command.ID) + " of " + strconv.Quote(q.OwnerDID)
	if q.Producer != "" {
		mark += " from " + strconv.Quote(q.Producer)
	}
	return mark
}

// operationOf reads a command's payload and returns its call.
func operationOf(q Queued) (operation, error) {
	session := q.NativeSessionID
	switch q.Type {
	case ledger.Prompt:
		in, err := q.PromptInput()
		in.Mark = markOf(q)
		return func(ctx context.Context, o collect.Operator, m collect.Milestones) (collect.Outcome, error) {
			return o.Prompt(ctx, session, in, m)
		}, err
	case ledger.Start:
		in, err := q.StartInput()
		in.Mark = markOf(q)
		return func(ctx context.Context, o collect.Operator, m collect.Milestones) (collect.Outcome, error) {
			return o.StartSession(ctx, session, in, m)
		}, err
	case ledger.Cancel:
		return func(ctx context.Context, o collect.Operator, _ collect.Milestones) (collect.Outcome, error) {
			return o.Cancel(ctx, session)
		}, nil
	case ledger.Rename:
		title, err := q.Title()
		return func(ctx context.Context, o collect.Operator, _ collect.Milestones) (collect.Outcome, error) {
			return o.Rename(ctx, session, title)
		}, err
	case ledger.SetMode:
		mode, err := q.Mode()
		return func(ctx context.Context, o collect.Operator, _ collect.Milestones) (collect.Outcome, error) {
			return o.SetMode(ctx, session, mode)
		}, err
	case ledger.SetConfigOption:
		key, v, err := q.Option()
		return func(ctx context.Context, o collect.Operator, _ collect.Milestones) (collect.Outcome, error) {
			return o.SetConfigOption(ctx, session, key, v)
		}, err
	}
	return nil, &ledger.InvalidCommandError{Field: "type", Reason: "is not known"}
}
