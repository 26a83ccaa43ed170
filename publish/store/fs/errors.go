package fs

import (
	"errors"
	"fmt"
	iofs "io/fs"

	"agentsync/ledger/durable"
	"agentsync/publish/store"
)

// readError gives a failure to read the store's meaning, and keeps the system's text.
func readError(err error) error {
	if errors.Is(err, iofs.ErrNotExist) {
		return fmt.Errorf("%w: %w", store.ErrNotFound, err)
	}
	return err
}

// writeError gives a failure to write the store's meaning, and keeps the system's text.
func writeError(err error) error {
	switch {
	case err == nil || errors.Is(err, durable.ErrNoLinks):
		return err // such a folder can be written, but is no store
	case durable.IsFull(err):
		return fmt.Errorf("%w: %w", store.ErrFull, err)
	case durable.IsReadOnly(err):
		return fmt.Errorf("%w: %w", store.ErrReadOnly, err)
	case errors.Is(err, iofs.ErrExist):
		return fmt.Errorf("%w: %w", store.ErrExists, err)
	}
	return readError(err)
}

func ignoreAbsent(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
