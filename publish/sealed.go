package publish

import (
	"context"
	"errors"
	"fmt"
	"io"

	"agentsync/ledger"
	"agentsync/publish/document"
	"agentsync/publish/store"
)

// maxRecord bounds a command, a claim or an outcome as stored.
const maxRecord = store.MaxRecord // bytes; a prompt of 128 KiB takes less however it is escaped

// What makes a sealed record one that is not acted upon.
var (
	errTooLarge = store.ErrTooLarge
	errSigner   = errors.New("is signed by another key than it must be")
	errMisnamed = errors.New("lies under another name than its own")
	errOwner    = errors.New("belongs to another owner")
)

// errUnsignable reports a target that was opened for reading only.
var errUnsignable = errors.New("the store was opened without the owner's key")

// readSealed reads a record that its listing says is size bytes long, and checks its
// schema. What does not hold is a *DamagedError.
func (t *Target) readSealed(ctx context.Context, name string, size int64, schema string) (*document.Sealed, error) {
	if size > maxRecord {
		return nil, &DamagedError{name, errTooLarge}
	}
	text, err := t.Store.Get(ctx, name, 0, size, nil)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, store.ErrStrange) {
		return nil, &DamagedError{name, err}
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	s, err := document.ParseSealed(text, schema)
	if err != nil {
		return nil, &DamagedError{name, err}
	}
	return s, nil
}

// checkSeal returns an error unless the key signer sealed the record for this store and
// the producer's queue.
func (t *Target) checkSeal(s *document.Sealed, signer, producer string) error {
	if s.Signer != signer {
		return errSigner
	}
	return ledger.VerifyDID(signer, s.Message(t.format.SpaceDID, producer), s.Signature)
}

// seal signs a record for this store and the producer's queue.
func (t *Target) seal(s *document.Sealed, signer Signer, producer string) []byte {
	s.Signature = signer.Sign(s.Message(t.format.SpaceDID, producer))
	return s.Text()
}
