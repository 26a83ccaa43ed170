package publish

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"time"

	"agentsync/ledger"
	"agentsync/publish/document"
	"agentsync/publish/store"
)

const formatName = "format.json"

// ErrRecordLost reports a place without format.json that holds what only a store does.
var ErrRecordLost = errors.New("it is missing, and there are heads, packs, contents, commands or receipts")

// Open opens an existing store. It is ErrNoStore when the place holds none, ErrForeign
// when a signer is given that is not the owner, a *DamagedError of ErrRecordLost when
// the record of a store is gone, and a *PastError when another store was seen there.
func Open(ctx context.Context, o Options) (*Target, error) {
	format, err := readFormat(ctx, o.Store)
	if errors.Is(err, store.ErrNotFound) {
		if err = missing(ctx, o.Store); err == nil {
			format, err = readFormat(ctx, o.Store) // made while it was looked for
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", o.Store.Location(), err)
	}
	if o.Signer != nil && o.Signer.DID() != format.OwnerDID {
		return nil, fmt.Errorf("open %s: %w: %s", o.Store.Location(), ErrForeign, format.OwnerDID)
	}
	t := &Target{Options: o, format: format}
	if err := t.knows(); err != nil {
		return nil, err
	}
	if t.Seen != nil {
		t.Seen.Add(format.OwnerDID, format.SpaceDID, "", ledger.SeenHead{})
	}
	return t, nil
}

// readFormat reads and checks what makes a place a store.
func readFormat(ctx context.Context, s store.Store) (*document.Format, error) {
	text, err := readRecord(ctx, s, formatName)
	if err != nil {
		return nil, err
	}
	format, err := document.ParseFormat(text)
	if err != nil {
		return nil, &DamagedError{formatName, err}
	}
	if format.Version != document.FormatVersion {
		return nil, &VersionError{format.Version}
	}
	if err := ledger.VerifyDID(format.OwnerDID, format.Signed(), format.Signature); err != nil {
		return nil, &DamagedError{formatName, err}
	}
	return format, nil
}

// missing says what a place without format.json is: ErrNoStore when it is empty,
// ErrRecordLost when it is not, and nil when the file has come meanwhile.
func missing(ctx context.Context, s store.Store) error {
	found := errors.New("found")
	for _, prefix := range []string{"heads/", "packs/", "objects/", store.QueuesPrefix, store.ReceiptsPrefix} {
		err := s.List(ctx, prefix, func(store.Entry) error { return found })
		if err != nil && !errors.Is(err, found) {
			return err
		}
		if err == nil {
			continue
		}
		if _, err := s.Stat(ctx, formatName); !errors.Is(err, store.ErrNotFound) {
			return err
		}
		return &DamagedError{formatName, ErrRecordLost}
	}
	return ErrNoStore
}

// Create makes the place a store of the signer and opens it. Two creators agree on
// the one that came first. A place that holds anything of a store is never adopted, and
// an empty one where a store was seen is a *PastError.
func Create(ctx context.Context, o Options, now time.Time) (*Target, error) {
	if t, err := Open(ctx, o); !errors.Is(err, ErrNoStore) {
		return t, err
	}
	if err := Gone(o.Store.Location(), o.Seen); err != nil {
		return nil, err
	}
	public, _, err := ed25519.GenerateKey(o.Rand)
	if err != nil {
		return nil, fmt.Errorf("name a new space: %w", err)
	}
	if err := putFormat(ctx, o, ledger.KeyDID(public), stamp(now)); err != nil {
		return nil, err
	}
	return Open(ctx, o)
}

// putFormat writes format.json, signed by the owner, unless there is one.
func putFormat(ctx context.Context, o Options, space, created string) error {
	format := document.Format{Version: document.FormatVersion, SpaceDID: space, OwnerDID: o.Signer.DID(), Created: created}
	format.Signature = o.Signer.Sign(format.Signed())
	err := store.PutOnce(ctx, o.Store, formatName, format.Text())
	if err != nil && !errors.Is(err, store.ErrExists) {
		return fmt.Errorf("create %s: %w", o.Store.Location(), err)
	}
	return nil
}

// RepairFormat brings a format.json that is lost or damaged back from what the owner has
// signed: the roots that every kept head names. All of them must be whole and agree; then
// the store is opened. One that has its format.json is opened as it is, and nothing written.
func RepairFormat(ctx context.Context, o Options) (t *Target, repaired bool, err error) {
	t, err = Open(ctx, o)
	var damaged *DamagedError
	if !errors.As(err, &damaged) || damaged.What != formatName {
		return t, false, err
	}
	refused := func(err error) (*Target, bool, error) {
		return nil, false, fmt.Errorf("bring %s back: %w", formatName, err)
	}
	numbers, err := store.Numbers(ctx, o.Store, sessionsHead)
	if err == nil && len(numbers) == 0 {
		err = errors.New("no generation is there that says whose store it is")
	}
	if err != nil {
		return refused(err)
	}
	t = &Target{Options: o, format: &document.Format{OwnerDID: o.Signer.DID()}}
	created, err := t.agreed(ctx, numbers)
	if err == nil {
		err = t.knows()
	}
	if err == nil {
		err = o.Store.Delete(ctx, formatName) // what is damaged
	}
	if err != nil {
		return refused(err)
	}
	if err := putFormat(ctx, o, t.format.SpaceDID, created); err != nil {
		return refused(err)
	}
	t, err = Open(ctx, o)
	return t, err == nil, err
}

// agreed reads every kept generation and list, which must be of this owner and of one
// space, and returns the time of the oldest generation.
func (t *Target) agreed(ctx context.Context, numbers []uint64) (created string, err error) {
	lib := t.library(ctx)
	for _, n := range numbers {
		g, err := t.readHead(lib, sessionsHead, n)
		if err != nil {
			return "", err
		}
		if t.format.SpaceDID == "" {
			root, err := lib.root(g.head.Root)
			if err != nil {
				return "", err
			}
			t.format.SpaceDID = root.SpaceDID
		}
		if _, err := t.generation(lib, n); err != nil {
			return "", err
		}
		if created == "" || g.head.Time < created {
			created = g.head.Time
		}
	}
	lists, err := store.Numbers(ctx, t.Store, receiptsHead)
	for _, n := range lists {
		if _, _, err := t.readList(lib, n); err != nil {
			return "", err
		}
	}
	return created, err
}
