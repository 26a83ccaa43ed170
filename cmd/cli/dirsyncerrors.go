package cli

import (
	"errors"
	"fmt"
	"strings"

	"agentsync/dirsync"
	"agentsync/dirsync/dataset"
	"agentsync/dirsync/life"
	"agentsync/publish"
)

// concern is what a failure of directory sync is about, so that its hint can be typed.
type concern struct {
	binding, plan string
	accepts       dirsync.Accepts // those that were given
	applying      bool            // the plan has begun and is not at its end
	err           error
}

// of returns err with what it is about; nil for none.
func (c concern) of(err error) error {
	var known *failure
	var said reported
	var closer *concern
	if err == nil || errors.As(err, &known) || errors.As(err, &said) || errors.As(err, &closer) {
		return err
	}
	c.err = err
	return &c
}

func (c *concern) Error() string { return c.err.Error() }

func (c *concern) Unwrap() error { return c.err }

// preview is the command that previews the binding, with flags.
func (c *concern) preview(flags ...string) string {
	if c.accepts.Missing {
		flags = append(flags, "--accept-missing")
	}
	if c.accepts.Past {
		flags = append(flags, "--accept-past")
	}
	if c.accepts.Rebase {
		flags = append(flags, "--rebase")
	}
	words := append([]string{"agentsync dirsync preview"}, flags...)
	return strings.Join(append(words, firstOf(c.binding, "BINDING")), " ")
}

func dirsyncError(err error) *failure {
	c := &concern{}
	if !errors.As(err, &c) {
		c = &concern{}
	}
	if f := damagedBinding(err); f != nil {
		return f
	}
	var stop *dirsync.StopError
	if errors.As(err, &stop) {
		return stopped(stop, c)
	}
	if f := refused(err, c); f != nil {
		return f
	}
	if c.applying {
		return &failure{exit: exitApplying, retryable: true, hint: "agentsync dirsync apply " + planDigits(c.plan)}
	}
	if errors.Is(err, publish.ErrNoStore) && c.binding != "" {
		return &failure{exit: exitNotSetUp, code: "no-store",
			hint: "bring the store back, or name it with --store; another one: agentsync dirsync unbind " + c.binding}
	}
	return nil
}

const damagedHint = "see all of it: agentsync verify --deep; a copy of the store brings it back, or an apply where the directory has the content"

func damagedBinding(err error) *failure {
	var corrupt *life.CorruptError
	var damaged *dataset.DamagedError
	switch {
	case errors.As(err, &corrupt):
		return &failure{exit: exitDamaged, code: "damaged", path: corrupt.Path,
			hint: "bring it back from a backup; or forget the binding, and bind it again: agentsync dirsync unbind " + corrupt.Binding}
	case errors.As(err, &damaged):
		return &failure{exit: exitDamaged, code: "damaged", path: damaged.Name,
			hint: damagedHint}
	}
	return nil
}

// refused are the failures of a plan or binding that is not what was thought.
func refused(err error, c *concern) *failure {
	var choice *life.NoConflictError
	switch {
	case errors.Is(err, life.ErrUnknownBinding):
		return &failure{exit: exitFailed, code: "no-such-binding", hint: "see them all: agentsync dirsync ls"}
	case errors.Is(err, life.ErrBindingChanged):
		return &failure{exit: exitFailed, code: "binding-changed", hint: "see what it is: agentsync dirsync status " + firstOf(c.binding, "BINDING")}
	case errors.Is(err, life.ErrOtherStore):
		return &failure{exit: exitFailed, code: "other-store", hint: "name the binding's store with --store"}
	case errors.Is(err, dataset.ErrMoved), errors.Is(err, life.ErrRejected):
		return &failure{exit: exitTryLater, code: "dataset-moved", hint: "nothing was changed here; look again: " + c.preview()}
	case errors.Is(err, life.ErrPlanChanged):
		return &failure{exit: exitFailed, code: "plan-changed", hint: c.preview()}
	case errors.As(err, &choice):
		return &failure{exit: exitFailed, code: "no-choice", path: choice.Path, hint: "see the conflicts: agentsync dirsync show " + planDigits(c.plan)}
	}
	return nil
}

// stopped says what a person can do about a guard.
func stopped(stop *dirsync.StopError, c *concern) *failure {
	f := &failure{exit: exitStopped, code: string(stop.Guard)}
	unbind := "agentsync dirsync unbind " + firstOf(c.binding, "BINDING")
	switch stop.Guard {
	case dirsync.PlanApplying:
		f.exit, f.hint = exitApplying, "agentsync dirsync apply "+planDigits(stop.Detail)
	case dirsync.RootMissing:
		f.hint = "is it mounted? it must be a directory, and no link"
	case dirsync.RootChanged:
		f.hint = "is the right one mounted? if this one is meant: " + unbind + ", then bind it"
	case dirsync.IncompleteScan:
		f.hint = "make it readable, and run it again"
	case dirsync.TooMany:
		f.hint = "leave some of it alone with --ignore, or bind a smaller directory"
	case dirsync.Overlap:
		f.hint = "choose a directory that has nothing to do with it"
	case dirsync.RootEmptied, dirsync.MassMissing:
		f.hint = fmt.Sprintf("is the %s whole? to go on: %s", stop.Side, c.preview("--accept-missing"))
	case dirsync.MassOverwrite:
		f.hint = fmt.Sprintf("is the %s as it should be? to go on: %s", stop.Side.Other(), c.preview("--accept-overwrites", number(stop.Count)))
	case dirsync.AllChanged:
		f.hint = fmt.Sprintf("is the %s as it should be? to go on: %s", stop.Side, c.preview("--accept-overwrites", number(stop.Count)))
	case dirsync.DatasetPast:
		f.hint = "was the store put back from a copy? to go on, with every difference as a conflict: " + c.preview("--accept-past")
	case dirsync.RulesChanged:
		f.hint = "if the change is meant: " + c.preview("--rebase")
	}
	return f
}
