package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"agentsync/collect"
	"agentsync/ledger"
	"agentsync/publish/document"
	"agentsync/publish/store"
)

// What a caller asks of a failure to queue a command.
var (
	// ErrCommandExists reports an id that names another command of the same queue.
	ErrCommandExists = errors.New("another command of that queue has the id")
	// ErrNotProducer reports a key that may not send to the queue.
	ErrNotProducer = errors.New("the queue is bound to another key")
	// ErrBoundOtherwise reports a binding to the same key that allows something else.
	ErrBoundOtherwise = errors.New("the queue is bound to that key with other rights")
	// ErrNoProducer reports a queue that was never bound.
	ErrNoProducer = errors.New("no producer of that name is bound")
)

// Producer is one queue: the name of its producer, "" for the owner's own, and the one
// key whose commands it takes.
type Producer struct {
	Name string
	DID  string
	Time string // when it was bound, "" for the owner's own
	Rights
}

// Rights are what a producer may ask for; the owner may all.
type Rights = document.Rights

// BeyondError reports a command that goes beyond what the binding of its producer allows.
type BeyondError struct{ Reason string }

func (e *BeyondError) Error() string { return "goes beyond its producer's binding: " + e.Reason }

// allows returns a *BeyondError for a command that the producer may not send. Where a
// start may stand is judged by who runs it, since only there its folder is known.
func (p Producer) allows(c ledger.Command) error {
	switch {
	case p.Name == "":
	case !slices.Contains(p.Sources, c.SourceID):
		return &BeyondError{"that names no such source"}
	case !slices.Contains(p.Commands, string(c.Type)):
		return &BeyondError{"that names no such command"}
	}
	return nil
}

// QueuedCommand is one valid command of a queue.
type QueuedCommand struct {
	ledger.Command
	Producer string
	Folders  []string // below which a start of the producer may stand
	Name     string   // in the store
}

// Queue is what the bound queues hold. What is malformed, unsigned, wrongly signed or of
// another owner is refused, never run, and located.
type Queue struct {
	Commands []QueuedCommand // by queue and time of creation, then id
	Refused  []collect.Problem
}

// Send signs a command and puts it into a queue, once, and returns what the queue holds of
// it: the same command again is no error and leaves the first one as it is, with its time;
// another one under its id is ErrCommandExists. The signer is the queue's: the owner, or
// the producer that was bound. It also serves a target without a signer. After any other
// error the command may be there: sending it again is safe.
func (t *Target) Send(ctx context.Context, producer string, signer Signer, c ledger.Command) (ledger.Command, error) {
	p, err := t.producer(ctx, producer)
	if err != nil {
		return ledger.Command{}, err
	}
	if signer.DID() != p.DID {
		return ledger.Command{}, fmt.Errorf("send to %s: %w", queueTitle(producer), ErrNotProducer)
	}
	valid, err := ledger.ParseCommand(c.Value(), t.format.OwnerDID)
	if err != nil {
		return ledger.Command{}, fmt.Errorf("send to %s: %w", queueTitle(producer), err)
	}
	if err := p.allows(valid); err != nil {
		return ledger.Command{}, fmt.Errorf("send to %s: the command %w", queueTitle(producer), err)
	}
	text := t.seal(document.SealCommand(valid, signer.DID()), signer, producer)
	if len(text) > maxRecord {
		return ledger.Command{}, fmt.Errorf("send to %s: the command %w", queueTitle(producer), errTooLarge)
	}
	name := store.CommandName(producer, valid.ID)
	err = store.PutOnce(ctx, t.Store, name, text)
	if errors.Is(err, store.ErrExists) {
		return t.sentBefore(ctx, name, valid, p)
	}
	return valid, err
}

