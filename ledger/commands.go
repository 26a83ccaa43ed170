package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"runtime"
	"slices"
	"sync"

	"agentsync/collect"
	"agentsync/ledger/durable"
)

const (
	commandsFile = "commands.json"
	archiveFile  = "commands.archive"
)

// Commands is the local ledger of commands: what this installation claimed, what became
// of it, and which receipts still have to be published. A claim is in it, durably,
// before a provider is called. It serves many goroutines, and one process writes it.
//
// The receipts in work are a file that is replaced as a whole. Those that are settled
// (terminal and published) move, some hundreds at a time, to the end of the archive,
// which is synced before the file forgets them. Of two receipts of one command the one
// in the file counts, then the last one in the archive.
type Commands struct {
	disk     durable.FS
	place    *slots
	readOnly bool
	high     int // settledHigh and settledLow, less in tests
	low      int

	turn    sync.Mutex // held by whoever writes, who alone changes what follows
	attempt uint64     // the newest generation that a write was tried with
	unsure  bool       // what was read, or a write that failed, may not be durable, or be more than is known
	closed  bool
	text    []byte // memory of the file's text

	mu      sync.RWMutex // guards what follows against the readers
	waiting []*change
	kept    content
	archive archive
	notes   []string
}

// twinSlots says that a rename on this system may not replace a file in one step.
const twinSlots = runtime.GOOS == "windows"

// OpenCommands opens the ledger of the private folder dir, which serves one store. The
// caller holds the drain lock. A file that is not a ledger is a *CorruptError, and is
// never overwritten; a newer format is a *VersionError.
func OpenCommands(ctx context.Context, disk durable.FS, dir string) (*Commands, error) {
	return openCommands(ctx, disk, dir, twinSlots)
}

func openCommands(ctx context.Context, disk durable.FS, dir string, twin bool) (*Commands, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := durable.MkdirPrivate(disk, dir); err != nil {
		return nil, fmt.Errorf("open the ledger of commands: %w", err)
	}
	if err := sweepOwnTemps(disk, dir); err != nil {
		return nil, fmt.Errorf("open the ledger of commands: %w", err)
	}
	c, err := load(disk, dir, twin)
	if err == nil {
		err = c.place.repair()
	}
	if err != nil {
		return nil, fmt.Errorf("open the ledger of commands: %w", err)
	}
	c.unsure = c.kept.generation > 0
	c.notes = append(c.notes, c.archive.leftovers()...)
	return c, nil
}

// ReadCommands reads the ledger without changing anything, for those who only look.
func ReadCommands(disk durable.FS, dir string) (*Commands, error) {
	if err := durable.CheckPrivate(disk, dir); err != nil && !isNotExist(err) {
		return nil, fmt.Errorf("read the ledger of commands: %w", err)
	}
	c, err := load(disk, dir, twinSlots)
	if err != nil {
		return nil, fmt.Errorf("read the ledger of commands: %w", err)
	}
	c.readOnly = true
	return c, nil
}

// load reads the file first and the archive after it: receipts only ever move from the
// one to the other, so that a reader beside a writer misses none.
func load(disk durable.FS, dir string, twin bool) (*Commands, error) {
	c := &Commands{disk: disk, place: newSlots(disk, filepath.Join(dir, commandsFile), twin), high: settledHigh, low: settledLow}
	kept, err := c.place.read()
	if err != nil {
		return nil, err
	}
	c.kept, c.attempt, c.notes = kept, kept.generation, c.place.notes
	c.archive, err = openArchive(disk, filepath.Join(dir, archiveFile), kept.archived)
	if err != nil {
		return nil, err
	}
	c.notes = append(c.notes, c.archive.damage()...)
	return c, nil
}

// Get returns a command's receipt, also an archived one. One that is known and cannot be
// read is a *CorruptError.
func (c *Commands) Get(id CommandID) (Receipt, bool, error) {
	key := id.Key()
	c.mu.RLock()
	kept := c.kept.entries[key]
	line, archived := c.archive.index[key]
	c.mu.RUnlock()
	if kept != nil {
		return kept.receipt.detached(), true, nil
	}
	if !archived {
		return Receipt{}, false, nil
	}
	receipt, err := c.archive.read(line)
	if err != nil {
		return Receipt{}, true, fmt.Errorf("read the receipt of command %.80q: %w", id.ID, err)
	}
	return receipt, true, nil
}

