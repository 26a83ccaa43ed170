package worker

import (
	"errors"
	"fmt"

	"agentsync/collect"
	"agentsync/ledger"
)

// run brings one command to its receipt, unless it is left for another pass.
func (w *Worker) run(t *task) {
	if w.work.Err() != nil {
		w.count(func(s *Stats) { s.Left++ })
		return
	}
	if err := w.carryOut(t); err != nil {
		w.fail(t.Queued, err)
	}
}

// carryOut claims a command, calls the provider and records the outcome. Until the claim
// is won it changes nothing that could keep another installation from running it.
func (w *Worker) carryOut(t *task) error {
	claim := w.claimOf(t.Queued)
	shared, err := w.read(claim)
	if err != nil {
		return err
	}
	if shared != nil {
		return w.found(shared)
	}
	if err := w.o.Ledger.Put(w.books, claim); err != nil {
		return fmt.Errorf("record the claim: %w", err)
	}
	taken, err := w.claim(claim)
	if err != nil {
		return errors.Join(err, w.unclaimed(claim))
	}
	if taken != nil {
		if err := w.o.Ledger.Forget(w.books, claim.CommandID); err != nil {
			return fmt.Errorf("forget the lost claim: %w", err)
		}
		if err := sameCommand(claim, taken.Receipt); err != nil {
			return err
		}
		return w.found(taken)
	}
	w.list(claim)
	// From here on the ledger knows that the claim is in the store: if it is gone from
	// there later, the store is an older copy, and the command may have run.
	if err := w.o.Ledger.MarkPublished(w.books, claim); err != nil {
		return errors.Join(fmt.Errorf("record that the claim is won: %w", err), w.conclude(claim, notBegun(), t))
	}
	return w.conclude(claim, w.performPlaced(t, claim), t)
}

// read returns what the store knows of a command, nil when nobody claimed it. A receipt
// of another session or owner under the command's id comes with an error.
func (w *Worker) read(r ledger.Receipt) (*ledger.SharedReceipt, error) {
	shared, err := w.o.Target.ReadReceipt(w.books, r.CommandID)
	if err != nil {
		return nil, fmt.Errorf("read the shared receipt: %w", err)
	}
	if shared == nil {
		return nil, nil
	}
	return shared, sameCommand(r, shared.Receipt)
}

// claim writes the claim. It returns nil when this worker may run the command, or what
// is known of the one who may. After an error the claim is looked for, since it may have
// been written all the same.
//
// RACE: a copy of this installation's state folder that claims the same command in the
// same millisecond, and whose claim is met after a lost answer, is taken for our own.
func (w *Worker) claim(claim ledger.Receipt) (taken *ledger.SharedReceipt, err error) {
	won, taken, err := w.o.Target.Claim(w.books, claim)
	switch {
	case err == nil && won:
		return nil, nil
	case err == nil && taken != nil:
		return taken, nil
	case err == nil:
		err = errors.New("it was lost to nobody")
	}
	err = fmt.Errorf("publish the claim: %w", err)
	found, readErr := w.read(claim)
	if found == nil {
		return nil, errors.Join(err, readErr)
	}
	if readErr == nil && w.isClaim(found, claim) {
		return nil, nil
	}
	return found, nil
}

// isClaim reports that what the store has is the very claim, without an outcome.
func (w *Worker) isClaim(shared *ledger.SharedReceipt, claim ledger.Receipt) bool {
	return w.ours(shared) && !shared.Status.Terminal() && shared.ClaimedAt == claim.ClaimedAt
}

func (w *Worker) ours(shared *ledger.SharedReceipt) bool {
	return shared.Installation == w.o.Installation
}

// found settles a command that the store knows already, without any call. An outcome is
// taken over. A claim of ours that the ledger does not know is from a state folder that
// is gone: nobody can tell what became of it. Another's may be running.
func (w *Worker) found(shared *ledger.SharedReceipt) error {
	switch {
	case shared.Status.Terminal():
		w.count(func(s *Stats) { s.Adopted++ })
		return w.record(shared.Receipt)
	case w.ours(shared):
		w.count(func(s *Stats) { s.Orphaned++ })
		return w.record(w.orphaned(shared.Receipt, codeOrphanedShared))
	}
	w.count(func(s *Stats) { s.Elsewhere++ })
	return nil
}

// conclude records a command's outcome and has the session published anew when the
// operation may have changed it.
func (w *Worker) conclude(claim ledger.Receipt, o collect.Outcome, t *task) error {
	receipt := w.settled(claim, o)
	w.count(func(s *Stats) { s.Ran[receipt.Status]++ })
	err := w.record(receipt)
	if o.Untouched || o.Status != collect.Succeeded && !t.turn() {
		return err
	}
	session := Session{t.SourceID, t.NativeSessionID}
	if o.Session != "" {
		session.NativeSessionID = o.Session
	}
	return errors.Join(err, w.refresh(w.books, session))
}

// record keeps a receipt and publishes it. When it cannot be kept it is published all
// the same: the next pass finds it in the store.
func (w *Worker) record(r ledger.Receipt) error {
	if err := w.o.Ledger.Put(w.books, r); err != nil {
		err = fmt.Errorf("record the receipt: %w", err)
		if publishErr := w.o.Target.PublishReceipt(w.books, r); publishErr != nil {
			err = errors.Join(err, fmt.Errorf("publish the receipt: %w", publishErr))
		}
		return err
	}
	_, err := w.publish(r)
	return err
}

// publish writes a kept receipt to the store and puts it into the list, and returns the
// receipt that holds from then on. After an error the store is looked at: the receipt
// may be there all the same, and so may another outcome that is proven, which others
// have seen and which is final.
func (w *Worker) publish(r ledger.Receipt) (ledger.Receipt, error) {
	err := w.o.Target.PublishReceipt(w.books, r)
	if err == nil {
		w.list(r)
		return r, nil
	}
	err = fmt.Errorf("publish the receipt: %w", err)
	shared, readErr := w.read(r)
	switch {
	case readErr != nil || shared == nil:
		return r, errors.Join(err, readErr)
	case shared.Status == r.Status && shared.CompletedAt == r.CompletedAt:
	case !proven(shared.Status):
		return r, err
	default:
		r = shared.Receipt
		if err := w.o.Ledger.Put(w.books, r); err != nil {
			return r, fmt.Errorf("record the published receipt: %w", err)
		}
	}
	w.list(r)
	return r, nil
}
