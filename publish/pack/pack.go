// Package pack owns the file that carries many documents: frames end to end, a table
// of them, a fixed trailer. The table holds the SHA-256 of each frame, and a pack is
// named by that of its table and trailer, so that every frame can be checked against
// the name alone. The package compresses nothing and knows no document; it hands out
// no table and no frame that is not the one that the name vouches for.
package pack

import (
	"context"
	"errors"
	"fmt"
	"io"

	"agentsync/hashgraph/digest"
	"agentsync/publish/store"
)

// Located is the place of one frame in a pack, and what lies there.
type Located struct {
	Offset int64         // bytes from the start of the file
	Length int64         // bytes of the frame, never 0
	Plain  int64         // bytes of the document before compression, as its writer said
	Sum    digest.Digest // of the frame
}

// Entry is one row of a pack's table.
type Entry struct {
	ID string
	Located
}

// CorruptError reports a pack whose bytes are not what its name and format promise.
// Nothing has been changed.
type CorruptError struct {
	Pack  digest.Digest
	Field string // trailer, table, entry 7 length, content, …
	Err   error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("pack %s: damaged %s: %v", e.Pack.Hex(), e.Field, e.Err)
}

func (e *CorruptError) Unwrap() error { return e.Err }

// Read appends the frame at a place of a pack, as its table gives it, to dst. Bytes
// that are not that frame are a *CorruptError.
func Read(ctx context.Context, s store.Store, name digest.Digest, at Located, dst []byte) ([]byte, error) {
	got, err := s.Get(ctx, store.PackName(name), at.Offset, at.Length, dst)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return dst, &CorruptError{name, "content", fmt.Errorf("no %d bytes at %d: %w", at.Length, at.Offset, err)}
	}
	if err != nil {
		return dst, err
	}
	return got, check(name, at, got[len(dst):])
}

// check compares a frame with what the table says of it.
func check(name digest.Digest, at Located, frame []byte) error {
	if digest.Sum(frame) != at.Sum {
		return Damaged(name, at)
	}
	return nil
}

// Damaged is the error of a frame that is not the one its table says.
func Damaged(name digest.Digest, at Located) error {
	return &CorruptError{name, "content", fmt.Errorf("the frame at %d is not the one that was written", at.Offset)}
}
