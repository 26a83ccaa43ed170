package claude

import (
	"testing"

	"agentsync/collect"
)

func TestTheVerdictOverARun(t *testing.T) {
	failed := func(subtype string, status int64) *resultLine {
		return &resultLine{subtype: subtype, session: u(1), isError: true, apiStatus: status}
	}
	good := &resultLine{subtype: "success", session: u(1)}
	for _, row := range []struct {
		name      string
		facts     facts
		status    collect.Status
		code      string
		retryable bool
	}{
		{"a good result, whatever the exit code", facts{prompted: true, result: good, exit: 1}, collect.Succeeded, "", false},
		{"a good result that came before the interruption", facts{prompted: true, result: good, interrupted: true}, collect.Succeeded, "", false},
		{"a good result to no prompt", facts{result: good}, collect.Failed, "claude-query-failed", true},
		{"an interruption", facts{prompted: true, interrupted: true, result: failed("error_during_execution", 0)}, collect.Failed, "cancelled", false},
		{"the same result without one", facts{prompted: true, result: failed("error_during_execution", 0)}, collect.Failed, "claude-error_during_execution", false},
		{"a server's error during an interruption", facts{prompted: true, interrupted: true, result: failed("success", 500)}, collect.Failed, "claude-query-failed", true},
		{"too many requests", facts{prompted: true, result: failed("success", 429)}, collect.Failed, "claude-query-failed", true},
		{"a bad request", facts{prompted: true, result: failed("success", 400)}, collect.Failed, "claude-query-failed", false},
		{"an id in use", facts{begins: true, exit: 1, said: idInUse}, collect.Failed, "claude-session-exists", false},
		{"words like these after the prompt", facts{begins: true, prompted: true, exit: 1, said: idInUse}, collect.Unknown, "claude-query-outcome-unknown", false},
		{"an unknown session", facts{result: failed("error_during_execution", 0), said: noConversation}, collect.Failed, "claude-session-not-found", false},
		{"no result after an interruption", facts{prompted: true, interrupted: true, signaled: true}, collect.Unknown, "claude-query-outcome-unknown", false},
		{"no prompt after a cancellation", facts{interrupted: true}, collect.Failed, "cancelled", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.facts.session, row.facts.turn = u(1), "turn"
			o := judge(row.facts)
			wantOutcome(t, o, row.status, row.code)
			if o.Problem != nil && o.Problem.Retryable != row.retryable {
				t.Errorf("retryable %v", o.Problem.Retryable)
			}
			if o.Untouched != (!row.facts.prompted && !row.facts.begins) || (o.ProviderOperationID == "turn") != row.facts.prompted {
				t.Errorf("untouched %v, operation %q", o.Untouched, o.ProviderOperationID)
			}
		})
	}
	o := judge(facts{session: u(1), prompted: true, result: &resultLine{subtype: "success", session: u(2)}})
	if o.Session != u(2) {
		t.Errorf("the changed session is %q", o.Session)
	}
}

func TestLinesOfTheProgramAreReadWithoutTheirWords(t *testing.T) {
	for _, row := range []struct {
		line string
		want streamLine
		ok   bool
	}{
		{`{"type":"system","subtype":"init","session_id":"x"}`, streamLine{kind: "system", subtype: "init", tasks: -1}, true},
		{` { "uuid" : "a\"}," , "type" : "assistant", "message":{"content":[{"type":"text","text":"}{"}]}} `, streamLine{kind: "assistant", tasks: -1}, true},
		{`{"type":"control_request","request_id":"q","request":{"subtype":"can_use_tool","input":{}}}`, streamLine{kind: "control_request", subtype: "can_use_tool", requestID: "q", tasks: -1}, true},
		{`{"type":"control_response","response":{"subtype":"error","request_id":"initialize","error":"x"}}`, streamLine{kind: "control_response", requestID: "initialize", failed: true, tasks: -1}, true},
		{`{"type":"system","subtype":"background_tasks_changed","tasks":[{"task_id":"b"}]}`, streamLine{kind: "system", subtype: "background_tasks_changed", tasks: 1}, true},
		{`{"type":"system","subtype":"background_tasks_changed"}`, streamLine{kind: "system", subtype: "background_tasks_changed", tasks: -1}, true},
		{`{}`, streamLine{tasks: -1}, false},
		{`[1]`, streamLine{}, false},
		{`{"type":"result"`, streamLine{}, false},
		{`a warning of the runtime`, streamLine{}, false},
		{``, streamLine{}, false},
	} {
		if got, ok := readStreamLine([]byte(row.line)); ok != row.ok || ok && got != row.want {
			t.Errorf("%s\n got %+v %v\nwant %+v %v", row.line, got, ok, row.want, row.ok)
		}
	}
}

func FuzzStreamLine(f *testing.F) {
	f.Add(`{"type":"result","subtype":"success","is_error":false,"num_turns":1,"total_cost_usd":0.1}`)
	f.Add(`{"type":"system","tasks":[1,{"a":"\u0000"}]}`)
	f.Add(`{"type`)
	f.Fuzz(func(t *testing.T, line string) {
		if s, ok := readStreamLine([]byte(line)); ok && s.kind == "" {
			t.Errorf("a line of no kind: %q", line)
		}
	})
}
