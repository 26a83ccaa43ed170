package acp

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
)

func start(s *stage, in collect.StartInput, m *milestones) (collect.Outcome, error) {
	in.Text = secret
	return s.StartSession(s.t.Context(), "asked-for", in, m)
}

func TestAStartMakesASessionWhoseIDTheAgentChose(t *testing.T) {
	s := begin(t, "modes")
	m := &milestones{}
	o, err := start(s, collect.StartInput{Mode: "act", Title: "A title"}, m)
	wantOutcome(t, o, err, collect.Succeeded, "")
	want := map[string]string{"nativeSessionId": "ses_0001", "startedAs": "asked-for", "cwd": s.cfg.Cwd, "stopReason": "end_turn", "title": "not-supported"}
	for key, text := range want {
		if resultText(o, key) != text {
			t.Errorf("%s is %q", key, resultText(o, key))
		}
	}
	if o.Session != "ses_0001" || o.Untouched || m.ready != 1 || m.active != 1 {
		t.Errorf("outcome %+v", o)
	}
	if sum, err := s.Summarize(t.Context(), "ses_0001"); err != nil || sum.StartedAs != "asked-for" {
		t.Errorf("its summary says that it was started as %q, %v", sum.StartedAs, err)
	}
	if sent := s.received(methodSetMode); len(sent) != 1 || s.wanted.of("ses_0001").Mode != "act" {
		t.Errorf("modes set: %q", sent)
	}
	h := mustRead(t, s.Driver, "ses_0001")
	if len(h.messages) != 2 || h.messages[0].Preview != secret {
		t.Errorf("messages %+v", h.messages)
	}
}

func TestAStartIsCancelledUnderTheIDThatWasAskedFor(t *testing.T) {
	s := begin(t, "slow")
	var cancelled collect.Outcome
	m := &milestones{onActive: func() { cancelled, _ = s.Cancel(t.Context(), "asked-for") }}
	o, err := start(s, collect.StartInput{}, m)
	wantOutcome(t, o, err, collect.Failed, codeCancelled)
	wantOutcome(t, cancelled, nil, collect.Succeeded, "")
	if o.Session != "ses_0001" || resultText(o, "nativeSessionId") != "ses_0001" || s.runs("ses_0001") || s.runs("asked-for") {
		t.Errorf("outcome %+v", o)
	}
}

func TestAStartThatFailsKeepsNoMode(t *testing.T) {
	s := begin(t, "modes,refuse-prompt")
	o, err := start(s, collect.StartInput{Mode: "act"}, &milestones{})
	wantOutcome(t, o, err, collect.Failed, codeRefused)
	if o.Session != "ses_0001" || s.wanted.of("ses_0001").Mode != "" {
		t.Errorf("outcome %+v, wanted %+v", o, s.wanted.of("ses_0001"))
	}
}

func TestAStartInAModeThatIsNotOfferedSendsNoPrompt(t *testing.T) {
	s := begin(t, "modes")
	o, err := start(s, collect.StartInput{Mode: secret}, &milestones{})
	wantOutcome(t, o, err, collect.Unsupported, codeModeUnoffered)
	if len(s.received(methodPrompt)) > 0 || o.Session != "ses_0001" {
		t.Errorf("outcome %+v", o)
	}
}

func TestAStartOfWhichNobodySawTheEndIsUnknown(t *testing.T) {
	for words, code := range map[string]string{"exit-on-new": codeStartUnknown, "exit-on-prompt": codePromptUnknown} {
		s := begin(t, words)
		o, err := start(s, collect.StartInput{}, &milestones{})
		wantOutcome(t, o, err, collect.Unknown, code)
		if len(s.received(methodNew)) != 1 {
			t.Errorf("%s: made %d sessions", words, len(s.received(methodNew)))
		}
	}
}

func TestWhereAStartMayRun(t *testing.T) {
	folder := t.TempDir()
	for _, row := range []struct {
		name, own, asked string
		cwd, code        string
	}{
		{"in the source's directory", folder, "", folder, ""},
		{"below it", folder, filepath.Join(folder, "sub", "..", "app"), filepath.Join(folder, "app"), ""},
		{"beside it", folder, folder + "-other", "", codeOutside},
		{"above it", folder, filepath.Dir(folder), "", codeOutside},
		{"anywhere, for a source without one", "", folder, folder, ""},
		{"nowhere", "", "", "", codeCwd},
		{"at no absolute path", "", "app", "", codeCwd},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := &Driver{cfg: collect.SourceConfig{Cwd: row.own}}
			cwd, failed := d.directory(row.asked)
			if row.code == "" && (failed != nil || cwd != row.cwd) {
				t.Errorf("%q, %+v", cwd, failed)
			}
			if row.code != "" {
				if failed == nil {
					t.Fatalf("allowed in %s", cwd)
				}
				wantOutcome(t, *failed, nil, collect.Failed, row.code)
			}
		})
	}
}

func TestRenamingIsUnsupported(t *testing.T) {
	o, err := (&Driver{}).Rename(t.Context(), "one", "A title")
	wantOutcome(t, o, err, collect.Unsupported, "unsupported")
}

func TestALoadThatBringsNothingIsGivenUp(t *testing.T) {
	s := newStage(t, "hang-load")
	s.limits.idle = 100 * time.Millisecond
	s.seed("one", "Hello.")
	s.begin()
	for _, says := range []string{"sent nothing", "still being loaded"} {
		if _, err := read(t, s.Driver, "one"); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("error %v", err)
		}
	}
	if len(s.received(methodLoad)) != 1 {
		t.Error("the session was loaded again while its first load was not answered")
	}
}

func TestALateAnswerEndsALoadThatWasGivenUp(t *testing.T) {
	s := newStage(t, "late-load")
	s.limits.idle = 200 * time.Millisecond
	s.seed("one", "Hello.")
	s.begin()
	if _, err := read(t, s.Driver, "one"); err == nil {
		t.Fatal("a load without an answer was taken for complete")
	}
	if _, err := s.ListSessions(t.Context(), ""); err != nil { // this brings the late answer
		t.Fatal(err)
	}
	a, err := s.live(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := a.acquire(t.Context(), "one"); err != nil {
		t.Errorf("the session's turn is not free: %v", err)
	}
}

func TestAnAgentThatEndsWithinALoadIsStartedAgain(t *testing.T) {
	s := newStage(t, "exit-on-load")
	s.seed("one", "Hello.")
	s.begin()
	if _, err := read(t, s.Driver, "one"); err == nil {
		t.Fatal("half a replay was taken for a history")
	}
	s.words("")
	mustRead(t, s.Driver, "one")
}

func TestAnAgentThatAlwaysEndsIsGivenUp(t *testing.T) {
	if testing.Short() {
		t.Skip("many processes")
	}
	s := newStage(t, "exit-on-load")
	s.seed("one", "Hello.")
	s.begin()
	for range mostAgents + 3 {
		if _, err := read(t, s.Driver, "one"); err == nil {
			t.Fatal("it was read")
		}
	}
	if got := len(s.received(methodInitialize)); got != mostAgents {
		t.Errorf("%d processes", got)
	}
}
