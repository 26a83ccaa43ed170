package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"agentsync/collect"
	"agentsync/ledger"
	"agentsync/publish/store"
)

// remote checks what remote commands left: the list of receipts first, since whatever it
// names was there before it; then the receipts, the queues and how passes ended.
func (v *verification) remote() error {
	var newest []ReceiptRow
	err := v.chain(receiptsHead, func(g *generation) error {
		_, list, err := v.readList(v.lib, uint64(g.head.Generation))
		if err != nil {
			return err
		}
		if v.report.Lists++; v.report.Lists == 1 {
			newest = list.Rows
		}
		return nil
	})
	if err != nil {
		return err
	}
	folders, err := v.receipts()
	if err != nil {
		return err
	}
	for _, row := range newest {
		v.checkRow(row, folders)
	}
	if err := v.queues(); err != nil {
		return err
	}
	return v.health()
}

// receipts checks every claim and outcome.
func (v *verification) receipts() (map[string]*receiptFolder, error) {
	err := v.Store.List(v.ctx, store.ReceiptsPrefix, func(e store.Entry) error {
		if _, err := store.ParseReceiptName(e.Name); err != nil {
			v.problem(e.Name, err)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list receipts: %w", err)
	}
	folders, err := v.listReceipts(v.ctx, store.ReceiptsPrefix)
	if err != nil {
		return nil, err
	}
	names := sortedKeys(folders)
	return folders, parallel(v.ctx, v.Workers, len(names), func(ctx context.Context, next func() int) error {
		for i := next(); i >= 0; i = next() {
			f := folders[names[i]]
			if err := v.tolerate(store.ReceiptsPrefix+f.name, v.checkFolder(ctx, f)); err != nil {
				return err
			}
		}
		return nil
	})
}

// checkFolder checks one receipt: that it holds, and that nothing but unknown was replaced.
func (v *verification) checkFolder(ctx context.Context, f *receiptFolder) error {
	if err := v.fill(ctx, f); err != nil {
		return err
	}
	for n := 1; n < len(f.outcomes); n++ {
		o, err := v.readOutcome(ctx, f, n)
		if err != nil {
			return err
		}
		if o.Receipt.Status != ledger.Unknown {
			return &DamagedError{f.outcomes[n].Name, errors.New("replaces an outcome that was settled")}
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.report.Claims++
	v.report.Outcomes += len(f.outcomes)
	return nil
}

// checkRow checks that the list says nothing of a command that its receipt does not.
func (v *verification) checkRow(row ReceiptRow, folders map[string]*receiptFolder) {
	name := store.ClaimName(row.CommandID.Producer, row.CommandID.ID)
	f := folders[receiptFolderName(row.CommandID.Producer, row.CommandID.ID)]
	switch {
	case f == nil:
		v.problem(name, errors.New("the list of receipts has a row for it, and it is not there"))
	case f.claim == nil || len(f.outcomes) > 0 && f.last == nil: // told already
	case !replaceable(row.Status, f.newest().Status) && f.newest().Status != row.Status:
		v.problem(name, fmt.Errorf("is %s, the list of receipts says %s", f.newest().Status, row.Status))
	}
}

// queues checks every binding and every command.
func (v *verification) queues() error {
	l, err := v.listQueues(v.ctx)
	if err != nil {
		return err
	}
	bound, refused, err := v.bound(v.ctx, l)
	if err != nil {
		return err
	}
	v.report.Producers = len(bound) - 1 // the owner's own queue needs no binding
	v.report.Refused = append(l.refused, refused...)
	err = parallel(v.ctx, v.Workers, len(l.commands), func(ctx context.Context, next func() int) error {
		for i := next(); i >= 0; i = next() {
			if err := v.checkCommand(ctx, l.commands[i], bound); err != nil {
				return err
			}
		}
		return nil
	})
	slices.SortFunc(v.report.Refused, func(a, b collect.Problem) int { return cmp.Compare(a.Path, b.Path) })
	return err
}

func (v *verification) refuse(p collect.Problem) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.report.Refused = append(v.report.Refused, p)
}

func (v *verification) checkCommand(ctx context.Context, c queuedEntry, bound map[string]Producer) error {
	producer, ok := bound[c.Queue]
	if !ok {
		v.refuse(unbound(c.entry.Name))
		return nil
	}
	_, err := v.readCommand(ctx, c.entry, producer)
	if errors.Is(err, store.ErrNotFound) {
		return nil // pruned since it was listed
	}
	var invalid *DamagedError
	if errors.As(err, &invalid) && !store.Spoilt(err) {
		v.refuse(refusedFor(c.entry.Name, err))
		return nil
	}
	if err != nil {
		return v.tolerate(c.entry.Name, err)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.report.Commands++
	return nil
}
