package worker

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"agentsync/collect"
	"agentsync/collect/value"
	"agentsync/ledger"
)

// The codes of receipts that the worker itself writes (spec 5.8).
const (
	codeClaimFailed    = "claim-publish-failed"
	codeCallFailed     = "provider-call-failed"
	codeNoSource       = "source-unavailable"
	codeOrphanedShared = "orphaned-shared-claim"
	codeOrphaned       = "orphaned-in-flight"
	codeInterrupted    = "interrupted-by-shutdown"
)

const (
	exactTime  = "2006-01-02T15:04:05.000Z"
	maxMessage = 500 // bytes of a driver's error in a receipt
)

func (w *Worker) now() string { return w.o.Now().UTC().Format(exactTime) }

// claimOf is the receipt of a command that is about to be claimed.
func (w *Worker) claimOf(q Queued) ledger.Receipt {
	return ledger.Receipt{OwnerDID: w.o.OwnerDID, CommandID: q.ID(), SourceID: q.SourceID,
		NativeSessionID: q.NativeSessionID, Status: ledger.InFlight, ClaimedAt: w.now()}
}

// settled is a receipt with an outcome. What would make it no valid receipt is put right:
// a status that nobody knows is unknown, a problem always has a code and a message, and
// a result is a record.
func (w *Worker) settled(r ledger.Receipt, o collect.Outcome) ledger.Receipt {
	r.Status = ledger.ReceiptStatus(o.Status)
	if o.Status != collect.Unknown && !proven(r.Status) {
		r.Status = ledger.Unknown
		o.Problem = &collect.OperationProblem{Code: codeCallFailed, Message: "the driver answered without a status"}
	}
	r.CompletedAt = w.now()
	if o.ProviderOperationID != "" {
		r.ProviderOperationID = o.ProviderOperationID
	}
	r.Problem, r.Result = nil, value.Value{}
	if o.Problem != nil {
		problem := *o.Problem
		if problem.Code == "" {
			problem.Code = codeCallFailed
		}
		if problem.Message == "" {
			problem.Message = problem.Code
		}
		r.Problem = &problem
	}
	if o.Result.Kind() == value.Record {
		r.Result = o.Result
	}
	return r
}

// orphaned is the receipt of a claim of ours whose run ended without an outcome.
func (w *Worker) orphaned(r ledger.Receipt, code string) ledger.Receipt {
	return w.settled(r, collect.Outcome{Status: collect.Unknown, Problem: &collect.OperationProblem{Code: code,
		Message: "the run that claimed the command left no outcome; nobody can tell whether the provider did it"}})
}

// proven reports the status of an outcome that is known.
func proven(s ledger.ReceiptStatus) bool {
	switch s {
	case ledger.Succeeded, ledger.Failed, ledger.Unsupported, ledger.NeedsConfirmation:
		return true
	}
	return false
}

// claimFailed is the problem of a command whose claim could not be written.
func claimFailed() *collect.OperationProblem {
	return &collect.OperationProblem{Code: codeClaimFailed, Retryable: true,
		Message: "the claim could not be published; the provider was not called"}
}

// unavailable is the outcome of a command whose source is ours and cannot be opened.
func unavailable() collect.Outcome {
	return collect.Outcome{Status: collect.Unsupported, Untouched: true, Problem: &collect.OperationProblem{
		Code: codeNoSource, Message: "the source is not available here", Retryable: true}}
}

// notBegun is the outcome of a claimed command whose provider was not called any more.
func notBegun() collect.Outcome {
	return collect.Outcome{Status: collect.Failed, Untouched: true, Problem: &collect.OperationProblem{
		Code: codeInterrupted, Message: "the run was ended before the provider was called", Retryable: true}}
}

// unanswered is the outcome of an operation that was interrupted and did not say how
// it ended.
func unanswered() collect.Outcome {
	return collect.Outcome{Status: collect.Unknown, Problem: &collect.OperationProblem{
		Code: codeInterrupted, Message: "the run was ended while the provider was at work"}}
}

// callFailed is the outcome of an operation that could not be given to the provider.
func callFailed(err error, q Queued) collect.Outcome {
	return collect.Outcome{Status: collect.Failed, Problem: &collect.OperationProblem{
		Code: codeCallFailed, Message: short(err, q)}}
}

// broken is the outcome of an operation whose driver panicked: how far it came is open.
func broken() collect.Outcome {
	return collect.Outcome{Status: collect.Unknown, Problem: &collect.OperationProblem{
		Code: codeCallFailed, Message: "the driver broke off while the provider was called"}}
}

// short is a driver's error in one line for a receipt. An error never quotes what the
// command says; one that does all the same is not quoted either.
func short(err error, q Queued) string {
	text := strings.Join(strings.Fields(strings.ToValidUTF8(err.Error(), "?")), " ")
	for _, field := range []string{"text", "title"} {
		said := strings.Join(strings.Fields(q.Payload.Path(field).Str()), " ")
		if said != "" && strings.Contains(text, said) {
			return "the driver could not call the provider"
		}
	}
	if text == "" {
		return "the driver could not call the provider"
	}
	if len(text) > maxMessage {
		text = strings.ToValidUTF8(text[:maxMessage], "") + "…"
	}
	return text
}

// sameCommand compares the identities of two receipts of one command id.
func sameCommand(r, shared ledger.Receipt) error {
	switch {
	case shared.CommandID != r.CommandID:
		return errors.New("the shared receipt is another command's")
	case shared.OwnerDID != r.OwnerDID:
		return errors.New("the shared receipt is another owner's")
	case shared.SourceID != r.SourceID || shared.NativeSessionID != r.NativeSessionID:
		return fmt.Errorf("the shared receipt is of session %s of %s", shared.NativeSessionID, shared.SourceID)
	}
	return nil
}

// claimTime is when a receipt's command was claimed, the zero time when it does not say.
func claimTime(r ledger.Receipt) time.Time {
	at, err := time.Parse(exactTime, r.ClaimedAt)
	if err != nil {
		return time.Time{}
	}
	return at
}
