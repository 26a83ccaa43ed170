package codex

import (
	"bytes"

	"agentsync/collect/value"
)

// record is one line of a rollout, taken apart.
type record struct {
	kind    string      // type of the line: session_meta, response_item, event_msg, …
	payload value.Value // a record, or the zero Value
	sub     string      // the payload's own type, "" for none
	at      int64       // milliseconds since 1970 UTC
	timed   bool        // at is known
}

// recordOf takes a captured line apart. What is no rollout line has kind "".
func recordOf(v value.Value) record {
	if v.Kind() != value.Record {
		return record{}
	}
	var r record
	for key, member := range v.Members() {
		switch string(key) {
		case "timestamp":
			r.at, r.timed = parseMillis(member.Text())
		case "type":
			r.kind = name(member.Text())
		case "payload":
			if member.Kind() == value.Record {
				r.payload = member
			}
		}
	}
	if r.payload.Kind() == value.Record {
		r.sub = name(r.payload.Path("type").Text())
	}
	return r
}

// name is a type's text as a string, without an allocation for the frequent ones.
func name(text []byte) string {
	for _, known := range frequent {
		if string(text) == known {
			return known
		}
	}
	return string(text)
}

var frequent = []string{
	"event_msg", "response_item", "turn_context", "token_count", "message", "function_call",
	"function_call_output", "reasoning", "custom_tool_call", "custom_tool_call_output",
	"agent_message", "item_completed", "user_message", "token_usage_record", "session_meta",
	"task_started", "task_complete", "world_state", "compacted",
}

// turnID is the turn a record belongs to, nil where it does not say.
func (r record) turnID() []byte {
	if r.payload.Kind() != value.Record {
		return nil
	}
	switch r.kind {
	case "event_msg", "turn_context":
		return r.payload.Path("turn_id").Text()
	case "response_item":
		return r.payload.Path("internal_chat_message_metadata_passthrough", "turn_id").Text()
	}
	return nil
}

// itemType is the type of the item that an item_completed record completes.
func (r record) itemType() string {
	return string(r.payload.Path("item", "type").Text())
}

// contextTags are the elements that the client, and no person, sends as a user's message.
var contextTags = []string{
	"environment_context", "user_instructions", "subagent_notification", "turn_aborted", "skill",
	"recommended_plugins", "permissions", "collaboration_mode", "user_shell_command",
}

// agentsHeading begins a project's instructions where they stand in no element.
var agentsHeading = []byte("# AGENTS.md instructions for ")

// contextKind tells which kind of context a user's message is: the client's own name
// for its first part, or the name of the element around that. It is "" for what a
// person said: one part that is not context makes the whole message that.
func contextKind(payload value.Value) string {
	if kinds := payload.Path("internal_chat_message_metadata_passthrough", "content_item_kinds"); kinds.Len() > 0 && kinds.Kind() == value.Array {
		return declaredContext(kinds)
	}
	content := payload.Path("content")
	if content.Kind() != value.Array {
		return contextTag(content)
	}
	first := ""
	for part := range content.Elements() {
		tag := contextTag(part.Path("text"))
		if tag == "" {
			return ""
		}
		if first == "" {
			first = tag
		}
	}
	return first
}

// declaredContext reads the kinds that the client itself wrote beside the parts.
func declaredContext(kinds value.Value) string {
	first := ""
	for kind := range kinds.Elements() {
		text := kind.Text()
		if bytes.HasPrefix(text, []byte("user.")) || string(text) == "unknown" || len(text) == 0 {
			return ""
		}
		if first == "" {
			first = string(text)
		}
	}
	return first
}

func contextTag(v value.Value) string {
	text := bytes.TrimLeft(v.Text(), " \t\r\n")
	if bytes.HasPrefix(text, agentsHeading) {
		return "user_instructions"
	}
	if len(text) == 0 || text[0] != '<' {
		return ""
	}
	for _, tag := range contextTags {
		after, found := bytes.CutPrefix(text[1:], []byte(tag))
		if found && len(after) > 0 && (after[0] == '>' || after[0] == ' ') {
			return tag
		}
	}
	return ""
}
