//go:build unix

package cli

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// surviveBrokenPipe makes a write to a closed pipe an error instead of the end of
// the process: a publish whose output is piped into head still finishes.
func surviveBrokenPipe() func() {
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	return func() { signal.Stop(broken) }
}

// isBrokenPipe reports a write that nobody can read any more.
func isBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }
