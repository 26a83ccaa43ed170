package publish

import (
	"context"

	"agentsync/collect"
	"agentsync/ledger"
)

// ReadReceipt returns what the store holds of a command's receipt, nil when nobody
// claimed it. A receipt that does not hold is a *DamagedError. It may be called while
// other methods run, as Claim, PublishReceipt and ListReceipts may.
func (t *Target) ReadReceipt(ctx context.Context, id ledger.CommandID) (*ledger.SharedReceipt, error) {
	return nil, nil
}

// Claim puts the claim of a command, which is in flight from then on. Of all machines
// one wins; the others are told what is known.
func (t *Target) Claim(ctx context.Context, r ledger.Receipt) (won bool, taken *ledger.SharedReceipt, err error) {
	return false, nil, nil
}

// PublishReceipt writes an outcome under the next free number, unless the newest one
// says the same. A receipt that is in flight is its claim and nothing more.
func (t *Target) PublishReceipt(ctx context.Context, r ledger.Receipt) error { return nil }

// ListReceipts brings the list of the newest 200 receipts in step: a row for each of
// these, in order, the former row of the same command removed. Two writers merge.
func (t *Target) ListReceipts(ctx context.Context, receipts []ledger.Receipt) error { return nil }

// Receipts returns the rows of the list, the newest first.
func (t *Target) Receipts(ctx context.Context) ([]ReceiptRow, error) { return nil, nil }

// ReceiptRow is one row of the list of receipts.
type ReceiptRow struct {
	CommandID       ledger.CommandID
	SourceID        string
	NativeSessionID string
	Status          ledger.ReceiptStatus
	UpdatedAt       string
	Problem         *collect.OperationProblem
}

// RepairReceipts makes the list anew from the individual receipts, and returns how many
// rows it has.
func (t *Target) RepairReceipts(ctx context.Context) (int, error) { return 0, nil }
