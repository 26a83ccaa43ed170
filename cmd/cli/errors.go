package cli

import (
	"errors"
	"io/fs"

	"agentsync/ledger/durable"
	"agentsync/publish/store"
)

// roomErrors know the errors of the rooms: each returns the failure that an error
// is, or nil. The first one wins.
var roomErrors = []func(error) *failure{
	lockError,
	privateError,
	storeError,
	systemError,
}

func lockError(err error) *failure {
	var held *durable.HeldError
	if !errors.As(err, &held) {
		return nil
	}
	return &failure{exit: exitLocked, path: held.Path, retryable: true, hint: "wait for it with --wait 10m, or run again later"}
}

func privateError(err error) *failure {
	var open *durable.NotPrivateError
	if !errors.As(err, &open) {
		return nil
	}
	return &failure{exit: exitFailed, code: "not-private", path: open.Path, hint: open.Hint}
}

func storeError(err error) *failure {
	switch {
	case errors.Is(err, store.ErrFull):
		return &failure{exit: exitFailed, code: "store-full", retryable: true, path: pathOf(err),
			hint: "what was published before is intact; make room and run it again"}
	case errors.Is(err, store.ErrReadOnly):
		return &failure{exit: exitFailed, code: "store-read-only", path: pathOf(err),
			hint: "choose another store with --store, or make this one writable"}
	}
	return nil
}

func systemError(err error) *failure {
	if errors.Is(err, fs.ErrPermission) {
		return &failure{exit: exitFailed, code: "permission", path: pathOf(err)}
	}
	return nil
}
