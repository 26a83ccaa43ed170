package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"agentsync/ledger"
	"agentsync/publish/document"
	"agentsync/publish/store"
)

// receiptFolder is what the store holds of one command's receipt: its claim, and the
// outcomes that were written, of which the newest was read.
type receiptFolder struct {
	name     string        // a single segment
	claimAt  *store.Entry  // nil when there is none
	outcomes []store.Entry // in order, without a gap
	numbers  []int         // of the outcomes, as listed

	claim *document.Claim
	last  *document.Outcome // nil when there is none
}

// newest is the receipt that counts.
func (f *receiptFolder) newest() ledger.Receipt {
	if f.last != nil {
		return f.last.Receipt
	}
	return f.claim.Receipt
}

func (f *receiptFolder) shared() *ledger.SharedReceipt {
	return &ledger.SharedReceipt{Receipt: f.newest(), Installation: f.claim.Installation, Outcomes: len(f.outcomes)}
}

// readFolder reads a command's receipt; nil when nobody claimed it.
func (t *Target) readFolder(ctx context.Context, id ledger.CommandID) (*receiptFolder, error) {
	folders, err := t.listReceipts(ctx, store.ReceiptPrefix(id.Producer, id.ID))
	if err != nil {
		return nil, err
	}
	for _, f := range folders { // at most one
		return f, t.fill(ctx, f)
	}
	return nil, nil
}

// listReceipts lists the receipts below a prefix by their folders. A folder that was
// listed while it was written is listed again.
func (t *Target) listReceipts(ctx context.Context, prefix string) (map[string]*receiptFolder, error) {
	folders, err := t.listOnce(ctx, prefix)
	if err != nil {
		return nil, err
	}
	for name, f := range folders {
		if f.whole() {
			continue
		}
		again, err := t.listOnce(ctx, store.ReceiptsPrefix+name+"/")
		if err != nil {
			return nil, err
		}
		if folders[name] = again[name]; again[name] == nil {
			delete(folders, name)
		}
	}
	return folders, nil
}

func (t *Target) listOnce(ctx context.Context, prefix string) (map[string]*receiptFolder, error) {
	folders := map[string]*receiptFolder{}
	err := t.Store.List(ctx, prefix, func(e store.Entry) error {
		name, err := store.ParseReceiptName(e.Name)
		if err != nil {
			return nil // verify tells of it
		}
		f := folders[name.Folder]
		if f == nil {
			f = &receiptFolder{name: name.Folder}
			folders[name.Folder] = f
		}
		f.add(name.Outcome, e)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", prefix, err)
	}
	return folders, nil
}

func (f *receiptFolder) add(n int, e store.Entry) {
	if n == 0 {
		f.claimAt = &e
		return
	}
	i, _ := slices.BinarySearch(f.numbers, n)
	f.numbers = slices.Insert(f.numbers, i, n)
	f.outcomes = slices.Insert(f.outcomes, i, e)
}

// whole reports a claim, and outcomes without a gap.
func (f *receiptFolder) whole() bool {
	return f.claimAt != nil && (len(f.numbers) == 0 || f.numbers[len(f.numbers)-1] == len(f.numbers))
}

// fill reads the claim and the newest outcome, and checks that they are of one command,
// whose folder this is. A store that folds the case of names shows one folder for two
// ids: for one of them it is damaged.
func (t *Target) fill(ctx context.Context, f *receiptFolder) error {
	if !f.whole() {
		return &DamagedError{store.ReceiptsPrefix + f.name, errors.New("its claim or an outcome is missing")}
	}
	var err error
	if f.claim, err = t.readClaim(ctx, *f.claimAt); err != nil || len(f.outcomes) == 0 {
		return err
	}
	f.last, err = t.readOutcome(ctx, f, len(f.outcomes))
	return err
}

func (t *Target) readClaim(ctx context.Context, e store.Entry) (*document.Claim, error) {
	s, err := t.readSealed(ctx, e.Name, e.Size, document.SchemaClaim)
	if err != nil {
		return nil, err
	}
	claim, err := document.ParseClaim(s)
	if err == nil {
		err = t.checkReceipt(s, claim.Receipt, e.Name, 0)
	}
	if err != nil {
		return nil, &DamagedError{e.Name, err}
	}
	return claim, nil
}

// readOutcome reads the n-th outcome of a folder whose claim was read.
func (t *Target) readOutcome(ctx context.Context, f *receiptFolder, n int) (*document.Outcome, error) {
	e := f.outcomes[n-1]
	s, err := t.readSealed(ctx, e.Name, e.Size, document.SchemaOutcome)
	if err != nil {
		return nil, err
	}
	outcome, err := document.ParseOutcome(s)
	switch {
	case err != nil:
	case outcome.Number != int64(n):
		err = errMisnamed
	case !sameCommand(outcome.Receipt, f.claim.Receipt):
		err = errors.New("is not of the command that was claimed")
	default:
		err = t.checkReceipt(s, outcome.Receipt, e.Name, n)
	}
	if err != nil {
		return nil, &DamagedError{e.Name, err}
	}
	return outcome, nil
}

// checkReceipt returns an error unless the owner sealed the receipt and its name is that
// of the n-th outcome, of the claim for 0.
func (t *Target) checkReceipt(s *document.Sealed, r ledger.Receipt, name string, n int) error {
	if r.OwnerDID != t.format.OwnerDID {
		return errOwner
	}
	id := r.CommandID
	if n == 0 && store.ClaimName(id.Producer, id.ID) != name || n > 0 && store.OutcomeName(id.Producer, id.ID, n) != name {
		return errMisnamed
	}
	return t.checkSeal(s, t.format.OwnerDID, id.Producer)
}
