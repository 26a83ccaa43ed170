package codex

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
)

// slow is a turn that takes seconds unless it is interrupted.
const slow = "Count. [[mock: slow:200 one two three four five six seven eight nine ten eleven twelve thirteen fourteen]]"

// inFlight sends a slow prompt, hands over once the turn runs, and returns the outcome.
func inFlight(ctx context.Context, t *testing.T, d *Driver, id string, then func()) collect.Outcome {
	t.Helper()
	m := newMilestones()
	done := make(chan collect.Outcome, 1)
	go func() {
		o, err := d.Prompt(ctx, id, collect.PromptInput{Text: slow}, m)
		if err != nil {
			t.Error(err)
		}
		done <- o
	}()
	select {
	case <-m.active:
		then()
	case o := <-done:
		return o
	}
	return <-done
}

func TestLiveCancelInFlight(t *testing.T) {
	c := newRealCodex(t)
	d := c.driver(t)
	id := start(t, d, "Begin. [[mock: text:Begun.]]")
	var cancelled collect.Outcome
	o := inFlight(t.Context(), t, d, id, func() {
		wantOutcome(t, prompt(t, d, id, "Join?", newMilestones()), collect.NeedsConfirmation, codeActive)
		cancelled, _ = d.Cancel(t.Context(), id)
	})
	wantOutcome(t, cancelled, collect.Succeeded, "")
	wantOutcome(t, o, collect.Failed, codeCancelled)
	if o.ProviderOperationID == "" || cancelled.ProviderOperationID != o.ProviderOperationID {
		t.Errorf("turn %q was cancelled, %q ran", cancelled.ProviderOperationID, o.ProviderOperationID)
	}
	if o, _ := d.Cancel(t.Context(), id); o.Problem == nil || o.Problem.Code != codeNoTurn {
		t.Errorf("cancelled with no turn: %+v", o)
	}
	for _, request := range c.model.Requests() {
		if strings.Contains(string(request.Body), "Join?") {
			t.Error("the second prompt joined the turn")
		}
	}
	stopped(t, d)
	trace := collect.Trace{Operation: "prompt", ProviderOperationID: o.ProviderOperationID}
	found, err := c.driver(t).Investigate(t.Context(), id, trace)
	if err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, found, collect.Failed, codeCancelled)
	trace.Operation = "cancel"
	if found, _ = c.driver(t).Investigate(t.Context(), id, trace); found.Status != collect.Succeeded {
		t.Errorf("the cancellation is not found: %+v", found.Problem)
	}
}

func TestLiveContextEndsTheTurn(t *testing.T) {
	c := newRealCodex(t)
	d := c.driver(t)
	id := start(t, d, "Begin. [[mock: text:Begun.]]")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	wantOutcome(t, inFlight(ctx, t, d, id, cancel), collect.Failed, codeCancelled)
	wantOutcome(t, prompt(t, d, id, "Again. [[mock: text:Yes.]]", newMilestones()), collect.Succeeded, "")
	wantOutcome(t, inFlight(t.Context(), t, d, id, func() { stopped(t, d) }), collect.Failed, codeCancelled)
	noneLeft(t, c.home)
	wantOutcome(t, prompt(t, d, id, "Once more.", newMilestones()), collect.Failed, codeStopped)
}

func TestLiveFailedTurn(t *testing.T) {
	c := newRealCodex(t)
	d := c.driver(t)
	id := start(t, d, "Begin. [[mock: text:Begun.]]")
	o := prompt(t, d, id, "Fail. [[mock: error:400]]", newMilestones())
	wantOutcome(t, o, collect.Failed, codeTurnFailed)
	if strings.Contains(o.Problem.Message, "scripted") {
		t.Errorf("the problem quotes what the model said: %s", o.Problem.Message)
	}
	found, err := c.driver(t).Investigate(t.Context(), id, collect.Trace{Operation: "prompt", ProviderOperationID: o.ProviderOperationID})
	if err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, found, collect.Failed, codeTurnFailed)
	if found.Problem.Message != o.Problem.Message {
		t.Errorf("the file says %q, the server said %q", found.Problem.Message, o.Problem.Message)
	}
}

func TestLiveApprovalsAreDeclined(t *testing.T) {
	c := newRealCodex(t)
	c.config(t, "on-request", "read-only")
	d := c.driver(t)
	made := filepath.Join(c.project, "made.txt")
	script := `Touch. [[mock: tool:exec_command {"cmd":"touch ` + made + `","sandbox_permissions":"require_escalated","justification":"test"} ;; text:It was declined.]]`
	id := start(t, d, "Begin. [[mock: text:Begun.]]")
	o := prompt(t, d, id, script, newMilestones())
	wantOutcome(t, o, collect.Succeeded, "")
	if n := o.Result.Path("declined").Float(); n != 1 {
		t.Errorf("%v requests were declined", n)
	}
	if _, err := os.Stat(made); err == nil {
		t.Error("the command ran")
	}
}

