package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/fixtures/fakedriver"
	"agentsync/ledger"
	"agentsync/ledger/worker"
)

func TestEveryOperationReachesItsProviderAndLeavesAReceipt(t *testing.T) {
	w := newWorld(t)
	stats := w.mustRun(cancel("6"),
		command("1", ledger.Start, "text", "begin", "cwd", "/home/dev", "title", "T", "mode", "plan"),
		prompt("2"), command("3", ledger.Rename, "title", "new"), command("4", ledger.SetMode, "mode", "fast"),
		command("5", ledger.SetConfigOption, "key", "model", "value", "large"))
	want := []string{"cancel ", "start begin", "prompt say 2", "rename new", "set-mode fast", "set-config-option model"}
	if got := w.texts(); !slices.Equal(got, want) {
		t.Errorf("calls %q, want %q", got, want)
	}
	for _, c := range w.agent.Calls() {
		if c.Operation == "start" && (c.Start.Cwd != "/home/dev" || c.Start.Title != "T" || c.Start.Mode != "plan") {
			t.Errorf("started with %+v", c.Start)
		}
		if c.Operation == "set-config-option" && c.Option.Str() != "large" {
			t.Errorf("option %q", c.Option.Str())
		}
	}
	for _, id := range []string{"1", "2", "3", "4", "5", "6"} {
		w.wants(id, ledger.Succeeded, "")
	}
	if stats.Admitted != 6 || stats.Ran[ledger.Succeeded] != 6 || len(w.observed) != 6 || w.began != 6 {
		t.Errorf("stats %+v, observed %d, began %d", stats, len(w.observed), w.began)
	}
	w.quiet()
}

func TestACommandIsClaimedEverywhereBeforeItsProviderIsCalled(t *testing.T) {
	w := newWorld(t)
	w.agent.Act(func(context.Context, fakedriver.Call, collect.Milestones) (collect.Outcome, error) {
		w.wants("1", ledger.InFlight, "")
		return collect.Outcome{Status: collect.Succeeded, ProviderOperationID: "turn-1"}, nil
	})
	w.mustRun(prompt("1"))
	w.wants("1", ledger.Succeeded, "")
	if r := w.receipt("1"); r.ProviderOperationID != "turn-1" || r.ClaimedAt == "" || r.ClaimedAt >= r.CompletedAt {
		t.Errorf("receipt %+v", r)
	}
}

func TestARedeliveredCommandRunsOnceAndKeepsItsReceipt(t *testing.T) {
	w := newWorld(t)
	w.mustRun(prompt("1"), prompt("1"))
	first := w.receipt("1")
	for range 5 {
		if stats := w.mustRun(prompt("1")); stats.Known != 1 || stats.Admitted != 0 {
			t.Errorf("stats %+v", stats)
		}
	}
	if calls := w.agent.Calls(); len(calls) != 1 || !w.shelf.same(first, w.receipt("1")) {
		t.Errorf("%d calls, receipt %+v", len(calls), w.receipt("1"))
	}
}

func TestTheSameIDOfAnotherQueueIsAnotherCommand(t *testing.T) {
	w := newWorld(t)
	other := prompt("1")
	other.Producer = "board"
	w.mustRun(prompt("1"), other)
	r, found, err := w.ledger.Get(ledger.CommandID{Producer: "board", ID: "1"})
	if len(w.agent.Calls()) != 2 || !found || err != nil || r.Status != ledger.Succeeded {
		t.Errorf("%d calls, %+v, %v, %v", len(w.agent.Calls()), r, found, err)
	}
}

