// Package worker runs commands: it claims them, calls the provider in admission order
// for each session, lets a cancellation overtake once the provider can take it, and
// leaves a receipt for everything. It repeats nothing whose outcome it does not know,
// and writes no outcome of a command that another installation claimed.
//
// A claim whose answer was lost is read back. Is it there, the command runs. Is it not,
// or cannot be told, then the local receipt is "claim-publish-failed" and the provider is
// not called. That receipt stays at home, since only who holds the claim may write an
// outcome: the next pass forgets it when nobody has the claim, so that the command runs
// then, and publishes it when the claim turns out to have come through after all.
package worker

import (
	"context"
	"errors"
	"sync"
	"time"

	"agentsync/collect"
	"agentsync/ledger"
)

// Queued is a valid command and the queue that it came by.
type Queued struct {
	ledger.Command
	Producer string   // "" for the owner's own queue
	Folders  []string // below which a start of the producer may stand; the owner's is judged by its source's
}

// ID is the command's identity.
func (q Queued) ID() ledger.CommandID {
	return ledger.CommandID{Producer: q.Producer, ID: q.Command.ID}
}

// Target is where claims and receipts are shared with other machines. Its methods may
// be called by several goroutines.
type Target interface {
	// ReadReceipt returns what is known of a command, nil when nobody claimed it.
	ReadReceipt(ctx context.Context, id ledger.CommandID) (*ledger.SharedReceipt, error)
	// Claim writes the claim, once for all machines. When somebody else's is there
	// already, won is false and taken says what is known.
	Claim(ctx context.Context, r ledger.Receipt) (won bool, taken *ledger.SharedReceipt, err error)
	// PublishReceipt writes an outcome, durably.
	PublishReceipt(ctx context.Context, r ledger.Receipt) error
	// ListReceipts brings the bounded list of receipts in step with these.
	ListReceipts(ctx context.Context, receipts []ledger.Receipt) error
}

// Ledger is the local memory of claims: *ledger.Commands.
type Ledger interface {
	Get(id ledger.CommandID) (ledger.Receipt, bool, error)
	Known(id ledger.CommandID) bool
	Put(ctx context.Context, receipts ...ledger.Receipt) error
	Forget(ctx context.Context, id ledger.CommandID) error
	MarkPublished(ctx context.Context, receipts ...ledger.Receipt) error
	Pending() []ledger.Receipt
	InFlight() []ledger.Receipt
}

var _ Ledger = (*ledger.Commands)(nil)

// Session names a session whose published copy is to be brought up to date.
type Session struct{ SourceID, NativeSessionID string }

// Owner says whose work a source's commands are.
type Owner int

// Owners of a source.
const (
	Nobody    Owner = iota // no installation is known to have the source
	Ours                   // this installation runs its commands
	Elsewhere              // another installation does; its commands are left alone
)

// Options are what a worker works with.
type Options struct {
	OwnerDID     string
	Installation string
	Target       Target
	Ledger       Ledger
	Operators    map[string]collect.Operator // by canonical source id; sources that could not be opened are absent
	Owner        func(sourceID string) Owner
	// Folders returns the folders of a source: a start of the owner's that names another one
	// is not run unless it is forced. None at all forbids none. Nil asks for none.
	Folders func(sourceID string) ([]string, error)
	// Resolve returns a folder's absolute path without links and dots; it must be there.
	Resolve func(path string) (string, error)
	// Refresh publishes sessions anew while the worker goes on. Sessions that were asked
	// for during a refresh come together in the next. Nil refreshes nothing.
	Refresh func(ctx context.Context, sessions []Session) error
	Now     func() time.Time
	// Observe is told of a receipt that is durable everywhere; it cannot change it.
	Observe func(ledger.Receipt)
	// Failed is told of a command whose bookkeeping failed, at once.
	Failed func(Failure)
	// Running is told when a command's provider is called and when it is done.
	Running  func(q Queued, begun bool)
	Sessions int // sessions worked on at once; 0 is 16
	// Grace is how long an interrupted operation may take to say how it ended.
	Grace time.Duration
	// ListEvery is how long receipts gather for one change of the list while commands
	// are at work; 0 is half a second.
	ListEvery time.Duration
	// Find returns a queued command, for Reconcile; found is false when the queue has
	// it no longer. Nil finds nothing.
	Find func(ctx context.Context, id ledger.CommandID) (q Queued, found bool, err error)
}

const (
	defaultSessions  = 16
	defaultListEvery = 500 * time.Millisecond
)

// ErrInterrupted is the cause with which Interrupt ends operations, and what Handle
// returns afterwards.
var ErrInterrupted = errors.New("interrupted")

// Stats counts what became of the commands that were handed over. A command that is
// handed over again counts again.
type Stats struct {
	Admitted  int                          // scheduled
	Known     int                          // skipped: in the ledger or scheduled already
	Elsewhere int                          // left alone: another installation's
	Waiting   int                          // left alone: nobody is known to have the source
	Left      int                          // scheduled and not begun before Interrupt; the next pass has them
	Adopted   int                          // an outcome was found in the store
	Orphaned  int                          // a claim of ours without an outcome became unknown
	Ran       map[ledger.ReceiptStatus]int // claimed here, by outcome
	Failures  int                          // bookkeeping that failed, see Drain
}

// Worker runs commands. It serves many goroutines. Drain must be the last call.
type Worker struct {
	o         Options
	work      context.Context // of operations; Interrupt ends it
	stop      context.CancelCauseFunc
	books     context.Context // of bookkeeping, which nothing ends
	handing   sync.Mutex      // one Handle at a time
	refresher refresher
	lister    lister

	mu        sync.Mutex // guards what follows, and the fields of lines and tasks
	lines     map[string]*line
	ready     []*line // lines with a command to run that no runner holds
	runners   int
	scheduled map[ledger.CommandID]bool
	tasks     tally // admitted and unfinished commands
	hands     tally // goroutines
	stats     Stats
	failures  []error // since the last Drain
}

// New returns a worker that has nothing to do yet.
func New(o Options) *Worker {
	if o.Sessions <= 0 {
		o.Sessions = defaultSessions
	}
	if o.ListEvery <= 0 {
		o.ListEvery = defaultListEvery
	}
	w := &Worker{o: o, books: context.Background(), lines: map[string]*line{},
		scheduled: map[ledger.CommandID]bool{}, tasks: newTally(), hands: newTally()}
	w.work, w.stop = context.WithCancelCause(w.books)
	w.stats.Ran = map[ledger.ReceiptStatus]int{}
	return w
}

// Failure is a command whose bookkeeping failed. It carries no payload.
type Failure struct {
	ID              ledger.CommandID
	SourceID        string
	NativeSessionID string
	Err             error
}

func (f *Failure) Error() string { return "command " + f.ID.ID + ": " + f.Err.Error() }

func (f *Failure) Unwrap() error { return f.Err }
