package worker_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"agentsync/collect"
	"agentsync/ledger"
	"agentsync/ledger/worker"
)

// fails runs a pass that reports exactly one failure, of a command and for a reason.
func (w *world) fails(id string, reason error, commands ...worker.Queued) worker.Stats {
	w.t.Helper()
	one, err := w.run(commands...)
	var failure *worker.Failure
	if !errors.As(err, &failure) || failure.ID.ID != id || reason != nil && !errors.Is(err, reason) {
		w.t.Errorf("%s: %v", id, err)
	}
	if stats := one.Stats(); stats.Failures != 1 || len(w.failures) != 1 {
		w.t.Errorf("failures %+v, stats %+v", w.failures, stats)
	}
	w.failures = nil
	return one.Stats()
}

// calls checks how many operations the agent was asked for.
func (w *world) calls(n int) {
	w.t.Helper()
	if got := w.texts(); len(got) != n {
		w.t.Errorf("%d calls, want %d: %q", len(got), n, got)
	}
}

func TestAnOutcomeInTheStoreIsTakenOverAndNotRunAgain(t *testing.T) {
	for _, status := range []ledger.ReceiptStatus{ledger.Succeeded, ledger.Failed, ledger.Unknown} {
		w := newWorld(t)
		w.shared(there, ended("1", status))
		stats := w.mustRun(prompt("1"))
		w.wants("1", status, "")
		w.calls(0)
		w.quiet()
		if rows, err := w.shelf.rows(); len(rows) != 1 || err != nil || stats.Adopted != 1 {
			t.Errorf("the list is not repaired: %+v, %v, %+v", rows, err, stats)
		}
	}
}

func TestAClaimOfOursThatTheLedgerDoesNotKnowIsUnknown(t *testing.T) {
	w := newWorld(t)
	w.shared(here, claimed("1"))
	if stats := w.mustRun(prompt("1")); stats.Orphaned != 1 {
		t.Errorf("stats %+v", stats)
	}
	w.wants("1", ledger.Unknown, "orphaned-shared-claim")
	if r := w.receipt("1"); r.Problem.Retryable || r.ClaimedAt != claimed("1").ClaimedAt {
		t.Errorf("receipt %+v", r)
	}
	w.calls(0)
	w.quiet()
}

func TestAClaimOfAnotherInstallationIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.shared(there, claimed("1"))
	for range 2 {
		if stats := w.mustRun(prompt("1")); stats.Elsewhere != 1 {
			t.Errorf("stats %+v", stats)
		}
	}
	shared, err := w.shelf.ReadReceipt(context.Background(), ledger.CommandID{ID: "1"})
	if w.ledger.Known(ledger.CommandID{ID: "1"}) || shared.Status != ledger.InFlight || err != nil {
		t.Errorf("%+v, %v", shared, err)
	}
	w.calls(0)
	w.shared(there, ended("1", ledger.Succeeded)) // it ends there
	w.mustRun(prompt("1"))
	w.wants("1", ledger.Succeeded, "")
	w.calls(0)
}

func TestAReceiptOfAnotherSessionOrOwnerIsAnError(t *testing.T) {
	for name, change := range map[string]func(*ledger.Receipt){
		"session": func(r *ledger.Receipt) { r.NativeSessionID = "other" },
		"source":  func(r *ledger.Receipt) { r.SourceID = "other" },
		"owner":   func(r *ledger.Receipt) { r.OwnerDID = "did:key:z6MkOther" },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			r := ended("1", ledger.Succeeded)
			change(&r)
			w.shared(there, r)
			w.fails("1", nil, prompt("1"))
			w.calls(0)
			if w.ledger.Known(ledger.CommandID{ID: "1"}) {
				t.Error("the ledger took it over")
			}
		})
	}
}

func TestAStoreThatCannotBeReadKeepsACommandForLater(t *testing.T) {
	w := newWorld(t)
	w.fails("1", w.once("read", false), prompt("1"))
	w.calls(0)
	w.quiet()
	w.mustRun(prompt("1"))
	w.wants("1", ledger.Succeeded, "")
	w.calls(1)
}

