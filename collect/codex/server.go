package codex

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"agentsync/collect/programs"
	"agentsync/collect/stdio"
)

// limits are how long things may take.
type limits struct {
	prepare   time.Duration // to bring a daemon up: the first time it copies its program
	request   time.Duration // of one request, which is never a turn
	interrupt time.Duration // for an interrupted turn to end, and for a request once nobody waits
	stop      time.Duration // of each step of ending a server
}

var standardLimits = limits{prepare: 3 * time.Minute, request: time.Minute, interrupt: 5 * time.Second, stop: 3 * time.Second}

// server is one connection to an app server, and the process that it runs through.
type server struct {
	process *stdio.Process
	socket  *socket // nil for lines
	peer    *stdio.Peer
	shared  bool // the server outlives the connection
	limits  limits
}

// noServerError reports that no app server could be spoken with. Nothing was asked of it.
type noServerError struct {
	doing, hint string
	err         error // "" of transcript: what was attempted, never what the agent printed
}

func (e *noServerError) Error() string {
	return fmt.Sprintf("%s: %v (try: %s)", e.doing, e.err, e.hint)
}

func (e *noServerError) Unwrap() error { return e.err }

// connect starts what a launch says and initializes the connection. Its error is a
// *noServerError, or the context's.
func connect(ctx context.Context, l launch, limits limits, h stdio.Handler, full bool) (*server, error) {
	path, err := programs.Find(l.program, l.search)
	if err != nil {
		return nil, &noServerError{"start the app server", l.hint, err}
	}
	if l.prepare != nil {
		if err := runToEnd(ctx, l.command(path, l.prepare), limits); err != nil {
			return nil, &noServerError{"start the app server's daemon", l.hint, err}
		}
	}
	process, err := stdio.Start(l.command(path, l.args))
	if err != nil {
		return nil, &noServerError{"start the app server", l.hint, err}
	}
	s := &server{process: process, shared: l.shared(), limits: limits}
	if err := s.open(ctx, l.framed, h, full); err != nil {
		s.stop()
		return nil, &noServerError{"connect to the app server", l.hint, s.explain(err)}
	}
	return s, nil
}

// runToEnd runs a program that must succeed. What it prints is passed over.
func runToEnd(ctx context.Context, c stdio.Command, limits limits) error {
	ctx, cancel := context.WithTimeout(ctx, limits.prepare)
	defer cancel()
	p, err := stdio.Start(c)
	if err != nil {
		return err
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		for {
			if _, err := p.Read(); err != nil && !isLong(err) {
				return
			}
		}
	}()
	defer func() { <-read }()
	defer p.Stop(limits.stop)
	select {
	case <-p.Done():
	case <-ctx.Done():
		return ctx.Err()
	}
	if code, _ := p.Exit(); code != 0 {
		return fmt.Errorf("it ended with exit code %d", code)
	}
	return nil
}

func isLong(err error) bool {
	_, long := errors.AsType[*stdio.LineError](err)
	return long
}

// open makes a conversation of the process's streams.
func (s *server) open(ctx context.Context, framed bool, h stdio.Handler, full bool) error {
	ctx, cancel := context.WithTimeout(ctx, s.limits.request)
	defer cancel()
	var conn stdio.Conn = s.process
	if framed {
		var err error
		if s.socket, err = dial(ctx, s.process.Raw()); err != nil {
			return err
		}
		conn = s.socket
	}
	s.peer = stdio.NewPeer(conn, true, h)
	if _, err := s.peer.Call(ctx, "initialize", initializeParams(full)); err != nil {
		return err
	}
	return s.peer.Notify("initialized", nil)
}

// clientName is how the app server knows us, and what it writes as the originator of the
// threads that we start.
const clientName = "agentsync"

// unheard are notifications of which nothing is made: not sending them keeps a long turn
// from costing anything here. A server that does not know the list sends them all.
var unheard = []string{
	"item/started", "item/completed", "item/agentMessage/delta", "item/plan/delta",
	"item/reasoning/textDelta", "item/reasoning/summaryTextDelta", "item/reasoning/summaryPartAdded",
	"item/commandExecution/outputDelta", "item/fileChange/outputDelta", "item/mcpToolCall/progress",
	"thread/tokenUsage/updated", "account/rateLimits/updated", "turn/diff/updated", "turn/plan/updated", "warning",
}

// initializeParams introduces us. Only who may lift a thread's restrictions asks for the
// experimental methods, one of which puts them back.
func initializeParams(full bool) any {
	version := "(devel)"
	if built, ok := debug.ReadBuildInfo(); ok && built.Main.Version != "" {
		version = built.Main.Version
	}
	type clientInfo struct {
		Name    string  `json:"name"`
		Title   *string `json:"title"`
		Version string  `json:"version"`
	}
	type capabilities struct {
		ExperimentalAPI bool     `json:"experimentalApi"`
		OptOut          []string `json:"optOutNotificationMethods"`
	}
	return struct {
		ClientInfo   clientInfo   `json:"clientInfo"`
		Capabilities capabilities `json:"capabilities"`
	}{clientInfo{Name: clientName, Version: version}, capabilities{full, unheard}}
}

// explain says what is known of a connection that did not come about, once its process
// has ended.
func (s *server) explain(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return err // it was ended for that
	}
	if code, signaled := s.process.Exit(); !signaled && code > 0 {
		return fmt.Errorf("it ended with exit code %d: %w", code, err)
	}
	return err
}

// call asks one small thing of the server and reads the answer into result, which may be
// nil. When ctx ends the answer has still a moment to come, so that it is known.
func (s *server) call(ctx context.Context, method string, params, result any) error {
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.limits.request)
	left := make(chan struct{})
	stay := context.AfterFunc(ctx, func() {
		defer close(left)
		late(own, cancel, s.limits.interrupt)
	})
	defer func() {
		cancel()
		if !stay() {
			<-left
		}
	}()
	answer, err := s.peer.Call(own, method, params)
	if err != nil {
		return err
	}
	if result == nil {
		return nil
	}
	if err := json.Unmarshal(answer, result); err != nil {
		return fmt.Errorf("read the answer to %s: %w", method, errUnreadable)
	}
	return nil
}

// errUnreadable stands for the decoder's error, which quotes what it read.
var errUnreadable = errors.New("it is not of the form that is known")

// late cancels a context after a while, unless it is over before.
func late(ctx context.Context, cancel context.CancelFunc, after time.Duration) {
	timer := time.NewTimer(after)
	defer timer.Stop()
	select {
	case <-timer.C:
		cancel()
	case <-ctx.Done():
	}
}

// ended reports a connection that is over.
func (s *server) ended() bool {
	select {
	case <-s.peer.Done():
		return true
	default:
		return false
	}
}

// stop drops the connection and ends the process with its whole group. A shared server
// goes on.
func (s *server) stop() {
	if s.socket != nil {
		s.socket.close()
	}
	s.process.Stop(s.limits.stop)
	if s.peer != nil {
		<-s.peer.Done()
	}
}
