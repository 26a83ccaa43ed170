package collect

import (
	"context"
	"fmt"
	"time"

	"agentsync/collect/value"
)

// Operator changes sessions through their provider. It is apart from Driver so that
// what only reads need not know of it. An error says that the call itself failed; what
// the provider answered, an unknown result included, is an Outcome.
type Operator interface {
	// Prompt sends text to a session and waits for the end of its turn.
	Prompt(ctx context.Context, nativeSessionID string, in PromptInput, m Milestones) (Outcome, error)
	// StartSession begins a session under an id that the caller chose.
	StartSession(ctx context.Context, nativeSessionID string, in StartInput, m Milestones) (Outcome, error)
	// Cancel interrupts the turn that this operator runs in a session.
	Cancel(ctx context.Context, nativeSessionID string) (Outcome, error)
	Rename(ctx context.Context, nativeSessionID, title string) (Outcome, error)
	SetMode(ctx context.Context, nativeSessionID, mode string) (Outcome, error)
	SetConfigOption(ctx context.Context, nativeSessionID, key string, v value.Value) (Outcome, error)
}

// PromptInput is what a prompt says.
type PromptInput struct {
	Text  string
	Force bool   // passed through; a driver may ignore it
	Mark  string // names the operation to a provider that keeps such a name, as Trace.Mark does again; "" for none
}

// StartInput is what a new session begins with. Cwd, Title and Mode are "" when the
// driver is to choose.
type StartInput struct {
	PromptInput
	Cwd   string
	Title string
	Mode  string
}

// Milestones tells whoever gave an operation how far it came. The operator calls each
// method at most once, and none after the operation returned.
type Milestones interface {
	// CancelReady says that Cancel can reach the operation from now on.
	CancelReady()
	// SessionActive says that the provider is at work in a session, which is another one
	// than was asked for when the provider gave a start its own id. It returns when the
	// session's state has been looked at; until then the operator keeps that state observable.
	SessionActive(ctx context.Context, nativeSessionID string) error
}

// Status is how an operation ended.
type Status string

// The statuses of an outcome. Unknown means that nobody can prove whether the provider
// did it: it is never to be repeated by itself.
const (
	Succeeded         Status = "succeeded"
	Failed            Status = "failed"
	Unsupported       Status = "unsupported"
	NeedsConfirmation Status = "needs-confirmation"
	Unknown           Status = "unknown"
)

// Outcome is what a provider made of an operation.
type Outcome struct {
	Status              Status
	ProviderOperationID string            // turn or operation id, "" when there is none
	Result              value.Value       // a record of the provider's details; the zero Value for none
	Problem             *OperationProblem // nil when it succeeded
	Untouched           bool              // no session was changed, so none needs to be read again
	Session             string            // native id of the session that was changed, when it is not the one asked for
}

// Investigator finds out, from what the provider keeps, what became of an operation whose
// outcome nobody saw. An operator may implement it.
type Investigator interface {
	// Investigate returns the outcome that the evidence proves, or Unknown with a problem
	// that says what was looked at and why it proves nothing. It changes nothing and
	// wakes no session.
	Investigate(ctx context.Context, nativeSessionID string, t Trace) (Outcome, error)
}

// Trace is what is known of an operation whose outcome is not.
type Trace struct {
	Operation           string // prompt, start, cancel, rename, set-mode or set-config-option
	Text                string // of a prompt or start
	Title               string // of a rename
	Cwd                 string // of a start
	ProviderOperationID string // turn id, "" when it was never learned
	Mark                string // of a prompt or start: what the operation's PromptInput had; "" for none
	ClaimedAt           time.Time
}

// OperationProblem says why an operation did not succeed. It is part of a receipt and
// quotes no conversation.
type OperationProblem struct {
	Code      string // stable, for programs
	Message   string // for people
	Retryable bool   // the same operation may succeed later
}

func (p *OperationProblem) Error() string { return fmt.Sprintf("%s (%s)", p.Message, p.Code) }

// NotSupported is the outcome of an operation that a driver does not have.
func NotSupported(operation string) Outcome {
	return Outcome{Status: Unsupported, Untouched: true, Problem: &OperationProblem{
		Code: "unsupported", Message: "this source cannot " + operation}}
}

// NoOperations is an Operator of which every operation is unsupported. A driver embeds
// it and replaces what it has.
type NoOperations struct{}

var _ Operator = NoOperations{}

// Prompt is unsupported.
func (NoOperations) Prompt(context.Context, string, PromptInput, Milestones) (Outcome, error) {
	return NotSupported("send a prompt"), nil
}

// StartSession is unsupported.
func (NoOperations) StartSession(context.Context, string, StartInput, Milestones) (Outcome, error) {
	return NotSupported("start a session"), nil
}

// Cancel is unsupported.
func (NoOperations) Cancel(context.Context, string) (Outcome, error) {
	return NotSupported("cancel a turn"), nil
}

// Rename is unsupported.
func (NoOperations) Rename(context.Context, string, string) (Outcome, error) {
	return NotSupported("rename a session"), nil
}

// SetMode is unsupported.
func (NoOperations) SetMode(context.Context, string, string) (Outcome, error) {
	return NotSupported("set a mode"), nil
}

// SetConfigOption is unsupported.
func (NoOperations) SetConfigOption(context.Context, string, string, value.Value) (Outcome, error) {
	return NotSupported("set an option"), nil
}
