package codex

import (
	"context"
	"errors"
	"sync"

	"agentsync/collect/stdio"
)

// live is the app server of a driver. It is started by the first operation, and anew
// when it has ended; reading never starts it.
type live struct {
	launch launch
	full   bool // turns may run without restrictions
	limits limits
	runs   runs

	mu     sync.Mutex // held while a server is started
	server *server

	stopping context.Context // ends when the driver is stopped
	stopNow  context.CancelFunc
}

// errStopped reports an operation after Stop.
var errStopped = errors.New("the driver has been stopped")

func newLive(l launch, full bool) *live {
	stopping, stopNow := context.WithCancel(context.Background())
	return &live{launch: l, full: full, limits: standardLimits, stopping: stopping, stopNow: stopNow}
}

// reach returns the server, started if need be.
func (l *live) reach(ctx context.Context) (*server, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stopping.Err() != nil {
		return nil, errStopped
	}
	if l.server != nil && !l.server.ended() {
		return l.server, nil
	}
	if l.server != nil {
		l.server.stop()
		l.server = nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.stopping, cancel)()
	s, err := connect(ctx, l.launch, l.limits, stdio.Handler{Notification: l.runs.heard, Request: l.runs.asked}, l.full)
	if err != nil {
		return nil, err
	}
	l.server = s
	return s, nil
}

// drop ends a server that cannot be relied on any more. Its other turns end with it.
func (l *live) drop(s *server) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.server == s {
		l.server = nil
	}
	s.stop()
}

// stop interrupts what still runs, waits a moment for it to say how it ended, and ends
// the server.
func (l *live) stop() {
	l.stopNow()
	ctx, cancel := context.WithTimeout(context.Background(), l.limits.interrupt)
	defer cancel()
	var waiting sync.WaitGroup
	for _, r := range l.runs.all() {
		waiting.Go(func() {
			if _, turn, _ := r.state(); turn != "" {
				_ = r.interrupt(ctx) // its end says whether it was
			}
			select {
			case <-r.over:
			case <-ctx.Done():
			}
		})
	}
	waiting.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.server != nil {
		l.server.stop()
		l.server = nil
	}
}
