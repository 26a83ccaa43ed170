package publish

import (
	"context"
	"errors"
	"time"

	"agentsync/collect"
	"agentsync/ledger"
)

// What a caller asks of a failure to queue a command.
var (
	// ErrCommandExists reports an id that names another command of the same queue.
	ErrCommandExists = errors.New("another command of that queue has the id")
	// ErrNotProducer reports a key that may not send to the queue.
	ErrNotProducer = errors.New("the queue is bound to another key")
	// ErrNoProducer reports a queue that was never bound.
	ErrNoProducer = errors.New("no producer of that name is bound")
)

// Producer is one queue: the name of its producer, "" for the owner's own, and the one
// key whose commands it takes.
type Producer struct {
	Name string
	DID  string
	Time string // when it was bound, "" for the owner's own
}

// QueuedCommand is one valid command of a queue.
type QueuedCommand struct {
	ledger.Command
	Producer string
	Name     string // in the store
}

// Queue is what the bound queues hold. What is malformed, unsigned, wrongly signed or of
// another owner is refused, never run, and located.
type Queue struct {
	Commands []QueuedCommand // by queue and time of creation, then id
	Refused  []collect.Problem
}

// Send signs a command and puts it into a queue, once: the same command again is no
// error, another one under its id is ErrCommandExists. The signer is the queue's: the
// owner, or the producer that was bound. It also serves a target without a signer.
func (t *Target) Send(ctx context.Context, producer string, signer Signer, c ledger.Command) error {
	return ErrNoProducer
}

// BindProducer gives a producer a queue of its own, which takes only what the key did
// has signed. It is signed by the owner, and binding again to the same key changes
// nothing; to another one it is ErrNotProducer.
func (t *Target) BindProducer(ctx context.Context, producer, did string, now time.Time) error {
	return ErrNoProducer
}

// Producers lists the queues, the owner's first; bindings that do not hold are problems.
func (t *Target) Producers(ctx context.Context) ([]Producer, []collect.Problem, error) {
	return nil, nil, nil
}

// Queued reads the queues. Commands that skip accepts are passed over, unread where
// their name tells their id.
func (t *Target) Queued(ctx context.Context, skip func(ledger.CommandID) bool) (Queue, error) {
	return Queue{}, nil
}
