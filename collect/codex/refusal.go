package codex

import (
	"errors"
	"strings"

	"agentsync/collect"
	"agentsync/collect/stdio"
)

// Codes of problems that operations end with.
const (
	codeActive        = "already-active"
	codeCancelled     = "cancelled"
	codeMissingTurn   = "missing-turn-id"
	codeTurnUnknown   = "turn-outcome-unknown"
	codeTurnFailed    = "turn-failed"
	codeRenameUnknown = "rename-outcome-unknown"
	codeCancelUnknown = "cancel-outcome-unknown"
	codeInUse         = "thread-in-use"
	codeArchived      = "session-archived"
	codeNotFound      = "session-not-found"
	codeInvalidID     = "invalid-session-id"
	codeOtherHome     = "session-in-other-home"
	codeNoTurn        = "no-active-turn"
	codeInvalidTitle  = "invalid-title"
	codeRefused       = "agent-refused"
	codeUnavailable   = "agent-unavailable"
	codeNotAsked      = "agent-connection-lost"
	codeStopped       = "driver-stopped"
	codeCwdRequired   = "start-cwd-required"
	codeCwdNoFolder   = "start-cwd-not-directory"
)

// refusals are the app server's answers that have a meaning of their own. All of its
// errors have the same number; their texts tell them apart (codex-cli 0.171.0).
var refusals = []struct {
	text      string
	code      string
	message   string
	retryable bool
}{
	{"already has an active writer", codeInUse, "another program has the thread open", true},
	{"is archived", codeArchived, "the thread is archived", false},
	{"invalid thread id", codeInvalidID, "the agent does not take this id for a thread's", false},
	{"thread not loaded", codeNotFound, "the agent does not know the thread", false},
	{"thread not found", codeNotFound, "the agent does not know the thread", false},
	{"no rollout found", codeNotFound, "the agent has no file of the thread", false},
	{"no active turn", codeNoTurn, "the turn has ended already", false},
	{"expected active turn id", codeNoTurn, "the turn has ended already, and another one runs", false},
	{"thread name must not be empty", codeInvalidTitle, "the title is blank", false},
}

// refusal is the problem that an error answer means. Unknown texts are not passed on:
// they may quote what was sent.
func refusal(method string, err *stdio.RPCError) *collect.OperationProblem {
	for _, r := range refusals {
		if strings.Contains(err.Message, r.text) {
			return &collect.OperationProblem{Code: r.code, Message: r.message, Retryable: r.retryable}
		}
	}
	return problemf(codeRefused, "the agent refused "+method)
}

func problemf(code, message string) *collect.OperationProblem {
	return &collect.OperationProblem{Code: code, Message: message}
}

// asking is the outcome of a request that failed and that by itself changes nothing that
// lasts: the session is as it was.
func asking(method string, err error) collect.Outcome {
	o := collect.Outcome{Status: collect.Failed, Untouched: true}
	if answered, ok := errors.AsType[*stdio.RPCError](err); ok {
		o.Problem = refusal(method, answered)
		return o
	}
	o.Problem = &collect.OperationProblem{Code: codeNotAsked, Retryable: true,
		Message: "the agent did not answer " + method + "; nothing was sent to the session"}
	return o
}

// changing is the outcome of a request that failed and that does something lasting. Only
// an error answer, or nothing sent at all, prove that it was not done.
func changing(method, unknown string, err error) collect.Outcome {
	if _, answered := errors.AsType[*stdio.RPCError](err); answered || errors.Is(err, stdio.ErrNotSent) {
		return asking(method, err)
	}
	return collect.Outcome{Status: collect.Unknown, Problem: problemf(unknown,
		"the connection to the agent was lost after "+method+" was sent")}
}

// unreachable is the outcome of an operation for which there was no app server.
func unreachable(err error) collect.Outcome {
	o := collect.Outcome{Status: collect.Failed, Untouched: true}
	none, ok := errors.AsType[*noServerError](err)
	switch {
	case errors.Is(err, errStopped):
		o.Problem = &collect.OperationProblem{Code: codeStopped, Message: "the driver has been stopped", Retryable: true}
	case ok:
		o.Problem = &collect.OperationProblem{Code: codeUnavailable, Message: none.Error(), Retryable: true}
	default:
		o.Problem = problemf(codeCancelled, "cancelled before the agent was asked anything")
	}
	return o
}

// failed is an outcome that changed nothing.
func failed(code, message string) collect.Outcome {
	return collect.Outcome{Status: collect.Failed, Untouched: true, Problem: problemf(code, message)}
}
