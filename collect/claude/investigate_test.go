package claude

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/collect/value"
)

// said writes one line of a transcript; more are further members of the line.
func saidAt(kind, id, parent, content, more string) string {
	return fmt.Sprintf(`{"type":%q,"uuid":%q,"parentUuid":%q,"isSidechain":false,"sessionId":"s","timestamp":"2027-06-01T11:30:00.000Z","message":{"role":%q,"content":%s}%s}`+"\n",
		kind, id, parent, kind, content, more)
}

func asked(id, parent, words string) string {
	return saidAt("user", id, parent, `[{"type":"text","text":`+quote(words)+`}]`, "")
}

func replyOf(id, parent, reason string) string {
	line := saidAt("assistant", id, parent, `[{"type":"text","text":"Done."}]`, "")
	return strings.Replace(line, `"message":{`, `"message":{"model":"m","stop_reason":"`+reason+`",`, 1)
}

func TestWhatATranscriptProvesOfAPrompt(t *testing.T) {
	before := strings.Replace(asked("a0", "", "Do it."), "11:30", "10:30", 1) + replyOf("a1", "a0", "end_turn")
	attachment := `{"type":"attachment","uuid":"c1","parentUuid":"b0","attachment":{"type":"x"}}` + "\n"
	result := saidAt("user", "c3", "c2", `[{"type":"tool_result","tool_use_id":"t","content":"ok"}]`, "")
	synthetic := strings.Replace(replyOf("d1", "b0", "stop_sequence"), `"model":"m"`, `"model":"<synthetic>"`, 1)
	for _, row := range []struct {
		name, lines string
		id          string
		status      collect.Status
		code        string
	}{
		{"nothing of it", before, "", collect.Unknown, "claude-query-outcome-unknown"},
		{"the prompt and no end", before + asked("b0", "a1", "Do it."), "", collect.Unknown, "claude-query-outcome-unknown"},
		{"a last reply", before + asked("b0", "a1", "Do it.") + replyOf("b1", "b0", "end_turn"), "", collect.Succeeded, ""},
		{"a last reply after calls", before + asked("b0", "a1", "Do it.") + attachment + replyOf("c2", "c1", "tool_use") + result + replyOf("c4", "c3", "end_turn"), "", collect.Succeeded, ""},
		{"a call and its result alone", before + asked("b0", "a1", "Do it.") + attachment + replyOf("c2", "c1", "tool_use") + result, "", collect.Unknown, "claude-query-outcome-unknown"},
		{"an interruption", before + asked("b0", "a1", "Do it.") + asked("b1", "b0", "[Request interrupted by user]"), "", collect.Failed, "cancelled"},
		{"an interruption of a call", before + asked("b0", "a1", "Do it.") + replyOf("b1", "b0", "tool_use") + asked("b2", "b1", "[Request interrupted by user for tool use]"), "", collect.Failed, "cancelled"},
		{"an error of the server", before + asked("b0", "a1", "Do it.") + saidAt("assistant", "b1", "b0", `"API Error"`, `,"isApiErrorMessage":true`), "", collect.Failed, "claude-query-failed"},
		{"what the client says itself ends nothing", before + asked("b0", "a1", "Do it.") + synthetic, "", collect.Unknown, "claude-query-outcome-unknown"},
		{"a reply to another prompt", before + asked("b0", "a1", "Do it.") + asked("b1", "b0", "And this.") + replyOf("b2", "b1", "end_turn"), "", collect.Unknown, "claude-query-outcome-unknown"},
		{"a reply on another branch", before + asked("b0", "a1", "Do it.") + replyOf("b1", "a1", "end_turn"), "", collect.Unknown, "claude-query-outcome-unknown"},
		{"two such prompts that ended alike", before + asked("b0", "a1", "Do it.") + replyOf("b1", "b0", "end_turn") + asked("b2", "b1", "Do it.") + replyOf("b3", "b2", "end_turn"), "", collect.Succeeded, ""},
		{"two such prompts, one without an end", before + asked("b0", "a1", "Do it.") + replyOf("b1", "b0", "end_turn") + asked("b2", "b1", "Do it."), "", collect.Unknown, "claude-query-outcome-unknown"},
		{"two such prompts, told apart by the id", before + asked("b0", "a1", "Do it.") + replyOf("b1", "b0", "end_turn") + asked("b2", "b1", "Do it."), "b0", collect.Succeeded, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := newConfig(t)
			c.put("-p/"+u(1)+".jsonl", row.lines)
			trace := collect.Trace{Operation: "prompt", Text: "Do it.", ProviderOperationID: row.id, ClaimedAt: noon.Add(-time.Hour)}
			state := treeState(t, c.dir)
			o, err := c.driver().Investigate(context.Background(), u(1), trace)
			if err != nil {
				t.Fatal(err)
			}
			wantOutcome(t, o, row.status, row.code)
			if treeState(t, c.dir) != state {
				t.Error("looking changed something")
			}
		})
	}
}

