package worker

import (
	"context"
	"errors"

	"agentsync/collect"
)

// gate lets a cancellation wait for the oldest unfinished prompt or start of its line,
// or runs it at once when that one can take it. false when there is none: then the
// cancellation runs in order. The mutex is held.
func (w *Worker) gate(l *line, cancel *task) bool {
	turn := l.turn()
	if turn == nil {
		return false
	}
	if turn.reached {
		w.beside(turn, cancel)
		return true
	}
	turn.cancels = append(turn.cancels, cancel)
	return true
}

// turn returns the oldest unfinished prompt or start of the line. The mutex is held.
func (l *line) turn() *task {
	if l.running != nil && l.running.turn() && !l.running.over {
		return l.running
	}
	for _, t := range l.queue {
		if t.turn() {
			return t
		}
	}
	return nil
}

// beside runs a cancellation beside the queue. It takes no runner, since all of them
// may be held by turns that only a cancellation ends. The mutex is held.
func (w *Worker) beside(turn, cancel *task) {
	turn.beside++
	w.spawnLocked(func() {
		w.run(cancel)
		w.locked(func() {
			turn.beside--
			if turn.over && turn.beside == 0 {
				close(turn.settled)
			}
			w.leave(cancel)
		})
	})
}

// milestones tells the worker how far one operation came.
type milestones struct {
	w    *Worker
	turn *task
	done chan struct{} // closed when nobody waits for the operation any more
}

var _ collect.Milestones = (*milestones)(nil)

// errOver answers an operation that reports a milestone after its end.
var errOver = errors.New("the operation is over")

// CancelReady releases the cancellations that wait for the operation.
func (m *milestones) CancelReady() {
	m.w.locked(func() {
		if m.over() || m.turn.over {
			return
		}
		m.turn.reached = true
		waiting := m.turn.cancels
		m.turn.cancels = nil
		for _, cancel := range waiting {
			m.w.beside(m.turn, cancel)
		}
	})
}

// SessionActive has the session published anew and waits for that. A failure is the
// command's, and is returned too.
func (m *milestones) SessionActive(ctx context.Context, nativeSessionID string) error {
	if m.over() {
		return errOver
	}
	q := m.turn.Queued
	err := m.w.refresh(ctx, Session{q.SourceID, nativeSessionID})
	if err != nil && ctx.Err() == nil {
		m.w.fail(q, err)
	}
	return err
}

func (m *milestones) over() bool {
	select {
	case <-m.done:
		return true
	default:
		return false
	}
}
