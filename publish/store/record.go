package store

import (
	"context"
	"errors"
	"fmt"
)

// MaxRecord bounds what ReadRecord reads, in bytes: far beyond any head, hint or
// format.json, and little memory.
const MaxRecord = 1 << 20

// ErrTooLarge reports a record of more bytes than one may have. Nothing of it was read.
var ErrTooLarge = errors.New("is larger than a record may be")

// ReadRecord returns the whole content of a small record. One of more than limit bytes
// is ErrTooLarge, and nothing of it is read.
func ReadRecord(ctx context.Context, s Store, name string, limit int64) ([]byte, error) {
	size, err := s.Stat(ctx, name)
	if err != nil {
		return nil, err
	}
	if size > limit {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, size, limit)
	}
	return s.Get(ctx, name, 0, size, nil)
}

// Namer is a Store that lists names for less than its entries cost.
type Namer interface {
	// Names calls each for every name that List would give, until it returns an error.
	Names(ctx context.Context, prefix string, each func(name string) error) error
}

// Numbers returns the numbers that a root's heads have, in no order.
func Numbers(ctx context.Context, s Store, root string) ([]uint64, error) {
	var numbers []uint64
	each := func(name string) error {
		if _, n, err := ParseHeadName(name); err == nil && n > 0 {
			numbers = append(numbers, n)
		}
		return nil
	}
	if namer, ok := s.(Namer); ok {
		return numbers, namer.Names(ctx, HeadPrefix(root), each)
	}
	err := s.List(ctx, HeadPrefix(root), func(e Entry) error { return each(e.Name) })
	return numbers, err
}

// Newest returns the greatest number that a root's heads have, 0 for none. The hint is
// a lower bound and no more: all numbers are listed, so that no gap hides a newer head,
// and those that were put since are looked for one by one.
func Newest(ctx context.Context, s Store, root string) (uint64, error) {
	numbers, err := Numbers(ctx, s, root)
	if err != nil {
		return 0, fmt.Errorf("list the heads of %s: %w", root, err)
	}
	newest := uint64(0)
	for _, n := range numbers {
		newest = max(newest, n)
	}
	if hint := readHint(ctx, s, root); hint > newest {
		if _, err := s.Stat(ctx, HeadName(root, hint)); err == nil {
			newest = hint
		}
	}
	for newest > 0 && newest < MaxHead {
		_, err := s.Stat(ctx, HeadName(root, newest+1))
		if errors.Is(err, ErrNotFound) {
			break
		}
		if err != nil {
			return 0, fmt.Errorf("look for the newest head of %s: %w", root, err)
		}
		newest++
	}
	return newest, nil
}

const maxHint = 64 // bytes

// readHint returns what a root's hint says, 0 when it says nothing: it only ever saves work.
func readHint(ctx context.Context, s Store, root string) (n uint64) {
	text, err := ReadRecord(ctx, s, HintName(root), maxHint)
	if err != nil {
		return 0
	}
	if _, err := fmt.Sscanf(string(text), "%d\n", &n); err != nil || n > MaxHead {
		return 0
	}
	return n
}
