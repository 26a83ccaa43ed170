package worker_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/fixtures/fakedriver"
	"agentsync/ledger"
	"agentsync/ledger/worker"
)

// turns is an agent whose prompts run until a cancellation comes. It notes the order in
// which things begin and end.
type turns struct {
	w       *world
	ready   bool // whether prompts say that they can be cancelled
	release chan struct{}
	begun   chan string
	events  []string
}

func (w *world) turns(ready bool) *turns {
	a := &turns{w: w, ready: ready, release: make(chan struct{}, 100), begun: make(chan string, 100)}
	w.agent.Act(a.act)
	return a
}

func (a *turns) note(event string) { a.w.locked(func() { a.events = append(a.events, event) }) }

func (a *turns) act(_ context.Context, c fakedriver.Call, m collect.Milestones) (collect.Outcome, error) {
	if c.Operation != "prompt" {
		a.note(c.Operation + c.Text)
		if c.Operation == "cancel" {
			a.release <- struct{}{}
		}
		return collect.Outcome{Status: collect.Succeeded}, nil
	}
	a.note("begin " + c.Text)
	if a.ready {
		m.CancelReady()
	}
	a.begun <- c.Text
	<-a.release
	a.note("end " + c.Text)
	return collect.Outcome{Status: collect.Succeeded}, nil
}

func (a *turns) wants(events ...string) {
	a.w.t.Helper()
	if !slices.Equal(a.events, events) {
		a.w.t.Errorf("events %q, want %q", a.events, events)
	}
}

func handle(t *testing.T, one *worker.Worker, commands ...worker.Queued) {
	t.Helper()
	if err := one.Handle(context.Background(), commands); err != nil {
		t.Fatal(err)
	}
}

func drain(t *testing.T, one *worker.Worker) {
	t.Helper()
	if err := one.Drain(context.Background()); err != nil {
		t.Error(err)
	}
}

func TestACancellationOvertakesTheQueueOnceTheProviderCanTakeIt(t *testing.T) {
	for _, late := range []bool{false, true} { // admitted before or after the milestone
		w := newWorld(t)
		a := w.turns(true)
		one := w.worker()
		commands := []worker.Queued{prompt("1"), command("2", ledger.Rename, "title", "-title"), cancel("3")}
		if late {
			handle(t, one, commands[:2]...)
			<-a.begun
			handle(t, one, commands[2:]...)
		} else {
			handle(t, one, commands...)
		}
		drain(t, one)
		a.wants("begin say 1", "cancel", "end say 1", "rename-title")
		w.quiet()
	}
}

func TestACancellationWaitsForThePromptThatIsStillInTheQueue(t *testing.T) {
	w := newWorld(t)
	a := w.turns(true)
	one := w.worker()
	handle(t, one, command("1", ledger.Rename, "title", "-a"), prompt("2"), command("3", ledger.Rename, "title", "-b"), cancel("4"))
	drain(t, one)
	a.wants("rename-a", "begin say 2", "cancel", "end say 2", "rename-b")
}

func TestACancellationComesAfterAPromptThatNeverReachedTheMilestone(t *testing.T) {
	w := newWorld(t)
	a := w.turns(false)
	one := w.worker()
	handle(t, one, prompt("1"), prompt("2"), cancel("3"))
	<-a.begun
	w.faults.fail = func(method string, id ledger.CommandID) (error, bool) {
		if method == "claim" && id.ID == "3" {
			w.wants("1", ledger.Succeeded, "") // its outcome is there first
		}
		return nil, false
	}
	a.release <- struct{}{}
	<-a.begun
	drain(t, one) // the second prompt ends by what the cancellation left
	a.wants("begin say 1", "end say 1", "cancel", "begin say 2", "end say 2")
}

func TestACancellationRunsInOrderWhenNothingIsToBeCancelled(t *testing.T) {
	w := newWorld(t)
	a := w.turns(true)
	one := w.worker()
	handle(t, one, command("1", ledger.Rename, "title", "-a"), cancel("2"), command("3", ledger.Rename, "title", "-b"))
	drain(t, one)
	a.wants("rename-a", "cancel", "rename-b")
}

