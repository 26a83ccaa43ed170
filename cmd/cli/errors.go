package cli

import (
	"errors"
	"io/fs"
	"path/filepath"

	"agentsync/cmd/config"
	"agentsync/ledger"
	"agentsync/ledger/durable"
	"agentsync/publish"
	"agentsync/publish/store"
)

// roomErrors know the errors of the rooms: each returns the failure that an error
// is, or nil. The first one wins.
var roomErrors = []func(error) *failure{
	lockError,
	privateError,
	dirsyncError,
	publishError,
	storeError,
	configError,
	ledgerError,
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
	case errors.Is(err, store.ErrStrange):
		return &failure{exit: exitDamaged, path: pathOf(err), hint: "agentsync verify"}
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

func publishError(err error) *failure {
	var damaged *publish.DamagedError
	var owned *publish.OwnedError
	var version *publish.VersionError
	var past *publish.PastError
	switch {
	case errors.As(err, &past):
		return &failure{exit: exitStopped, code: "store-past", hint: pastHint(past)}
	case errors.As(err, &damaged) && damaged.What == "format.json":
		return &failure{exit: exitDamaged, path: damaged.What, hint: recordHint}
	case errors.As(err, &damaged):
		return &failure{exit: exitDamaged, path: damaged.What, hint: "see all of it: agentsync verify; a copy of the store brings it back"}
	case errors.As(err, &owned):
		return &failure{exit: exitStopped, code: "owned", source: owned.Source,
			hint: "give the source another id in the configuration, or take it over: agentsync publish --take-over"}
	case errors.As(err, &version):
		return &failure{exit: exitFailed, code: "store-version", hint: "read it with the program that wrote it"}
	case errors.Is(err, publish.ErrNoStore), errors.Is(err, publish.ErrEmpty):
		return &failure{exit: exitNotSetUp, hint: "agentsync publish"}
	case errors.Is(err, publish.ErrForeign):
		return &failure{exit: exitStopped, code: "foreign-store", hint: "choose another store with --store, or bring the owner's key here"}
	case errors.Is(err, publish.ErrOvertaken):
		return &failure{exit: exitTryLater, code: "overtaken", retryable: true, hint: "run it again"}
	case errors.As(err, new(*publish.NoCopyError)):
		return &failure{exit: exitFailed, code: "no-such-copy", hint: "see them: agentsync ls --all --long"}
	case errors.Is(err, publish.ErrNoCell):
		return &failure{exit: exitFailed, code: "no-such-cell"}
	}
	return nil
}

// recordHint mends a format.json that is lost or damaged.
const recordHint = "on a machine with the owner's key, which has signed what it said: agentsync doctor --repair"

// pastHint says what to type when a store is not what was seen of it.
func pastHint(e *publish.PastError) string {
	accept := "agentsync trust"
	switch {
	case e.Owner == "":
		return "mount or bring back what belongs there; to begin anew: " + accept
	case e.Owner != e.Seen.OwnerDID:
		accept += " " + e.Owner
	}
	return "bring the store back as it was; or, if what is there is meant to count: " + accept
}

func configError(err error) *failure {
	var missing *config.SetupError
	if !errors.As(err, &missing) {
		return nil
	}
	return &failure{exit: exitNotSetUp, hint: missing.Hint}
}

func ledgerError(err error) *failure {
	var corrupt *ledger.CorruptError
	var version *ledger.VersionError
	switch {
	case errors.As(err, &corrupt) && filepath.Base(corrupt.Path) == "seen.json":
		return &failure{exit: exitDamaged, path: corrupt.Path, hint: "look whether the store is as it should be, and then: agentsync trust"}
	case errors.As(err, &corrupt):
		return &failure{exit: exitDamaged, path: corrupt.Path, hint: "bring the file back from a backup; it is not replaced by itself"}
	case errors.As(err, &version):
		return &failure{exit: exitFailed, code: "state-version", path: version.Path, hint: "use the newer program, or another folder with --state"}
	}
	return nil
}
