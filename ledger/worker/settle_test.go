package worker_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/ledger"
	"agentsync/ledger/worker"
)

// unknown leaves a command whose outcome nobody saw, and a queue that still has it.
func (w *world) unknown(q worker.Queued) {
	w.t.Helper()
	w.left(claimed(q.Command.ID))
	w.shared(here, claimed(q.Command.ID))
	w.mustRun()
	w.wants(q.Command.ID, ledger.Unknown, "orphaned-in-flight")
	w.options.Find = func(_ context.Context, id ledger.CommandID) (worker.Queued, bool, error) {
		return q, id == q.ID(), nil
	}
}

// reconcile settles one command and returns what was found.
func (w *world) reconcile(id string) worker.Finding {
	w.t.Helper()
	found, err := w.worker().Reconcile(context.Background(), ledger.CommandID{ID: id})
	if err != nil || len(found) != 1 || found[0].ID.ID != id {
		w.t.Fatalf("reconcile: %+v, %v", found, err)
	}
	w.quiet()
	return found[0]
}

func TestEvidenceSettlesAnUnknownReceipt(t *testing.T) {
	w := newWorld(t)
	w.unknown(command("1", ledger.Start, "text", "begin", "cwd", "/home/dev"))
	w.agent.Proves(func(string, collect.Trace) (collect.Outcome, error) {
		return collect.Outcome{Status: collect.Succeeded, ProviderOperationID: "turn-9"}, nil
	})
	f := w.reconcile("1")
	w.wants("1", ledger.Succeeded, "")
	if r := w.receipt("1"); !f.Settled || f.Err != nil || f.Receipt.Status != ledger.Succeeded || r.ProviderOperationID != "turn-9" {
		t.Errorf("finding %+v, receipt %+v", f, r)
	}
	want := collect.Trace{Operation: "start", Text: "begin", Cwd: "/home/dev",
		Mark:      `agentsync command "1" of "did:key:z6MkOwner"`,
		ClaimedAt: time.Date(2026, 1, 1, 11, 0, 0, 0, time.UTC)}
	if traces := w.agent.Traces(); len(traces) != 1 || traces[0] != want {
		t.Errorf("traces %+v", traces)
	}
	w.calls(0)
	if rows := w.inList(); len(rows) != 1 || rows[0].Status != "succeeded" {
		t.Errorf("rows %+v", rows)
	}
	if again := w.reconcile("1"); again.Settled || again.Err != nil || len(w.agent.Traces()) != 1 {
		t.Errorf("again %+v", again)
	}
}

func TestNoEvidenceLeavesAReceiptUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*world)
		code   string
	}{
		"nothing found": {func(w *world) {
			w.agent.Proves(func(string, collect.Trace) (collect.Outcome, error) {
				return collect.Outcome{Status: collect.Unknown, Problem: &collect.OperationProblem{Code: "no-trace", Message: "m"}}, nil
			})
		}, "no-trace"},
		"no source":     {func(w *world) { w.options.Operators = nil }, "source-unavailable"},
		"no detective":  {func(w *world) { w.options.Operators["codex"] = collect.NoOperations{} }, "not-investigable"},
		"no queue":      {func(w *world) { w.options.Find = nil }, "command-gone"},
		"gone from it":  {func(w *world) { w.finds(worker.Queued{}, false, nil) }, "command-gone"},
		"queue is away": {func(w *world) { w.finds(worker.Queued{}, false, errors.New("away")) }, ""},
		"other session": {func(w *world) { w.finds(commandIn("other", "1", ledger.Cancel), true, nil) }, ""},
		"driver fails": {func(w *world) {
			w.agent.Proves(func(string, collect.Trace) (collect.Outcome, error) {
				return collect.Outcome{Status: collect.Succeeded}, errors.New("cannot read say 1")
			})
		}, ""},
		"driver panics": {func(w *world) {
			w.agent.Proves(func(string, collect.Trace) (collect.Outcome, error) { panic("say 1") })
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.unknown(prompt("1"))
			before := w.receipt("1")
			c.change(w)
			f := w.reconcile("1")
			if !w.shelf.same(before, w.receipt("1")) || f.Settled || f.Receipt.Status != ledger.Unknown {
				t.Errorf("finding %+v", f)
			}
			if c.code == "" && f.Err == nil || c.code != "" && (f.Err != nil || f.Evidence.Problem.Code != c.code) {
				t.Errorf("finding %+v, want %q", f, c.code)
			}
			if f.Err != nil && strings.Contains(f.Err.Error(), "say 1") {
				t.Errorf("the error quotes the prompt: %v", f.Err)
			}
		})
	}
}

func (w *world) finds(q worker.Queued, found bool, err error) {
	w.options.Find = func(context.Context, ledger.CommandID) (worker.Queued, bool, error) { return q, found, err }
}

func TestACommandWithoutAReceiptIsNoFinding(t *testing.T) {
	w := newWorld(t)
	if f := w.reconcile("1"); f.Err == nil || f.Settled {
		t.Errorf("finding %+v", f)
	}
}

func TestAnUnknownReceiptOfALostLedgerIsSettledFromTheStore(t *testing.T) {
	w := newWorld(t)
	w.shared(there, ended("1", ledger.Unknown))
	w.finds(prompt("1"), true, nil)
	w.agent.Proves(func(string, collect.Trace) (collect.Outcome, error) {
		return collect.Outcome{Status: collect.Failed, Problem: &collect.OperationProblem{Code: "never-ran", Message: "m", Retryable: true}}, nil
	})
	if f := w.reconcile("1"); !f.Settled || f.Err != nil {
		t.Errorf("finding %+v", f)
	}
	w.wants("1", ledger.Failed, "never-ran")
}

func TestOnlyAnUnknownReceiptIsSettledAndOnlyByProof(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t)
	one := w.worker()
	w.mustRun(prompt("1"))
	succeeded := collect.Outcome{Status: collect.Succeeded}
	if _, err := one.Settle(ctx, w.receipt("1"), collect.Outcome{Status: collect.Failed}); !errors.Is(err, worker.ErrSettled) {
		t.Errorf("a success was settled again: %v", err)
	}
	w.left(claimed("2"))
	if _, err := one.Settle(ctx, claimed("2"), succeeded); !errors.Is(err, worker.ErrSettled) {
		t.Errorf("a live claim was settled: %v", err)
	}
	if err := w.ledger.Forget(ctx, ledger.CommandID{ID: "2"}); err != nil {
		t.Fatal(err)
	}
	w.unknown(prompt("3"))
	for _, status := range []collect.Status{collect.Unknown, "", "in-flight"} {
		if _, err := one.Settle(ctx, w.receipt("3"), collect.Outcome{Status: status}); err == nil {
			t.Errorf("settled by %q", status)
		}
	}
	w.wants("1", ledger.Succeeded, "")
	w.wants("3", ledger.Unknown, "orphaned-in-flight")
	w.quiet()
}

func TestAnOutcomeThatWasProvenElsewhereHolds(t *testing.T) {
	w := newWorld(t)
	w.unknown(prompt("1"))
	w.shared(there, ended("1", ledger.Failed))
	w.agent.Proves(func(string, collect.Trace) (collect.Outcome, error) {
		return collect.Outcome{Status: collect.Succeeded}, nil
	})
	if f := w.reconcile("1"); f.Receipt.Status != ledger.Failed {
		t.Errorf("finding %+v", f)
	}
	w.wants("1", ledger.Failed, "")
}
