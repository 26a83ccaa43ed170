package cli

import (
	"errors"
	"syscall"
)

// surviveBrokenPipe does nothing where a closed pipe is an error already.
func surviveBrokenPipe() func() { return func() {} }

// What Windows says of a write that nobody can read any more.
const (
	errorBrokenPipe = syscall.Errno(109)
	errorNoData     = syscall.Errno(232)
)

// isBrokenPipe reports a write that nobody can read any more.
func isBrokenPipe(err error) bool {
	return errors.Is(err, errorBrokenPipe) || errors.Is(err, errorNoData)
}
