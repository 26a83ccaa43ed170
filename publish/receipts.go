package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"agentsync/collect/value"
	"agentsync/ledger"
	"agentsync/publish/document"
	"agentsync/publish/store"
)

// What a caller asks of a failure to publish an outcome.
var (
	// ErrSettled reports a command that has another outcome already. Only an unknown one
	// is ever replaced.
	ErrSettled = errors.New("the command has another outcome already")
	// ErrClaimed reports an outcome of a command that another installation claimed, under
	// a claim that is not that one.
	ErrClaimed = errors.New("another installation claimed the command")
)

// ReadReceipt returns what the store holds of a command's receipt, nil when nobody
// claimed it. A receipt that does not hold is a *DamagedError. It may be called while
// other methods run, as Claim, PublishReceipt and ListReceipts may.
func (t *Target) ReadReceipt(ctx context.Context, id ledger.CommandID) (*ledger.SharedReceipt, error) {
	f, err := t.readFolder(ctx, id)
	if f == nil || err != nil {
		return nil, err
	}
	return f.shared(), nil
}

// Claim puts the claim of a command, which is in flight from then on. Of all machines
// one wins; the others are told what is known. After an error the claim may be there:
// ReadReceipt tells.
func (t *Target) Claim(ctx context.Context, r ledger.Receipt) (won bool, taken *ledger.SharedReceipt, err error) {
	if r.Status != ledger.InFlight {
		return false, nil, fmt.Errorf("claim command %s: its receipt is %s", r.CommandID.ID, r.Status)
	}
	// Looked at first: outcomes whose claim is missing must not be run over.
	if taken, err = t.ReadReceipt(ctx, r.CommandID); taken != nil || err != nil {
		return false, taken, err
	}
	won, err = t.putClaim(ctx, r)
	if won || err != nil {
		return won, nil, err
	}
	if taken, err = t.ReadReceipt(ctx, r.CommandID); err == nil && taken == nil {
		err = fmt.Errorf("claim command %s: its claim is gone", r.CommandID.ID)
	}
	return false, taken, err
}

// putClaim puts a claim, and reports whether the command is this call's.
func (t *Target) putClaim(ctx context.Context, r ledger.Receipt) (bool, error) {
	failed := func(err error) error { return fmt.Errorf("claim command %s: %w", r.CommandID.ID, err) }
	if err := t.writable(r); err != nil {
		return false, failed(err)
	}
	nonce, err := t.nonce()
	if err != nil {
		return false, failed(err)
	}
	claim := &document.Claim{Installation: t.Installation, Nonce: nonce, Receipt: r}
	text := t.seal(claim.Seal(t.Signer.DID()), t.Signer, r.CommandID.Producer)
	name := store.ClaimName(r.CommandID.Producer, r.CommandID.ID)
	err = store.PutOnce(ctx, t.Store, name, text)
	if err != nil && !errors.Is(err, store.ErrExists) {
		// The answer may be lost, the claim there. The nonce tells it from any other.
		err = store.PutOnce(ctx, t.Store, name, text)
	}
	if errors.Is(err, store.ErrExists) {
		return false, nil
	}
	if err != nil {
		return false, failed(err)
	}
	return true, nil
}

// writable returns an error unless the receipt is a valid one that this target can sign.
func (t *Target) writable(r ledger.Receipt) error {
	if t.Signer == nil {
		return errUnsignable
	}
	if r.OwnerDID != t.format.OwnerDID {
		return errOwner
	}
	_, err := ledger.ParseReceipt(r.Value())
	return err
}

// PublishReceipt writes an outcome under the next free number, unless the newest one
// says the same. A receipt that is in flight is its claim and nothing more. An outcome
// of a command that nobody claimed claims it first. ErrSettled and ErrClaimed report
// that the store says something else for good.
func (t *Target) PublishReceipt(ctx context.Context, r ledger.Receipt) error {
	failed := func(err error) error { return fmt.Errorf("publish the receipt of command %s: %w", r.CommandID.ID, err) }
	if err := t.writable(r); err != nil {
		return failed(err)
	}
	for {
		f, err := t.readFolder(ctx, r.CommandID)
		if err != nil {
			return err
		}
		if f == nil {
			if err := t.claimFor(ctx, r); err != nil {
				return failed(err)
			}
			continue
		}
		next, err := f.next(r, t.Installation)
		if err != nil {
			return failed(err)
		}
		if next == 0 {
			return nil
		}
		err = t.putOutcome(ctx, next, r)
		if !errors.Is(err, store.ErrExists) {
			return err
		}
	}
}

// claimFor claims a command that ended before it was claimed, so that nobody runs it. When
// somebody else claims it first, the next look at the receipt decides.
func (t *Target) claimFor(ctx context.Context, r ledger.Receipt) error {
	if !r.Status.Terminal() {
		return fmt.Errorf("it is %s and nobody claimed it", r.Status)
	}
	r.Status, r.CompletedAt, r.ProviderOperationID, r.Problem, r.Result = ledger.InFlight, "", "", nil, value.Value{}
	_, err := t.putClaim(ctx, r)
	return err
}

func (t *Target) putOutcome(ctx context.Context, n int, r ledger.Receipt) error {
	outcome := &document.Outcome{Number: int64(n), Installation: t.Installation, Receipt: r}
	text := t.seal(outcome.Seal(t.Signer.DID()), t.Signer, r.CommandID.Producer)
	return store.PutOnce(ctx, t.Store, store.OutcomeName(r.CommandID.Producer, r.CommandID.ID, n), text)
}

// next decides under which number a receipt is to be written, 0 when there is nothing
// to write.
func (f *receiptFolder) next(r ledger.Receipt, installation string) (int, error) {
	newest := f.newest()
	switch {
	case !sameCommand(newest, r):
		return 0, errors.New("the store has it as another session's command")
	case sameReceipt(newest, r):
		return 0, nil
	case f.claim.Installation != installation && f.claim.Receipt.ClaimedAt != r.ClaimedAt:
		return 0, ErrClaimed
	case r.Status == ledger.InFlight:
		return 0, nil
	case !r.Status.Terminal():
		return 0, fmt.Errorf("it is %s", r.Status)
	case !replaceable(newest.Status, r.Status):
		return 0, ErrSettled
	}
	return len(f.outcomes) + 1, nil
}

// sameCommand reports receipts of one command of one session.
func sameCommand(a, b ledger.Receipt) bool {
	return a.OwnerDID == b.OwnerDID && a.CommandID == b.CommandID && a.SourceID == b.SourceID &&
		a.NativeSessionID == b.NativeSessionID
}

// sameReceipt reports receipts that say the same.
func sameReceipt(a, b ledger.Receipt) bool {
	return bytes.Equal(value.AppendText(nil, a.Value()), value.AppendText(nil, b.Value()))
}
