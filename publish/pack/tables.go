package pack

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"agentsync/hashgraph/digest"
	"agentsync/publish/store"
)

// tablesMost is how many rows are kept, some 60 bytes each: those of some hundred packs.
const tablesMost = 512 << 10

// Tables keeps the tables of the packs that were read last. It serves many goroutines.
type Tables struct {
	mu    sync.Mutex
	packs map[digest.Digest]*tableOf
	rows  int
}

// tableOf is one pack's table; it is read by the first who wants it.
type tableOf struct {
	mu      sync.Mutex
	rows    []Located // nil until it was read
	counted int       // rows, once they are kept; guarded by the lock of the whole
}

// Find returns the frame that a link into a pack leads to. A link that leads to no
// frame is a *CorruptError; other errors are those of ReadTable.
func (t *Tables) Find(ctx context.Context, s store.Store, name digest.Digest, offset, length int64) (Located, error) {
	rows, err := t.table(ctx, s, name)
	if err != nil {
		return Located{}, err
	}
	i, found := slices.BinarySearchFunc(rows, offset, func(at Located, offset int64) int { return cmp.Compare(at.Offset, offset) })
	if !found || rows[i].Length != length {
		return Located{}, &CorruptError{name, "link", fmt.Errorf("no frame of %d bytes at %d", length, offset)}
	}
	return rows[i], nil
}

func (t *Tables) table(ctx context.Context, s store.Store, name digest.Digest) ([]Located, error) {
	t.mu.Lock()
	if t.packs == nil {
		t.packs = map[digest.Digest]*tableOf{}
	}
	one := t.packs[name]
	if one == nil {
		one = &tableOf{}
		t.packs[name] = one
	}
	t.mu.Unlock()
	one.mu.Lock()
	defer one.mu.Unlock()
	if one.rows != nil {
		return one.rows, nil
	}
	entries, err := ReadTable(ctx, s, name)
	if err != nil {
		return nil, err
	}
	one.rows = make([]Located, len(entries))
	for i, e := range entries {
		one.rows[i] = e.Located
	}
	t.keep(one)
	return one.rows, nil
}

// keep counts the rows of a table that was read, and forgets others when there are too
// many. Whoever reads from a forgotten one has it still.
func (t *Tables) keep(fresh *tableOf) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fresh.counted = len(fresh.rows)
	t.rows += fresh.counted
	for name, one := range t.packs {
		if t.rows <= tablesMost {
			return
		}
		if one != fresh && one.counted > 0 {
			t.rows -= one.counted
			delete(t.packs, name)
		}
	}
}
