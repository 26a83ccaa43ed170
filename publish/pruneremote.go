package publish

import (
	"context"
	"errors"
	"strings"

	"agentsync/ledger"
	"agentsync/publish/store"
)

// settledCommands lists the commands that nobody needs any more: their outcome is known,
// and both are older than the grace period. An unknown outcome keeps its command, whose
// text may yet show what became of it; so does a receipt that does not hold.
func (t *Target) settledCommands(ctx context.Context, o PruneOptions, r *PruneReport) error {
	l, err := t.listQueues(ctx)
	if err != nil || len(l.commands) == 0 {
		return err
	}
	bound, _, err := t.bound(ctx, l)
	if err != nil {
		return err
	}
	folders, err := t.listReceipts(ctx, store.ReceiptsPrefix)
	if err != nil {
		return err
	}
	for _, c := range l.commands {
		producer, ok := bound[c.Queue]
		if !ok || o.Now.Sub(c.entry.Modified) < o.Grace {
			continue
		}
		if !c.Told {
			command, err := t.readCommand(ctx, c.entry, producer)
			if err != nil {
				if err := ignoreDamage(err); err != nil {
					return err
				}
				continue
			}
			c.ID = command.ID
		}
		settled, err := t.settled(ctx, folders[receiptFolderName(producer.Name, c.ID)], o)
		if err != nil {
			return err
		}
		if settled {
			r.Removed = append(r.Removed, Pruned{c.entry.Name, c.entry.Size, "its outcome is known"})
		}
	}
	return nil
}

func receiptFolderName(producer, id string) string {
	return strings.TrimSuffix(strings.TrimPrefix(store.ReceiptPrefix(producer, id), store.ReceiptsPrefix), "/")
}

// settled reports a receipt whose outcome is final and older than the grace period.
func (t *Target) settled(ctx context.Context, f *receiptFolder, o PruneOptions) (bool, error) {
	if f == nil || len(f.outcomes) == 0 || o.Now.Sub(f.outcomes[len(f.outcomes)-1].Modified) < o.Grace {
		return false, nil
	}
	if err := t.fill(ctx, f); err != nil {
		return false, ignoreDamage(err)
	}
	return f.newest().Status != ledger.Unknown, nil
}

// ignoreDamage returns nil for what does not hold or is gone.
func ignoreDamage(err error) error {
	var damaged *DamagedError
	if errors.As(err, &damaged) || store.Spoilt(err) {
		return nil
	}
	return err
}