func TestWhatNoTranscriptProves(t *testing.T) {
	c := newConfig(t)
	c.put("-p/"+u(1)+".jsonl", talk("hi")+`{"type":"custom-title","customTitle":"Work"}`+"\n")
	for _, row := range []struct {
		id     string
		trace  collect.Trace
		status collect.Status
	}{
		{u(2), collect.Trace{Operation: "prompt", Text: "Do it."}, collect.Unknown},
		{u(2), collect.Trace{Operation: "start", Text: "Do it."}, collect.Unknown},
		{u(2), collect.Trace{Operation: "rename", Title: "Work"}, collect.Unknown},
		{u(1), collect.Trace{Operation: "rename", Title: " Work "}, collect.Succeeded},
		{u(1), collect.Trace{Operation: "rename", Title: "Other"}, collect.Unknown},
		{u(1), collect.Trace{Operation: "set-mode"}, collect.Unknown},
		{u(1), collect.Trace{Operation: "cancel"}, collect.Unknown},
	} {
		o, err := c.driver().Investigate(context.Background(), row.id, row.trace)
		if err != nil || o.Status != row.status || (o.Problem == nil) != (row.status == collect.Succeeded) {
			t.Errorf("%s of %s: %s %v %v", row.trace.Operation, row.id, o.Status, o.Problem, err)
		}
	}
}

func TestAnUnknownPromptIsFoundInTheTranscript(t *testing.T) {
	w := newWorkshop(t, "die")
	id := w.session(1)
	begun := time.Now().Add(-time.Second)
	wantOutcome(t, w.prompt(id, "Do it."), collect.Unknown, "claude-query-outcome-unknown")
	trace := collect.Trace{Operation: "prompt", Text: "Do it.", ClaimedAt: begun}
	o, err := w.driver.Investigate(context.Background(), id, trace)
	if err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, o, collect.Unknown, "claude-query-outcome-unknown")
	if !strings.Contains(o.Problem.Message, "has the prompt") {
		t.Errorf("message %q", o.Problem.Message)
	}
}

func TestAPromptIsFoundByItsMarkAlone(t *testing.T) {
	begun := noon.Add(-time.Hour)
	for _, row := range []struct {
		name, mark string
		want       collect.Status
	}{
		{"the one that has the mark", "mine", collect.Succeeded},
		{"the same words under another mark", "other", collect.Unknown},
	} {
		s := newSearch(collect.Trace{Operation: "prompt", Text: "Do it.", Mark: row.mark, ClaimedAt: begun})
		id := markedID("mine")
		for i, text := range []string{
			`{"type":"user","uuid":"` + id + `","timestamp":"2026-01-01T12:00:00.000Z","message":{"role":"user","content":"Do it."}}`,
			`{"type":"assistant","uuid":"a","parentUuid":"` + id + `","message":{"role":"assistant","stop_reason":"end_turn","content":[]}}`,
		} {
			line, err := value.Parse([]byte(value.Prefix + text))
			if err != nil {
				t.Fatal(err)
			}
			s.read(line, i)
		}
		if got := s.verdict(); got.Status != row.want {
			t.Errorf("%s: %+v", row.name, got)
		}
	}
}
