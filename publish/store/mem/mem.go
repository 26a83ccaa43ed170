// Package mem is the store in memory, for tests. It keeps the contract of every other
// store and counts calls; on request it fails, times out after success, or reads short.
package mem

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"agentsync/publish/store"
)

// Store keeps content in memory. It serves many goroutines.
type Store struct {
	mu      sync.Mutex
	content map[string]item
	now     time.Time
	calls   map[Op]int
	faults  []*Fault
}

type item struct {
	bytes    []byte
	modified time.Time
}

var _ store.Store = (*Store)(nil)

// New returns an empty store whose clock stands at the Unix epoch.
func New() *Store {
	return &Store{content: map[string]item{}, now: time.Unix(0, 0).UTC(), calls: map[Op]int{}}
}

// SetTime sets the modification time that content gets from now on.
func (s *Store) SetTime(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now
}

// Location is the same for every store in memory.
func (s *Store) Location() string { return "mem:" }

// Get appends a range of the content to dst.
func (s *Store) Get(ctx context.Context, name string, offset, length int64, dst []byte) ([]byte, error) {
	var got []byte
	err := s.call(ctx, Get, name, store.CheckName(name), func(struck []*Fault) error {
		held, there := s.content[name]
		if !there {
			return store.ErrNotFound
		}
		whole, err := cut(held.bytes, offset, length)
		var spoilt error
		got, spoilt = spoil(whole, struck)
		return errors.Join(err, spoilt)
	})
	return append(dst, got...), err
}

// cut returns the range of content that Get asks for.
func cut(content []byte, offset, length int64) ([]byte, error) {
	size := int64(len(content))
	if offset < 0 {
		return nil, fmt.Errorf("negative offset %d", offset)
	}
	if offset > size {
		return nil, io.ErrUnexpectedEOF
	}
	if length < 0 {
		return content[offset:], nil
	}
	if length > size-offset {
		return content[offset:], io.ErrUnexpectedEOF
	}
	return content[offset : offset+length], nil
}

// Stat returns the size in bytes.
func (s *Store) Stat(ctx context.Context, name string) (int64, error) {
	var size int64
	err := s.call(ctx, Stat, name, store.CheckName(name), func([]*Fault) error {
		held, there := s.content[name]
		if !there {
			return store.ErrNotFound
		}
		size = int64(len(held.bytes))
		return nil
	})
	return size, err
}

// List calls each in the order of names, on the state of the moment of the call.
func (s *Store) List(ctx context.Context, prefix string, each func(store.Entry) error) error {
	var found []store.Entry
	err := s.call(ctx, List, prefix, store.CheckPrefix(prefix), func([]*Fault) error {
		for _, name := range slices.Sorted(maps.Keys(s.content)) {
			if held := s.content[name]; strings.HasPrefix(name, prefix) {
				found = append(found, store.Entry{Name: name, Size: int64(len(held.bytes)), Modified: held.modified})
			}
		}
		return nil
	})
	for i := 0; err == nil && i < len(found); i++ {
		if err = ctx.Err(); err == nil {
			err = each(found[i])
		}
	}
	return err
}

// Delete removes a name.
func (s *Store) Delete(ctx context.Context, name string) error {
	return s.call(ctx, Delete, name, store.CheckName(name), func([]*Fault) error {
		delete(s.content, name)
		return nil
	})
}

// Renew makes a content young.
func (s *Store) Renew(ctx context.Context, name string) error {
	return s.call(ctx, Stat, name, store.CheckName(name), func([]*Fault) error {
		held, there := s.content[name]
		if !there {
			return store.ErrNotFound
		}
		held.modified = s.now
		s.content[name] = held
		return nil
	})
}

// Hint overwrites a content.
func (s *Store) Hint(ctx context.Context, name string, content []byte) error {
	return s.call(ctx, Hint, name, store.CheckName(name), func([]*Fault) error {
		s.content[name] = item{bytes: bytes.Clone(content), modified: s.now}
		return nil
	})
}

// Stage opens room for content.
func (s *Store) Stage(ctx context.Context) (store.Staged, error) {
	if err := s.call(ctx, Stage, "", nil, func([]*Fault) error { return nil }); err != nil {
		return nil, err
	}
	return &staged{store: s}, nil
}

type staged struct {
	store   *Store
	content bytes.Buffer
	closed  bool
}

var errClosed = errors.New("staged content is closed")

// Write appends to the content.
func (c *staged) Write(p []byte) (int, error) {
	if c.closed {
		return 0, errClosed
	}
	err := c.store.call(context.Background(), Write, "", nil, func([]*Fault) error {
		_, err := c.content.Write(p)
		return err
	})
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

// ReadAt reads back what was written.
func (c *staged) ReadAt(p []byte, offset int64) (int, error) {
	if c.closed {
		return 0, errClosed
	}
	return bytes.NewReader(c.content.Bytes()).ReadAt(p, offset)
}

// Commit gives the content its name, once.
func (c *staged) Commit(ctx context.Context, name string) error {
	if c.closed {
		return errClosed
	}
	c.closed = true
	return c.store.call(ctx, Commit, name, store.CheckName(name), func([]*Fault) error {
		if _, taken := c.store.content[name]; taken {
			return store.ErrExists
		}
		c.store.content[name] = item{bytes: bytes.Clone(c.content.Bytes()), modified: c.store.now}
		return nil
	})
}

// Discard forgets the content.
func (c *staged) Discard() error {
	c.closed = true
	return nil
}
