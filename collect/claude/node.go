package claude

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"agentsync/collect/value"
)

// lineType is the type of a line that takes part in a conversation.
type lineType uint8

const (
	userLine lineType = iota + 1
	assistantLine
	systemLine
	attachmentLine
	progressLine
)

var lineTypes = map[string]lineType{
	"user": userLine, "assistant": assistantLine, "system": systemLine,
	"attachment": attachmentLine, "progress": progressLine,
}

// node is what is remembered of one line.
type node struct {
	index     int // of the line
	uuid      string
	parent    string // "" for none; changed where a compaction relinks
	written   string // the parent as written
	before    string // the same or, of a compaction's boundary, what it points back to
	kind      lineType
	dropped   bool // before the last compaction of a file that the client does not read whole
	sidechain bool
	team      bool
	briefing  bool // an attachment that informs a fork
	meta      bool
	hidden    bool // a meta line that the client leaves out
	quiet     bool // an assistant line that closes a turn without words
	caveat    bool // announces a local command
	command   bool // is a local command
	output    bool // is a local command's output
	prompt    bool // a user line that says something and answers no call
	messageID string
	source    string   // the assistant line whose call it answers
	calls     []string // ids of the tools it calls
	answers   []string // ids of the calls it answers
	timestamp string
	queued    *queuedCommand
	keeps     []preserved // the same lines told in two ways: as a list, as a segment
	boundary  bool
	summary   bool // stands for what a compaction took away
}

// queuedCommand is what a person typed while a turn was running.
type queuedCommand struct {
	id   string // of the message it becomes, "" for the line's own
	meta bool
}

// preserved are the lines that a compaction keeps, in order, below its summary.
type preserved struct {
	anchor  string
	uuids   []string // all of them or, of a segment, its head and its tail
	segment bool
}

// lineReader turns lines into nodes.
type lineReader struct{ tape value.Tape }

// parse reads a line as the client does: what stands before the record up to a blank is
// ignored, and bytes that are not UTF-8 are replaced.
func (r *lineReader) parse(line []byte) (value.Value, bool) {
	r.tape.Reset()
	line = bytes.TrimLeftFunc(line, func(c rune) bool { return c <= ' ' })
	if !utf8.Valid(line) {
		line = []byte(decodeUTF8(line))
	}
	c, err := r.tape.Capture(line)
	return c.Value, err == nil && c.Value.Kind() == value.Record
}

// node reads a line that takes part in a conversation, nil for any other.
func (r *lineReader) node(index int, line []byte) *node {
	v, ok := r.parse(line)
	if !ok {
		return nil
	}
	kind, _ := str(v, "type")
	uuid, hasID := str(v, "uuid")
	if lineTypes[kind] == 0 || !hasID {
		return nil
	}
	n := &node{index: index, uuid: uuid, kind: lineTypes[kind]}
	n.parent, _ = str(v, "parentUuid")
	n.written, n.before = n.parent, n.parent
	n.sidechain = truthy(v, "isSidechain")
	n.team = truthy(v, "teamName")
	n.meta = truthy(v, "isMeta")
	n.hidden = n.meta && !speaks(v)
	n.timestamp, _ = str(v, "timestamp")
	n.source, _ = str(v, "sourceToolAssistantUUID")
	switch n.kind {
	case userLine:
		n.readUser(v)
	case assistantLine:
		n.readAssistant(v)
	case systemLine:
		n.readBoundary(v)
	case attachmentLine:
		n.readAttachment(v)
	}
	return n
}

// speaks reports a meta line whose words come from somebody, so that it is shown.
func speaks(v value.Value) bool {
	kind, _ := str(v.Path("origin"), "kind")
	switch kind {
	case "channel", "observer", "observer-activity", "slack-ping", "voice-call", "peer":
		return true
	}
	return false
}

func (n *node) readUser(v value.Value) {
	content := v.Path("message", "content")
	if content.Kind() == value.Array {
		for block := range content.Elements() {
			if t, _ := str(block, "type"); t == "tool_result" {
				id, _ := str(block, "tool_use_id")
				n.answers = append(n.answers, id)
			}
		}
	}
	n.summary = truthy(v, "isCompactSummary")
	n.prompt = len(n.answers) == 0 && (content.Kind() == value.Array || content.Kind() == value.String)
	if content.Kind() != value.String {
		return
	}
	text := content.Str()
	n.caveat = n.meta && strings.HasPrefix(text, "<local-command-caveat>")
	n.command = strings.Contains(text, "<command-name>")
	n.output = strings.HasPrefix(text, "<local-command-stdout>") || strings.HasPrefix(text, "<local-command-stderr>")
}

// silence is what the client writes where a turn ends without an answer.
const silence = "No response requested."

func (n *node) readAssistant(v value.Value) {
	n.messageID, _ = str(v.Path("message"), "id")
	content := v.Path("message", "content")
	if content.Kind() != value.Array {
		return
	}
	n.quiet = truthy(v, "closesQuietTurn") && content.Len() == 1
	for block := range content.Elements() {
		t, _ := str(block, "type")
		if id, ok := str(block, "id"); ok && t == "tool_use" {
			n.calls = append(n.calls, id)
		}
		text, _ := str(block, "text")
		n.quiet = n.quiet && t == "text" && silent(text)
	}
}

func silent(text string) bool {
	text = trim(text)
	return text == "" || text == silence
}

func (n *node) readBoundary(v value.Value) {
	if t, _ := str(v, "subtype"); t != "compact_boundary" {
		return
	}
	n.boundary = true
	if back, ok := str(v, "logicalParentUuid"); ok {
		n.before = back
	}
	data := v.Path("compactMetadata")
	if list, ok := data.Get("preservedMessages"); ok && list.Kind() == value.Record {
		k := preserved{}
		k.anchor, _ = str(list, "anchorUuid")
		for id := range list.Path("uuids").Elements() {
			k.uuids = append(k.uuids, id.Str())
		}
		n.keeps = append(n.keeps, k)
	}
	if segment, ok := data.Get("preservedSegment"); ok && segment.Kind() == value.Record {
		k := preserved{segment: true}
		k.anchor, _ = str(segment, "anchorUuid")
		head, _ := str(segment, "headUuid")
		tail, _ := str(segment, "tailUuid")
		k.uuids = []string{head, tail}
		n.keeps = append(n.keeps, k)
	}
}

func (n *node) readAttachment(v value.Value) {
	a := v.Path("attachment")
	switch t, _ := str(a, "type"); t {
	case "fork_briefing":
		n.briefing = true
	case "queued_command":
		n.queued = &queuedCommand{meta: truthy(a, "isMeta")}
		n.queued.id, _ = str(a, "source_uuid")
	}
}

// kept reports that the line may be the end of the conversation.
func (n *node) kept() bool {
	return !n.dropped && !n.sidechain && !n.team && n.kind != progressLine && !n.briefing
}

// spoken reports a line of a person or of the model.
func (n *node) spoken() bool { return n.kind == userLine || n.kind == assistantLine }
