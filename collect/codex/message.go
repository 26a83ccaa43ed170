package codex

import (
	"strconv"
	"strings"

	"agentsync/collect"
	"agentsync/collect/value"
)

// family says which records carry what was said. Clients write the same text twice, as
// a response item and as an event. The first record of a file that carries a text
// decides for the whole file: in all rollouts seen these are response items, since the
// client's own context comes first.
type family byte

const (
	familyNone     family = 'n'
	familyResponse family = 'r'
	familyEvent    family = 'e'
)

// familyOf is the family of a record that carries a text, familyNone for all others.
func familyOf(r record) family {
	switch {
	case r.kind == "response_item" && r.sub == "message":
		return familyResponse
	case r.kind != "event_msg":
		return familyNone
	case r.sub == "user_message", r.sub == "agent_message":
		return familyEvent
	case r.sub == "item_completed":
		if item := r.itemType(); item == "UserMessage" || item == "AgentMessage" {
			return familyEvent
		}
	}
	return familyNone
}

// message makes a message of a record, nil when it is none or is replayed. Tool calls
// and reasoning are response items in every family.
func (t *track) message(r record, event int) *collect.Message {
	if t.phase.replayed() || r.payload.Kind() != value.Record {
		return nil
	}
	var m *collect.Message
	id := r.payload.Path("id")
	switch r.kind {
	case "response_item":
		m = t.responseItem(r)
	case "event_msg":
		if t.family == familyEvent {
			m = eventMessage(r)
		}
		if r.sub == "item_completed" {
			id = r.payload.Path("item", "id")
		}
	case "compacted":
		m = &collect.Message{Role: "system", Kind: "compacted", Preview: previewOf(r.payload.Path("message"))}
	}
	if m == nil {
		return nil
	}
	m.RawIndex = event
	if m.ID = id.Str(); m.ID == "" {
		m.ID = "line-" + strconv.Itoa(event)
	}
	if r.timed {
		m.CreatedAt = formatMillis(r.at)
	}
	return m
}

// responseItem is the message of a response item. A family of events has its texts from
// them, but for the client's own context, which no event repeats.
func (t *track) responseItem(r record) *collect.Message {
	switch {
	case r.sub == "message":
		m := spoken(r.payload)
		if t.family == familyEvent && m.Kind == "message" {
			return nil
		}
		return m
	case r.sub == "reasoning":
		return &collect.Message{Role: "unknown", Kind: r.sub, Preview: previewOf(r.payload.Path("summary"))}
	case r.sub == "agent_message":
		return &collect.Message{Role: "unknown", Kind: r.sub, Preview: previewOf(r.payload)}
	case isTool(r.sub):
		return &collect.Message{Role: "tool", Kind: r.sub, Preview: toolPreview(r.payload)}
	}
	return nil
}

// spoken is the message of a response item of type message. Its kind is message for
// what a person or the model said, and names the context otherwise.
func spoken(p value.Value) *collect.Message {
	m := &collect.Message{Kind: "message", Preview: previewOf(p.Path("content"))}
	switch role := p.Path("role").Str(); role {
	case "user":
		m.Role = role
		if kind := contextKind(p); kind != "" {
			m.Kind = kind
		}
	case "assistant":
		m.Role = role
	case "system", "developer":
		m.Role, m.Kind = "system", role
	default:
		m.Role = "unknown"
	}
	return m
}

func eventMessage(r record) *collect.Message {
	switch r.sub {
	case "user_message":
		return &collect.Message{Role: "user", Kind: r.sub, Preview: previewOf(r.payload.Path("message"))}
	case "agent_message":
		return &collect.Message{Role: "assistant", Kind: r.sub, Preview: previewOf(r.payload.Path("message"))}
	case "item_completed":
		kind := r.itemType()
		role := map[string]string{"UserMessage": "user", "AgentMessage": "assistant"}[kind]
		if role == "" {
			return nil
		}
		return &collect.Message{Role: role, Kind: kind, Preview: previewOf(r.payload.Path("item"))}
	}
	return nil
}

// isTool reports a response item that calls a tool, or answers for one.
func isTool(sub string) bool {
	return strings.HasSuffix(sub, "_call") || strings.HasSuffix(sub, "_call_output") || strings.Contains(sub, "tool")
}

// toolPreview shows an answer's text, or a call's name and what it was called with.
func toolPreview(p value.Value) string {
	if output, ok := p.Get("output"); ok {
		return previewOf(output)
	}
	text := append([]byte(nil), p.Path("name").Text()...)
	for _, with := range []value.Value{p.Path("arguments"), p.Path("input"), p.Path("action", "command"), p.Path("action", "query")} {
		if with.Kind() != value.String && with.Kind() != value.Array {
			continue
		}
		if len(text) > 0 {
			text = append(text, ' ')
		}
		text = collect.AppendWords(text, with)
		break
	}
	return string(collect.CutUnits(text, collect.PreviewUnits))
}
