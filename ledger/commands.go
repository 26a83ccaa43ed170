package ledger

import (
	"context"
	"iter"

	"agentsync/ledger/durable"
)

// Commands is the local ledger of commands: what this installation claimed, what became
// of it, and which receipts still have to be published. A claim is in it, durably,
// before a provider is called.
type Commands struct{}

// OpenCommands opens the ledger of the private folder dir, which serves one store. The
// caller holds the drain lock. A file that is not a ledger is a *CorruptError, and is
// never overwritten; a newer format is a *VersionError.
func OpenCommands(ctx context.Context, disk durable.FS, dir string) (*Commands, error) {
	return &Commands{}, nil
}

// ReadCommands reads the ledger without changing anything, for those who only look.
func ReadCommands(disk durable.FS, dir string) (*Commands, error) { return &Commands{}, nil }

// Get returns a command's receipt, also an archived one.
func (c *Commands) Get(id CommandID) (Receipt, bool, error) { return Receipt{}, false, nil }

// Known reports that the ledger has a receipt of the command. It reads no disk.
func (c *Commands) Known(id CommandID) bool { return false }

// Put stores receipts and marks them as awaiting publication, durably when it returns.
// Calls at the same time share one write.
func (c *Commands) Put(ctx context.Context, receipts ...Receipt) error { return nil }

// Forget removes the receipt of a command that was never claimed in the store, so that
// whoever may run it can.
func (c *Commands) Forget(ctx context.Context, id CommandID) error { return nil }

// MarkPublished clears the marks of receipts, unless they were stored anew since.
func (c *Commands) MarkPublished(ctx context.Context, receipts ...Receipt) error { return nil }

// Pending returns the receipts that await publication, by identity.
func (c *Commands) Pending() []Receipt { return nil }

// InFlight returns the receipts of commands that were claimed and have no outcome yet.
func (c *Commands) InFlight() []Receipt { return nil }

// All walks over every receipt, the archived ones first. An archived line that cannot
// be read is an error of its own, and the walk goes on.
func (c *Commands) All() iter.Seq2[Receipt, error] { return func(func(Receipt, error) bool) {} }

// Notes are what a person should hear about: archived lines that could not be read.
func (c *Commands) Notes() []string { return nil }

// Close ends the ledger. What was put is durable already.
func (c *Commands) Close() error { return nil }
