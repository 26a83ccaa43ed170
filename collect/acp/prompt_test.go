package acp

import (
	"context"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
)

func prompt(s *stage, session string, m *milestones) (collect.Outcome, error) {
	return s.Prompt(s.t.Context(), session, collect.PromptInput{Text: secret}, m)
}

func TestAPromptResumesTheSessionAndWaitsForItsTurn(t *testing.T) {
	s := newStage(t, "answer-twice")
	s.seed("one", "Hello.", "Hi.")
	s.begin()
	m := &milestones{}
	o, err := prompt(s, "one", m)
	wantOutcome(t, o, err, collect.Succeeded, "")
	if resultText(o, "stopReason") != "end_turn" || o.Untouched || m.ready != 1 || m.active != 1 {
		t.Errorf("outcome %+v, milestones %d, %d", o, m.ready, m.active)
	}
	if len(s.received(methodResume)) != 1 || len(s.received(methodLoad)) != 0 || len(s.received(methodPrompt)) != 1 {
		t.Errorf("resumed %d, loaded %d, prompted %d times", len(s.received(methodResume)), len(s.received(methodLoad)), len(s.received(methodPrompt)))
	}
	if h := mustRead(t, s.Driver, "one"); len(h.messages) != 4 || h.messages[2].Preview != secret {
		t.Errorf("messages %+v", h.messages)
	}
}

func TestAPromptLoadsWhereTheAgentCannotResume(t *testing.T) {
	s := newStage(t, "no-resume")
	s.seed("one", "Hello.")
	o, err := prompt(s.begin(), "one", &milestones{})
	wantOutcome(t, o, err, collect.Succeeded, "")
	if len(s.received(methodResume)) != 0 || len(s.received(methodLoad)) != 1 {
		t.Error("it was not loaded")
	}
}

func TestHowPromptsEnd(t *testing.T) {
	for _, row := range []struct {
		words    string
		status   collect.Status
		code     string
		restarts bool // the agent is started anew for what comes next
	}{
		{"refuse-prompt", collect.Failed, codeRefused, false},
		{"exit-on-prompt", collect.Unknown, codePromptUnknown, true},
		{"exit-mid-line", collect.Unknown, codePromptUnknown, true},
		{"no-reason", collect.Unknown, codePromptUnknown, false},
		{"stderr", collect.Succeeded, "", false},
		{"flood", collect.Succeeded, "", false},
		{"state", collect.Succeeded, "", false},
	} {
		t.Run(row.words, func(t *testing.T) {
			if row.words == "flood" && testing.Short() {
				t.Skip("many updates")
			}
			s := newStage(t, row.words)
			s.seed("one", "Hello.")
			s.begin()
			before := heap()
			o, err := prompt(s, "one", &milestones{})
			wantOutcome(t, o, err, row.status, row.code)
			if grown := heap() - before; grown > 2<<20 {
				t.Errorf("%d bytes more memory", grown)
			}
			s.words("")
			if _, err := read(t, s.Driver, "one"); err != nil {
				t.Errorf("reading after it: %v", err)
			}
			if got := len(s.received(methodInitialize)); got != 1 && !row.restarts || got != 2 && row.restarts {
				t.Errorf("%d processes", got)
			}
			if got := len(s.received(methodPrompt)); got != 1 {
				t.Errorf("prompted %d times", got)
			}
		})
	}
}

func TestAPromptOfAMissingSessionReachesNobody(t *testing.T) {
	s := begin(t, "")
	m := &milestones{}
	o, err := prompt(s, "none", m)
	wantOutcome(t, o, err, collect.Failed, codeNoSession)
	if !o.Untouched || m.ready+m.active > 0 || len(s.received(methodPrompt)) > 0 {
		t.Errorf("outcome %+v, milestones %+v", o, m)
	}
}

func TestCancellingTheTurnOfAPrompt(t *testing.T) {
	s := newStage(t, "slow")
	s.seed("one", "Hello.")
	s.begin()
	var second, setting, cancelled collect.Outcome
	m := &milestones{onActive: func() {
		second, _ = prompt(s, "one", &milestones{})
		setting, _ = s.SetMode(t.Context(), "one", "act")
		cancelled, _ = s.Cancel(t.Context(), "one")
	}}
	o, err := prompt(s, "one", m)
	wantOutcome(t, o, err, collect.Failed, codeCancelled)
	wantOutcome(t, second, nil, collect.NeedsConfirmation, codeActive)
	wantOutcome(t, setting, nil, collect.NeedsConfirmation, codeActive)
	wantOutcome(t, cancelled, nil, collect.Succeeded, "")
	o, err = s.Cancel(t.Context(), "one")
	wantOutcome(t, o, err, collect.Failed, codeNotActive)
	if len(s.received(methodCancel)) != 1 || len(s.received(methodPrompt)) != 1 {
		t.Errorf("cancelled %d, prompted %d times", len(s.received(methodCancel)), len(s.received(methodPrompt)))
	}
}

