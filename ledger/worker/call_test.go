package worker_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/collect/value"
	"agentsync/fixtures/fakedriver"
	"agentsync/ledger"
	"agentsync/ledger/worker"
)

// acts makes every operation end in one way.
func (w *world) acts(o collect.Outcome, err error) {
	w.agent.Act(func(context.Context, fakedriver.Call, collect.Milestones) (collect.Outcome, error) { return o, err })
}

func TestWhatAProviderAnswersIsItsReceipt(t *testing.T) {
	result := value.NewBuilder().Record().Key("turn").Int(7).End().Finish()
	for _, status := range []collect.Status{collect.Succeeded, collect.Failed, collect.Unsupported, collect.NeedsConfirmation, collect.Unknown} {
		w := newWorld(t)
		problem := &collect.OperationProblem{Code: "odd", Message: "it is odd", Retryable: true}
		w.acts(collect.Outcome{Status: status, Problem: problem, Result: result}, nil)
		stats := w.mustRun(prompt("1"))
		w.wants("1", ledger.ReceiptStatus(status), "odd")
		r := w.receipt("1")
		if turn, _ := r.Result.Path("turn").Integer(); turn != 7 || *r.Problem != *problem || stats.Ran[r.Status] != 1 {
			t.Errorf("receipt %+v, stats %+v", r, stats)
		}
		w.mustRun(prompt("1"))
		w.calls(1) // an unknown one too is never repeated
	}
}

func TestAnOutcomeThatMakesNoReceiptIsPutRight(t *testing.T) {
	w := newWorld(t)
	w.acts(collect.Outcome{Status: "done", Result: value.NewBuilder().Int(1).Finish()}, nil)
	w.mustRun(prompt("1"))
	w.wants("1", ledger.Unknown, "provider-call-failed")
	w.acts(collect.Outcome{Status: collect.Failed, Problem: &collect.OperationProblem{}}, nil)
	w.mustRun(prompt("2"))
	w.wants("2", ledger.Failed, "provider-call-failed")
	w.quiet()
}

func TestADriversErrorIsAFailedCallThatIsNotRepeated(t *testing.T) {
	w := newWorld(t)
	w.acts(collect.Outcome{}, errors.New("connect to\nthe agent:  refused"))
	w.mustRun(prompt("1"))
	w.wants("1", ledger.Failed, "provider-call-failed")
	if p := w.receipt("1").Problem; p.Retryable || p.Message != "connect to the agent: refused" {
		t.Errorf("problem %+v", p)
	}
	w.acts(collect.Outcome{}, errors.New("cannot send: say 2 is too long"))
	w.mustRun(prompt("2"))
	if p := w.receipt("2").Problem; strings.Contains(p.Message, "say 2") {
		t.Errorf("the receipt quotes the prompt: %+v", p)
	}
	w.acts(collect.Outcome{}, errors.New(strings.Repeat("é", 10_000)))
	w.mustRun(prompt("3"))
	if p := w.receipt("3").Problem; len(p.Message) > 600 {
		t.Errorf("%d bytes of message", len(p.Message))
	}
}

func TestAPayloadThatIsWrongReachesNoProvider(t *testing.T) {
	w := newWorld(t)
	w.mustRun(command("1", ledger.Prompt), command("2", ledger.Rename, "name", "x"), command("3", "dance"))
	for _, id := range []string{"1", "2", "3"} {
		w.wants(id, ledger.Failed, "provider-call-failed")
	}
	w.calls(0)
	w.quiet()
}

func TestADriverThatPanicsLeavesUnknownAndTheOthersRun(t *testing.T) {
	w := newWorld(t)
	w.agent.Act(func(_ context.Context, c fakedriver.Call, _ collect.Milestones) (collect.Outcome, error) {
		if c.Text == "say 1" {
			panic("out of " + c.Text)
		}
		return collect.Outcome{Status: collect.Succeeded}, nil
	})
	one, err := w.run(prompt("1"), prompt("2"))
	var broken *worker.PanicError
	if !errors.As(err, &broken) || !strings.Contains(string(broken.Stack), "call_test.go") || strings.Contains(err.Error(), "say 1") {
		t.Errorf("%v", err)
	}
	w.wants("1", ledger.Unknown, "provider-call-failed")
	w.wants("2", ledger.Succeeded, "")
	if one.Stats().Ran[ledger.Unknown] != 1 {
		t.Errorf("stats %+v", one.Stats())
	}
	w.quiet()
}

