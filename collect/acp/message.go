package acp

import (
	"strconv"
	"strings"

	"agentsync/collect"
	"agentsync/collect/value"
)

// message makes a message of an update: of every kind, for all are history. Updates have
// no times. The id is that of the message or tool call, or else counts the updates.
func message(v value.Value, event int) *collect.Message {
	m := &collect.Message{Kind: v.Path("sessionUpdate").Str(), Role: "unknown", RawIndex: event, Preview: previewOf(v)}
	for _, key := range []string{"messageId", "toolCallId"} {
		if m.ID == "" {
			m.ID = v.Path(key).Str()
		}
	}
	if m.ID == "" {
		m.ID = "update-" + strconv.Itoa(event)
	}
	switch {
	case m.Kind == "user_message_chunk":
		m.Role = "user"
	case m.Kind == "agent_message_chunk", m.Kind == "agent_thought_chunk":
		m.Role = "assistant"
	case strings.Contains(m.Kind, "tool_call"):
		m.Role = "tool"
	}
	return m
}

// previewOf is what an update says: its content, or a tool call's title.
func previewOf(v value.Value) string {
	text := collect.AppendWords(nil, v.Path("content"))
	if len(text) == 0 {
		text = collect.AppendWords(nil, v.Path("title"))
	}
	return string(collect.CutUnits(text, collect.PreviewUnits))
}
