package codex

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/collect/stdio"
)

func TestFilesAndServerProveTheSame(t *testing.T) {
	d := driverOf(t, recorded+"/home")
	files, err := filepath.Glob(recorded + "/rpc/thread-read-*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	statuses := map[string]int{}
	for _, file := range files {
		var answer struct{ Result threadAnswer }
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &answer)
		}
		if err != nil {
			t.Fatal(err)
		}
		if answeredThread(t, file).ForkedFromID != "" {
			continue // its turns stand in the file that it continues, and are no commands to it
		}
		for _, turn := range answer.Result.Thread.Turns {
			trace := collect.Trace{Operation: "prompt", ProviderOperationID: turn.ID}
			asked := judgeThread(trace, answer.Result.Thread)
			found, err := d.Investigate(t.Context(), answer.Result.Thread.ID, trace)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Join(brief(asked), "") != strings.Join(brief(found), "") {
				t.Errorf("turn %s: the server proves %v, the file %v", turn.ID, brief(asked), brief(found))
			}
			statuses[turn.Status]++
		}
	}
	if statuses["completed"] == 0 || statuses["interrupted"] == 0 || statuses["failed"] == 0 {
		t.Errorf("the recordings have turns %v", statuses)
	}
}

// madeAt is when the made threads were written.
const madeAt = "2026-01-02T03:05:00.000Z"

func TestWhatAFileProvesOfAPrompt(t *testing.T) {
	started := func(turn string) string {
		return line(madeAt, "event_msg", `{"type":"task_started","turn_id":"`+turn+`"}`)
	}
	done := func(turn, more string) string {
		return line(madeAt, "event_msg", `{"type":"task_complete","turn_id":"`+turn+`"`+more+`}`)
	}
	first, second := madeID(11), madeID(12)
	claimed := time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	byText := collect.Trace{Operation: "prompt", Text: "Go on.", ClaimedAt: claimed}
	byTurn := collect.Trace{Operation: "prompt", ProviderOperationID: first}
	cancel := collect.Trace{Operation: "cancel", ProviderOperationID: first}
	late := byText
	late.ClaimedAt = claimed.Add(time.Hour)
	aborted := line(madeAt, "event_msg", `{"type":"turn_aborted","turn_id":"`+first+`","reason":"interrupted"}`)
	for name, one := range map[string]struct {
		lines  string
		trace  collect.Trace
		status collect.Status
		code   string
	}{
		"a turn that ended":                     {started(first) + userText(madeAt, "Go on.") + done(first, ""), byTurn, collect.Succeeded, ""},
		"a prompt whose turn ended":             {started(first) + userText(madeAt, "Go on.") + done(first, ""), byText, collect.Succeeded, ""},
		"blanks around a prompt":                {started(first) + userText(madeAt, " Go on.\n") + done(first, ""), byText, collect.Succeeded, ""},
		"a prompt before the claim":             {started(first) + userText(madeAt, "Go on.") + done(first, ""), late, collect.Unknown, codeNoEvidence},
		"another prompt":                        {started(first) + userText(madeAt, "Go back.") + done(first, ""), byText, collect.Unknown, codeNoEvidence},
		"the beginning of a longer prompt":      {started(first) + userText(madeAt, "Go on. And on.") + done(first, ""), byText, collect.Unknown, codeNoEvidence},
		"a failed turn":                         {started(first) + userText(madeAt, "Go on.") + done(first, `,"error":{"message":"secret","codex_error_info":"usage_limit_exceeded"}`), byText, collect.Failed, codeTurnFailed},
		"an interrupted turn":                   {started(first) + userText(madeAt, "Go on.") + aborted, byText, collect.Failed, codeCancelled},
		"a turn without an end":                 {started(first) + userText(madeAt, "Go on."), byText, collect.Unknown, codeNoEvidence},
		"a turn without an end, then another":   {started(first) + userText(madeAt, "Go on.") + started(second) + done(second, ""), byText, collect.Failed, codeTurnFailed},
		"the other turn's end":                  {started(first) + done(first, "") + started(second) + userText(madeAt, "Go on."), byText, collect.Unknown, codeNoEvidence},
		"the same prompt twice":                 {strings.Repeat(started(first)+userText(madeAt, "Go on.")+done(first, ""), 2), byText, collect.Unknown, codeNoEvidence},
		"a prompt that joined a turn":           {started(first) + userText(madeAt, "Begin.") + userText(madeAt, "Go on.") + done(first, ""), byText, collect.Succeeded, ""},
		"an old file without ids of turns":      {userText(madeAt, "Go on.") + agentText(madeAt, "Ok.") + line(madeAt, "event_msg", `{"type":"task_complete"}`), byText, collect.Succeeded, ""},
		"an old file without ends":              {userText(madeAt, "Go on.") + agentText(madeAt, "Ok."), byText, collect.Unknown, codeNoEvidence},
		"a cancellation of an interrupted turn": {started(first) + aborted, cancel, collect.Succeeded, ""},
		"a cancellation of a finished turn":     {started(first) + done(first, ""), cancel, collect.Failed, codeNoTurn},
		"a cancellation of a running turn":      {started(first), cancel, collect.Unknown, codeNoEvidence},
		"a cancellation of nobody knows what":   {started(first) + aborted, collect.Trace{Operation: "cancel"}, collect.Unknown, codeNoEvidence},
		"a file without the turn":               {started(second) + done(second, ""), byTurn, collect.Unknown, codeNoEvidence},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			write(t, home, madeName(1), metaLine(madeAt, madeID(1), "")+one.lines)
			found, err := driverOf(t, home).Investigate(t.Context(), madeID(1), one.trace)
			if err != nil {
				t.Fatal(err)
			}
			wantOutcome(t, found, one.status, one.code)
			if strings.Contains(strings.Join(brief(found), ""), "secret") {
				t.Error("the problem quotes the agent")
			}
		})
	}
}

