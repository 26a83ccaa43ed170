package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

// exitCode is how a process ends. The same table holds for every verb.
type exitCode int

// The exit codes, in the order of exitTable.
const (
	exitDone        exitCode = 0
	exitFailed      exitCode = 1
	exitUsage       exitCode = 2
	exitPartial     exitCode = 3
	exitConflict    exitCode = 4
	exitStopped     exitCode = 5
	exitApplying    exitCode = 6
	exitNotSetUp    exitCode = 10
	exitLocked      exitCode = 11
	exitDamaged     exitCode = 12
	exitLogin       exitCode = 13
	exitTryLater    exitCode = 75
	exitInterrupted exitCode = 130
)

// exitMeaning is one row of the table of exit codes.
type exitMeaning struct {
	code    exitCode
	word    string // the code of an error object that names nothing finer
	meaning string
}

// exitTable is printed in every verb's help and in the manual.
var exitTable = []exitMeaning{
	{exitDone, "done", "done"},
	{exitFailed, "failed", "failed"},
	{exitUsage, "usage", "usage: the command line or the configuration cannot be understood"},
	{exitPartial, "partial", "done in part; each missing item is named"},
	{exitConflict, "conflict", "conflicts need a side"},
	{exitStopped, "stopped", "stopped by a guard; nothing that it guards was changed"},
	{exitApplying, "applying", "a plan is still applying"},
	{exitNotSetUp, "not-set-up", "not set up"},
	{exitLocked, "locked", "locked by another pass, which is named; --wait waits for it"},
	{exitDamaged, "damaged", "stored data is damaged"},
	{exitLogin, "login", "log in again"},
	{exitTryLater, "try-later", "try later"},
	{exitInterrupted, "interrupted", "interrupted"},
}

// String returns the number, as a shell shows it.
func (c exitCode) String() string { return strconv.Itoa(int(c)) }

// word returns the stable word for a code.
func (c exitCode) word() string {
	for _, row := range exitTable {
		if row.code == c {
			return row.word
		}
	}
	return "failed"
}

// failure is one error as people and programs see it.
type failure struct {
	exit      exitCode
	code      string // stable, for programs; "" is the exit code's word
	message   string // "" is the wrapped error's text
	hint      string // what can be done, best a command that can be typed
	retryable bool   // the same command may succeed later without any change
	source    string
	session   string
	path      string
	err       error
}

func (f *failure) Error() string {
	if f.message != "" {
		return f.message
	}
	return f.err.Error()
}

func (f *failure) Unwrap() error { return f.err }

// failWith returns a failure with a message, and an optional hint.
func failWith(exit exitCode, hint, format string, args ...any) *failure {
	return &failure{exit: exit, hint: hint, err: fmt.Errorf(format, args...)}
}

// usageError reports a command line that cannot be understood.
func usageError(hint, format string, args ...any) *failure {
	return failWith(exitUsage, hint, format, args...)
}

// reported ends a run whose failures have been printed already, item by item.
type reported exitCode

func (r reported) Error() string { return exitCode(r).word() }

// errPartial ends a pass that did what it could.
const errPartial = reported(exitPartial)

// classify turns whatever a room returned into a failure. The interruption of ctx
// by a signal outranks what the interrupted work said about it.
func classify(ctx context.Context, err error) *failure {
	var stopped *interrupted
	if errors.As(context.Cause(ctx), &stopped) {
		hint := "what was finished is kept; run it again"
		if c := (&concern{}); errors.As(err, &c) && c.applying {
			hint = "the plan is still applying: agentsync dirsync apply " + planDigits(c.plan)
		}
		if k := (&keptError{}); errors.As(err, &k) {
			hint = k.hint
		}
		return &failure{exit: exitInterrupted, hint: hint, retryable: true, err: stopped}
	}
	var known *failure
	if errors.As(err, &known) {
		whole := *known
		if known.message == "" {
			whole.message = err.Error()
		}
		return &whole
	}
	for _, room := range roomErrors {
		if f := room(err); f != nil {
			f.err = err
			return f
		}
	}
	return &failure{exit: exitFailed, err: err}
}

// exitOf is the exit code of what a verb returned, and what is still to be said of it, nil
// for nothing.
func exitOf(ctx context.Context, err error) (exitCode, *failure) {
	var said reported
	switch {
	case err == nil, errors.Is(err, errOutputClosed):
		return exitDone, nil
	case errors.As(err, &said) && context.Cause(ctx) == nil:
		return exitCode(said), nil
	}
	f := classify(ctx, err)
	return f.exit, f
}

// keptError is what ended a pass early, with what holds of it and how to go on.
type keptError struct {
	hint string
	err  error
}

func (e *keptError) Error() string { return e.err.Error() }

func (e *keptError) Unwrap() error { return e.err }

// pathOf returns the file that an error of the system speaks of.
func pathOf(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Path
	}
	return ""
}

// exitList renders the table of exit codes, one code a line.
func exitList() string {
	var b strings.Builder
	for _, row := range exitTable {
		fmt.Fprintf(&b, "  %3d  %s\n", row.code, row.meaning)
	}
	return b.String()
}
