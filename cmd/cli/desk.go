package cli

import (
	"context"
	"errors"
	"fmt"

	"agentsync/collect"
	"agentsync/ledger"
	"agentsync/ledger/durable"
	"agentsync/ledger/worker"
	"agentsync/publish"
)

// desk is where the commands of this machine are worked on: the opened store and ledger,
// the agents, and the worker between them.
type desk struct {
	*board
	v         *invocation
	target    *publish.Target
	ledger    *ledger.Commands
	owners    *owners
	sources   []collect.SourceConfig
	chosen    map[string]bool // sources whose commands are run
	operators map[string]*operator
	worker    *worker.Worker

	max     int // commands to admit, 0 for all
	given   int // of them, those that were admitted
	seen    map[ledger.CommandID]bool
	left    map[ledger.CommandID]bool // ours, and not admitted because of max
	known   map[ledger.CommandID]bool
	listed  map[ledger.CommandID]bool // they have an outcome on the list, whoever ran them
	before  worker.Stats              // after recovery, which is about earlier drains
	refused map[string]bool           // by name in the store
}

// withDesk opens everything that working on commands needs, and closes it.
func (v *invocation) withDesk(ctx context.Context, s *settings, sources []collect.SourceConfig, work func(*desk) error) error {
	target, done, err := v.openOwned(ctx, s)
	if err != nil {
		return err
	}
	defer done()
	if err := target.Current(ctx); err != nil {
		return err // before anything runs
	}
	s.env.Memory = memory(s.State)
	book, err := ledger.OpenCommands(ctx, durable.OS(), s.localFolder())
	if err != nil {
		return err
	}
	for _, note := range book.Notes() {
		v.out.warn("%s", note)
	}
	d := &desk{board: newBoard(v), v: v, target: target, ledger: book, sources: s.sources, chosen: map[string]bool{}, seen: map[ledger.CommandID]bool{},
		left: map[ledger.CommandID]bool{}, known: map[ledger.CommandID]bool{}, refused: map[string]bool{}}
	if d.owners, err = sourceOwners(ctx, s, target); err != nil {
		return errors.Join(err, book.Close())
	}
	d.operators = v.operators(s, sources, d.failed)
	for _, o := range d.operators {
		o.known = func(id string) ([]collect.Known, error) { return knownOf(ctx, target, id) }
	}
	for _, source := range sources {
		if id, err := collect.SourceID(source.ID); err == nil {
			d.chosen[id] = true
		}
	}
	d.worker = worker.New(d.options())
	err = work(d)
	for _, o := range d.operators {
		if stopped := o.stop(); stopped != nil {
			d.failed(&failure{exit: exitPartial, code: "source-unavailable", source: o.id, err: stopped})
		}
	}
	d.tell()
	if closed := book.Close(); err == nil && closed != nil {
		err = fmt.Errorf("close the ledger: %w", closed)
	}
	return err
}

// options are the worker's: what it works on, and whom it tells.
func (d *desk) options() worker.Options {
	refresh := &refresher{d.v, d.target, d.operators, d.missing}
	acts := make(map[string]collect.Operator, len(d.operators))
	for id, o := range d.operators {
		if d.owner(id) == worker.Ours {
			acts[id] = o
		}
	}
	return worker.Options{OwnerDID: d.target.OwnerDID(), Installation: d.target.Installation, Target: d.target, Ledger: d.ledger,
		Operators: acts, Owner: d.owner, Refresh: refresh.publish, Now: d.v.env.Now, Observe: d.settled, Failed: d.unrecorded,
		Running: d.running, Grace: drainGrace, Find: d.find, Resolve: realFolder,
		Folders: func(source string) ([]string, error) {
			return placesOf(context.Background(), d.target, d.sources, source)
		}}
}

// owner says whose work a source's commands are. Sources that were not asked for wait.
func (d *desk) owner(source string) worker.Owner {
	owner := d.owners.of(source)
	if owner == worker.Ours && !d.chosen[source] {
		return worker.Nobody
	}
	return owner
}

// find looks a command up in the queues.
func (d *desk) find(ctx context.Context, id ledger.CommandID) (worker.Queued, bool, error) {
	queue, err := d.target.Queued(ctx, func(other ledger.CommandID) bool { return other != id })
	for _, q := range queue.Commands {
		if q.Producer == id.Producer && q.ID == id.ID {
			return worker.Queued{Command: q.Command, Producer: q.Producer, Folders: q.Folders}, true, err
		}
	}
	return worker.Queued{}, false, err
}
