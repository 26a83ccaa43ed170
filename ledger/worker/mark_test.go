package worker_test

import (
	"strings"
	"testing"
	"unicode"

	"agentsync/collect"
	"agentsync/ledger"
	"agentsync/ledger/worker"
)

// marked runs a command and returns the mark that its provider got.
func marked(t *testing.T, q worker.Queued) string {
	t.Helper()
	w := newWorld(t)
	w.mustRun(q)
	calls := w.agent.Calls()
	if len(calls) != 1 {
		t.Fatalf("%d calls", len(calls))
	}
	return calls[0].Prompt.Mark + calls[0].Start.Mark
}

func TestAPromptHasTheSameMarkWhenItRunsAndWhenItIsLookedFor(t *testing.T) {
	for name, q := range map[string]worker.Queued{
		"prompt": prompt("1"), "start": command("1", ledger.Start, "text", "begin"),
	} {
		ran := marked(t, q)
		w := newWorld(t)
		w.unknown(q)
		w.reconcile("1")
		if traces := w.agent.Traces(); len(traces) != 1 || traces[0].Mark != ran || ran == "" {
			t.Errorf("%s: ran as %q, looked for %+v", name, ran, traces)
		}
	}
}

func TestAMarkNamesOneCommandOfAllOwnersAndQueues(t *testing.T) {
	const foreign = "did:key:z6MkOther"
	seen := map[string]worker.Queued{}
	for _, id := range []string{"1", "2", `1" from "a`, `1" of "` + owner, "1\u202e", "1\u00a01", "é", `\u00e9`} {
		for _, producer := range []string{"", "a", "b", `a" from "b`} {
			q := prompt(id)
			q.Producer = producer
			mark := marked(t, q)
			if other, taken := seen[mark]; taken {
				t.Errorf("%q is %q of %q and of %q", mark, other.ID(), producer, q.ID())
			}
			seen[mark] = q
			if strings.ContainsFunc(mark, func(r rune) bool { return unicode.IsControl(r) || r == '\u202e' }) {
				t.Errorf("%q has characters that are not to be read", mark)
			}
		}
	}
	q := prompt("1")
	q.Producer = "my-queue"
	if mark := marked(t, q); mark != `agentsync command "1" of "`+owner+`" from "my-queue"` {
		t.Errorf("mark %s", mark)
	}
	w := newWorld(t)
	w.options.OwnerDID = foreign
	q.OwnerDID = foreign
	w.mustRun(q)
	if calls := w.agent.Calls(); len(calls) != 1 || !strings.Contains(calls[0].Prompt.Mark, foreign) {
		t.Errorf("another owner's command is marked %+v", calls)
	}
}

func TestOnlyPromptsHaveMarks(t *testing.T) {
	w := newWorld(t)
	w.unknown(command("1", ledger.Rename, "title", "A title"))
	w.reconcile("1")
	if traces := w.agent.Traces(); len(traces) != 1 || traces[0] != (collect.Trace{Operation: "rename", Title: "A title", ClaimedAt: traces[0].ClaimedAt}) {
		t.Errorf("traces %+v", traces)
	}
}