func TestAStartIsKnownByTimeFolderAndPrompt(t *testing.T) {
	home := t.TempDir()
	thread := func(n int, cwd, words string) {
		meta := strings.Replace(metaLine(madeAt, madeID(n), ""), "/home/dev/proj", cwd, 1)
		write(t, home, madeName(n), meta+line(madeAt, "event_msg", `{"type":"task_started","turn_id":"`+madeID(n)+`"}`)+userText(madeAt, words)+
			line(madeAt, "event_msg", `{"type":"task_complete","turn_id":"`+madeID(n)+`"}`))
	}
	thread(3, "/home/dev/proj", "Begin.") // before the claim
	thread(5, "/home/dev/proj", "Begin.")
	thread(6, "/home/dev/other", "Begin.")
	thread(7, "/home/dev/proj", "Begin anew.")
	trace := collect.Trace{Operation: "start", Text: "Begin.", Cwd: "/home/dev/proj", ClaimedAt: time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)}
	d := driverOf(t, home)
	found, err := d.Investigate(t.Context(), "asked", trace)
	if err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, found, collect.Succeeded, "")
	if found.Session != madeID(5) {
		t.Errorf("found %s, want %s", found.Session, madeID(5))
	}
	trace.Cwd = ""
	if found, _ = d.Investigate(t.Context(), "asked", trace); found.Status != collect.Unknown {
		t.Errorf("two threads may be it, found %+v", found)
	}
	trace.Text = "Never."
	if found, _ = d.Investigate(t.Context(), "asked", trace); found.Status != collect.Unknown {
		t.Errorf("no thread is it, found %+v", found)
	}
}

func TestANameIsProvenByTheIndex(t *testing.T) {
	home := t.TempDir()
	writeThread(t, home)
	write(t, home, indexFile, `{"id":"`+madeID(1)+`","thread_name":"First"}`+"\n")
	d := driverOf(t, home)
	for title, want := range map[string]collect.Status{"First": collect.Succeeded, "Second": collect.Unknown, "": collect.Unknown} {
		o, err := d.Investigate(t.Context(), madeID(1), collect.Trace{Operation: "rename", Title: title})
		if err != nil || o.Status != want {
			t.Errorf("%q: %+v, %v", title, o, err)
		}
	}
	write(t, home, indexFile, `{"id":"`+madeID(1)+`","thread_name":"Second"}`+"\n")
	if o, _ := d.Investigate(t.Context(), madeID(1), collect.Trace{Operation: "rename", Title: "Second"}); o.Status != collect.Succeeded {
		t.Errorf("the new name is not seen: %+v", o)
	}
	for _, operation := range []string{"set-mode", "set-config-option"} {
		if o, _ := d.Investigate(t.Context(), madeID(1), collect.Trace{Operation: operation}); o.Status != collect.Unknown {
			t.Errorf("%s: %+v", operation, o)
		}
	}
}

func TestTurnsThatTheServerHasLostProveNothing(t *testing.T) {
	lost := wireThread{ID: madeID(1), Preview: "Go on."}
	o := judgeThread(collect.Trace{Operation: "prompt", Text: "Go on."}, lost)
	wantOutcome(t, o, collect.Unknown, codeNoEvidence)
	if o.Result.Path("history").Str() != fromServer || !strings.Contains(o.Problem.Message, "lost") {
		t.Errorf("outcome %+v", o)
	}
}

func TestRecordedRefusalsHaveAMeaning(t *testing.T) {
	known := map[string]string{"Not initialized": codeRefused, "Already initialized": codeRefused, "invalid cursor": codeRefused,
		"Invalid request": codeRefused, "active writer": codeInUse, "is archived": codeArchived, "invalid thread id": codeInvalidID,
		"thread not": codeNotFound, "no rollout": codeNotFound, "active turn": codeNoTurn, "must not be empty": codeInvalidTitle}
	files, _ := filepath.Glob(recorded + "/rpc/0*.jsonl")
	seen := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for one := range strings.Lines(string(text)) {
			var said struct {
				Msg struct{ Error *stdio.RPCError }
			}
			if json.Unmarshal([]byte(one), &said) != nil || said.Msg.Error == nil {
				continue
			}
			seen++
			problem := refusal("the call", said.Msg.Error)
			for words, code := range known {
				if strings.Contains(said.Msg.Error.Message, words) && problem.Code != code {
					t.Errorf("%q means %s, want %s", said.Msg.Error.Message, problem.Code, code)
				}
			}
			if strings.Contains(problem.Error(), said.Msg.Error.Message) {
				t.Errorf("the answer's text is passed on: %s", problem)
			}
		}
	}
	if seen < 10 {
		t.Errorf("only %d refusals were recorded", seen)
	}
}
