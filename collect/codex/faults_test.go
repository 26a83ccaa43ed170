package codex

import (
	"context"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"agentsync/collect"
)

// secret stands in every prompt of a faulty agent and in no outcome.
const secret = "Tell nobody of the plan."

func TestAPromptsOutcomeIsWhatWasProven(t *testing.T) {
	for _, one := range []struct {
		words  string
		status collect.Status
		code   string
	}{
		{"", collect.Succeeded, ""},
		{"early", collect.Succeeded, ""},
		{"early, answer-twice", collect.Succeeded, ""},
		{"answer-twice", collect.Succeeded, ""},
		{"collide", collect.Succeeded, ""},
		{"noise", collect.Succeeded, ""},
		{"ask-approval", collect.Succeeded, ""},
		{"ask-unknown", collect.Succeeded, ""},
		{"ask-approval, collide", collect.Succeeded, ""},
		{"fail", collect.Failed, codeTurnFailed},
		{"end-oddly", collect.Unknown, codeTurnUnknown},
		{"active", collect.NeedsConfirmation, codeActive},
		{"writer", collect.Failed, codeInUse},
		{"archived", collect.Failed, codeArchived},
		{"exit-before-answer", collect.Unknown, codeTurnUnknown},
		{"exit-after-answer", collect.Unknown, codeTurnUnknown},
		{"exit-mid-line", collect.Unknown, codeTurnUnknown},
		{"no-turn-id", collect.Unknown, codeMissingTurn},
		{"exit-at-start", collect.Failed, codeUnavailable},
		{"refuse-init", collect.Failed, codeUnavailable},
	} {
		transports := []string{transportStdio, transportProxy}
		if testing.Short() {
			transports = transports[:1]
		}
		for _, transport := range transports {
			t.Run(one.words+" over "+transport, func(t *testing.T) {
				t.Parallel()
				cfg := fakeConfig(t, one.words)
				cfg.CodexTransport = transport
				writeThread(t, cfg.CodexHome)
				m := newMilestones()
				o := prompt(t, fakeDriver(t, cfg), madeID(1), secret, m)
				wantOutcome(t, o, one.status, one.code)
				quotesNothing(t, o)
				if o.Untouched && len(m.told) > 0 {
					t.Errorf("milestones %v of a turn that never was", m.told)
				}
				if o.Status == collect.Succeeded && strings.Join(m.told, " ") != "cancel-ready session-active" {
					t.Errorf("milestones %v", m.told)
				}
			})
		}
	}
}

// quotesNothing checks that an outcome tells nothing that was said.
func quotesNothing(t *testing.T, o collect.Outcome) {
	t.Helper()
	text := string(o.Result.Str())
	if o.Problem != nil {
		text += o.Problem.Error()
	}
	for key, member := range o.Result.Members() {
		text += string(key) + member.Str()
	}
	if strings.Contains(text, secret) || strings.Contains(text, "said no") {
		t.Errorf("the outcome quotes the conversation: %s", text)
	}
}

