// Package publish makes prepared sessions visible in a store: documents into
// packs first, then both session indexes, and last one small head that names
// them. It decides what a generation holds, reads it back, verifies it, restores
// from it, and removes what no kept generation needs. It keeps the queues of commands,
// of which each is claimed once, and their receipts. It runs no command, and refuses
// whatever in a queue is not signed by the queue's key. Only publish/store touches disk
// or network; the one exception is the local cache in the state folder.
package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"agentsync/hashgraph"
	"agentsync/ledger"
	"agentsync/ledger/durable"
	"agentsync/publish/document"
	"agentsync/publish/pack"
	"agentsync/publish/store"
)

// Signer is whose name a head is written in.
type Signer interface {
	DID() string
	Sign(message []byte) []byte
}

// Observations number the collections of one installation: a number is drawn before
// the first reading, and what was read under a greater number is newer, whichever is
// published first.
type Observations interface {
	// Next draws a number greater than every one before, and than floor.
	Next(ctx context.Context, floor uint64) (uint64, error)
	// Complete records a collection that saw all of some sources.
	Complete(ctx context.Context, n uint64, sources ...string) error
	// NewestComplete returns the newest number that Complete recorded for a source, 0 for
	// none.
	NewestComplete(source string) (uint64, error)
}

// Options say what a target works on.
type Options struct {
	Store        store.Store
	FS           durable.FS
	State        string       // this store's local folder; "" keeps no cache
	Signer       Signer       // nil for reading only
	Installation string       // random id of this installation
	Seen         *ledger.Seen // what was seen of the store before, which is compared on every read; nil knows nothing
	Observations Observations // numbers for this installation's passes; nil numbers none
	Rand         io.Reader
	Workers      int // sessions read at once; 0 is one
}

// Target is one store, opened. Its methods may not run at the same time, but for those
// that say so.
type Target struct {
	Options
	format *document.Format
	random sync.Mutex // held while Rand is read
	lists  listings
	tables pack.Tables
}

// What a caller asks of a failure to open.
var (
	// ErrNoStore reports a place that holds no store yet.
	ErrNoStore = errors.New("no store here yet")
	// ErrForeign reports a store of another owner.
	ErrForeign = errors.New("store belongs to another owner")
	// ErrEmpty reports a store into which nothing was published.
	ErrEmpty = errors.New("nothing was published yet")
)

// VersionError reports a store whose format this program does not know.
type VersionError struct{ Version int }

func (e *VersionError) Error() string {
	return fmt.Sprintf("store has format version %d, this program knows %d", e.Version, document.FormatVersion)
}

// SpaceDID and OwnerDID are the names that every cause in the store carries.
func (t *Target) SpaceDID() string { return t.format.SpaceDID }

// OwnerDID is the did:key of the store's owner.
func (t *Target) OwnerDID() string { return t.format.OwnerDID }

func (t *Target) causes() hashgraph.Causes {
	return hashgraph.Causes{SpaceDID: t.format.SpaceDID, OwnerDID: t.format.OwnerDID}
}

func (t *Target) library(ctx context.Context) *library {
	return &library{ctx: ctx, store: t.Store, tables: &t.tables, packs: &document.Packs{}}
}

// stamp renders a time as every stored time is: UTC, milliseconds.
func stamp(now time.Time) string { return now.UTC().Format(stampForm) }

const stampForm = "2006-01-02T15:04:05.000Z"