// lost lets another installation claim a command after it was looked for.
func (w *world) lost(id string, r ledger.Receipt, installation string) {
	done := false
	w.faults.fail = func(method string, _ ledger.CommandID) (error, bool) {
		if method == "claim" && !done {
			done = true
			w.shared(installation, r)
		}
		return nil, false
	}
}

func TestALostClaimIsForgotten(t *testing.T) {
	w := newWorld(t)
	w.lost("1", claimed("1"), there)
	if stats := w.mustRun(prompt("1")); stats.Elsewhere != 1 {
		t.Errorf("stats %+v", stats)
	}
	if w.ledger.Known(ledger.CommandID{ID: "1"}) {
		t.Error("the ledger knows it")
	}
	w.calls(0)
	w.quiet()
}

func TestAClaimLostToAnOutcomeTakesItOver(t *testing.T) {
	w := newWorld(t)
	w.lost("1", ended("1", ledger.Succeeded), there)
	w.mustRun(prompt("1"))
	w.wants("1", ledger.Succeeded, "")
	w.calls(0)
	w.quiet()
}

func TestAClaimLostToAnotherSessionIsAnErrorAndForgotten(t *testing.T) {
	w := newWorld(t)
	other := claimed("1")
	other.NativeSessionID = "other"
	w.lost("1", other, there)
	w.fails("1", nil, prompt("1"))
	w.calls(0)
	w.quiet()
}

func TestAClaimWhoseAnswerWasLostRunsAtOnceAndOnce(t *testing.T) {
	w := newWorld(t)
	w.once("claim", true)
	w.mustRun(prompt("1"))
	w.mustRun(prompt("1"))
	w.wants("1", ledger.Succeeded, "")
	w.calls(1)
	w.quiet()
}

func TestAClaimThatCouldNotBeWrittenRunsInALaterPass(t *testing.T) {
	w := newWorld(t)
	stats := w.fails("1", w.once("claim", false), prompt("1"))
	w.calls(0)
	kept, _, err := w.ledger.Get(ledger.CommandID{ID: "1"})
	if err != nil || kept.Status != ledger.Failed || kept.Problem.Code != "claim-publish-failed" || !kept.Problem.Retryable {
		t.Errorf("receipt %+v, %v", kept, err)
	}
	if rows, err := w.shelf.rows(); len(rows) != 0 || err != nil || stats.Ran[ledger.Failed] != 1 {
		t.Errorf("an outcome without a claim is in the store: %+v, %v", rows, err)
	}
	w.mustRun(prompt("1"))
	w.wants("1", ledger.Succeeded, "")
	w.calls(1)
	w.quiet()
}

func TestAClaimThatCameThroughLateIsPublishedAsFailed(t *testing.T) {
	w := newWorld(t)
	w.fails("1", w.once("claim", false), prompt("1"))
	kept, _, _ := w.ledger.Get(ledger.CommandID{ID: "1"})
	kept.Status = ledger.InFlight
	w.shared(here, kept)
	w.mustRun(prompt("1"))
	w.wants("1", ledger.Failed, "claim-publish-failed")
	w.calls(0)
	w.quiet()
}

func TestALateClaimAfterItWasTakenForAbsentIsUnknown(t *testing.T) {
	w := newWorld(t)
	w.fails("1", w.once("claim", false), prompt("1"))
	w.lost("1", claimed("1"), here) // the first request arrives before the second
	w.mustRun(prompt("1"))
	w.wants("1", ledger.Unknown, "orphaned-shared-claim")
	w.calls(0)
	w.quiet()
}

func TestAClaimOfOursThatIsNotThisOneIsUnknownAfterALostAnswerToo(t *testing.T) {
	w := newWorld(t)
	w.faults.fail = func(method string, _ ledger.CommandID) (error, bool) {
		if method != "claim" {
			return nil, false
		}
		w.shared(here, claimed("1"))
		return errors.New("no answer"), true
	}
	w.mustRun(prompt("1"))
	w.wants("1", ledger.Unknown, "orphaned-shared-claim")
	w.calls(0)
	w.quiet()
}