func TestCommandsOfASessionRunInOrderAndThoseOfOthersBeside(t *testing.T) {
	w := newWorld(t)
	var both sync.WaitGroup // each session's first command waits for the other's
	both.Add(2)
	w.agent.Act(func(_ context.Context, c fakedriver.Call, _ collect.Milestones) (collect.Outcome, error) {
		if c.Text == "00" {
			both.Done()
			both.Wait()
		}
		return collect.Outcome{Status: collect.Succeeded}, nil
	})
	var commands []worker.Queued
	for i := range 20 {
		for _, session := range []string{"a", "b"} {
			commands = append(commands, commandIn(session, fmt.Sprint(session, i), ledger.Rename, "title", fmt.Sprintf("%02d", i)))
		}
	}
	w.mustRun(commands...)
	last := map[string]string{}
	for _, c := range w.agent.Calls() {
		if c.Text <= last[c.Session] {
			t.Errorf("%s: %s after %s", c.Session, c.Text, last[c.Session])
		}
		last[c.Session] = c.Text
	}
}

func TestNoMoreSessionsThanAllowedAreWorkedOnAtOnce(t *testing.T) {
	w := newWorld(t)
	w.options.Sessions = 3
	running, most := 0, 0
	reached := make(chan struct{})
	w.agent.Act(func(context.Context, fakedriver.Call, collect.Milestones) (collect.Outcome, error) {
		w.locked(func() {
			running++
			if running > most {
				most = running
				if most == 3 {
					close(reached)
				}
			}
		})
		<-reached // no one goes on before three are at work
		time.Sleep(time.Millisecond)
		w.locked(func() { running-- })
		return collect.Outcome{Status: collect.Succeeded}, nil
	})
	var commands []worker.Queued
	for i := range 30 {
		commands = append(commands, commandIn(fmt.Sprint(i%10), fmt.Sprint(i), ledger.Rename, "title", "t"))
	}
	if stats := w.mustRun(commands...); most != 3 || stats.Ran[ledger.Succeeded] != 30 {
		t.Errorf("%d at once, %+v", most, stats)
	}
}

func TestCommandsOfForeignSourcesAreLeftAlone(t *testing.T) {
	w := newWorld(t)
	w.options.Owner = func(source string) worker.Owner {
		return map[string]worker.Owner{"acp": worker.Elsewhere, "claude": worker.Ours}[source]
	}
	elsewhere, nobody, closed := prompt("1"), prompt("2"), prompt("3")
	elsewhere.SourceID, nobody.SourceID, closed.SourceID = "acp", "dsh", "claude"
	stats := w.mustRun(elsewhere, nobody, closed)
	if stats.Elsewhere != 1 || stats.Waiting != 1 || stats.Admitted != 1 || len(w.agent.Calls()) != 0 {
		t.Errorf("stats %+v", stats)
	}
	w.wants("3", ledger.Unsupported, "source-unavailable")
	if r := w.receipt("3"); !r.Problem.Retryable {
		t.Error("a source that is not available may be later")
	}
	for _, id := range []string{"1", "2"} {
		if shared, err := w.shelf.ReadReceipt(context.Background(), ledger.CommandID{ID: id}); shared != nil || err != nil {
			t.Errorf("%s: %+v, %v", id, shared, err)
		}
	}
}

func TestAnAdmissionThatIsCancelledKeepsWhatItAdmitted(t *testing.T) {
	w := newWorld(t)
	one := w.worker()
	ctx, stop := context.WithCancel(context.Background())
	stop()
	if err := one.Handle(ctx, []worker.Queued{prompt("1")}); !errors.Is(err, context.Canceled) {
		t.Errorf("handled: %v", err)
	}
	if err := one.Handle(context.Background(), []worker.Queued{prompt("2")}); err != nil {
		t.Error(err)
	}
	if err := one.Drain(context.Background()); err != nil {
		t.Error(err)
	}
	if got := w.texts(); !slices.Equal(got, []string{"prompt say 2"}) {
		t.Errorf("calls %q", got)
	}
}

func TestAnIdentityThatNoSessionHasIsAFailureOfItsCommandAlone(t *testing.T) {
	w := newWorld(t)
	_, err := w.run(commandIn(" ", "1", ledger.Cancel), prompt("2"))
	var failure *worker.Failure
	if !errors.As(err, &failure) || failure.ID.ID != "1" || len(w.failures) != 1 {
		t.Errorf("run: %v, told %+v", err, w.failures)
	}
	w.wants("2", ledger.Succeeded, "")
}
