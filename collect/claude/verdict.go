package claude

import (
	"fmt"

	"agentsync/collect"
	"agentsync/collect/value"
)

// complaint is a known message of the program.
type complaint uint8

const (
	noComplaint complaint = iota
	idInUse
	noConversation
)

// facts are what is known of a run of the program once it has ended.
type facts struct {
	session, dir string
	turn         string // id of the prompt's line
	begins       bool   // it was to begin a session
	prompted     bool   // the prompt was sent, at least in part
	active       bool
	interrupted  bool // somebody wanted it to stop
	result       *resultLine
	exit         int
	signaled     bool
	said         complaint
}

// judge decides what became of a prompt. Only a result line proves that a turn ended,
// and its is_error says how: its subtype can be success when the model's server failed.
func judge(f facts) collect.Outcome {
	o := collect.Outcome{Untouched: !f.prompted && !f.begins, Result: f.details()}
	if f.prompted {
		o.ProviderOperationID = f.turn
	}
	if r := f.result; r != nil && r.session != f.session && isUUID(r.session) {
		o.Session = r.session
	}
	o.Status, o.Problem = f.verdict()
	return o
}

func (f facts) verdict() (collect.Status, *collect.OperationProblem) {
	failed := func(code, message string, retryable bool) (collect.Status, *collect.OperationProblem) {
		return collect.Failed, &collect.OperationProblem{Code: code, Message: message, Retryable: retryable}
	}
	switch r := f.result; {
	case r != nil && !r.isError && f.prompted:
		return collect.Succeeded, nil
	case f.said == idInUse && !f.prompted:
		return failed("claude-session-exists", "claude already has a session of this id", false)
	case f.said == noConversation && !f.prompted:
		return failed("claude-session-not-found", "claude knows no session of this id", false)
	case r != nil && f.interrupted && r.subtype == "error_during_execution":
		return failed("cancelled", "the prompt was interrupted", false)
	case r != nil && r.isError:
		return failed(r.code(), r.reason(), r.apiStatus == 429 || r.apiStatus >= 500)
	case f.prompted:
		return collect.Unknown, &collect.OperationProblem{Code: "claude-query-outcome-unknown",
			Message: "claude's program ended " + f.ending() + " after it was given the prompt, and did not say how the turn ended"}
	case f.interrupted:
		return failed("cancelled", "the prompt was cancelled before it was sent", false)
	}
	return failed("claude-query-failed", "claude's program ended "+f.ending()+" before it was given the prompt", true)
}

// code names a failure by the result's subtype.
func (r *resultLine) code() string {
	if r.subtype == "" || r.subtype == "success" {
		return "claude-query-failed"
	}
	return "claude-" + r.subtype
}

// reason says why a turn failed, without the program's own text: that can quote the
// conversation.
func (r *resultLine) reason() string {
	switch {
	case r.apiStatus > 0:
		return fmt.Sprintf("the model's server answered with status %d", r.apiStatus)
	case r.terminated != "":
		return "claude's turn failed: " + r.terminated
	}
	return "claude's turn failed"
}

func (f facts) ending() string {
	if f.signaled {
		return "by a signal"
	}
	return fmt.Sprintf("with code %d", f.exit)
}

// details are what the receipt keeps of a result: numbers and names, no words.
func (f facts) details() value.Value {
	b := value.NewBuilder().Record()
	b.Key("nativeSessionId").String(f.session)
	b.Key("cwd").String(f.dir)
	if r := f.result; r != nil {
		b.Key("turns").Int(r.turns)
		b.Key("durationMs").Int(r.durationMillis)
		b.Key("costUsd").Number(r.cost)
		for _, m := range []struct{ key, text string }{{"stopReason", r.stopReason}, {"terminalReason", r.terminated}} {
			if m.text != "" {
				b.Key(m.key).String(m.text)
			}
		}
	}
	return b.End().Finish()
}

// cancelledEarly is the outcome of a prompt that was not wanted any more before the
// program was started.
func cancelledEarly() *collect.Outcome {
	return refused(collect.Failed, "cancelled", "the prompt was cancelled before it was sent", false)
}