func TestLiveFullAccessIsTakenBack(t *testing.T) {
	c := newRealCodex(t)
	c.config(t, "on-request", "read-only")
	c.cfg.AllowDangerFullAccess = true
	d := c.driver(t)
	made := filepath.Join(c.project, "made.txt")
	id := start(t, d, "Begin. [[mock: text:Begun.]]")
	o := prompt(t, d, id, `Touch. [[mock: tool:exec_command {"cmd":"touch `+made+`"} ;; text:Done.]]`, newMilestones())
	wantOutcome(t, o, collect.Succeeded, "")
	if _, err := os.Stat(made); err != nil {
		t.Errorf("the command did not run: %v", err)
	}
	if !o.Result.Path("restrictionsRestored").IsTrue() {
		t.Errorf("the restrictions were not put back: %+v", o)
	}
	stopped(t, d)
	other := c.driver(t)
	s, err := other.live.reach(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := s.resume(t.Context(), id)
	if err != nil || loaded.Sandbox.kind() != "readOnly" || loaded.ApprovalPolicy != "on-request" {
		t.Errorf("later turns run with %v, %v (%v)", loaded.ApprovalPolicy, loaded.Sandbox, err)
	}
}

func TestLiveActiveWriter(t *testing.T) {
	c := newRealCodex(t)
	first, second := c.driver(t), c.driver(t)
	id := start(t, first, "Begin. [[mock: text:Begun.]]")
	o := prompt(t, second, id, "Too late.", newMilestones())
	wantOutcome(t, o, collect.Failed, codeInUse)
	if !o.Problem.Retryable || !o.Untouched {
		t.Errorf("outcome %+v", o)
	}
	renamed, _ := second.Rename(t.Context(), id, "Named from outside")
	wantOutcome(t, renamed, collect.Succeeded, "")
	if s := summaryOf(t, first, id); text(s.Title) != "Named from outside" {
		t.Errorf("title %s", text(s.Title))
	}
}

func TestLiveRefusals(t *testing.T) {
	c := newRealCodex(t)
	d := c.driver(t)
	id := start(t, d, "Begin. [[mock: text:Begun.]]")
	const unknown = "01a22bac-0000-7000-8000-000000000000"
	wantOutcome(t, prompt(t, d, unknown, "Hello.", newMilestones()), collect.Failed, codeNotFound)
	wantOutcome(t, prompt(t, d, "session_index.jsonl", "Hello.", newMilestones()), collect.Failed, codeInvalidID)
	for name, title := range map[string]string{id: "  ", unknown: "A name"} {
		o, _ := d.Rename(t.Context(), name, title)
		wantOutcome(t, o, collect.Failed, map[string]string{id: codeInvalidTitle, unknown: codeNotFound}[name])
	}
	s, err := d.live.reach(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// Archived by another program since the driver looked.
	if err := s.call(t.Context(), "thread/archive", map[string]string{"threadId": id}, nil); err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, prompt(t, d, id, "Hello.", newMilestones()), collect.Failed, codeArchived)
	list(t, d)
	o, _ := d.Rename(t.Context(), id, "A name")
	wantOutcome(t, o, collect.Failed, codeArchived)
}

func TestLiveKilledServer(t *testing.T) {
	c := newRealCodex(t)
	d := c.driver(t)
	id := start(t, d, "Begin. [[mock: text:Begun.]]")
	claimed := time.Now()
	o := inFlight(t.Context(), t, d, id, func() {
		c.asked(t, "Count.")
		kill(t, c.home)
	})
	wantOutcome(t, o, collect.Unknown, codeTurnUnknown)
	trace := collect.Trace{Operation: "prompt", Text: slow, ClaimedAt: claimed}
	for _, trace.ProviderOperationID = range []string{"", o.ProviderOperationID} {
		found, err := d.Investigate(t.Context(), id, trace)
		if err != nil {
			t.Fatal(err)
		}
		wantOutcome(t, found, collect.Unknown, codeNoEvidence)
		if !strings.Contains(found.Problem.Message, "has no end") {
			t.Errorf("the reason is %q", found.Problem.Message)
		}
	}
	wantOutcome(t, prompt(t, d, id, "Go on. [[mock: text:Gone on.]]", newMilestones()), collect.Succeeded, "")
	found, err := d.Investigate(t.Context(), id, trace)
	if err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, found, collect.Failed, codeTurnFailed)
	stopped(t, d)
	noneLeft(t, c.home)
}

// asked waits until the model was asked something: then its turn stands in the file.
func (c *realCodex) asked(t *testing.T, words string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		for _, request := range c.model.Requests() {
			if strings.Contains(string(request.Body), words) {
				return
			}
		}
	}
	t.Fatalf("the model was never asked %q", words)
}

// kill ends the agents of a home at once, as a crash would.
func kill(t *testing.T, home string) {
	t.Helper()
	for _, p := range processesOf(t, home) {
		end(p.pid)
	}
}

// end kills one process.
func end(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

func TestLiveStartIsFound(t *testing.T) {
	c := newRealCodex(t)
	d := c.driver(t)
	claimed := time.Now()
	const words = "Begin & <go>.\nSecond line. [[mock: text:Begun.]]"
	id := start(t, d, words)
	trace := collect.Trace{Operation: "start", Text: words, Cwd: c.project, ClaimedAt: claimed}
	found, err := d.Investigate(t.Context(), "asked", trace)
	if err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, found, collect.Succeeded, "")
	if found.Session != id || found.ProviderOperationID == "" || found.Result.Path("history").Str() != fromRollout {
		t.Errorf("found %+v, want thread %s", found, id)
	}
	trace.ClaimedAt = time.Now().Add(time.Minute)
	if found, _ = d.Investigate(t.Context(), "asked", trace); found.Status != collect.Unknown {
		t.Errorf("an older thread was taken for the start's: %+v", found)
	}
}
