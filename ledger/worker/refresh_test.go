package worker_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"agentsync/collect"
	"agentsync/fixtures/fakedriver"
	"agentsync/ledger"
	"agentsync/ledger/worker"
)

// refreshes notes the rounds in which sessions are published anew.
func (w *world) refreshes() *[][]worker.Session {
	rounds := new([][]worker.Session)
	w.options.Refresh = func(_ context.Context, sessions []worker.Session) error {
		w.locked(func() { *rounds = append(*rounds, sessions) })
		return nil
	}
	return rounds
}

func TestASessionIsPublishedAnewWhenAnOperationMayHaveChangedIt(t *testing.T) {
	yes, no := []worker.Session{{SourceID: "codex", NativeSessionID: "s"}}, []worker.Session(nil)
	other := []worker.Session{{SourceID: "codex", NativeSessionID: "forked"}}
	for _, c := range []struct {
		name    string
		command worker.Queued
		outcome collect.Outcome
		want    []worker.Session
	}{
		{"a rename that succeeded", command("1", ledger.Rename, "title", "t"), collect.Outcome{Status: collect.Succeeded}, yes},
		{"a rename that failed", command("1", ledger.Rename, "title", "t"), collect.Outcome{Status: collect.Failed}, no},
		{"a prompt that failed", prompt("1"), collect.Outcome{Status: collect.Failed}, yes},
		{"a prompt of unknown outcome", prompt("1"), collect.Outcome{Status: collect.Unknown}, yes},
		{"a start that failed", command("1", ledger.Start, "text", "t"), collect.Outcome{Status: collect.Failed}, yes},
		{"a start that touched nothing", command("1", ledger.Start, "text", "t"), collect.Outcome{Status: collect.Succeeded, Untouched: true}, no},
		{"a prompt that went elsewhere", prompt("1"), collect.Outcome{Status: collect.Succeeded, Session: "forked"}, other},
		{"a prompt whose payload is wrong", command("1", ledger.Prompt), collect.Outcome{}, no},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			rounds := w.refreshes()
			w.acts(c.outcome, nil)
			w.mustRun(c.command)
			if got := slices.Concat(*rounds...); !slices.Equal(got, c.want) {
				t.Errorf("published %v, want %v", got, c.want)
			}
		})
	}
}

func TestAnActiveSessionIsPublishedWhileTheProviderWaits(t *testing.T) {
	w := newWorld(t)
	rounds := w.refreshes()
	w.agent.Act(func(ctx context.Context, c fakedriver.Call, m collect.Milestones) (collect.Outcome, error) {
		if err := m.SessionActive(ctx, c.Session); err != nil || len(*rounds) != 1 {
			t.Errorf("active: %v, %v", err, *rounds)
		}
		return collect.Outcome{Status: collect.Succeeded}, nil
	})
	w.mustRun(prompt("1"))
	if len(*rounds) != 2 {
		t.Errorf("rounds %v", *rounds)
	}
}

// TestEachSessionIsPublishedOnceByRoundsThatFollowEachOther lets nine commands end while the
// first round is held. How many of them have asked when it goes on is the scheduler's
// matter; that each session is in one round, the first alone, and none waits for ever, is not.
func TestEachSessionIsPublishedOnceByRoundsThatFollowEachOther(t *testing.T) {
	w := newWorld(t)
	first, all := make(chan struct{}), make(chan struct{})
	var rounds [][]worker.Session
	running := 0
	w.options.Refresh = func(_ context.Context, sessions []worker.Session) error {
		w.locked(func() {
			if running++; running > 1 {
				t.Error("two rounds at once")
			}
			if rounds = append(rounds, sessions); len(rounds) == 1 {
				close(first)
			}
		})
		<-all
		w.locked(func() { running-- })
		return nil
	}
	w.options.Sessions = 9
	ended := make(chan struct{}, 9)
	w.agent.Act(func(_ context.Context, c fakedriver.Call, _ collect.Milestones) (collect.Outcome, error) {
		if c.Session != "0" {
			<-first
		}
		ended <- struct{}{}
		return collect.Outcome{Status: collect.Succeeded}, nil
	})
	one := w.worker()
	for i := range 9 {
		handle(t, one, commandIn(fmt.Sprint(i), fmt.Sprint(i), ledger.Rename, "title", "t"))
	}
	for range 9 {
		<-ended
	}
	close(all)
	drain(t, one)
	published := slices.Concat(rounds...)
	slices.SortFunc(published, func(a, b worker.Session) int { return strings.Compare(a.NativeSessionID, b.NativeSessionID) })
	if len(published) != 9 || len(slices.Compact(published)) != 9 || len(rounds[0]) != 1 || rounds[0][0].NativeSessionID != "0" {
		t.Errorf("rounds of %v", rounds)
	}
}

