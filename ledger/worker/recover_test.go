package worker_test

import (
	"context"
	"errors"
	"testing"

	"agentsync/collect"
	"agentsync/ledger"
	"agentsync/ledger/worker"
)

// left puts receipts into the ledger as a run that died left them.
func (w *world) left(receipts ...ledger.Receipt) {
	w.t.Helper()
	if err := w.ledger.Put(context.Background(), receipts...); err != nil {
		w.t.Fatal(err)
	}
}

func TestAClaimOfADeadRunIsUnknown(t *testing.T) {
	w := newWorld(t)
	w.left(claimed("1"))
	w.shared(here, claimed("1"))
	if stats := w.mustRun(prompt("1")); stats.Orphaned != 1 || stats.Known != 1 {
		t.Errorf("stats %+v", stats)
	}
	w.wants("1", ledger.Unknown, "orphaned-in-flight")
	w.calls(0)
	w.quiet()
}

func TestAClaimThatNeverReachedTheStoreRunsAnew(t *testing.T) {
	w := newWorld(t)
	w.left(claimed("1"))
	w.mustRun(prompt("1"))
	w.wants("1", ledger.Succeeded, "")
	w.calls(1)
	w.quiet()
}

func TestAnOutcomeThatOnlyTheStoreHasIsTakenOver(t *testing.T) {
	w := newWorld(t)
	w.left(claimed("1"))
	w.shared(here, ended("1", ledger.Succeeded))
	if stats := w.mustRun(); stats.Adopted != 1 {
		t.Errorf("stats %+v", stats)
	}
	w.wants("1", ledger.Succeeded, "")
	w.quiet()
}

func TestAClaimThatAnotherInstallationWonIsForgotten(t *testing.T) {
	w := newWorld(t)
	w.left(claimed("1"))
	w.shared(there, claimed("1"))
	w.mustRun(prompt("1"))
	w.calls(0)
	w.quiet()
	if w.ledger.Known(ledger.CommandID{ID: "1"}) {
		t.Error("the ledger knows it")
	}
}

func TestAReceiptThatWasNotPublishedIsPublished(t *testing.T) {
	w := newWorld(t)
	for _, id := range []string{"1", "2", "3"} {
		w.shared(here, claimed(id))
		w.left(ended(id, ledger.Succeeded))
	}
	w.mustRun()
	w.wants("1", ledger.Succeeded, "")
	w.wants("3", ledger.Succeeded, "")
	if len(w.lists) != 1 || len(w.observed) != 3 {
		t.Errorf("%d changes of the list, %d observed", len(w.lists), len(w.observed))
	}
	w.quiet()
}

func TestTroubleWithOneReceiptDoesNotStopTheOthers(t *testing.T) {
	w := newWorld(t)
	away := errors.New("the store is away")
	for _, id := range []string{"1", "2"} {
		w.left(claimed(id))
		w.shared(here, claimed(id))
	}
	w.left(ended("3", ledger.Failed), ended("4", ledger.Failed))
	w.faults.fail = func(method string, id ledger.CommandID) (error, bool) {
		if method == "read" && id.ID == "1" || method == "publish" && id.ID == "3" {
			return away, false
		}
		return nil, false
	}
	one := w.worker()
	if err := one.Recover(context.Background()); !errors.Is(err, away) || one.Stats().Failures != 2 {
		t.Errorf("recover: %v, %+v", err, one.Stats())
	}
	w.wants("2", ledger.Unknown, "orphaned-in-flight")
	w.wants("4", ledger.Failed, "")
	if len(w.ledger.Pending()) != 2 {
		t.Errorf("pending %+v", w.ledger.Pending())
	}
	w.faults.fail = nil
	w.mustRun()
	w.wants("1", ledger.Unknown, "orphaned-in-flight")
	w.wants("3", ledger.Failed, "")
	w.quiet()
}

func TestARecoveryThatIsCancelledSaysSo(t *testing.T) {
	w := newWorld(t)
	w.left(claimed("1"))
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if err := w.worker().Recover(ctx); !errors.Is(err, context.Canceled) || len(w.ledger.InFlight()) != 1 {
		t.Errorf("recover: %v", err)
	}
}

func TestAnUnknownReceiptThatSomebodySettledIsTakenOver(t *testing.T) {
	w := newWorld(t)
	unknown := ended("1", ledger.Unknown)
	unknown.Problem = &collect.OperationProblem{Code: "orphaned-in-flight", Message: "nobody knows"}
	w.left(unknown)
	w.shared(here, ended("1", ledger.Succeeded))
	w.mustRun()
	w.wants("1", ledger.Succeeded, "")
	w.quiet()
}

func TestAClaimThatTheStoreLostIsUnknownAndNotRunAgain(t *testing.T) {
	w := newWorld(t)
	won := w.options.Running
	w.options.Running = func(q worker.Queued, begun bool) {
		won(q, begun)
		if pending := w.ledger.Pending(); begun && len(pending) > 0 {
			t.Errorf("the provider is called before the ledger says that the claim is won: %+v", pending)
		}
	}
	w.mustRun(prompt("0"))
	w.calls(1)
	w.left(claimed("1"))
	if err := w.ledger.MarkPublished(context.Background(), claimed("1")); err != nil { // won, and the run died
		t.Fatal(err)
	}
	if stats := w.mustRun(prompt("1")); stats.Orphaned != 1 { // the store is an old copy
		t.Errorf("stats %+v", stats)
	}
	w.wants("1", ledger.Unknown, "orphaned-in-flight")
	w.calls(1)
	w.quiet()
}