func TestATurnThatWasToBeCancelledAndEndedOtherwiseIsUnknown(t *testing.T) {
	s := newStage(t, "slow,early-cancel")
	s.seed("one", "Hello.")
	s.begin()
	var cancelled collect.Outcome
	o, err := prompt(s, "one", &milestones{onActive: func() { cancelled, _ = s.Cancel(t.Context(), "one") }})
	wantOutcome(t, o, err, collect.Unknown, codePromptUnknown)
	wantOutcome(t, cancelled, nil, collect.Unknown, codeCancelUnknown)
}

func TestATurnThatEndedBeforeItsCancellationStandsAsItEnded(t *testing.T) {
	s := newStage(t, "")
	s.seed("one", "Hello.")
	s.begin()
	var cancelled collect.Outcome
	o, err := prompt(s, "one", &milestones{onActive: func() {
		<-s.running["one"].ended
		cancelled, _ = s.Cancel(t.Context(), "one")
	}})
	wantOutcome(t, o, err, collect.Succeeded, "")
	wantOutcome(t, cancelled, nil, collect.Failed, codeNotCancelled)
	if len(s.received(methodCancel)) > 0 {
		t.Error("the agent was asked to cancel a turn that had ended")
	}
}

func TestACancellationThatTheAgentIgnoresIsUnknown(t *testing.T) {
	s := newStage(t, "hang")
	s.limits.grace = 50 * time.Millisecond
	s.seed("one", "Hello.")
	s.begin()
	ctx, interrupt := context.WithCancel(t.Context())
	var cancelled collect.Outcome
	m := &milestones{onActive: func() { cancelled, _ = s.Cancel(t.Context(), "one"); interrupt() }}
	o, err := s.Prompt(ctx, "one", collect.PromptInput{Text: secret}, m)
	wantOutcome(t, o, err, collect.Unknown, codePromptUnknown)
	wantOutcome(t, cancelled, nil, collect.Unknown, codeCancelUnknown)
}

func TestTheEndOfAPassCancelsAPrompt(t *testing.T) {
	s := newStage(t, "slow")
	s.seed("one", "Hello.")
	s.begin()
	ctx, interrupt := context.WithCancel(t.Context())
	o, err := s.Prompt(ctx, "one", collect.PromptInput{Text: secret}, &milestones{onActive: interrupt})
	wantOutcome(t, o, err, collect.Failed, codeCancelled)
	o, err = s.Prompt(ctx, "one", collect.PromptInput{Text: secret}, &milestones{})
	wantOutcome(t, o, err, collect.Failed, codeInterrupted)
	if len(s.received(methodPrompt)) != 1 {
		t.Error("a prompt was sent after the end of the pass")
	}
}

func TestASourceThatStopsLeavesAPromptUnknown(t *testing.T) {
	s := newStage(t, "hang")
	s.limits.grace = 50 * time.Millisecond
	s.seed("one", "Hello.")
	s.begin()
	o, err := prompt(s, "one", &milestones{onActive: func() { _ = s.Stop() }})
	wantOutcome(t, o, err, collect.Unknown, codePromptUnknown)
	o, err = prompt(s, "one", &milestones{})
	wantOutcome(t, o, err, collect.Failed, codeUnavailable)
}

func TestASessionIsReadWhileAPromptRunsInIt(t *testing.T) {
	s := newStage(t, "slow")
	s.seed("one", "Hello.", "Hi.")
	s.begin()
	var h replayed
	m := &milestones{onActive: func() {
		s.wantSaved("one", secret) // it is sent; the agent has yet to take it
		h = mustRead(t, s.Driver, "one")
		if list, _ := inventory(t, s.Driver); list[0].Summary.Active == nil || !*list[0].Summary.Active {
			t.Error("it is not listed as active")
		}
		_, _ = s.Cancel(t.Context(), "one")
	}}
	o, err := prompt(s, "one", m)
	wantOutcome(t, o, err, collect.Failed, codeCancelled)
	if len(h.messages) != 3 || h.trailer.Summary.Active == nil || !*h.trailer.Summary.Active {
		t.Errorf("read meanwhile: %+v, %+v", h.messages, h.trailer.Summary)
	}
	if h := mustRead(t, s.Driver, "one"); h.trailer.Summary.Active != nil {
		t.Error("it stays active")
	}
	if got := len(s.received(methodInitialize)); got != 2 {
		t.Errorf("%d processes: the one that works must not be asked to load", got)
	}
}

func TestAnAgentThatAsksIsRefused(t *testing.T) {
	s := newStage(t, "ask-approval")
	s.seed("one", "Hello.")
	s.begin()
	o, err := prompt(s, "one", &milestones{})
	wantOutcome(t, o, err, collect.Succeeded, "")
	h := mustRead(t, s.Driver, "one")
	want := `{"outcome":{"outcome":"cancelled"}} and `
	if last := h.messages[len(h.messages)-1].Preview; !strings.HasSuffix(last, want) {
		t.Errorf("the agent was answered %q", last)
	}
}