func TestACancellationAfterAKnownPromptStillRuns(t *testing.T) {
	w := newWorld(t)
	a := w.turns(true)
	w.shared(there, ended("1", ledger.Succeeded))
	one := w.worker()
	handle(t, one, prompt("1"), cancel("2"))
	drain(t, one)
	a.wants("cancel")
	w.wants("2", ledger.Succeeded, "")
}

func TestTurnsThatHoldEveryRunnerCanBeCancelled(t *testing.T) {
	w := newWorld(t)
	w.options.Sessions = 2
	w.turns(true)
	one := w.worker()
	for i := range 6 {
		session := fmt.Sprint("s", i)
		handle(t, one, commandIn(session, session+"p", ledger.Prompt, "text", session), commandIn(session, session+"c", ledger.Cancel))
	}
	drain(t, one)
	if stats := one.Stats(); stats.Ran[ledger.Succeeded] != 12 {
		t.Errorf("stats %+v", stats)
	}
}

func TestNoTurnBeginsWhileACancellationOfTheOneBeforeRuns(t *testing.T) {
	w := newWorld(t)
	ended, canceled := make(chan struct{}), make(chan struct{})
	var events []string
	note := func(event string) { w.locked(func() { events = append(events, event) }) }
	w.agent.Act(func(_ context.Context, c fakedriver.Call, m collect.Milestones) (collect.Outcome, error) {
		switch {
		case c.Operation == "cancel":
			close(canceled)
			<-ended
			note("cancelled")
		case c.Text == "say 1":
			m.CancelReady()
			<-canceled
		default:
			note(c.Text)
		}
		return collect.Outcome{Status: collect.Succeeded}, nil
	})
	w.options.Observe = nil
	one := w.worker()
	// The first prompt's receipt is out before its cancellation comes to an end.
	w.faults.fail = func(method string, id ledger.CommandID) (error, bool) {
		if method == "publish" && id.ID == "1" {
			close(ended)
		}
		return nil, false
	}
	handle(t, one, prompt("1"), prompt("2"), cancel("3"))
	drain(t, one)
	if !slices.Equal(events, []string{"cancelled", "say 2"}) {
		t.Errorf("events %q", events)
	}
}

func TestAMilestoneAfterTheAnswerReleasesNoCancellation(t *testing.T) {
	w := newWorld(t)
	var kept collect.Milestones
	admitted, early := make(chan struct{}), make(chan struct{}, 1)
	w.agent.Act(func(_ context.Context, c fakedriver.Call, m collect.Milestones) (collect.Outcome, error) {
		if c.Operation == "prompt" {
			kept = m
			<-admitted
		}
		return collect.Outcome{Status: collect.Succeeded}, nil
	})
	w.faults.fail = func(method string, id ledger.CommandID) (error, bool) {
		switch {
		case method == "publish" && id.ID == "1":
			kept.CancelReady()
			select {
			case <-early:
				t.Error("the cancellation began before the prompt's outcome was out")
			case <-time.After(10 * time.Millisecond):
			}
		case method == "claim" && id.ID == "2":
			early <- struct{}{}
		}
		return nil, false
	}
	one := w.worker()
	handle(t, one, prompt("1"), cancel("2"))
	close(admitted)
	drain(t, one)
	w.calls(2)
	w.quiet()
}

func TestAMilestoneThatComesTwiceOrLateCountsForNothing(t *testing.T) {
	w := newWorld(t)
	var kept collect.Milestones
	w.agent.Act(func(_ context.Context, c fakedriver.Call, m collect.Milestones) (collect.Outcome, error) {
		if c.Operation == "prompt" {
			m.CancelReady()
			m.CancelReady()
			kept = m
		}
		return collect.Outcome{Status: collect.Succeeded}, nil
	})
	one := w.worker()
	handle(t, one, prompt("1"), cancel("2"))
	drain(t, one)
	kept.CancelReady()
	if err := kept.SessionActive(context.Background(), "s"); err == nil {
		t.Error("the session is active after the operation's end")
	}
	drain(t, one)
	w.calls(2)
	w.quiet()
}
