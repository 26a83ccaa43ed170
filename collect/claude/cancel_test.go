package claude

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
)

// running is a prompt under way.
type running struct {
	stones *stones
	begun  chan struct{} // closed at SessionActive
	done   chan collect.Outcome
}

// under begins a prompt in a goroutine that the test waits for.
func (w *workshop) under(ctx context.Context, id string) *running {
	w.t.Helper()
	r := &running{begun: make(chan struct{}), done: make(chan collect.Outcome, 1)}
	r.stones = &stones{active: func(context.Context) error { close(r.begun); return nil }}
	go func() {
		o, err := w.driver.Prompt(ctx, id, collect.PromptInput{Text: "Do it."}, r.stones)
		if err != nil {
			w.t.Error(err)
		}
		r.done <- o
	}()
	return r
}

func TestAnInterruptedPromptIsCancelled(t *testing.T) {
	w := newWorkshop(t, "wait")
	id := w.session(1)
	r := w.under(context.Background(), id)
	<-r.begun
	o, err := w.driver.Cancel(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, o, collect.Succeeded, "")
	wantOutcome(t, <-r.done, collect.Failed, "cancelled")
	if ready, begun := r.stones.seen(); ready != 1 || begun != 1 {
		t.Errorf("milestones %d %d", ready, begun)
	}
	o, _ = w.driver.Cancel(context.Background(), id)
	wantOutcome(t, o, collect.Failed, "claude-not-running")
}

func TestACancellationBeforeTheQueryKeepsItFromBeingSent(t *testing.T) {
	w := newWorkshop(t, "")
	id := w.session(1)
	found, cancelled := make(chan struct{}), make(chan struct{})
	w.driver.resolve = func(path string) (string, error) { return path, nil }
	m := &readyStone{func() {
		close(found)
		<-cancelled
	}}
	done := make(chan collect.Outcome, 1)
	go func() {
		o, err := w.driver.Prompt(context.Background(), id, collect.PromptInput{Text: "Do it."}, m)
		if err != nil {
			t.Error(err)
		}
		done <- o
	}()
	<-found
	go func() {
		o, err := w.driver.Cancel(context.Background(), id)
		if err != nil {
			t.Error(err)
		}
		done <- o
	}()
	for w.driver.turns.find(id).wanted() {
		time.Sleep(time.Millisecond)
	}
	close(cancelled)
	for range 2 {
		if o := <-done; o.Status == collect.Failed {
			wantOutcome(t, o, collect.Failed, "cancelled")
		} else {
			wantOutcome(t, o, collect.Succeeded, "")
		}
	}
	if got := w.logged("args"); len(got) != 0 {
		t.Errorf("the program was run: %s", got)
	}
}

type readyStone struct{ ready func() }

func (s *readyStone) CancelReady()                                { s.ready() }
func (s *readyStone) SessionActive(context.Context, string) error { return errors.New("never begun") }

func TestACancellationAtAnyMomentIsNotLost(t *testing.T) {
	w := newWorkshop(t, "wait")
	id := w.session(1)
	moments := 10
	if testing.Short() {
		moments = 3
	}
	for moment := range moments {
		r := w.under(context.Background(), id)
		for w.driver.turns.find(id) == nil {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Duration(moment) * 5 * time.Millisecond)
		o, err := w.driver.Cancel(context.Background(), id)
		if err != nil {
			t.Fatal(err)
		}
		wantOutcome(t, o, collect.Succeeded, "")
		wantOutcome(t, <-r.done, collect.Failed, "cancelled")
	}
}

func TestAProgramThatHearsNothingIsEndedAndItsPromptUnknown(t *testing.T) {
	w := newWorkshop(t, "hang")
	w.driver.patience.cancel = 200 * time.Millisecond
	id := w.session(1)
	r := w.under(context.Background(), id)
	<-r.begun
	begun := time.Now()
	o, err := w.driver.Cancel(context.Background(), id)
	if err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, o, collect.Unknown, "claude-cancel-outcome-unknown")
	wantOutcome(t, <-r.done, collect.Unknown, "claude-query-outcome-unknown")
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestTheEndOfTheContextInterrupts(t *testing.T) {
	w := newWorkshop(t, "wait")
	ctx, end := context.WithCancel(context.Background())
	r := w.under(ctx, w.session(1))
	<-r.begun
	end()
	wantOutcome(t, <-r.done, collect.Failed, "cancelled")
}

