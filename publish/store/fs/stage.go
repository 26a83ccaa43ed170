package fs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"agentsync/ledger/durable"
	"agentsync/publish/store"
)

// staged is content in a temporary file.
type staged struct {
	store  *Store
	file   durable.File
	path   string
	closed bool
}

var errClosed = errors.New("staged content is closed")

// Stage opens a temporary file in the store's staging folder.
func (s *Store) Stage(ctx context.Context) (store.Staged, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	content, err := s.stage()
	if err != nil {
		return nil, fmt.Errorf("stage content: %w", err)
	}
	return content, nil
}

func (s *Store) stage() (*staged, error) {
	if err := s.layOut(); err != nil {
		return nil, err
	}
	file, path, err := durable.CreateTemp(s.disk, filepath.Join(s.root, stagingFolder), stagedBase, s.mode&0o666)
	if err != nil {
		return nil, writeError(err)
	}
	return &staged{store: s, file: file, path: path}, nil
}

// Write appends to the content.
func (c *staged) Write(p []byte) (int, error) {
	if c.closed {
		return 0, errClosed
	}
	n, err := c.file.Write(p)
	if err != nil {
		return n, fmt.Errorf("write staged content: %w", writeError(err))
	}
	return n, nil
}

// ReadAt reads back what was written.
func (c *staged) ReadAt(p []byte, offset int64) (int, error) {
	if c.closed {
		return 0, errClosed
	}
	return c.file.ReadAt(p, offset)
}

// Commit syncs the file, links it to the name and syncs the name's folder: two syncs,
// and more only for a folder that is new to the store.
func (c *staged) Commit(ctx context.Context, name string) error {
	if c.closed {
		return errClosed
	}
	path, err := c.store.path(ctx, name)
	if err == nil {
		err = c.store.makeFolders(name)
	}
	if err == nil {
		err = writeError(c.file.Sync())
	}
	if err != nil {
		return fmt.Errorf("commit %s: %w", name, errors.Join(err, c.Discard()))
	}
	c.closed = true
	if err := c.file.Close(); err != nil {
		return fmt.Errorf("commit %s: %w", name, errors.Join(writeError(err), c.store.disk.Remove(c.path)))
	}
	if err := durable.Settle(c.store.disk, c.path, path); err != nil {
		return fmt.Errorf("commit %s: %w", name, writeError(err))
	}
	return nil
}

// Discard removes the temporary file.
func (c *staged) Discard() error {
	if c.closed {
		return nil
	}
	c.closed = true
	return errors.Join(c.file.Close(), c.store.disk.Remove(c.path))
}