// Known reports that the ledger has a receipt of the command. It reads no disk.
func (c *Commands) Known(id CommandID) bool {
	key := id.Key()
	c.mu.RLock()
	defer c.mu.RUnlock()
	_, archived := c.archive.index[key]
	return archived || c.kept.entries[key] != nil
}

// Put stores receipts and marks them as awaiting publication, durably when it returns.
// Calls at the same time share one write. ctx is looked at before that, not during it.
// After an error nobody knows whether they are stored.
func (c *Commands) Put(ctx context.Context, receipts ...Receipt) error {
	entries := make([]*entry, len(receipts))
	for i, r := range receipts {
		made, err := newEntry(r)
		if err != nil {
			return fmt.Errorf("store the receipt of command %.80q: %w", r.CommandID.ID, err)
		}
		entries[i] = made
	}
	err := c.commit(ctx, func(d *draft) error {
		for _, one := range entries {
			d.put(one)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("store %d receipts: %w", len(receipts), err)
	}
	return nil
}

// errNotForgotten is why a receipt stays.
var errNotForgotten = errors.New("only a receipt that is in flight and was never published is forgotten")

// Forget removes the receipt of a command that was never claimed in the store, so that
// whoever may run it can. One that is not there is forgotten already; one that was
// published, or is not in flight, stays and is an error.
func (c *Commands) Forget(ctx context.Context, id CommandID) error {
	key := id.Key()
	err := c.commit(ctx, func(d *draft) error {
		kept := d.get(key)
		_, archived := c.archive.index[key]
		switch {
		case archived || kept != nil && (kept.receipt.Status != InFlight || !kept.pending || kept.published):
			return errNotForgotten
		case kept != nil:
			d.edits[key] = nil
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("forget the receipt of command %.80q: %w", id.ID, err)
	}
	return nil
}

// MarkPublished clears the marks of receipts, unless they were stored anew since.
func (c *Commands) MarkPublished(ctx context.Context, receipts ...Receipt) error {
	err := c.commit(ctx, func(d *draft) error {
		for _, r := range receipts {
			d.published(r)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("mark %d receipts as published: %w", len(receipts), err)
	}
	return nil
}

// Pending returns the receipts that await publication, by identity.
func (c *Commands) Pending() []Receipt {
	return c.pick(func(e *entry) bool { return e.pending })
}

// InFlight returns the receipts of commands that were claimed and have no outcome yet,
// by identity.
func (c *Commands) InFlight() []Receipt {
	return c.pick(func(e *entry) bool { return e.receipt.Status == InFlight })
}

func (c *Commands) pick(chosen func(*entry) bool) []Receipt {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.picked(chosen)
}

// picked is pick for those who hold the lock.
func (c *Commands) picked(chosen func(*entry) bool) []Receipt {
	var picked []Receipt
	for _, key := range c.kept.order {
		if e := c.kept.entries[key]; chosen(e) {
			picked = append(picked, e.receipt.detached())
		}
	}
	return picked
}

// All walks over every receipt as it is when the walk begins, the archived ones first.
// An archived line that cannot be read is an error of its own, and the walk goes on.
func (c *Commands) All() iter.Seq2[Receipt, error] {
	return func(yield func(Receipt, error) bool) {
		c.mu.RLock()
		kept := c.picked(func(*entry) bool { return true })
		lines := slices.Clone(c.archive.nameless)
		for key, line := range c.archive.index {
			if c.kept.entries[key] == nil {
				lines = append(lines, line)
			}
		}
		c.mu.RUnlock()
		slices.SortFunc(lines, func(a, b span) int { return cmp.Compare(a.offset, b.offset) })
		if !c.archive.walk(lines, yield) {
			return
		}
		for _, r := range kept {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// Notes are what a person should hear about: archived lines that could not be read.
func (c *Commands) Notes() []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Clone(c.notes)
}

func (c *Commands) note(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.notes, text) {
		c.notes = append(c.notes, text)
	}
}

// Close ends the ledger, once the writes that began have ended. What was put is durable
// already.
func (c *Commands) Close() error {
	c.turn.Lock()
	defer c.turn.Unlock()
	c.closed = true
	return nil
}

// detached returns a copy that shares nothing that could be changed.
func (r Receipt) detached() Receipt {
	if r.Problem != nil {
		problem := collect.OperationProblem(*r.Problem)
		r.Problem = &problem
	}
	return r
}
