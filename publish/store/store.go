// Package store is the contract between what is published and where it lies: a
// folder or a bucket, with the same names and the same bytes in both. One
// primitive carries all safety: a name is created only if it does not exist.
package store

import (
	"context"
	"errors"
	"strings"
	"time"
)

// Store keeps named, immutable content. Names are slash-separated, relative, and
// checked by Name before they reach a store.
type Store interface {
	// Get appends length bytes of the content from offset on to dst; a negative
	// length means to its end. Fewer bytes than asked for are io.ErrUnexpectedEOF,
	// an absent name ErrNotFound, and what is no content ErrStrange.
	Get(ctx context.Context, name string, offset, length int64, dst []byte) ([]byte, error)
	// Stat returns the size in bytes; ErrNotFound when absent, ErrStrange for no content.
	Stat(ctx context.Context, name string) (int64, error)
	// Stage opens room for content whose name is not known yet.
	Stage(ctx context.Context) (Staged, error)
	// List calls each for every name below prefix (a folder name ending in a slash, or
	// ""), in any order, until it returns an error. What is no content is listed as that,
	// and so is a link where a folder would be. An absent folder lists nothing; an
	// unreadable one is an error.
	List(ctx context.Context, prefix string, each func(Entry) error) error
	// Delete removes a name; an absent one is no error.
	Delete(ctx context.Context, name string) error
	// Hint overwrites a small content that nobody trusts. It is not durable.
	Hint(ctx context.Context, name string, content []byte) error
	// Location is the store's URL, without credentials.
	Location() string
}

// Renewer is a Store that can make a content as young as if it were put now. Whoever is
// about to rest on one that may be old, and that a prune may think nobody needs, does so
// first.
type Renewer interface {
	// Renew is ErrNotFound for an absent name.
	Renew(ctx context.Context, name string) error
}

// Sweeper is a Store where a process that dies may leave content that never got a name.
type Sweeper interface {
	// Leftovers lists such content, that no live process writes any more at the time now,
	// under names that only say where it lies.
	Leftovers(ctx context.Context, now time.Time) ([]Entry, error)
	// Sweep removes it, and returns how many there were.
	Sweep(ctx context.Context, now time.Time) (int, error)
}

// Staged is content on its way to a name.
type Staged interface {
	Write(p []byte) (int, error)
	// ReadAt reads back what was written.
	ReadAt(p []byte, offset int64) (int, error)
	// Commit makes the content durable under name, once: ErrExists when the name is
	// taken, and then nothing has changed. Staged is closed either way.
	Commit(ctx context.Context, name string) error
	// Discard forgets the content. After Commit it does nothing.
	Discard() error
}

// Entry is one listed name.
type Entry struct {
	Name     string
	Strange  bool      // no content stands there, but a link, a pipe or a device: it is never opened
	Size     int64     // bytes
	Modified time.Time // as the store tells it; good for grace periods, never for order
}

// What a caller asks of a failure.
var (
	ErrNotFound = errors.New("not found in the store")
	ErrStrange  = errors.New("a link, a pipe or a device stands where the store has content")
	ErrExists   = errors.New("name already taken in the store")
	ErrFull     = errors.New("no space left in the store")
	ErrReadOnly = errors.New("store cannot be written")
)

// Spoilt reports a failure that says what the store holds, and not that it cannot be
// asked: a content that is missing, or no content.
func Spoilt(err error) bool { return errors.Is(err, ErrNotFound) || errors.Is(err, ErrStrange) }

// Renew makes a content young where the store can.
func Renew(ctx context.Context, s Store, name string) error {
	if r, ok := s.(Renewer); ok {
		return r.Renew(ctx, name)
	}
	return nil
}

// Look returns the entry of a name as a listing gives it; ErrNotFound when it is absent.
func Look(ctx context.Context, s Store, name string) (found Entry, err error) {
	err = s.List(ctx, name[:strings.LastIndexByte(name, '/')+1], func(e Entry) error {
		if e.Name == name {
			found = e
			return errFound
		}
		return nil
	})
	switch {
	case errors.Is(err, errFound):
		return found, nil
	case err == nil:
		err = ErrNotFound
	}
	return Entry{}, err
}

var errFound = errors.New("found")
