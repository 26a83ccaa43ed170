package claude

import (
	"fmt"
	"strings"
	"testing"
)

// at gives a line another minute.
func at(minute int, line string) string {
	return strings.Replace(line, "T08:00:", fmt.Sprintf("T08:%02d:", minute), 1)
}

func queued(minute int, id, parent, extra string) string {
	return fmt.Sprintf(`{"type":"attachment","uuid":%q,"parentUuid":%q,"timestamp":"2026-11-30T08:%02d:00.000Z"%s,"attachment":{"type":"queued_command","prompt":%q}}`+"\n", id, parent, minute, extra, id)
}

// queuedCase is a tree with queued prompts, and what the client was seen to answer for it.
type queuedCase struct{ name, content, want string }

func queuedCases() []queuedCase {
	start := turn("user", "u", "", "start")
	note := at(5, turn("system", "n", "u", "note"))
	keeps := `{"parentUuid":"s","type":"system","subtype":"compact_boundary","uuid":"k","compactMetadata":{"preservedMessages":{"anchorUuid":"m","uuids":["x","u"]}}}` + "\n"
	return []queuedCase{
		{"below the tip, siblings by time", start + note + queued(9, "q2", "u", "") + queued(1, "q1", "n", ""), "start | q1 | q2"},
		{"a line's own time decides, not its children's", start + note + queued(2, "q2", "u", "") + queued(1, "q1", "n", ""), "start | q2 | q1"},
		{"one behind the other", start + queued(3, "q1", "u", "") + queued(1, "q2", "q1", ""), "start | q1 | q2"},
		{"answered before the next prompt", start + queued(1, "q", "u", "") + turn("assistant", "a", "q", "yes"), "start | q | yes"},
		{"followed by another prompt", start + queued(1, "q", "u", "") + turn("user", "p", "q", "next"), "start | next"},
		{"answered on a branch that was left", start + queued(1, "q", "u", "") + turn("assistant", "a", "q", "yes") + note, "start"},
		{"followed by a line without a message", start + queued(1, "q", "u", "") + `{"type":"user","uuid":"e","parentUuid":"q"}` + "\n" + turn("assistant", "a", "e", "yes"), "start | q | <nil> | yes"},
		{"of a team", start + queued(1, "q", "u", `,"teamName":"t"`), "start"},
		{"the client's own", start + strings.Replace(queued(1, "q", "u", ""), `"prompt"`, `"isMeta":true,"prompt"`, 1), "start"},
		{"a list that is not whole is ignored", start + turn("assistant", "s", "u", "yes") + keeps, "start | yes"},
	}
}

func TestQueuedPrompts(t *testing.T) {
	for _, c := range queuedCases() {
		if got := said(answer(t, []byte(c.content), ChainOptions{})); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

func TestResultsOfParallelCallsComeByTime(t *testing.T) {
	call := func(id, parent, call string) string {
		return fmt.Sprintf(`{"type":"assistant","uuid":%q,"parentUuid":%q,"message":{"id":"m","content":[{"type":"tool_use","id":%q}]}}`+"\n", id, parent, call)
	}
	result := func(minute int, id, parent, call string) string {
		return fmt.Sprintf(`{"type":"user","uuid":%q,"parentUuid":%q,"timestamp":"2026-11-30T08:%02d:00.000Z","message":{"content":[{"type":"tool_result","tool_use_id":%q}]}}`+"\n", id, parent, minute, call)
	}
	content := turn("user", "u", "", "go") + call("a1", "u", "c1") + call("a2", "a1", "c2") + call("a3", "a2", "c3") +
		result(9, "r1", "a1", "c1") + result(4, "r2", "a2", "c2") + result(5, "r3", "a3", "c3") + turn("assistant", "z", "r3", "done")
	c := Chain(linesOf([]byte(content)), ChainOptions{})
	var got []string
	for _, e := range c.Messages {
		got = append(got, e.ID)
	}
	if fmt.Sprint(got) != "[u a1 a2 a3 r2 r1 r3 z]" {
		t.Errorf("order %v", got)
	}
}

func TestALargeFileIsNotCutAtACompactionThatKeepsLines(t *testing.T) {
	keeping := strings.Replace(boundary("c", "b"), `"trigger":"auto"`, `"preservedSegment":{"headUuid":"b","anchorUuid":"d","tailUuid":"b"}`, 1)
	content := []byte(turn("user", "a", "", "q1") + turn("assistant", "b", "a", "a1") + keeping +
		turn("user", "d", "c", "summary") + turn("user", "e", "d", "q2"))
	if got := said(answer(t, content, ChainOptions{})); got != "summary | a1 | q2" {
		t.Errorf("small: %s", got)
	}
	c := Chain(linesOf(content), ChainOptions{Size: wholeReadSize + 1})
	if got := said(render(t, c, c.Messages, content)); got != "summary | a1 | q2" {
		t.Errorf("large: %s", got)
	}
}
