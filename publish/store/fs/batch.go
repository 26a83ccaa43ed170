package fs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sync"

	"agentsync/ledger/durable"
	"agentsync/publish/store"
)

// batch writes contents to temporary files without a sync, then makes all of them
// durable with one sync of the file system, gives them their names, and makes those
// durable with another.
type batch struct {
	store   *Store
	flusher durable.Flusher

	mu    sync.Mutex
	files []pending
}

type pending struct{ temp, name string }

var _ store.Batcher = (*Store)(nil)

// NewBatch opens a batch. Where the file system cannot be synced as a whole, the batch
// commits each content by itself.
func (s *Store) NewBatch(ctx context.Context) (store.Batch, error) {
	flusher, ok := s.disk.(durable.Flusher)
	if !ok {
		return store.NewBatch(ctx, plain{s})
	}
	return &batch{store: s, flusher: flusher}, ctx.Err()
}

// plain hides the store's batches.
type plain struct{ store.Store }

// Put writes the content to a temporary file.
func (b *batch) Put(ctx context.Context, name string, content io.Reader) error {
	if _, err := b.store.path(ctx, name); err != nil {
		return fmt.Errorf("put %s: %w", name, err)
	}
	c, err := b.store.stage()
	if err != nil {
		return fmt.Errorf("put %s: %w", name, err)
	}
	if _, err := io.Copy(c, content); err != nil {
		return fmt.Errorf("put %s: %w", name, errors.Join(err, c.Discard()))
	}
	c.closed = true
	if err := c.file.Close(); err != nil {
		return fmt.Errorf("put %s: %w", name, errors.Join(writeError(err), b.store.disk.Remove(c.path)))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.files = append(b.files, pending{c.path, name})
	return nil
}

// Commit gives every content its name.
func (b *batch) Commit(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.files) == 0 {
		return ctx.Err()
	}
	err := b.flusher.SyncAll(b.store.root)
	for _, f := range b.files {
		if err == nil {
			err = b.settle(ctx, f)
		}
		if err != nil {
			_ = b.store.disk.Remove(f.temp) // costs space until the next sweep
		}
	}
	b.files = nil
	if err == nil {
		err = b.flusher.SyncAll(b.store.root)
	}
	if err != nil {
		return fmt.Errorf("commit a batch: %w", writeError(err))
	}
	return nil
}

// settle gives one content its name. The content was held against its name when it was
// put, so what has the name already is the same bytes, whose age is renewed, or is proven
// wrong.
func (b *batch) settle(ctx context.Context, f pending) error {
	path, err := b.store.path(ctx, f.name)
	if err == nil {
		err = b.makeFolders(f.name)
	}
	if err == nil {
		err = b.store.disk.Rename(f.temp, path)
	}
	return err
}

// makeFolders makes the folders on the way to a name. The sync to come takes them in.
func (b *batch) makeFolders(name string) error {
	for i := range len(name) {
		if name[i] != '/' {
			continue
		}
		if _, err := b.store.disk.Lstat(filepath.Join(b.store.root, filepath.FromSlash(name[:i]))); err == nil {
			continue
		}
		if err := b.store.makeFolder(name[:i]); err != nil {
			return err
		}
	}
	return nil
}

// Discard removes the temporary files.
func (b *batch) Discard() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	var errs []error
	for _, f := range b.files {
		errs = append(errs, b.store.disk.Remove(f.temp))
	}
	b.files = nil
	return errors.Join(errs...)
}
