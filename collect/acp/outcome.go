package acp

import (
	"context"
	"errors"
	"io/fs"

	"agentsync/collect"
	"agentsync/collect/stdio"
	"agentsync/collect/value"
)

// Codes of operations that did not succeed.
const (
	codeActive         = "already-active"
	codeCancelled      = "cancelled"
	codePromptUnknown  = "prompt-outcome-unknown"
	codeStartUnknown   = "start-outcome-unknown"
	codeSettingUnknown = "setting-outcome-unknown"
	codeCancelUnknown  = "cancel-outcome-unknown"
	codeNotActive      = "not-active"
	codeNotCancelled   = "not-cancelled" // the turn ended by itself
	codeNoSession      = "session-not-found"
	codeRefused        = "agent-refused"
	codeUnavailable    = "agent-unavailable"
	codeInterrupted    = "interrupted"
	codeModeUnoffered  = "mode-not-offered"
	codeUnoffered      = "option-not-offered"
	codeInvalidValue   = "invalid-value"
	codeCwd            = "no-directory"
	codeOutside        = "outside-of-source"
)

func problem(status collect.Status, code, message string, retryable bool) collect.Outcome {
	return collect.Outcome{Status: status, Problem: &collect.OperationProblem{Code: code, Message: message, Retryable: retryable}}
}

// untouched is an outcome of which no session knows.
func untouched(o collect.Outcome) collect.Outcome {
	o.Untouched = true
	return o
}

// failure is the outcome of what failed before the agent was asked to change anything.
func failure(err error) collect.Outcome {
	code, retryable := codeUnavailable, true
	var refused *refusal
	switch {
	case errors.Is(err, errActive):
		return untouched(problem(collect.NeedsConfirmation, codeActive, err.Error(), true))
	case errors.Is(err, fs.ErrNotExist):
		code, retryable = codeNoSession, false
	case errors.As(err, &refused):
		code, retryable = codeRefused, false
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		code = codeInterrupted
	}
	return untouched(problem(collect.Failed, code, err.Error(), retryable))
}

// answered is the outcome of a request that failed: as the agent says, or not at all when
// nothing of it was sent, and otherwise unknown, with the given code.
func answered(err error, code string) collect.Outcome {
	var refused *refusal
	switch {
	case errors.As(err, &refused):
		return problem(collect.Failed, codeRefused, err.Error(), false)
	case errors.Is(err, stdio.ErrNotSent):
		return failure(err)
	}
	return problem(collect.Unknown, code, err.Error(), false)
}

// result builds a record of an outcome's details.
func result(details func(*value.Builder)) value.Value {
	b := value.NewBuilder().Record()
	details(b)
	return b.End().Finish()
}
