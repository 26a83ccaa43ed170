package claude

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"

	"agentsync/collect/value"
)

// Ids of our own control requests; there are no others.
const (
	initializeID = "initialize"
	interruptID  = "interrupt"
)

// streamLine is one line that the program says, as far as we care. Its texts are copies:
// the rest of the line, which can be long, is not kept.
type streamLine struct {
	kind, subtype string
	requestID     string
	failed        bool // of a control response
	tasks         int  // background tasks that run, -1 when the line does not tell
	result        *resultLine
}

// resultLine is how the program says that a turn ended. The words of the conversation in
// it are left out.
type resultLine struct {
	subtype, session       string
	isError                bool
	turns, durationMillis  int64
	cost                   float64 // US dollars
	stopReason, terminated string  // "" when it says none
	apiStatus              int64   // of the model's server, 0 for none
}

// readStreamLine reads a line; false for what is no line of the protocol.
func readStreamLine(line []byte) (streamLine, bool) {
	m, err := pick(line, "type", "subtype", "request_id", "request", "response", "tasks")
	if err != nil {
		return streamLine{}, false
	}
	s := streamLine{kind: text(m["type"]), subtype: text(m["subtype"]), requestID: text(m["request_id"]), tasks: -1}
	switch s.kind {
	case "control_request":
		inner, _ := pick(m["request"], "subtype")
		s.subtype = text(inner["subtype"])
	case "control_response":
		inner, _ := pick(m["response"], "subtype", "request_id")
		s.requestID, s.failed = text(inner["request_id"]), text(inner["subtype"]) != "success"
	case "system":
		var tasks []json.RawMessage
		if s.subtype == "background_tasks_changed" && json.Unmarshal(m["tasks"], &tasks) == nil {
			s.tasks = len(tasks)
		}
	case "result":
		s.result = readResult(line)
	}
	return s, s.kind != ""
}

func readResult(line []byte) *resultLine {
	m, err := pick(line, "subtype", "session_id", "is_error", "num_turns", "duration_ms",
		"total_cost_usd", "stop_reason", "terminal_reason", "api_error_status")
	if err != nil {
		return nil
	}
	r := &resultLine{
		subtype: text(m["subtype"]), session: text(m["session_id"]),
		isError:    string(m["is_error"]) != "false", // what does not say that all is well is none
		turns:      whole(m["num_turns"]),
		stopReason: text(m["stop_reason"]), terminated: text(m["terminal_reason"]),
		durationMillis: whole(m["duration_ms"]), apiStatus: whole(m["api_error_status"]),
	}
	r.cost, _ = strconv.ParseFloat(string(m["total_cost_usd"]), 64)
	return r
}

var errNoRecord = errors.New("no JSON record")

// pick returns the named members of a JSON record as they stand. It copies nothing and
// keeps nothing, however long the record is.
func pick(line []byte, names ...string) (map[string][]byte, error) {
	line = bytes.TrimSpace(line)
	if len(line) < 2 || line[0] != '{' || line[len(line)-1] != '}' {
		return nil, errNoRecord
	}
	found := map[string][]byte{}
	for rest := bytes.TrimSpace(line[1:]); len(rest) > 0 && rest[0] == '"'; {
		n, err := value.Skip(rest)
		if err != nil {
			return nil, errNoRecord
		}
		key := rest[1 : n-1]
		if rest = bytes.TrimSpace(rest[n:]); len(rest) == 0 || rest[0] != ':' {
			return nil, errNoRecord
		}
		rest = bytes.TrimSpace(rest[1:])
		if n, err = value.Skip(rest); err != nil || n == 0 {
			return nil, errNoRecord
		}
		for _, name := range names {
			if string(key) == name {
				found[name] = rest[:n]
			}
		}
		if rest = bytes.TrimSpace(rest[n:]); len(rest) > 0 && rest[0] == ',' {
			rest = bytes.TrimSpace(rest[1:])
		}
	}
	return found, nil
}

// maxWord is the longest text that is taken from a line, in bytes of JSON: all that is
// asked for are names and ids.
const maxWord = 1 << 10

func text(raw []byte) string {
	var s string
	if len(raw) > maxWord || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func whole(raw []byte) int64 {
	n, _ := strconv.ParseInt(string(raw), 10, 64)
	return n
}

// initializeRequest opens the conversation. A title names a session from its first line on.
func initializeRequest(title string) []byte {
	b := append([]byte(nil), `{"type":"control_request","request_id":"`+initializeID+`","request":{"subtype":"initialize"`...)
	if title != "" {
		b = value.AppendString(append(b, `,"title":`...), title)
	}
	return append(b, `}}`...)
}

func interruptRequest() []byte {
	return []byte(`{"type":"control_request","request_id":"` + interruptID + `","request":{"subtype":"interrupt"}}`)
}

// userLineOf is the prompt. The client gives its line in the transcript this id.
func userLineOf(id, prompt string) []byte {
	b := append([]byte(nil), `{"type":"user","session_id":"","uuid":`...)
	b = value.AppendString(b, id)
	b = append(b, `,"message":{"role":"user","content":[{"type":"text","text":`...)
	b = value.AppendString(b, prompt)
	return append(b, `}]},"parent_tool_use_id":null}`...)
}

// refusal answers what the program asks of whoever runs it: nobody is there to decide.
func refusal(s streamLine) []byte {
	b := append([]byte(nil), `{"type":"control_response","response":{"subtype":`...)
	if s.subtype == "can_use_tool" {
		b = append(b, `"success","response":{"behavior":"deny","message":"Permission was denied: this session is driven by a program, and nobody is there to allow it."}`...)
	} else {
		b = append(b, `"error","error":"this program answers no such request"`...)
	}
	b = value.AppendString(append(b, `,"request_id":`...), s.requestID)
	return append(b, `}}`...)
}
