package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"agentsync/collect"
	"agentsync/collect/drivers"
	"agentsync/collect/value"
	"agentsync/publish"
)

// operator is the agent of one source. Its driver is started by the first command, since
// a live driver is a program that nobody should start in vain.
type operator struct {
	id     string
	driver collect.Driver
	known  func(sourceID string) ([]collect.Known, error) // where its sessions were published from; nil for unknown
	acts   collect.Operator
	failed func(*failure) // told once why the driver cannot be started

	mu      sync.Mutex
	started bool
	broken  error // why it could not be started
}

var (
	_ collect.Operator     = (*operator)(nil)
	_ collect.Investigator = (*operator)(nil)
)

// operators makes the agents of sources without starting any. One that cannot be made is
// a failure, and absent.
func (v *invocation) operators(s *settings, sources []collect.SourceConfig, failed func(*failure)) map[string]*operator {
	made := make(map[string]*operator, len(sources))
	for _, source := range sources {
		driver, err := drivers.New(source, s.env)
		if err != nil {
			failed(&failure{exit: exitPartial, code: "source-unavailable", source: source.ID, hint: driverHint(err), err: err})
			continue
		}
		o := &operator{id: driver.Source().ID, driver: driver, acts: collect.NoOperations{}, failed: failed}
		if acts, ok := driver.(collect.Operator); ok {
			o.acts = acts
		}
		made[o.id] = o
	}
	return made
}

// start starts the driver, once. What cannot be started stays so for the pass, unless
// ctx was the reason.
func (o *operator) start(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.started || o.broken != nil {
		return o.broken
	}
	err := o.driver.Start(ctx)
	if err == nil {
		err = o.tellKnown()
	}
	if err == nil {
		o.started = true
		return nil
	}
	err = fmt.Errorf("start source %s: %w", o.id, err)
	if ctx.Err() == nil {
		o.broken = err
		o.failed(&failure{exit: exitPartial, code: "source-unavailable", source: o.id, hint: "agentsync doctor", retryable: true, err: err})
	}
	return err
}

// tellKnown tells a driver that asks which files bear which ids.
func (o *operator) tellKnown() error {
	k, asks := o.driver.(collect.Knower)
	if !asks || o.known == nil {
		return nil
	}
	known, err := o.known(o.id)
	if err == nil {
		k.Know(known)
	}
	return err
}

// stop ends what the driver runs.
func (o *operator) stop() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.started {
		return nil
	}
	o.started = false
	if err := o.driver.Stop(); err != nil {
		return fmt.Errorf("stop source %s: %w", o.id, err)
	}
	return nil
}

// with calls an operation of the started driver. A driver that cannot be started leaves
// every session as it is.
func (o *operator) with(ctx context.Context, call func() (collect.Outcome, error)) (collect.Outcome, error) {
	if err := o.start(ctx); err != nil {
		return collect.Outcome{Status: collect.Unsupported, Untouched: true, Problem: &collect.OperationProblem{
			Code: "source-unavailable", Message: err.Error(), Retryable: true}}, nil
	}
	return call()
}

// Prompt starts the driver and sends it the prompt.
func (o *operator) Prompt(ctx context.Context, session string, in collect.PromptInput, m collect.Milestones) (collect.Outcome, error) {
	return o.with(ctx, func() (collect.Outcome, error) { return o.acts.Prompt(ctx, session, in, m) })
}

// StartSession starts the driver and a session.
func (o *operator) StartSession(ctx context.Context, session string, in collect.StartInput, m collect.Milestones) (collect.Outcome, error) {
	return o.with(ctx, func() (collect.Outcome, error) { return o.acts.StartSession(ctx, session, in, m) })
}

// Cancel interrupts a turn.
func (o *operator) Cancel(ctx context.Context, session string) (collect.Outcome, error) {
	return o.with(ctx, func() (collect.Outcome, error) { return o.acts.Cancel(ctx, session) })
}

// Rename gives a session another title.
func (o *operator) Rename(ctx context.Context, session, title string) (collect.Outcome, error) {
	return o.with(ctx, func() (collect.Outcome, error) { return o.acts.Rename(ctx, session, title) })
}

// SetMode sets a session's mode.
func (o *operator) SetMode(ctx context.Context, session, mode string) (collect.Outcome, error) {
	return o.with(ctx, func() (collect.Outcome, error) { return o.acts.SetMode(ctx, session, mode) })
}

// SetConfigOption sets an option of a session.
func (o *operator) SetConfigOption(ctx context.Context, session, key string, option value.Value) (collect.Outcome, error) {
	return o.with(ctx, func() (collect.Outcome, error) { return o.acts.SetConfigOption(ctx, session, key, option) })
}

// Investigate asks the driver for evidence. Where there is nobody to ask, the outcome
// stays unknown.
func (o *operator) Investigate(ctx context.Context, session string, t collect.Trace) (collect.Outcome, error) {
	looks, ok := o.driver.(collect.Investigator)
	if !ok {
		return collect.Outcome{Status: collect.Unknown, Untouched: true, Problem: &collect.OperationProblem{
			Code: "no-evidence", Message: "this source keeps nothing that proves an outcome"}}, nil
	}
	if err := o.start(ctx); err != nil {
		return collect.Outcome{}, err
	}
	return looks.Investigate(ctx, session, t)
}

// knownOf is what the newest generation says of a source; nothing where there is none yet.
func knownOf(ctx context.Context, target *publish.Target, id string) ([]collect.Known, error) {
	view, err := target.View(ctx)
	if errors.Is(err, publish.ErrEmpty) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return view.Known(id)
}
