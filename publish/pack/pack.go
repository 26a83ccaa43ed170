// Package pack owns the file that carries many documents: frames end to end, a table
// of them, a fixed trailer. A pack is named by the SHA-256 of the whole file. The
// package compresses nothing and knows no document; it refuses to hand out a table
// that does not fit its file exactly.
package pack

import (
	"context"
	"errors"
	"fmt"
	"io"

	"agentsync/hashgraph/digest"
	"agentsync/publish/store"
)

// Located is the place of one frame in a pack.
type Located struct {
	Offset int64 // bytes from the start of the file
	Length int64 // bytes of the frame, never 0
	Plain  int64 // bytes of the document before compression, as its writer said
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

// Read appends the frame at a place of a pack to dst. A pack that ends before the frame
// does is a *CorruptError.
func Read(ctx context.Context, s store.Store, name digest.Digest, at Located, dst []byte) ([]byte, error) {
	if at.Offset < 0 || at.Length <= 0 || at.Length > maxFrame {
		return dst, &CorruptError{name, "link", fmt.Errorf("offset %d, length %d", at.Offset, at.Length)}
	}
	dst, err := s.Get(ctx, store.PackName(name), at.Offset, at.Length, dst)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return dst, &CorruptError{name, "content", fmt.Errorf("no %d bytes at %d: %w", at.Length, at.Offset, err)}
	}
	return dst, err
}