// sentBefore returns what has a command's name if it asks for the same, whenever it was
// sent and in whichever spelling.
func (t *Target) sentBefore(ctx context.Context, name string, c ledger.Command, p Producer) (ledger.Command, error) {
	size, err := t.Store.Stat(ctx, name)
	if err != nil {
		return ledger.Command{}, fmt.Errorf("compare with %s: %w", name, err)
	}
	taken, err := t.readCommand(ctx, store.Entry{Name: name, Size: size}, p)
	var damaged *DamagedError
	if err != nil && !errors.As(err, &damaged) {
		return ledger.Command{}, fmt.Errorf("compare with %s: %w", name, err)
	}
	if err != nil || !taken.Repeats(c) {
		return ledger.Command{}, fmt.Errorf("send %s: %w", name, ErrCommandExists)
	}
	return taken, nil
}

func queueTitle(producer string) string {
	if producer == "" {
		return "the owner's queue"
	}
	return fmt.Sprintf("the queue of %.80q", producer)
}

// producer returns who may send to a queue.
func (t *Target) producer(ctx context.Context, name string) (Producer, error) {
	if name == "" {
		return Producer{DID: t.format.OwnerDID}, nil
	}
	binding := store.BindingName(name)
	size, err := t.Store.Stat(ctx, binding)
	if errors.Is(err, store.ErrNotFound) {
		return Producer{}, fmt.Errorf("look for %s: %w", queueTitle(name), ErrNoProducer)
	}
	if err != nil {
		return Producer{}, fmt.Errorf("look for %s: %w", queueTitle(name), err)
	}
	p, err := t.readBinding(ctx, binding, size)
	if err == nil && p.Name != name {
		err = &DamagedError{binding, errMisnamed}
	}
	return p, err
}

// readBinding reads and checks what binds a queue.
func (t *Target) readBinding(ctx context.Context, name string, size int64) (Producer, error) {
	s, err := t.readSealed(ctx, name, size, document.SchemaProducer)
	if err != nil {
		return Producer{}, err
	}
	p, err := document.ParseProducer(s)
	switch {
	case err != nil:
	case p.OwnerDID != t.format.OwnerDID:
		err = errOwner
	case store.BindingName(p.Name) != name:
		err = errMisnamed
	default:
		err = t.checkSeal(s, t.format.OwnerDID, p.Name)
	}
	if err != nil {
		return Producer{}, &DamagedError{name, err}
	}
	return Producer{Name: p.Name, DID: p.DID, Time: p.Time, Rights: p.Rights}, nil
}

// BindProducer gives a producer a queue of its own, which takes only what its key has
// signed and its rights allow. It is signed by the owner. Binding
// again to the same key with the same rights changes nothing; another key is
// ErrNotProducer, other rights are ErrBoundOtherwise.
func (t *Target) BindProducer(ctx context.Context, p Producer, now time.Time) error {
	producer, did := p.Name, p.DID
	if t.Signer == nil {
		return fmt.Errorf("bind %s: %w", queueTitle(producer), errUnsignable)
	}
	if name, err := collect.SourceID(producer); err != nil || name != producer {
		return fmt.Errorf("bind %s: the name is not in its canonical form", queueTitle(producer))
	}
	// No signature at all does not match the key of a good did; a bad one is another error.
	if err := ledger.VerifyDID(did, nil, nil); !errors.Is(err, ledger.ErrSignature) {
		return fmt.Errorf("bind %s: %w", queueTitle(producer), err)
	}
	binding := &document.Producer{OwnerDID: t.format.OwnerDID, Name: producer, DID: did, Time: stamp(now), Rights: p.Rights}
	for _, list := range []*[]string{&binding.Rights.Sources, &binding.Rights.Commands, &binding.Rights.Folders} {
		*list = slices.Compact(slices.Sorted(slices.Values(*list)))
	}
	name := store.BindingName(producer)
	err := store.PutOnce(ctx, t.Store, name, t.seal(binding.Seal(t.Signer.DID()), t.Signer, producer))
	if !errors.Is(err, store.ErrExists) {
		return err
	}
	bound, err := t.producer(ctx, producer)
	switch {
	case err != nil:
	case bound.DID != did:
		err = fmt.Errorf("bind %s: %w", queueTitle(producer), ErrNotProducer)
	case !bound.Rights.Equal(binding.Rights):
		err = fmt.Errorf("bind %s: %w", queueTitle(producer), ErrBoundOtherwise)
	}
	return err
}