func TestAnAnswerThatNeverComesEndsTheServer(t *testing.T) {
	t.Parallel()
	d, id := faulty(t, "mute")
	s, err := d.live.reach(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.limits.request = 1500 * time.Millisecond
	wantOutcome(t, prompt(t, d, id, secret, newMilestones()), collect.Unknown, codeTurnUnknown)
	if d.live.server != nil {
		t.Error("a server that does not answer is kept")
	}
}

func TestTheContextsEndInterruptsTheTurn(t *testing.T) {
	for words, want := range map[string]struct {
		status collect.Status
		code   string
	}{"hang": {collect.Failed, codeCancelled}, "deaf": {collect.Unknown, codeTurnUnknown}} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			d, id := faulty(t, words)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			m := newMilestones()
			m.look = cancel
			began := time.Now()
			o, err := d.Prompt(ctx, id, collect.PromptInput{Text: secret}, m)
			if err != nil {
				t.Fatal(err)
			}
			wantOutcome(t, o, want.status, want.code)
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}

func TestTwoThreadsAtOnceEndOnTheirOwn(t *testing.T) {
	t.Parallel()
	d, first := faulty(t, "")
	second := start(t, d, "Begin.")
	hanging := newMilestones()
	var waiting sync.WaitGroup
	waiting.Go(func() {
		o := prompt(t, d, first, "Wait. [[fake: hang]]", hanging)
		if o.Problem == nil || o.Problem.Code != codeCancelled {
			t.Errorf("the first thread's turn: %+v", o)
		}
	})
	<-hanging.active
	if s := summaryOf(t, d, first); s.Active == nil || !*s.Active {
		t.Error("the first thread is not active")
	}
	if s := summaryOf(t, d, second); s.Active != nil {
		t.Error("the second thread is active")
	}
	wantOutcome(t, prompt(t, d, second, "Go on.", newMilestones()), collect.Succeeded, "")
	wantOutcome(t, prompt(t, d, first, "Join?", newMilestones()), collect.NeedsConfirmation, codeActive)
	if o, _ := d.Cancel(t.Context(), second); o.Problem == nil || o.Problem.Code != codeNoTurn {
		t.Errorf("cancelled where nothing runs: %+v", o)
	}
	o, _ := d.Cancel(t.Context(), first)
	wantOutcome(t, o, collect.Succeeded, "")
	waiting.Wait()
}

func TestAFloodCostsNoMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("moves more than 60 MB")
	}
	d, id := faulty(t, "flood")
	before := heap()
	wantOutcome(t, prompt(t, d, id, "Go on.", newMilestones()), collect.Succeeded, "")
	if grown := heap() - before; grown > 4<<20 {
		t.Errorf("%d bytes are kept after 100,000 notifications", grown)
	}
	stopped(t, d)
	d, id = faulty(t, "long-line")
	wantOutcome(t, prompt(t, d, id, "Go on.", newMilestones()), collect.Succeeded, "")
	stopped(t, d)
	if grown := heap() - before; grown > 8<<20 {
		t.Errorf("%d bytes are kept after a line of 50 MB", grown)
	}
}

// heap is how much is in use after a collection, in bytes.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestWhatIsLeftOfAnAgentIsEnded(t *testing.T) {
	for _, words := range []string{"fork-child", "stubborn", "fork-child, exit-after-answer"} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			if runtime.GOOS == "windows" {
				t.Skip("the stand-in's child is a Unix program")
			}
			d, id := faulty(t, words)
			prompt(t, d, id, "Go on.", newMilestones())
			stopped(t, d)
			noneLeft(t, d.homes[0].dir)
		})
	}
}

func TestANewServerTakesTheEndedOnesPlace(t *testing.T) {
	t.Parallel()
	d, id := faulty(t, "")
	wantOutcome(t, prompt(t, d, id, "End. [[fake: exit-after-answer]]", newMilestones()), collect.Unknown, codeTurnUnknown)
	wantOutcome(t, prompt(t, d, id, "Go on.", newMilestones()), collect.Succeeded, "")
	stopped(t, d)
	wantOutcome(t, prompt(t, d, id, "Go on.", newMilestones()), collect.Failed, codeStopped)
}

func TestReadingStartsNoServer(t *testing.T) {
	t.Parallel()
	d, id := faulty(t, "exit-at-start")
	list(t, d)
	summaryOf(t, d, id)
	read(t, d, id, nil)
	if o, err := d.Investigate(t.Context(), id, collect.Trace{Operation: "prompt", Text: "Begin."}); err != nil || o.Status != collect.Succeeded {
		t.Errorf("investigated: %+v, %v", o, err)
	}
	if d.live.server != nil {
		t.Error("a server runs")
	}
}

func TestManagedStartsTheDaemonFirst(t *testing.T) {
	t.Parallel()
	d, id := faulty(t, "")
	for words, status := range map[string]collect.Status{"": collect.Succeeded, "no-daemon": collect.Failed} {
		cfg := fakeConfig(t, words)
		cfg.CodexHome, cfg.CodexTransport = d.homes[0].dir, transportManaged
		o := prompt(t, fakeDriver(t, cfg), id, "Go on.", newMilestones())
		if o.Status != status || status == collect.Failed && o.Problem.Code != codeUnavailable {
			t.Errorf("%q: %+v", words, o)
		}
	}
}

func TestAProgramThatIsNotThereIsNoServer(t *testing.T) {
	t.Parallel()
	cfg := fakeConfig(t, "")
	for _, program := range []string{"no-such-program", cfg.Cwd + "/none", os.DevNull} {
		cfg.CodexBin = program
		o := prompt(t, fakeDriver(t, cfg), madeID(1), secret, newMilestones())
		wantOutcome(t, o, collect.Failed, codeUnavailable)
		if !o.Problem.Retryable || !o.Untouched {
			t.Errorf("outcome %+v", o)
		}
	}
}