func TestAFailedClaimIsNeverPublishedUnseen(t *testing.T) {
	w := newWorld(t)
	w.fails("1", w.once("claim", false), prompt("1"))
	one := w.worker()
	if fault := w.once("read", false); !errors.Is(one.Recover(context.Background()), fault) {
		t.Error("the store could be read")
	}
	if shared, err := w.shelf.ReadReceipt(context.Background(), ledger.CommandID{ID: "1"}); shared != nil || err != nil {
		t.Errorf("published %+v, %v", shared, err)
	}
	w.mustRun(prompt("1"))
	w.wants("1", ledger.Succeeded, "")
	w.calls(1)
}

func TestAClaimThatCouldNotBeWrittenIsGivenUpToWhoeverHasIt(t *testing.T) {
	w := newWorld(t)
	w.fails("1", w.once("claim", false), prompt("1"))
	w.shared(there, claimed("1"))
	if stats := w.mustRun(prompt("1")); stats.Elsewhere != 1 {
		t.Errorf("stats %+v", stats)
	}
	w.calls(0)
	w.quiet()
	w.shared(there, ended("1", ledger.Succeeded))
	w.mustRun(prompt("1"))
	w.wants("1", ledger.Succeeded, "")
}

func TestALongRunningWorkerSettlesFailedClaimsWithoutARestart(t *testing.T) {
	w := newWorld(t)
	w.once("claim", false)
	one := w.worker()
	ctx := context.Background()
	for i := range 3 {
		// A queue is read without what the ledger knows.
		var commands []worker.Queued
		if !w.ledger.Known(ledger.CommandID{ID: "1"}) {
			commands = append(commands, prompt("1"))
		}
		if err := one.Handle(ctx, commands); err != nil {
			t.Fatal(err)
		}
		if err := one.Drain(ctx); (err != nil) != (i == 0) {
			t.Errorf("pass %d: %v", i, err)
		}
	}
	w.wants("1", ledger.Succeeded, "")
	w.calls(1)
	w.quiet()
}

func TestAReceiptThatCouldNotBePublishedIsPublishedLater(t *testing.T) {
	for _, fault := range []struct {
		method string
		after  bool
	}{{"publish", false}, {"list", false}, {"list", true}} {
		w := newWorld(t)
		w.fails("1", w.once(fault.method, fault.after), prompt("1"))
		if len(w.ledger.Pending()) != 1 || len(w.observed) != 0 {
			t.Errorf("%v: pending %+v, observed %+v", fault, w.ledger.Pending(), w.observed)
		}
		w.mustRun()
		w.wants("1", ledger.Succeeded, "")
		w.calls(1)
		w.quiet()
		if rows, err := w.shelf.rows(); len(rows) != 1 || err != nil || rows[0].Status != "succeeded" || len(w.observed) != 1 {
			t.Errorf("%v: rows %+v, %v, observed %+v", fault, rows, err, w.observed)
		}
	}
}

func TestAReceiptWhosePublicationWasNotAnsweredIsReadBack(t *testing.T) {
	for _, status := range []collect.Status{collect.Succeeded, collect.Unknown} {
		w := newWorld(t)
		w.acts(collect.Outcome{Status: status}, nil)
		w.once("publish", true)
		w.mustRun(prompt("1"))
		w.wants("1", ledger.ReceiptStatus(status), "")
		w.calls(1)
		w.quiet()
	}
}

func TestAnOutcomeThatIsFinalInTheStoreHolds(t *testing.T) {
	w := newWorld(t)
	w.faults.fail = func(method string, _ ledger.CommandID) (error, bool) {
		if method == "publish" {
			w.shared(there, ended("1", ledger.Failed)) // somebody settled it meanwhile
		}
		return nil, false
	}
	w.mustRun(prompt("1"))
	w.faults.fail = nil
	w.wants("1", ledger.Failed, "")
	w.quiet()
}

func TestNoErrorOrReceiptQuotesACommand(t *testing.T) {
	w := newWorld(t)
	w.once("claim", false)
	_, err := w.run(command("1", ledger.Prompt, "text", "the secret plan"))
	if err == nil || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
}
