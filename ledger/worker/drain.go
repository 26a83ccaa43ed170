package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"agentsync/ledger"
)

// fail keeps a command's failure for Drain and tells it at once.
func (w *Worker) fail(q Queued, err error) {
	w.failed(ledger.Receipt{CommandID: q.ID(), SourceID: q.SourceID, NativeSessionID: q.NativeSessionID}, err)
}

func (w *Worker) failed(r ledger.Receipt, err error) {
	f := &Failure{ID: r.CommandID, SourceID: r.SourceID, NativeSessionID: r.NativeSessionID, Err: err}
	w.locked(func() {
		w.failures = append(w.failures, f)
		w.stats.Failures++
	})
	if w.o.Failed != nil {
		w.o.Failed(*f)
	}
}

// Stats returns the counts up to now.
func (w *Worker) Stats() (s Stats) {
	w.locked(func() {
		s = w.stats
		s.Ran = maps.Clone(w.stats.Ran)
	})
	return s
}

// Interrupt stops the admission of commands and asks those at work to end: their
// contexts are cancelled with ErrInterrupted as the cause. What has not begun is left
// unclaimed. It does not wait; Drain does.
func (w *Worker) Interrupt() { w.stop(ErrInterrupted) }

// Drain waits until every scheduled command, refresh and change of the list is done, and
// returns the failures since the last Drain, joined, each a *Failure. When ctx ends
// first it returns that too, while the work goes on: call it again.
func (w *Worker) Drain(ctx context.Context) error {
	for {
		var tasks, hands <-chan struct{}
		quiet := false
		w.locked(func() {
			tasks, hands = w.tasks.zero, w.hands.zero
			quiet = w.tasks.n == 0 && w.hands.n == 0
		})
		if quiet {
			return w.taken(nil)
		}
		select {
		case <-ctx.Done():
			return w.taken(fmt.Errorf("wait for commands: %w", ctx.Err()))
		case <-tasks:
		}
		select {
		case <-ctx.Done():
			return w.taken(fmt.Errorf("wait for commands: %w", ctx.Err()))
		case <-hands:
		}
	}
}

// taken joins the failures so far with one more, and forgets them.
func (w *Worker) taken(last error) error {
	var all []error
	w.locked(func() { all, w.failures = w.failures, nil })
	return errors.Join(append(all, last)...)
}
