package store

import (
	"context"
	"errors"
	"fmt"
	"io"

	"agentsync/hashgraph/digest"
)

// Batch takes many contents whose names are digests of them, and makes all of them
// durable at once. Put may be called by several goroutines.
type Batch interface {
	// Put takes the content to its end. The reader fails when the content is not what
	// the name says; then nothing of it is kept. A name that is taken is no error: what
	// stands there is replaced if it is not the content that it names.
	Put(ctx context.Context, name string, content io.Reader) error
	// Commit returns once every content is durable under its name. Before that, no name
	// can be relied on, and none ever has a part of a content.
	Commit(ctx context.Context) error
	// Discard forgets what was not committed. After Commit it does nothing.
	Discard() error
}

// Batcher is a Store for which a batch costs less than its contents one by one.
type Batcher interface {
	NewBatch(ctx context.Context) (Batch, error)
}

// NewBatch opens a batch of a store. Where the store has none of its own, each content
// is committed by itself.
func NewBatch(ctx context.Context, s Store) (Batch, error) {
	if b, ok := s.(Batcher); ok {
		return b.NewBatch(ctx)
	}
	return single{s}, nil
}

// single commits each content as it comes.
type single struct{ Store }

func (b single) Put(ctx context.Context, name string, content io.Reader) error {
	staged, err := b.Stage(ctx)
	if err != nil {
		return fmt.Errorf("put %s: %w", name, err)
	}
	hash := digest.New()
	_, err = io.Copy(io.MultiWriter(staged, hash), content)
	if err == nil {
		err = b.makeRoom(ctx, name, digest.Of(hash))
	}
	if err != nil {
		return fmt.Errorf("put %s: %w", name, errors.Join(err, staged.Discard()))
	}
	err = staged.Commit(ctx, name)
	if errors.Is(err, ErrExists) {
		return Renew(ctx, b.Store, name)
	}
	return err
}

// makeRoom removes what stands at a name and is not the content that it names.
func (b single) makeRoom(ctx context.Context, name string, want digest.Digest) error {
	hash, piece := digest.New(), []byte(nil)
	size, err := b.Stat(ctx, name)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	for offset := int64(0); err == nil && offset < size; offset += int64(len(piece)) {
		piece, err = b.Get(ctx, name, offset, min(size-offset, pieceSize), piece[:0])
		_, _ = hash.Write(piece) // it never fails
	}
	if err != nil || digest.Of(hash) == want {
		return err
	}
	return b.Delete(ctx, name)
}

const pieceSize = 1 << 20 // bytes

func (single) Commit(context.Context) error { return nil }

func (single) Discard() error { return nil }
