package codex

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
)

// startMarked begins a session whose first prompt has a mark.
func startMarked(t *testing.T, d *Driver, text, mark string) collect.Outcome {
	t.Helper()
	o, err := d.StartSession(t.Context(), "asked", collect.StartInput{PromptInput: collect.PromptInput{Text: text, Mark: mark}}, newMilestones())
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func promptMarked(t *testing.T, d *Driver, id, text, mark string, m collect.Milestones) collect.Outcome {
	t.Helper()
	o, err := d.Prompt(t.Context(), id, collect.PromptInput{Text: text, Mark: mark}, m)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// traced investigates a prompt that is known by its mark and text alone.
func traced(t *testing.T, d *Driver, id, operation, text, mark string, claimed time.Time) collect.Outcome {
	t.Helper()
	o, err := d.Investigate(t.Context(), id, collect.Trace{Operation: operation, Text: text, Mark: mark, ClaimedAt: claimed})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

const sameWords = "Go on. [[mock: text:Gone on.]]"

func TestLiveMarksTellPromptsOfOneTextApart(t *testing.T) {
	c := newRealCodex(t)
	d := c.driver(t)
	claimed := time.Now()
	const odd = `agentsync command "ü <&> ` + "\u2028" + `" from "queue"`
	o := startMarked(t, d, sameWords, "start")
	id := o.Session
	wantOutcome(t, o, collect.Succeeded, "")
	wantOutcome(t, promptMarked(t, d, id, sameWords, "", newMilestones()), collect.Succeeded, "")
	second := promptMarked(t, d, id, sameWords, odd, newMilestones())
	wantOutcome(t, second, collect.Succeeded, "")
	failure := promptMarked(t, d, id, "Fail. [[mock: error:400]]", "failing", newMilestones())
	wantOutcome(t, failure, collect.Failed, codeTurnFailed)
	for mark, want := range map[string]collect.Outcome{"start": o, odd: second, "failing": failure} {
		one := traced(t, d, id, "prompt", sameWords, mark, claimed.Add(time.Hour))
		if one.Status != want.Status || one.ProviderOperationID != want.ProviderOperationID {
			t.Errorf("%s is turn %s, %s (%v)", mark, one.ProviderOperationID, one.Status, one.Problem)
		}
	}
	for _, mark := range []string{"", "never"} {
		wantOutcome(t, traced(t, d, id, "prompt", sameWords, mark, claimed), collect.Unknown, codeNoEvidence)
	}
	if one := traced(t, d, "asked", "start", sameWords, "start", claimed); one.Session != id || one.ProviderOperationID != o.ProviderOperationID {
		t.Errorf("the start was found as %+v", one)
	}
	wantOutcome(t, traced(t, d, "asked", "start", sameWords, "never", claimed), collect.Unknown, codeNoEvidence)
	for _, request := range c.model.Requests() {
		if bytes.Contains(request.Body, []byte("agentsync command")) {
			t.Error("the model was shown a mark")
		}
	}
}

func TestLiveMarkOfAThreadInTheOlderFormat(t *testing.T) {
	c := newRealCodex(t)
	const id = "019a0000-0000-7000-8000-000000000001"
	const file = "sessions/2026/11/29/rollout-2026-11-29T10-00-00-" + id + ".jsonl"
	text, err := os.ReadFile(filepath.Join(recorded, "legacy-home", file))
	if err != nil {
		t.Fatal(err)
	}
	write(t, c.home, file, strings.ReplaceAll(string(text), "/home/dev/proj", c.project))
	d := c.driver(t)
	o := promptMarked(t, d, id, sameWords, "mine", newMilestones())
	wantOutcome(t, o, collect.Succeeded, "")
	if one := traced(t, d, id, "prompt", sameWords, "mine", time.Now().Add(time.Hour)); one.ProviderOperationID != o.ProviderOperationID || one.Status != o.Status {
		t.Errorf("found %+v", one)
	}
	wantOutcome(t, traced(t, d, id, "prompt", sameWords, "never", time.Time{}), collect.Unknown, codeNoEvidence)
}

func TestLiveMarkOfAKilledServer(t *testing.T) {
	c := newRealCodex(t)
	d := c.driver(t)
	id := startMarked(t, d, "Begin. [[mock: text:Begun.]]", "start").Session
	m := newMilestones()
	done := make(chan collect.Outcome, 1)
	go func() {
		o, _ := d.Prompt(t.Context(), id, collect.PromptInput{Text: slow, Mark: "mine"}, m)
		done <- o
	}()
	<-m.active
	c.asked(t, "Count.")
	kill(t, c.home)
	o := <-done
	wantOutcome(t, o, collect.Unknown, codeTurnUnknown)
	late := time.Now().Add(time.Hour)
	one := traced(t, d, id, "prompt", "", "mine", late)
	if one.Status != collect.Unknown || one.ProviderOperationID != o.ProviderOperationID || !strings.Contains(one.Problem.Message, "has no end") {
		t.Errorf("found %+v", one)
	}
	wantOutcome(t, prompt(t, d, id, sameWords, newMilestones()), collect.Succeeded, "")
	wantOutcome(t, traced(t, d, id, "prompt", "", "mine", late), collect.Failed, codeTurnFailed)
}

func TestLiveServerIsAskedByMark(t *testing.T) {
	c := newRealCodex(t)
	c.cfg.CodexTransport, c.cfg.CodexSocket = transportProxy, c.serve(t)
	maker := c.driver(t)
	claimed := time.Now()
	o := startMarked(t, maker, sameWords, "start")
	second := promptMarked(t, maker, o.Session, sameWords, "mine", newMilestones())
	wantOutcome(t, second, collect.Succeeded, "")
	c.cfg.Roots, c.cfg.CodexHome = []string{t.TempDir()}, "" // the files are elsewhere
	d := c.driver(t)
	one := traced(t, d, o.Session, "prompt", sameWords, "mine", claimed.Add(time.Hour))
	if one.Status != collect.Succeeded || one.ProviderOperationID != second.ProviderOperationID || one.Result.Path("history").Str() != fromServer {
		t.Errorf("found %+v (%v)", one, one.Problem)
	}
	if one = traced(t, d, "asked", "start", sameWords, "start", claimed); one.Session != o.Session || one.ProviderOperationID != o.ProviderOperationID {
		t.Errorf("the start was found as %+v (%v)", one, one.Problem)
	}
	wantOutcome(t, traced(t, d, o.Session, "prompt", sameWords, "never", claimed), collect.Unknown, codeNoEvidence)
}