// begin handles commands and returns when the agent is at work.
func (w *world) begin(one *worker.Worker, begun <-chan struct{}, commands ...worker.Queued) {
	w.t.Helper()
	if err := one.Handle(context.Background(), commands); err != nil {
		w.t.Fatal(err)
	}
	<-begun
}

func TestAnInterruptedOperationMaySayHowItEnded(t *testing.T) {
	w := newWorld(t)
	w.options.Grace = time.Minute
	begun := make(chan struct{})
	w.agent.Act(func(ctx context.Context, _ fakedriver.Call, _ collect.Milestones) (collect.Outcome, error) {
		close(begun)
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), worker.ErrInterrupted) {
			t.Errorf("cause %v", context.Cause(ctx))
		}
		return collect.Outcome{Status: collect.Failed, Problem: &collect.OperationProblem{Code: "cancelled", Message: "the turn was cancelled"}}, nil
	})
	one := w.worker()
	w.begin(one, begun, prompt("1"), prompt("2"), cancel("3"))
	one.Interrupt()
	if err := one.Drain(context.Background()); err != nil {
		t.Error(err)
	}
	w.wants("1", ledger.Failed, "cancelled")
	w.calls(1)
	w.quiet()
	if err := one.Handle(context.Background(), []worker.Queued{prompt("4")}); !errors.Is(err, worker.ErrInterrupted) {
		t.Errorf("handled %v", err)
	}
	if stats := one.Stats(); stats.Left != 2 || w.ledger.Known(ledger.CommandID{ID: "2"}) {
		t.Errorf("stats %+v", stats)
	}
	w.agent.Act(func(context.Context, fakedriver.Call, collect.Milestones) (collect.Outcome, error) {
		return collect.Outcome{Status: collect.Succeeded}, nil
	})
	w.mustRun(prompt("1"), prompt("2"), cancel("3"))
	w.wants("2", ledger.Succeeded, "")
	w.wants("3", ledger.Succeeded, "")
}

func TestAnInterruptedOperationWithoutProofIsUnknown(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	for name, end := range map[string]func(context.Context){
		"it returns the interruption": func(ctx context.Context) { <-ctx.Done() },
		"it does not return":          func(context.Context) { <-hang },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			begun := make(chan struct{})
			w.agent.Act(func(ctx context.Context, _ fakedriver.Call, m collect.Milestones) (collect.Outcome, error) {
				close(begun)
				end(ctx)
				m.CancelReady() // too late when it hung: it releases nothing
				return collect.Outcome{}, ctx.Err()
			})
			one := w.worker()
			w.begin(one, begun, prompt("1"))
			one.Interrupt()
			if err := one.Drain(context.Background()); err != nil {
				t.Error(err)
			}
			w.wants("1", ledger.Unknown, "interrupted-by-shutdown")
			w.calls(1)
			w.quiet()
		})
	}
}

func TestACommandInterruptedAfterItsClaimWasNotBegun(t *testing.T) {
	w := newWorld(t)
	one := w.worker()
	w.faults.fail = func(method string, _ ledger.CommandID) (error, bool) {
		if method == "claim" {
			one.Interrupt()
		}
		return nil, false
	}
	if err := one.Handle(context.Background(), []worker.Queued{prompt("1")}); err != nil {
		t.Fatal(err)
	}
	if err := one.Drain(context.Background()); err != nil {
		t.Error(err)
	}
	w.wants("1", ledger.Failed, "interrupted-by-shutdown")
	w.calls(0)
	w.quiet()
}

func TestAWaitThatEndsEarlyCanBeTakenUpAgain(t *testing.T) {
	w := newWorld(t)
	begun, finish := make(chan struct{}), make(chan struct{})
	w.agent.Act(func(context.Context, fakedriver.Call, collect.Milestones) (collect.Outcome, error) {
		close(begun)
		<-finish
		return collect.Outcome{Status: collect.Succeeded}, nil
	})
	one := w.worker()
	w.begin(one, begun, prompt("1"))
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if err := one.Drain(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("drain: %v", err)
	}
	close(finish)
	if err := one.Drain(context.Background()); err != nil {
		t.Error(err)
	}
	w.wants("1", ledger.Succeeded, "")
}
