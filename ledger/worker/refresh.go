package worker

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// refresher publishes sessions anew, one round at a time. Sessions that are asked for
// during a round come together in the next one.
type refresher struct {
	mu      sync.Mutex
	running bool
	next    *round // nil when nobody has asked
}

type round struct {
	sessions []Session
	done     chan struct{}
	err      error // set before done is closed
}

// refresh has one session published anew by a round that begins after the call, and
// waits for it or for ctx. The round itself is bookkeeping, and goes on.
func (w *Worker) refresh(ctx context.Context, s Session) error {
	if w.o.Refresh == nil {
		return nil
	}
	r := w.ask(s)
	select {
	case <-r.done:
		return r.err
	case <-ctx.Done():
		return fmt.Errorf("wait for the session to be published: %w", context.Cause(ctx))
	}
}

// ask puts a session into the next round, and starts it when none runs.
func (w *Worker) ask(s Session) *round {
	f := &w.refresher
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.next == nil {
		f.next = &round{done: make(chan struct{})}
	}
	if !slices.Contains(f.next.sessions, s) {
		f.next.sessions = append(f.next.sessions, s)
	}
	if !f.running {
		f.running = true
		w.spawn(w.refreshRounds)
	}
	return f.next
}

func (w *Worker) refreshRounds() {
	f := &w.refresher
	for {
		f.mu.Lock()
		r := f.next
		f.next = nil
		f.running = r != nil
		f.mu.Unlock()
		if r == nil {
			return
		}
		if err := w.publishAnew(r.sessions); err != nil {
			r.err = fmt.Errorf("publish the session anew: %w", err)
		}
		close(r.done)
	}
}

// publishAnew refreshes. A driver that panics over what it reads does not take with it
// the operations that are at work.
func (w *Worker) publishAnew(sessions []Session) (err error) {
	defer func() {
		if broke := recover(); broke != nil {
			err = newPanic(broke)
		}
	}()
	return w.o.Refresh(w.books, sessions)
}
