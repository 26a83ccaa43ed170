package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"agentsync/collect/stdio"
)

// protocol is the only version spoken: another one has other messages under the same names.
const protocol = 1

// limits bound what waits for an agent.
type limits struct {
	request time.Duration // for an answer that needs no model; a cold start on a busy machine takes most of a minute
	idle    time.Duration // a load may take as long as updates come
	grace   time.Duration // for the end of a cancelled turn, and of the process
}

func defaultLimits() limits {
	return limits{request: 2 * time.Minute, idle: 5 * time.Minute, grace: 5 * time.Second}
}

// The methods of the protocol.
const (
	methodInitialize = "initialize"
	methodList       = "session/list"
	methodLoad       = "session/load"
	methodResume     = "session/resume"
	methodClose      = "session/close"
	methodNew        = "session/new"
	methodPrompt     = "session/prompt"
	methodCancel     = "session/cancel"
	methodSetMode    = "session/set_mode"
	methodSetOption  = "session/set_config_option"
	methodUpdate     = "session/update"
	methodPermission = "session/request_permission"
)

// agent is one running process of the agent and the connection to it.
type agent struct {
	process *stdio.Process
	peer    *stdio.Peer
	wire    *wire
	limits  limits
	version string
	resumes bool // it can go on with a session without replaying it
	closes  bool // it can let go of a session

	changed func(session string, u update) // told of controls that the agent reports changed

	mu      sync.Mutex
	turns   map[string]chan struct{} // by session: a slot for whoever loads or prepares it
	windows map[string]*window       // by session: the load whose updates are coming in
}

// startAgent starts the program and agrees on the protocol. When that fails, nothing of
// the program is left.
func startAgent(ctx context.Context, c stdio.Command, l limits, changed func(string, update)) (*agent, error) {
	process, err := stdio.Start(c)
	if err != nil {
		return nil, err
	}
	a := &agent{process: process, wire: newWire(process), limits: l, changed: changed,
		turns: map[string]chan struct{}{}, windows: map[string]*window{}}
	a.peer = stdio.NewPeer(a.wire, true, stdio.Handler{Notification: a.notified, Request: asked})
	if err := a.initialize(ctx); err != nil {
		a.stop()
		return nil, a.explain(err)
	}
	return a, nil
}

// stop ends the process with all that it started.
func (a *agent) stop() {
	a.process.Stop(a.limits.grace)
	<-a.peer.Done()
}

// ended reports that nobody answers any more.
func (a *agent) ended() bool { return a.peer.Err() != nil }

// refusal is an agent's answer that it did not do what it was asked. What it said about
// that is not repeated: it may quote what it was sent.
type refusal struct {
	method string
	code   int
}

func (r *refusal) Error() string {
	return fmt.Sprintf("the agent refused %s (error %d)", r.method, r.code)
}

// The errors of requests that nobody carried out: no such method, no such parameters.
const (
	codeNoMethod   = -32601
	codeBadParams  = -32602
	codeInternal   = -32603
	codeNotFound   = -32002
	codeAuthNeeded = -32000
)

// call makes a request that is answered soon.
func (a *agent) call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	slow := fmt.Errorf("the agent did not answer %s within %s", method, a.limits.request)
	ctx, stop := context.WithTimeoutCause(ctx, a.limits.request, slow)
	defer stop()
	return a.wait(ctx, method, params)
}

// wait makes a request and waits until ctx ends, whose cause is then the error.
func (a *agent) wait(ctx context.Context, method string, params any) (json.RawMessage, error) {
	result, err := a.peer.Call(ctx, method, params)
	if refused, ok := errors.AsType[*stdio.RPCError](err); ok {
		return nil, &refusal{method, refused.Code}
	}
	if err != nil && ctx.Err() != nil && !errors.Is(err, stdio.ErrClosed) {
		if errors.Is(err, stdio.ErrNotSent) {
			return nil, fmt.Errorf("%w: %w", stdio.ErrNotSent, context.Cause(ctx))
		}
		return nil, context.Cause(ctx)
	}
	return result, a.explain(err)
}

