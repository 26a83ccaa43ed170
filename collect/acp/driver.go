package acp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"agentsync/collect"
)

// Kind is the driver kind of a source that this package serves.
const Kind = "acp"

// mostAgents is how many processes a driver starts before it takes the agent for broken:
// one that ends while it works is started anew for what is read next.
const mostAgents = 8

// Driver collects and operates the sessions of one agent. Its methods may be called by
// several goroutines. Renaming is unsupported: the protocol has no request for it.
type Driver struct {
	collect.NoOperations
	id     string
	cfg    collect.SourceConfig
	env    collect.Env
	limits limits

	controls controlBook
	wanted   wishes

	starting sync.Mutex // held while a process is started
	mu       sync.Mutex
	main     *agent // lists, reads and runs prompts
	second   *agent // reads what a prompt of ours runs in, nil until needed
	started  int    // processes
	version  string
	stopped  bool
	catalog  catalog
	running  map[string]*turn // by native id, and by the id that a start was asked for
}

var (
	_ collect.Driver   = (*Driver)(nil)
	_ collect.Operator = (*Driver)(nil)
)

// New configures a driver. It fails when the source's id is no identity or when it names
// no command; it starts nothing.
func New(cfg collect.SourceConfig, env collect.Env) (*Driver, error) {
	id, err := collect.SourceID(cfg.ID)
	if err != nil {
		return nil, fmt.Errorf("configure source: %w", err)
	}
	if len(cfg.Command) == 0 || cfg.Command[0] == "" {
		return nil, fmt.Errorf("configure source %s: it names no command", id)
	}
	d := &Driver{id: id, cfg: cfg, env: env, limits: defaultLimits(), running: map[string]*turn{}}
	d.wanted = wishes{source: id, memory: env.Memory}
	return d, nil
}

// Source describes the source. The version, modes and options are those that the agent
// told so far. Before it told of any session its modes are not known.
func (d *Driver) Source() collect.Descriptor {
	d.mu.Lock()
	version := d.version
	d.mu.Unlock()
	modes, told := d.controls.modes()
	return collect.Descriptor{ID: d.id, Driver: Kind, Version: version, Capabilities: collect.Capabilities{
		Inventory: true, Read: true, Prompt: true, Cancel: true, StartSession: true, SetMode: true, SetOption: true,
		Modes: modes, ModesUnknown: !told, Options: d.controls.descriptors(),
	}}
}

// Start starts the agent. It fails, with nothing left running, when the program does not
// start, speaks another version of the protocol, or cannot list and load sessions.
func (d *Driver) Start(ctx context.Context) error {
	if _, err := d.live(ctx); err != nil {
		return fmt.Errorf("start the agent of %s: %w", d.id, err)
	}
	return nil
}

var errStopped = errors.New("the source was stopped")

// Stop ends the agent. What runs in it is lost: a prompt's outcome is unknown then.
func (d *Driver) Stop() error {
	d.mu.Lock()
	d.stopped = true
	d.mu.Unlock()
	d.starting.Lock() // a process that is being started is seen below
	defer d.starting.Unlock()
	for _, a := range []*agent{d.main, d.second} {
		if a != nil {
			a.stop()
		}
	}
	return nil
}

// live returns the agent that lists, reads and runs prompts.
func (d *Driver) live(ctx context.Context) (*agent, error) { return d.run(ctx, &d.main) }

// reader returns the agent that reads sessions which the first one works in: there, the
// updates of a load could not be told from those of the turn.
func (d *Driver) reader(ctx context.Context) (*agent, error) { return d.run(ctx, &d.second) }

// run returns the agent in a place, which it starts when there is none or it has ended.
func (d *Driver) run(ctx context.Context, place **agent) (*agent, error) {
	d.starting.Lock()
	defer d.starting.Unlock()
	d.mu.Lock()
	a, stopped := *place, d.stopped
	d.mu.Unlock()
	switch {
	case stopped:
		return nil, errStopped
	case a != nil && !a.ended():
		return a, nil
	case d.started >= mostAgents:
		return nil, errors.New("the agent ends again and again")
	}
	if a != nil {
		a.stop() // what it left behind
	}
	command, err := commandOf(d.cfg, d.env)
	if err != nil {
		return nil, err
	}
	d.started++
	a, err = startAgent(ctx, command, d.limits, d.controls.changed)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%v", err) // a missing program is no missing session
	}
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	*place, d.version = a, a.version
	return a, nil
}
