package codex

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"agentsync/collect"
	"agentsync/collect/value"
)

// messagesOf reads lines of a rollout as if they were a file.
func messagesOf(t testing.TB, text string) []collect.Message {
	t.Helper()
	var list []collect.Message
	state, h := newTrack(), head{}
	tape := new(value.Tape)
	offset := int64(0)
	for n, one := range strings.SplitAfter(strings.TrimSuffix(text, "\n"), "\n") {
		tape.Reset()
		c, err := tape.Capture([]byte(one))
		if err != nil {
			continue
		}
		r := recordOf(c.Value)
		h.observe(r, offset)
		state.observe(r, h.own)
		if m := state.message(r, n); m != nil {
			list = append(list, *m)
		}
		offset += int64(len(one))
	}
	return list
}

const at = "2026-01-02T03:01:00.000Z"

func item(payload string) string { return line(at, "response_item", payload) }

func event(payload string) string { return line(at, "event_msg", payload) }

func TestRolesAndKindsOfMessages(t *testing.T) {
	for _, row := range []struct{ name, line, want string }{
		{"user", item(`{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}`), "user/message: hi"},
		{"assistant", item(`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"},{"type":"output_text","text":"b"}]}`), "assistant/message: a\nb"},
		{"developer", item(`{"type":"message","role":"developer","content":"rules"}`), "system/developer: rules"},
		{"system", item(`{"type":"message","role":"system","content":"rules"}`), "system/system: rules"},
		{"a role nobody knows", item(`{"type":"message","role":"robot","content":"beep"}`), "unknown/message: beep"},
		{"environment", item(`{"type":"message","role":"user","content":[{"text":"<environment_context>\n</environment_context>"}]}`),
			"user/environment_context: <environment_context>\n</environment_context>"},
		{"instructions", item(`{"type":"message","role":"user","content":[{"text":"# AGENTS.md instructions for /home/dev/proj"}]}`),
			"user/user_instructions: # AGENTS.md instructions for /home/dev/proj"},
		{"context in all its parts", item(`{"type":"message","role":"user","content":[{"text":"<skill>x</skill>"},{"text":"<environment_context>y"}]}`),
			"user/skill: <skill>x</skill>\n<environment_context>y"},
		{"words beside context", item(`{"type":"message","role":"user","content":[{"text":"<skill>x</skill>"},{"text":"go"}]}`),
			"user/message: <skill>x</skill>\ngo"},
		{"an element of the person's own", item(`{"type":"message","role":"user","content":[{"text":"<div>what is this?</div>"}]}`),
			"user/message: <div>what is this?</div>"},
		{"declared as the person's", item(`{"type":"message","role":"user","content":[{"text":"<skill>x</skill>"}],"internal_chat_message_metadata_passthrough":{"content_item_kinds":["user.text"]}}`),
			"user/message: <skill>x</skill>"},
		{"declared as context", item(`{"type":"message","role":"user","content":[{"text":"x"}],"internal_chat_message_metadata_passthrough":{"content_item_kinds":["generic.turn_aborted"]}}`),
			"user/generic.turn_aborted: x"},
		{"reasoning", item(`{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"AAAA"}`), "unknown/reasoning: hm"},
		{"a call", item(`{"type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\"]}"}`), `tool/function_call: shell {"command":["ls"]}`},
		{"its answer", item(`{"type":"function_call_output","call_id":"c","output":"done"}`), "tool/function_call_output: done"},
		{"an answer in parts", item(`{"type":"function_call_output","output":[{"type":"input_text","text":"a"},{"type":"input_image"}]}`), "tool/function_call_output: a"},
		{"an answer in a record", item(`{"type":"custom_tool_call_output","output":{"content":"a","success":true}}`), "tool/custom_tool_call_output: a"},
		{"a custom call", item(`{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin"}`), "tool/custom_tool_call: apply_patch *** Begin"},
		{"a local call", item(`{"type":"local_shell_call","action":{"command":["ls","-l"]}}`), "tool/local_shell_call: ls\n-l"},
		{"a search", item(`{"type":"web_search_call","action":{"type":"search","query":"q"}}`), "tool/web_search_call: q"},
		{"another agent", item(`{"type":"agent_message","content":[{"text":"report"}]}`), "unknown/agent_message: report"},
		{"a compaction", line(at, "compacted", `{"message":"summary"}`), "system/compacted: summary"},
		{"no message: a snapshot", item(`{"type":"ghost_snapshot"}`), ""},
		{"no message: tokens", event(`{"type":"token_count","info":null}`), ""},
		{"no message: no payload", line(at, "response_item", `[]`), ""},
		{"no message: no rollout line", "[1,2]\n", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := strings.Join(said(messagesOf(t, row.line)), "|"); got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestATextThatIsWrittenTwiceIsOneMessage(t *testing.T) {
	context := item(`{"type":"message","role":"user","content":[{"text":"<environment_context>\n</environment_context>"}]}`)
	userItem := item(`{"type":"message","id":"m1","role":"user","content":[{"text":"q"}]}`)
	agentItem := item(`{"type":"message","role":"assistant","content":[{"text":"a"}]}`)
	userEvent, agentEvent := event(`{"type":"user_message","message":"q"}`), event(`{"type":"agent_message","message":"a"}`)
	completed := event(`{"type":"item_completed","item":{"type":"AgentMessage","id":"i1","content":[{"type":"Text","text":"a"}]}}`)
	call := item(`{"type":"function_call","name":"shell","arguments":"{}"}`)
	for _, row := range []struct {
		name, text string
		want       []string
	}{
		{"the old format: events around items", context + userItem + userEvent + call + agentEvent + agentItem,
			[]string{"user/environment_context: <environment_context>\n</environment_context>", "user/message: q", "tool/function_call: shell {}", "assistant/message: a"}},
		{"the new format: completed items", userItem + completed + agentItem, []string{"user/message: q", "assistant/message: a"}},
		{"events alone", userEvent + call + agentEvent, []string{"user/user_message: q", "tool/function_call: shell {}", "assistant/agent_message: a"}},
		{"events before items", userEvent + userItem + agentEvent + agentItem, []string{"user/user_message: q", "assistant/agent_message: a"}},
		{"completed items alone", completed, []string{"assistant/AgentMessage: a"}},
		{"context in a file of events", userEvent + context, []string{"user/user_message: q", "user/environment_context: <environment_context>\n</environment_context>"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := said(messagesOf(t, row.text)); !slices.Equal(got, row.want) {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

func TestMessagesHaveIDsAndTimes(t *testing.T) {
	list := messagesOf(t, item(`{"type":"message","id":"m1","role":"user","content":"q"}`)+"{}\n"+
		line("no time", "response_item", `{"type":"message","role":"assistant","content":"a"}`))
	if len(list) != 2 || list[0].ID != "m1" || list[0].CreatedAt != at || list[0].RawIndex != 0 {
		t.Errorf("first %+v", list)
	}
	if list[1].ID != "line-2" || list[1].CreatedAt != "" || list[1].RawIndex != 2 {
		t.Errorf("second %+v", list[1])
	}
	list = messagesOf(t, event(`{"type":"item_completed","item":{"type":"UserMessage","id":"i1","content":[{"text":"q"}]}}`))
	if len(list) != 1 || list[0].ID != "i1" {
		t.Errorf("completed item %+v", list)
	}
}

func FuzzMessages(f *testing.F) {
	f.Add(metaLine(at, madeID(1), `,"forked_from_id":"x"`) + metaLine(at, "x", "") + turnLine(at, madeID(2)) + userText(at, "q") + agentText(at, "a"))
	f.Add(item(`{"type":"message","role":"user","content":[{"text":"\ud800"},null,7,{"content":[[["x"]]]}]}`))
	f.Add(item(`{"type":"function_call","name":7,"arguments":["a",{"text":"b"}]}`) + event(`{"type":"item_completed","item":[]}`))
	f.Add(line(at, "session_meta", `{"id":7,"source":{"subagent":{"thread_spawn":[]}},"git":{"commit_hash":7},"history_base":"x"}`))
	f.Add(`{"timestamp":7,"type":{},"payload":{"type":[],"turn_id":7}}` + "\n" + `{"type":"compacted","payload":{"message":{"text":"x"}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		for _, m := range messagesOf(t, text) {
			if m.ID == "" || m.Kind == "" || !slices.Contains([]string{"user", "assistant", "system", "tool", "unknown"}, m.Role) {
				t.Errorf("message %+v", m)
			}
			units := 0
			for rest := m.Preview; rest != ""; {
				r, size := utf8.DecodeRuneInString(rest)
				if r == utf8.RuneError && size == 1 { // three bytes of a lone surrogate
					size = min(3, len(rest))
				}
				if units++; r > 0xFFFF {
					units++
				}
				rest = rest[size:]
			}
			if units > collect.PreviewUnits {
				t.Errorf("a preview of %d units", units)
			}
		}
	})
}

func FuzzStates(f *testing.F) {
	f.Add("codex1 or")
	f.Add("codex1 tr 1767323000000")
	f.Fuzz(func(t *testing.T, state string) {
		if at, ok := parseTrack(state); ok {
			if again, ok := parseTrack(at.state()); !ok || again != at {
				t.Errorf("%q becomes %q", state, at.state())
			}
		}
	})
}