// explain adds what is known of an agent that left its connection: how it ended, and its
// last words.
func (a *agent) explain(err error) error {
	var told *endedError
	left := errors.Is(err, stdio.ErrClosed) || errors.Is(err, stdio.ErrNotSent)
	if !left || errors.As(err, &told) {
		return err
	}
	if ending := a.process.Ending(); ending != "" {
		return &endedError{ending, err}
	}
	return err
}

// endedError is the end of the connection with an agent that is gone.
type endedError struct {
	ending string
	err    error
}

func (e *endedError) Error() string { return "the agent has ended: " + e.ending }

func (e *endedError) Unwrap() error { return e.err }

type clientInfo struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Version string `json:"version"`
}

// initialize agrees on the protocol and checks that sessions can be listed and loaded.
func (a *agent) initialize(ctx context.Context) error {
	offered := json.RawMessage(`{"session":{"configOptions":{"boolean":{}}}}`)
	result, err := a.call(ctx, methodInitialize, struct {
		Protocol     int             `json:"protocolVersion"`
		Client       clientInfo      `json:"clientInfo"`
		Capabilities json.RawMessage `json:"clientCapabilities"`
	}{protocol, clientInfo{"agentsync", "agentsync", "1"}, offered})
	if err != nil {
		return err
	}
	var hello struct {
		Protocol int `json:"protocolVersion"`
		Info     struct {
			Version string `json:"version"`
		} `json:"agentInfo"`
		Capabilities struct {
			Load    bool                       `json:"loadSession"`
			Session map[string]json.RawMessage `json:"sessionCapabilities"`
		} `json:"agentCapabilities"`
	}
	if err := json.Unmarshal(result, &hello); err != nil {
		return errors.New("the agent's answer to initialize cannot be read")
	}
	has := func(capability string) bool {
		text, present := hello.Capabilities.Session[capability]
		return present && string(text) != "null" && string(text) != "false"
	}
	switch {
	case hello.Protocol != protocol:
		return fmt.Errorf("the agent speaks version %d of the protocol, and not %d", hello.Protocol, protocol)
	case !has("list"):
		return errors.New("the agent cannot list its sessions (session/list), so they cannot be collected")
	case !hello.Capabilities.Load:
		return errors.New("the agent cannot load a session (session/load), so none can be collected")
	}
	a.version, a.resumes, a.closes = hello.Info.Version, has("resume"), has("close")
	return nil
}

// asked answers the agent's own requests: permissions are refused, the rest is unknown.
func asked(method string, _ json.RawMessage) (any, *stdio.RPCError) {
	if method == methodPermission {
		return json.RawMessage(`{"outcome":{"outcome":"cancelled"}}`), nil
	}
	return nil, &stdio.RPCError{Code: codeNoMethod, Message: "method not found"}
}

// update is what a session/update says: the update's own text and its kind.
type update struct {
	text json.RawMessage
	kind string
}

// notified takes what the agent tells. Only updates of sessions matter here; agents have
// other notifications of their own.
func (a *agent) notified(method string, params json.RawMessage) {
	if method != methodUpdate {
		return
	}
	var p struct {
		SessionID string          `json:"sessionId"`
		Update    json.RawMessage `json:"update"`
	}
	if json.Unmarshal(params, &p) != nil || len(p.Update) == 0 {
		return
	}
	u := update{p.Update, member(p.Update, "sessionUpdate")} // one without a kind is kept like an unknown one
	if !history(u.kind) {
		a.changed(p.SessionID, u)
		return
	}
	a.mu.Lock()
	w := a.windows[p.SessionID]
	a.mu.Unlock()
	if w != nil {
		w.take(u)
	}
}

// stateKinds are the updates that say how a session stands and not what happened in it.
var stateKinds = map[string]bool{
	"available_commands_update": true, "usage_update": true, "current_mode_update": true,
	"config_option_update": true, "session_info_update": true,
}

// history reports an update that belongs to a session's history. A kind that nobody
// knows yet does.
func history(kind string) bool { return !stateKinds[kind] }