func TestStopEndsEveryProgramAndRefusesMore(t *testing.T) {
	w := newWorkshop(t, "wait")
	one, two := w.under(context.Background(), w.session(1)), w.under(context.Background(), w.session(2))
	<-one.begun
	<-two.begun
	if err := w.driver.Stop(); err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, <-one.done, collect.Failed, "cancelled")
	wantOutcome(t, <-two.done, collect.Failed, "cancelled")
	o := w.prompt(u(1), "More.")
	wantOutcome(t, o, collect.Failed, "claude-driver-stopped")
	if !o.Problem.Retryable || len(w.logged("args")) != 2 {
		t.Errorf("%+v after %d runs", o.Problem, len(w.logged("args")))
	}
}

func TestAProgramThatNeverAnswersIsEndedBeforeThePrompt(t *testing.T) {
	w := newWorkshop(t, "no-answer")
	w.driver.patience.answer = 200 * time.Millisecond
	o := w.prompt(w.session(1), "Do it.")
	wantOutcome(t, o, collect.Failed, "claude-query-failed")
	for _, line := range w.logged("line") {
		if strings.Contains(string(line), "Do it.") {
			t.Error("the prompt was sent")
		}
	}
}

func TestAProgramThatDoesNotEndAfterItsResultIsEnded(t *testing.T) {
	w := newWorkshop(t, "linger")
	w.driver.patience.linger = 200 * time.Millisecond
	wantOutcome(t, w.prompt(w.session(1), "Do it."), collect.Succeeded, "")
}

func TestBackgroundWorkIsWaitedFor(t *testing.T) {
	w := newWorkshop(t, "background")
	w.driver.patience.linger = 400 * time.Millisecond
	wantOutcome(t, w.prompt(w.session(1), "Do it."), collect.Succeeded, "")
	h := read(t, w.driver, u(1), nil)
	if last := h.messages[len(h.messages)-1].Preview; last != "ok: background" {
		t.Errorf("the last message is %q: the program was ended before", last)
	}
}

func TestTwoPromptsInOneSession(t *testing.T) {
	w := newWorkshop(t, "wait")
	id := w.session(1)
	r := w.under(context.Background(), id)
	<-r.begun
	wantOutcome(t, w.prompt(id, "Another."), collect.NeedsConfirmation, "already-active")
	if _, err := w.driver.Cancel(context.Background(), id); err != nil {
		t.Fatal(err)
	}
	<-r.done
}

func TestASessionIsActiveWhileItsPromptRuns(t *testing.T) {
	w := newWorkshop(t, "")
	id, other := w.session(1), w.session(2)
	state := func(id string) (list, summary, history *bool) {
		t.Helper()
		if s := listing(t, inventory(t, w.driver), id).Summary; s != nil {
			list = s.Active
		}
		s, err := w.driver.Summarize(context.Background(), id)
		if err != nil {
			t.Error(err)
		}
		return list, s.Active, read(t, w.driver, id, nil).trailer.Summary.Active
	}
	m := &stones{active: func(context.Context) error {
		time.Sleep(100 * time.Millisecond) // the turn is over by now
		for _, active := range pointers(state(id)) {
			if active == nil || !*active {
				t.Error("a session is not active while its prompt runs")
			}
		}
		for _, active := range pointers(state(other)) {
			if active != nil {
				t.Error("another session is said to be active or not")
			}
		}
		return nil
	}}
	if _, err := w.driver.Prompt(context.Background(), id, collect.PromptInput{Text: "Do it."}, m); err != nil {
		t.Fatal(err)
	}
	for _, active := range pointers(state(id)) {
		if active != nil {
			t.Error("a session is said to be active or not after its prompt")
		}
	}
	if _, begun := m.seen(); begun != 1 {
		t.Errorf("SessionActive was called %d times", begun)
	}
}

func pointers(a, b, c *bool) []*bool { return []*bool{a, b, c} }
