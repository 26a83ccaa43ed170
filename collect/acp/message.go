package acp

import (
	"strconv"
	"strings"

	"agentsync/collect"
	"agentsync/collect/value"
)

// previewUnits is the longest preview of a message, in UTF-16 units (spec 6).
const previewUnits = 500

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
	text := appendText(nil, v.Path("content"))
	if len(text) == 0 {
		text = appendText(nil, v.Path("title"))
	}
	return string(cutUnits(text, previewUnits))
}

// appendText appends what a value says in words: a string, the text or else the content
// of a record, the parts of an array with line feeds between them (spec 6). It stops
// soon after the text has more bytes than a preview can need.
func appendText(dst []byte, v value.Value) []byte {
	const enough = 4 * previewUnits // bytes
	if len(dst) > enough {
		return dst
	}
	switch v.Kind() {
	case value.String:
		return append(dst, cutUnits(v.Text(), previewUnits+1)...)
	case value.Record:
		if text, ok := v.Get("text"); ok && text.Kind() == value.String {
			return appendText(dst, text)
		}
		return appendText(dst, v.Path("content"))
	case value.Array:
		start := len(dst)
		for item := range v.Elements() {
			before := len(dst)
			if before > start {
				dst = append(dst, '\n')
			}
			if after := appendText(dst, item); len(after) > len(dst) {
				dst = after
			} else {
				dst = dst[:before]
			}
		}
	}
	return dst
}

// cutUnits returns the longest beginning of WTF-8 text with at most n UTF-16 units. It
// splits no code point.
func cutUnits(text []byte, n int) []byte {
	if len(text) <= n {
		return text
	}
	for i := 0; i < len(text); {
		size, units := 1, 1
		switch first := text[i]; {
		case first >= 0xF0:
			size, units = 4, 2
		case first >= 0xE0:
			size = 3
		case first >= 0xC0:
			size = 2
		}
		if n -= units; n < 0 {
			return text[:i]
		}
		i += size
	}
	return text
}
