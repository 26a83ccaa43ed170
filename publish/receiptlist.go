package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"agentsync/hashgraph/digest"
	"agentsync/ledger"
	"agentsync/publish/document"
	"agentsync/publish/store"
)

// ReceiptRow is one row of the list of receipts.
type ReceiptRow = document.ReceiptRow

// listings gathers what callers at the same time want listed, so that they share one
// state of the list.
type listings struct {
	turn    sync.Mutex // held by the one caller that writes
	mu      sync.Mutex
	waiting *listing
}

// listing is what one state of the list takes up. Its done and err are guarded by turn.
type listing struct {
	rows []ReceiptRow
	done bool
	err  error
}

func (l *listings) join(rows []ReceiptRow) *listing {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting == nil {
		l.waiting = &listing{}
	}
	l.waiting.rows = append(l.waiting.rows, rows...)
	return l.waiting
}

// close lets nobody join any more.
func (l *listings) close(one *listing) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.waiting == one {
		l.waiting = nil
	}
}

// ListReceipts brings the list of the newest 200 receipts in step: a row for each of
// these, in order, the former row of the same command removed. A settled row stays as
// it is. Two writers merge, and callers at the same time share one write.
func (t *Target) ListReceipts(ctx context.Context, receipts []ledger.Receipt) error {
	if t.Signer == nil {
		return fmt.Errorf("list receipts: %w", errUnsignable)
	}
	rows := make([]ReceiptRow, 0, len(receipts))
	for _, r := range receipts {
		if err := t.writable(r); err != nil {
			return fmt.Errorf("list the receipt of command %s: %w", r.CommandID.ID, err)
		}
		row := document.ReceiptRowOf(r)
		if row.UpdatedAt == "" {
			return fmt.Errorf("list the receipt of command %s: it has no time", r.CommandID.ID)
		}
		rows = append(rows, row)
	}
	for {
		one := t.lists.join(rows)
		t.lists.turn.Lock()
		if !one.done {
			t.lists.close(one)
			one.err = t.writeList(ctx, one.rows)
			one.done = true
		}
		err := one.err
		t.lists.turn.Unlock()
		if !errors.Is(err, context.Canceled) || ctx.Err() != nil { // else another caller was told to stop
			return err
		}
	}
}

// writeList puts the list with the rows, unless they are there.
func (t *Target) writeList(ctx context.Context, rows []ReceiptRow) error {
	for {
		base, list, err := t.newestList(ctx)
		if err != nil {
			return err
		}
		next, changed := listed(list.Rows, rows)
		if !changed {
			return nil
		}
		if err := t.putList(ctx, base, next); !errors.Is(err, store.ErrExists) {
			return err
		}
	}
}

// listed returns the rows with others put at their end, without the oldest where they are
// too many, and whether that changes any.
func listed(rows, others []ReceiptRow) (next []ReceiptRow, changed bool) {
	next = slices.Clone(rows)
	for _, row := range others {
		i := slices.IndexFunc(next, func(r ReceiptRow) bool { return r.CommandID == row.CommandID })
		if i >= 0 && (next[i].Equal(row) || !replaceable(next[i].Status, row.Status)) {
			continue
		}
		if i >= 0 {
			next = slices.Delete(next, i, i+1)
		}
		next = append(next, row)
	}
	// An installation that takes over brings old ones in: they do not push newer ones off.
	for byTime := func(a, b ReceiptRow) int { return cmp.Compare(a.UpdatedAt, b.UpdatedAt) }; len(next) > document.MaxReceiptRows; {
		oldest := slices.MinFunc(next, byTime)
		i := slices.IndexFunc(next, func(r ReceiptRow) bool { return r.CommandID == oldest.CommandID })
		next = slices.Delete(next, i, i+1)
	}
	return next, !slices.EqualFunc(next, rows, ReceiptRow.Equal)
}

// replaceable reports that a status may give way to another: nothing follows a settled
// one, and after unknown there is no way back to running.
func replaceable(from, to ledger.ReceiptStatus) bool {
	return !from.Terminal() || from == ledger.Unknown && to.Terminal()
}

// putList writes the list after base.
func (t *Target) putList(ctx context.Context, base *generation, rows []ReceiptRow) error {
	list := &document.ReceiptList{Rows: rows}
	for _, row := range rows {
		list.UpdatedAt = max(list.UpdatedAt, row.UpdatedAt)
	}
	_, err := t.putHead(ctx, base, &document.Head{Name: receiptsHead, List: list.Value(t.causes()), Time: list.UpdatedAt})
	return err
}

