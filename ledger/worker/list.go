package worker

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"agentsync/ledger"
)

// lister brings the shared list of receipts in step. Receipts gather for a while, or
// until no command is at work, and come into the list together.
type lister struct {
	mu      sync.Mutex
	running bool
	rows    []ledger.Receipt
}

// list adds a receipt that is written to the next change of the list.
func (w *Worker) list(r ledger.Receipt) {
	l := &w.lister
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows = append(l.rows, r)
	if !l.running {
		l.running = true
		w.spawn(w.listRounds)
	}
}

func (w *Worker) listRounds() {
	l := &w.lister
	for {
		w.gather()
		l.mu.Lock()
		rows := l.rows
		l.rows = nil
		l.running = len(rows) > 0
		l.mu.Unlock()
		if len(rows) == 0 {
			return
		}
		w.listNow(newest(rows))
	}
}

// gather waits until the list should change.
func (w *Worker) gather() {
	var idle <-chan struct{}
	w.locked(func() { idle = w.tasks.zero })
	timer := time.NewTimer(w.o.ListEvery)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	}
}

// newest drops the receipts that a later one of the same command replaces.
func newest(rows []ledger.Receipt) []ledger.Receipt {
	seen := make(map[ledger.CommandID]bool, len(rows))
	kept := rows[:0:0]
	for _, r := range slices.Backward(rows) {
		if !seen[r.CommandID] {
			seen[r.CommandID] = true
			kept = append(kept, r)
		}
	}
	slices.Reverse(kept)
	return kept
}

// listNow changes the list, clears the marks of outcomes and shows them to the observer.
// A row that fails while its command is in flight is nobody's failure: the outcome's
// row replaces it.
func (w *Worker) listNow(rows []ledger.Receipt) {
	outcomes := slices.DeleteFunc(slices.Clone(rows), func(r ledger.Receipt) bool { return !r.Status.Terminal() })
	err := w.o.Target.ListReceipts(w.books, rows)
	if err != nil {
		err = fmt.Errorf("list the receipt: %w", err)
	} else if err = w.o.Ledger.MarkPublished(w.books, outcomes...); err != nil {
		err = fmt.Errorf("clear the receipt's mark: %w", err)
	}
	for _, r := range outcomes {
		if err != nil {
			w.failed(r, err)
			continue
		}
		w.observe(r)
	}
}

// observe shows a receipt to the observer, whose trouble is its own.
func (w *Worker) observe(r ledger.Receipt) {
	if w.o.Observe == nil {
		return
	}
	defer func() { _ = recover() }()
	w.o.Observe(r)
}
