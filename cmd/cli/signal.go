package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interrupted is the cause of a context that a signal cancelled.
type interrupted struct{ signal os.Signal }

func (i *interrupted) Error() string { return "interrupted by signal: " + i.signal.String() }

// untilSignal returns a context that the first interrupt or termination signal
// cancels, so that the pass ends tidily. The second one finds the system's own
// handling in place and ends the process at once. The returned function waits
// for the watcher and must be called.
func untilSignal(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case received := <-signals:
			signal.Stop(signals)
			cancel(&interrupted{received})
		case <-ctx.Done():
			signal.Stop(signals)
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-ended
	}
}