// newestList returns the newest list and the head that holds it, nil and an empty list
// when there is none.
func (t *Target) newestList(ctx context.Context) (*generation, *document.ReceiptList, error) {
	g, err := t.newestHead(t.library(ctx), receiptsHead)
	if err != nil || g == nil {
		return nil, &document.ReceiptList{}, err
	}
	return t.listOf(g)
}

// readList reads and checks the n-th state of the list.
func (t *Target) readList(lib *library, n uint64) (*generation, *document.ReceiptList, error) {
	g, err := t.readHead(lib, receiptsHead, n)
	if err != nil {
		return nil, nil, err
	}
	return t.listOf(g)
}

func (t *Target) listOf(g *generation) (*generation, *document.ReceiptList, error) {
	list, err := document.ParseReceiptList(g.head.List, t.causes())
	if err != nil {
		return nil, nil, &DamagedError{store.HeadName(receiptsHead, uint64(g.head.Generation)), err}
	}
	return g, list, nil
}

// Receipts returns the rows of the list, the newest first. It serves a target without a
// signer, and a store without sessions, and may be called while other methods run.
func (t *Target) Receipts(ctx context.Context) ([]ReceiptRow, error) {
	_, list, err := t.newestList(ctx)
	if err != nil {
		return nil, err
	}
	slices.Reverse(list.Rows)
	return list.Rows, nil
}

// RepairReceipts makes the list anew from the individual receipts, and returns how many
// rows it has. Receipts that do not hold are left out; they are the error, after the list
// was written. Where there is no receipt at all, the list stays as it is.
func (t *Target) RepairReceipts(ctx context.Context) (int, error) {
	if t.Signer == nil {
		return 0, fmt.Errorf("repair the list of receipts: %w", errUnsignable)
	}
	rows, damage, err := t.receiptRows(ctx)
	if err != nil {
		return 0, err
	}
	if len(rows) == 0 {
		_, _, err := t.newestList(ctx)
		return 0, errors.Join(err, damage)
	}
	for {
		base, list, err := t.repairable(ctx)
		if err != nil {
			return 0, err
		}
		if list != nil && slices.EqualFunc(list.Rows, rows, ReceiptRow.Equal) {
			return len(rows), damage
		}
		if err = t.putList(ctx, base, rows); err == nil {
			return len(rows), damage
		}
		if !errors.Is(err, store.ErrExists) {
			return 0, err
		}
	}
}

// repairable returns the newest head, and its list or nil when that is damaged.
func (t *Target) repairable(ctx context.Context) (*generation, *document.ReceiptList, error) {
	n, err := t.newestNumber(ctx, receiptsHead)
	if err != nil || n == 0 {
		return nil, nil, err
	}
	g, list, err := t.readList(t.library(ctx), n)
	var damaged *DamagedError
	if err == nil || !errors.As(err, &damaged) {
		return g, list, err
	}
	name := store.HeadName(receiptsHead, n)
	text, err := readRecord(ctx, t.Store, name)
	if err != nil {
		return nil, nil, err
	}
	return &generation{head: &document.Head{Generation: int64(n)}, text: digest.Sum(text)}, nil, nil
}

// receiptRows reads every receipt and returns the rows of the newest, and as damage what
// does not hold.
func (t *Target) receiptRows(ctx context.Context) (rows []ReceiptRow, damage, err error) {
	folders, err := t.listReceipts(ctx, store.ReceiptsPrefix)
	if err != nil {
		return nil, nil, err
	}
	var problems []error
	for _, name := range sortedKeys(folders) {
		f := folders[name]
		err := t.fill(ctx, f)
		var damaged *DamagedError
		switch {
		case errors.As(err, &damaged):
			problems = append(problems, err)
		case err != nil:
			return nil, nil, err
		default:
			rows = append(rows, document.ReceiptRowOf(f.newest()))
		}
	}
	slices.SortStableFunc(rows, func(a, b ReceiptRow) int {
		return cmp.Or(cmp.Compare(a.UpdatedAt, b.UpdatedAt), cmp.Compare(a.CommandID.Key(), b.CommandID.Key()))
	})
	return rows[max(0, len(rows)-document.MaxReceiptRows):], errors.Join(problems...), nil
}
