package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"agentsync/collect"
	"agentsync/ledger"
	"agentsync/publish/document"
	"agentsync/publish/store"
)

// Codes of the problems of queues, for programs.
const (
	CodeMisnamed       = "misnamed"        // a name that nothing in a queue has, or another's
	CodeStrange        = "strange"         // a link, a pipe or a device, never opened
	CodeTooLarge       = "too-large"       // more than 1 MiB
	CodeMalformed      = "malformed"       // no record, or no command
	CodeUnsigned       = "unsigned"        // no signature
	CodeWrongSignature = "wrong-signature" // not signed by the queue's key, for this store and this queue
	CodeForeignOwner   = "foreign-owner"   // of another owner
	CodeBeyond         = "beyond-binding"  // more than the binding of its producer allows
	CodeUnbound        = "unbound-queue"   // no valid binding says whose queue it is
)

// Producers lists the queues, the owner's first; bindings that do not hold are problems.
func (t *Target) Producers(ctx context.Context) ([]Producer, []collect.Problem, error) {
	l, err := t.listQueues(ctx)
	if err != nil {
		return nil, nil, err
	}
	bound, refused, err := t.bound(ctx, l)
	if err != nil {
		return nil, nil, err
	}
	producers := make([]Producer, 0, len(bound))
	for _, p := range bound {
		producers = append(producers, p)
	}
	slices.SortFunc(producers, func(a, b Producer) int { return cmp.Compare(a.Name, b.Name) })
	return producers, refused, nil
}

// Queued reads the queues. Commands that skip accepts are passed over, unread where
// their name tells their id. It may be called while other methods run.
func (t *Target) Queued(ctx context.Context, skip func(ledger.CommandID) bool) (Queue, error) {
	l, err := t.listQueues(ctx)
	if err != nil {
		return Queue{}, err
	}
	bound, refused, err := t.bound(ctx, l)
	if err != nil {
		return Queue{}, err
	}
	if skip == nil {
		skip = func(ledger.CommandID) bool { return false }
	}
	q := Queue{Refused: append(l.refused, refused...)}
	var wanted []queuedEntry
	for _, c := range l.commands {
		producer, ok := bound[c.Queue]
		switch {
		case !ok:
			q.Refused = append(q.Refused, unbound(c.entry.Name))
		case !c.Told || !skip(ledger.CommandID{Producer: producer.Name, ID: c.ID}):
			wanted = append(wanted, c)
		}
	}
	if err := t.readCommands(ctx, wanted, bound, &q); err != nil {
		return Queue{}, err
	}
	q.Commands = slices.DeleteFunc(q.Commands, func(c QueuedCommand) bool { // those whose name does not tell their id
		return skip(ledger.CommandID{Producer: c.Producer, ID: c.ID})
	})
	slices.SortFunc(q.Commands, func(a, b QueuedCommand) int {
		return cmp.Or(cmp.Compare(a.Producer, b.Producer), cmp.Compare(a.CreatedAt, b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	slices.SortFunc(q.Refused, func(a, b collect.Problem) int { return cmp.Compare(a.Path, b.Path) })
	return q, nil
}

// readCommands adds what it reads to the queue, several at once.
func (t *Target) readCommands(ctx context.Context, wanted []queuedEntry, bound map[string]Producer, q *Queue) error {
	var mu sync.Mutex
	return parallel(ctx, t.Workers, len(wanted), func(ctx context.Context, next func() int) error {
		for i := next(); i >= 0; i = next() {
			name, producer := wanted[i].entry.Name, bound[wanted[i].Queue]
			command, err := t.readCommand(ctx, wanted[i].entry, producer)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			mu.Lock()
			switch {
			case err == nil:
				q.Commands = append(q.Commands, QueuedCommand{command, producer.Name, producer.Folders, name})
			case !errors.Is(err, store.ErrNotFound): // else pruned since it was listed
				q.Refused = append(q.Refused, refusedFor(name, err))
			}
			mu.Unlock()
		}
		return nil
	})
}

// queueListing is what lies below the queues' folder.
type queueListing struct {
	bindings []store.Entry
	commands []queuedEntry
	refused  []collect.Problem
}

type queuedEntry struct {
	store.QueuedName
	entry store.Entry
}

func (t *Target) listQueues(ctx context.Context) (*queueListing, error) {
	l := &queueListing{}
	err := t.Store.List(ctx, store.QueuesPrefix, func(e store.Entry) error {
		switch name, err := store.ParseQueuedName(e.Name); {
		case e.Strange:
			l.refused = append(l.refused, refusal(e.Name, CodeStrange, "is no record, but a link, a pipe or a device"))
		case err != nil:
			l.refused = append(l.refused, refusal(e.Name, CodeMisnamed, "nothing in a queue has such a name"))
		case name.Binding:
			l.bindings = append(l.bindings, e)
		default:
			l.commands = append(l.commands, queuedEntry{name, e})
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the queues: %w", err)
	}
	return l, nil
}

// bound returns whose the queues are, by the folder of each.
func (t *Target) bound(ctx context.Context, l *queueListing) (map[string]Producer, []collect.Problem, error) {
	bound := map[string]Producer{}
	var refused []collect.Problem
	add := func(p Producer) {
		folder, _, _ := strings.Cut(strings.TrimPrefix(store.CommandName(p.Name, "x"), store.QueuesPrefix), "/")
		bound[folder] = p
	}
	add(Producer{DID: t.format.OwnerDID})
	for _, e := range l.bindings {
		p, err := t.readBinding(ctx, e.Name, e.Size)
		if err == nil {
			add(p)
			continue
		}
		if ctx.Err() != nil {
			return nil, nil, err
		}
		refused = append(refused, refusedFor(e.Name, err))
	}
	return bound, refused, nil
}

// readCommand reads and checks one command of a queue.
func (t *Target) readCommand(ctx context.Context, e store.Entry, p Producer) (ledger.Command, error) {
	s, err := t.readSealed(ctx, e.Name, e.Size, document.SchemaCommand)
	if err != nil {
		return ledger.Command{}, err
	}
	if s.Record.Path("ownerDid").Str() != t.format.OwnerDID {
		return ledger.Command{}, &DamagedError{e.Name, errOwner}
	}
	if err := t.checkSeal(s, p.DID, p.Name); err != nil {
		return ledger.Command{}, &DamagedError{e.Name, err}
	}
	c, err := ledger.ParseCommand(s.Record, t.format.OwnerDID)
	if err == nil && store.CommandName(p.Name, c.ID) != e.Name {
		err = errMisnamed
	}
	if err == nil {
		err = p.allows(c)
	}
	if err != nil {
		return ledger.Command{}, &DamagedError{e.Name, err}
	}
	return c, nil
}

// refusedFor is the problem of something in a queue that could not be read or does not
// hold. It quotes nothing of it.
func refusedFor(name string, err error) collect.Problem {
	var damaged *DamagedError
	if !errors.As(err, &damaged) {
		return refusal(name, collect.CodeUnreadable, "could not be read")
	}
	for _, one := range []struct {
		err  error
		code string
	}{{errTooLarge, CodeTooLarge}, {document.ErrUnsigned, CodeUnsigned}, {errSigner, CodeWrongSignature},
		{ledger.ErrSignature, CodeWrongSignature}, {errOwner, CodeForeignOwner}, {errMisnamed, CodeMisnamed}} {
		if errors.Is(err, one.err) {
			return refusal(name, one.code, one.err.Error())
		}
	}
	var beyond *BeyondError
	if errors.As(err, &beyond) {
		return refusal(name, CodeBeyond, beyond.Error())
	}
	var invalid *ledger.InvalidCommandError
	if errors.As(err, &invalid) {
		return refusal(name, CodeMalformed, invalid.Error())
	}
	return refusal(name, CodeMalformed, "is no record of the schema that it must have")
}

func unbound(name string) collect.Problem {
	return refusal(name, CodeUnbound, "no valid binding says whose queue this is")
}

func refusal(name, code, message string) collect.Problem {
	return collect.Problem{Code: code, Message: message, Path: name}
}
