package worker

import (
	"context"
	"errors"
	"fmt"

	"agentsync/collect"
	"agentsync/ledger"
)

// ErrSettled reports a receipt that is not unknown, and so is not to be settled.
var ErrSettled = errors.New("the outcome is not unknown")

// Finding is what Reconcile found out about one command.
type Finding struct {
	ID       ledger.CommandID
	Receipt  ledger.Receipt  // as it stands now; the zero Receipt when it could not be read
	Evidence collect.Outcome // what was found; Unknown with the reason when it proves nothing
	Settled  bool            // the receipt was unknown and is not any more
	Err      error           // looking or recording failed
}

// Reconcile looks for the outcomes of commands whose receipts are unknown, in what
// their providers keep, and settles those that are proven. It repeats nothing. It serves
// a worker that runs no commands. The error joins the failures of bookkeeping that
// belong to no single finding.
func (w *Worker) Reconcile(ctx context.Context, ids ...ledger.CommandID) ([]Finding, error) {
	found := make([]Finding, 0, len(ids))
	w.locked(func() { w.tasks.add(1) })
	for _, id := range ids {
		f := Finding{ID: id}
		if f.Err = ctx.Err(); f.Err == nil {
			f = w.reconcile(ctx, id)
		}
		found = append(found, f)
	}
	w.locked(func() { w.tasks.add(-1) })
	return found, w.Drain(context.WithoutCancel(ctx))
}

func (w *Worker) reconcile(ctx context.Context, id ledger.CommandID) (f Finding) {
	f.ID = id
	if f.Receipt, f.Err = w.standing(id); f.Err != nil || f.Receipt.Status != ledger.Unknown {
		return f
	}
	f.Evidence, f.Err = w.investigate(ctx, f.Receipt)
	if f.Err != nil || !proven(ledger.ReceiptStatus(f.Evidence.Status)) {
		return f
	}
	before := f.Receipt
	if f.Receipt, f.Err = w.Settle(ctx, before, f.Evidence); f.Err == nil {
		f.Settled = true
	}
	return f
}

// standing returns a command's receipt: the ledger's, or the store's when this
// installation never had the command.
func (w *Worker) standing(id ledger.CommandID) (ledger.Receipt, error) {
	kept, found, err := w.o.Ledger.Get(id)
	if err != nil || found {
		return kept, err
	}
	shared, err := w.o.Target.ReadReceipt(w.books, id)
	switch {
	case err != nil:
		return ledger.Receipt{}, fmt.Errorf("read the shared receipt: %w", err)
	case shared == nil:
		return ledger.Receipt{}, errors.New("no receipt of the command is known")
	case shared.OwnerDID != w.o.OwnerDID || shared.CommandID != id:
		return ledger.Receipt{}, errors.New("the shared receipt is another owner's or command's")
	}
	return shared.Receipt, nil
}

// investigate asks the driver what became of a command. What stands in the way is an
// outcome that proves nothing.
func (w *Worker) investigate(ctx context.Context, r ledger.Receipt) (o collect.Outcome, err error) {
	operator, open := w.o.Operators[r.SourceID]
	if !open {
		return nothing(codeNoSource, "the source is not available here"), nil
	}
	detective, able := operator.(collect.Investigator)
	if !able {
		return nothing("not-investigable", "the source keeps nothing that could be looked at"), nil
	}
	if w.o.Find == nil {
		return nothing("command-gone", "the queue has the command no longer"), nil
	}
	q, found, err := w.o.Find(ctx, r.CommandID)
	if err != nil {
		return o, fmt.Errorf("find the command: %w", err)
	}
	if !found {
		return nothing("command-gone", "the queue has the command no longer"), nil
	}
	trace, err := traceOf(q, r)
	if err != nil {
		return o, err
	}
	defer func() {
		if broke := recover(); broke != nil {
			err = newPanic(broke)
		}
	}()
	o, err = detective.Investigate(ctx, r.NativeSessionID, trace)
	if err != nil {
		return o, fmt.Errorf("investigate: %s", short(err, q))
	}
	return o, nil
}

func nothing(code, why string) collect.Outcome {
	return collect.Outcome{Status: collect.Unknown, Untouched: true,
		Problem: &collect.OperationProblem{Code: code, Message: why}}
}

// traceOf is what a command and its receipt tell of an operation.
func traceOf(q Queued, r ledger.Receipt) (t collect.Trace, err error) {
	if q.SourceID != r.SourceID || q.NativeSessionID != r.NativeSessionID {
		return t, errors.New("the queued command is of another session than the receipt")
	}
	t = collect.Trace{Operation: string(q.Type), ProviderOperationID: r.ProviderOperationID, ClaimedAt: claimTime(r)}
	switch q.Type {
	case ledger.Prompt:
		in, invalid := q.PromptInput()
		t.Text, t.Mark, err = in.Text, markOf(q), invalid
	case ledger.Start:
		in, invalid := q.StartInput()
		t.Text, t.Cwd, t.Mark, err = in.Text, in.Cwd, markOf(q), invalid
	case ledger.Rename:
		t.Title, err = q.Title()
	}
	return t, err
}

// Settle replaces an unknown receipt by what an outcome proves, keeps and publishes it,
// and returns the receipt that holds now: the store's, when an outcome was proven there
// before. The list follows, at the latest in Drain. Any other receipt stays as it is, and
// so does an unknown one when the outcome is unknown too: ErrSettled and an error.
func (w *Worker) Settle(ctx context.Context, r ledger.Receipt, o collect.Outcome) (ledger.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return r, fmt.Errorf("settle the receipt: %w", err)
	}
	if !proven(ledger.ReceiptStatus(o.Status)) {
		return r, errors.New("settle the receipt: the outcome proves nothing")
	}
	now, err := w.standing(r.CommandID)
	if err != nil {
		return r, err
	}
	if now.Status != ledger.Unknown || w.isScheduled(r.CommandID) {
		return now, fmt.Errorf("settle the receipt: %w", ErrSettled)
	}
	settled := w.settled(now, o)
	if err := w.o.Ledger.Put(w.books, settled); err != nil {
		return now, fmt.Errorf("record the receipt: %w", err)
	}
	settled, err = w.publish(settled)
	if err != nil || o.Untouched {
		return settled, err
	}
	return settled, w.refresh(ctx, Session{settled.SourceID, settled.NativeSessionID})
}