func TestARefreshThatFailsIsAFailureAndChangesNoReceipt(t *testing.T) {
	w := newWorld(t)
	away := errors.New("the store is away")
	w.options.Refresh = func(context.Context, []worker.Session) error { return away }
	w.fails("1", away, prompt("1"))
	w.wants("1", ledger.Succeeded, "")
	w.quiet()
}

func TestARefreshThatPanicsIsAFailureAndTheOthersGoOn(t *testing.T) {
	w := newWorld(t)
	w.options.Refresh = func(_ context.Context, sessions []worker.Session) error {
		if slices.Contains(sessions, worker.Session{SourceID: "codex", NativeSessionID: "s"}) {
			panic("a session that no driver can read")
		}
		return nil
	}
	var broken *worker.PanicError
	if _, err := w.run(prompt("1"), commandIn("other", "2", ledger.Prompt, "text", "t")); !errors.As(err, &broken) {
		t.Errorf("%v", err)
	}
	w.wants("1", ledger.Succeeded, "")
	w.wants("2", ledger.Succeeded, "")
	w.quiet()
}

func TestAStartIsPublishedUnderTheIDThatItsProviderGave(t *testing.T) {
	w := newWorld(t)
	rounds := w.refreshes()
	w.agent.Act(func(ctx context.Context, _ fakedriver.Call, m collect.Milestones) (collect.Outcome, error) {
		return collect.Outcome{Status: collect.Succeeded, Session: "minted"}, m.SessionActive(ctx, "minted")
	})
	w.mustRun(command("1", ledger.Start, "text", "begin"))
	for _, round := range *rounds {
		for _, s := range round {
			if s.NativeSessionID != "minted" {
				t.Errorf("published %v", *rounds)
			}
		}
	}
	if len(*rounds) != 2 {
		t.Errorf("published %v", *rounds)
	}
}

func TestAnActiveSessionThatCannotBePublishedIsAFailureOnce(t *testing.T) {
	w := newWorld(t)
	away := errors.New("the store is away")
	w.options.Refresh = func(context.Context, []worker.Session) error { return away }
	w.agent.Act(func(ctx context.Context, c fakedriver.Call, m collect.Milestones) (collect.Outcome, error) {
		if err := m.SessionActive(ctx, c.Session); !errors.Is(err, away) {
			t.Errorf("active: %v", err)
		}
		return collect.Outcome{Status: collect.Succeeded, Untouched: true}, nil
	})
	w.fails("1", away, prompt("1"))
	w.wants("1", ledger.Succeeded, "")
}

func TestAnInterruptedOperationDoesNotWaitForItsSession(t *testing.T) {
	w := newWorld(t)
	begun, finish := make(chan struct{}, 9), make(chan struct{})
	w.options.Refresh = func(context.Context, []worker.Session) error {
		begun <- struct{}{}
		<-finish
		return nil
	}
	w.agent.Act(func(ctx context.Context, c fakedriver.Call, m collect.Milestones) (collect.Outcome, error) {
		defer close(finish)
		return collect.Outcome{}, m.SessionActive(ctx, c.Session)
	})
	one := w.worker()
	w.begin(one, begun, prompt("1"))
	one.Interrupt()
	drain(t, one)
	w.wants("1", ledger.Unknown, "interrupted-by-shutdown")
}
