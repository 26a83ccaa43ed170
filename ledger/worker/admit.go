package worker

import (
	"context"
	"fmt"

	"agentsync/collect"
	"agentsync/ledger"
)

// line is the commands of one session, in the order in which they are to run.
type line struct {
	key     string
	queue   []*task
	running *task // nil between two commands
}

// task is an admitted command that is not finished.
type task struct {
	Queued
	line    *line
	cancels []*task       // of a prompt or start: cancellations that wait for its milestone
	beside  int           // cancellations that run beside it
	reached bool          // the provider can take a cancellation
	over    bool          // it has its outcome: no milestone counts any more
	settled chan struct{} // closed when nothing runs beside an over one any more
}

// turn reports a command that a cancellation can interrupt.
func (t *task) turn() bool { return t.Type == ledger.Prompt || t.Type == ledger.Start }

// Handle schedules the commands that nobody has run yet, in their order, and does not
// wait for them. The commands are valid. Overlapping calls come one after another. A
// command that cannot be scheduled is a Failure and does not stop the others; after
// Interrupt nothing is scheduled and ErrInterrupted is returned.
func (w *Worker) Handle(ctx context.Context, commands []Queued) error {
	w.handing.Lock()
	defer w.handing.Unlock()
	w.settleUnclaimed(ctx)
	for _, q := range commands {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("admit commands: %w", err)
		}
		if w.work.Err() != nil {
			return fmt.Errorf("admit commands: %w", ErrInterrupted)
		}
		w.admit(q)
	}
	return nil
}

// admit schedules one command if it is for us to run.
func (w *Worker) admit(q Queued) {
	key, err := collect.SessionKey(q.SourceID, q.NativeSessionID)
	if err != nil {
		w.fail(q, fmt.Errorf("admit: %w", err))
		return
	}
	known, owner := w.known(q.ID()), w.owner(q.SourceID)
	w.locked(func() {
		switch {
		case known:
			w.stats.Known++
		case owner == Elsewhere:
			w.stats.Elsewhere++
		case owner == Nobody:
			w.stats.Waiting++
		default:
			w.schedule(q, key)
		}
	})
}

// known reports a command that is scheduled or in the ledger. It looks in this order,
// since a command that is finished meanwhile leaves the one after it came into the other.
func (w *Worker) known(id ledger.CommandID) bool {
	return w.isScheduled(id) || w.o.Ledger.Known(id)
}

func (w *Worker) isScheduled(id ledger.CommandID) (scheduled bool) {
	w.locked(func() { scheduled = w.scheduled[id] })
	return scheduled
}

func (w *Worker) owner(sourceID string) Owner {
	if _, open := w.o.Operators[sourceID]; open {
		return Ours
	}
	if w.o.Owner == nil {
		return Nobody
	}
	return w.o.Owner(sourceID)
}

// schedule puts a command into the line of its session. The mutex is held.
func (w *Worker) schedule(q Queued, key string) {
	l := w.lines[key]
	if l == nil {
		l = &line{key: key}
		w.lines[key] = l
	}
	t := &task{Queued: q, line: l, settled: make(chan struct{})}
	w.scheduled[q.ID()] = true
	w.stats.Admitted++
	w.tasks.add(1)
	if q.Type == ledger.Cancel && w.gate(l, t) {
		return
	}
	l.queue = append(l.queue, t)
	if l.running == nil && len(l.queue) == 1 {
		w.offer(l)
	}
}

// offer hands a line that has a command to run to a runner. The mutex is held.
func (w *Worker) offer(l *line) {
	w.ready = append(w.ready, l)
	if w.runners < w.o.Sessions {
		w.runners++
		w.spawnLocked(w.serve)
	}
}

// serve runs commands, one of each line in turn, until no line has any.
func (w *Worker) serve() {
	for {
		t := w.next()
		if t == nil {
			return
		}
		w.run(t)
		w.finish(t)
	}
}

// next takes the first command of the line that waited longest, or gives the runner up.
func (w *Worker) next() (t *task) {
	w.locked(func() {
		if len(w.ready) == 0 {
			w.runners--
			return
		}
		l := w.ready[0]
		w.ready = w.ready[1:]
		t = l.queue[0]
		l.queue = l.queue[1:]
		l.running = t
	})
	return t
}

// finish gives the line its next command. Cancellations that run beside a prompt end
// first, so that none of them meets the turn after it; those that never got to run come
// before everything that was admitted after the prompt.
func (w *Worker) finish(t *task) {
	w.locked(func() {
		t.over = true
		if t.beside == 0 {
			close(t.settled)
		}
	})
	<-t.settled
	w.locked(func() {
		l := t.line
		l.running = nil
		l.queue = append(t.cancels, l.queue...)
		t.cancels = nil
		w.leave(t)
		if len(l.queue) == 0 {
			delete(w.lines, l.key)
			return
		}
		w.offer(l)
	})
}

// leave ends a command's time here. The mutex is held.
func (w *Worker) leave(t *task) {
	delete(w.scheduled, t.ID())
	w.tasks.add(-1)
}
