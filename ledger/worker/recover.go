package worker

import (
	"context"
	"errors"
	"fmt"

	"agentsync/ledger"
)

// Recover settles what an earlier run left behind, and publishes every receipt that is
// not published yet. It comes before Handle, and only who holds the drain lock may call
// it, since it takes every claim of the ledger for a dead run's. One command's trouble
// does not stop the others; all of it is returned, joined, each a *Failure.
func (w *Worker) Recover(ctx context.Context) error {
	w.locked(func() { w.tasks.add(1) }) // so that the list is changed once, at the end
	err := w.recoverAll(ctx)
	w.locked(func() { w.tasks.add(-1) })
	return errors.Join(err, w.Drain(context.WithoutCancel(ctx)))
}

func (w *Worker) recoverAll(ctx context.Context) error {
	unsure := map[ledger.CommandID]bool{}
	for _, r := range w.o.Ledger.Pending() {
		unsure[r.CommandID] = true
	}
	for _, r := range w.o.Ledger.InFlight() {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("recover commands: %w", err)
		}
		if err := w.recoverClaim(r, !unsure[r.CommandID]); err != nil {
			w.failed(r, fmt.Errorf("recover the claim: %w", err))
		}
	}
	w.settleUnclaimed(ctx)
	for _, r := range w.o.Ledger.Pending() {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("recover receipts: %w", err)
		}
		if !r.Status.Terminal() || isUnclaimed(r) {
			continue
		}
		if _, err := w.publish(r); err != nil {
			w.failed(r, err)
		}
	}
	return nil
}

// recoverClaim settles a claim in the ledger whose run is dead. The provider is called
// only after the ledger says that the claim was won. So a command whose claim was not,
// and is not in the store, never ran and may be admitted anew, as it may when another
// installation has it. A claim that was won and is gone was lost by the store.
func (w *Worker) recoverClaim(r ledger.Receipt, won bool) error {
	if w.isScheduled(r.CommandID) {
		return nil
	}
	shared, err := w.read(r)
	switch {
	case err != nil:
		return err
	case shared != nil && shared.Status.Terminal():
		w.count(func(s *Stats) { s.Adopted++ })
		return w.o.Ledger.Put(w.books, shared.Receipt)
	case !won && (shared == nil || !w.ours(shared)):
		return w.o.Ledger.Forget(w.books, r.CommandID)
	}
	w.count(func(s *Stats) { s.Orphaned++ })
	return w.o.Ledger.Put(w.books, w.orphaned(r, codeOrphaned))
}

// unclaimed keeps in the ledger that a command was not given to its provider because
// its claim could not be written.
func (w *Worker) unclaimed(claim ledger.Receipt) error {
	claim.Status = ledger.Failed
	claim.CompletedAt = w.now()
	claim.Problem = claimFailed()
	if err := w.o.Ledger.Put(w.books, claim); err != nil {
		return fmt.Errorf("record the failed claim: %w", err)
	}
	w.count(func(s *Stats) { s.Ran[ledger.Failed]++ })
	return nil
}

// isUnclaimed reports a receipt that unclaimed made.
func isUnclaimed(r ledger.Receipt) bool {
	return r.Status == ledger.Failed && r.Problem != nil && *r.Problem == *claimFailed()
}

// settleUnclaimed looks again at the commands whose claim could not be written.
func (w *Worker) settleUnclaimed(ctx context.Context) {
	for _, r := range w.o.Ledger.Pending() {
		if ctx.Err() != nil {
			return
		}
		if !isUnclaimed(r) || w.isScheduled(r.CommandID) {
			continue
		}
		if err := w.settleClaim(r); err != nil {
			w.failed(r, fmt.Errorf("settle the failed claim: %w", err))
		}
	}
}

// settleClaim settles one of them by what the store has now. Known here: this worker did
// not call the provider for this claim.
func (w *Worker) settleClaim(r ledger.Receipt) error {
	shared, err := w.read(r)
	switch {
	case err != nil:
		return err
	case shared == nil || !shared.Status.Terminal() && !w.ours(shared):
		return w.forget(r)
	case w.isClaim(shared, r):
		_, err := w.publish(r)
		return err
	}
	return w.found(shared)
}

// forget takes a failed claim out of the ledger, which forgets only what is in flight.
func (w *Worker) forget(r ledger.Receipt) error {
	r.Status, r.CompletedAt, r.Problem = ledger.InFlight, "", nil
	if err := w.o.Ledger.Put(w.books, r); err != nil {
		return err
	}
	return w.o.Ledger.Forget(w.books, r.CommandID)
}
