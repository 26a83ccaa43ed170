package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"agentsync/collect"
	"agentsync/collect/value"
)

// ready is a session that the agent has loaded for us, with its turn.
type ready struct {
	driver   *Driver
	agent    *agent
	native   string
	controls controls
	released bool
}

// errActive says that a prompt of ours runs in a session.
var errActive = errors.New("a prompt of this source is running in the session")

// ready loads or resumes a session and learns what it offers: for a prompt of ours that
// was admitted, or for nobody's (nil). The turn is the caller's to release.
func (d *Driver) ready(ctx context.Context, r row, own *turn) (*ready, error) {
	a, err := d.live(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.acquire(ctx, r.native); err != nil {
		return nil, err
	}
	if running := d.turnIn(r.native); running != nil && running != own {
		a.release(r.native)
		return nil, errActive
	}
	told, kept, err := a.prepare(ctx, r.native, d.cwd(r))
	if err != nil {
		if !kept {
			a.release(r.native)
			err = d.absent(ctx, r, err)
		}
		return nil, fmt.Errorf("prepare session %s: %w", r.id, err)
	}
	return &ready{driver: d, agent: a, native: r.native, controls: d.controls.learn(r.native, told)}, nil
}

// release gives the turn back. It may be called more than once.
func (r *ready) release() {
	if !r.released {
		r.released = true
		r.agent.release(r.native)
	}
}

// mode is the current mode.
func (r *ready) mode() string {
	if len(r.controls.modes) > 0 {
		return r.controls.mode
	}
	var mode string
	o, _ := r.controls.modeOption()
	_ = json.Unmarshal(o.current, &mode)
	return mode
}

// setMode sets a mode that is offered. Where the agent has no modes it sets the option
// that stands for them, and returns its id.
func (r *ready) setMode(ctx context.Context, mode string) (option string, err error) {
	if len(r.controls.modes) == 0 {
		o, _ := r.controls.modeOption()
		setting, _ := json.Marshal(mode)
		return o.id, r.setOption(ctx, o, setting)
	}
	_, err = r.agent.call(ctx, methodSetMode, struct {
		SessionID string `json:"sessionId"`
		Mode      string `json:"modeId"`
	}{r.native, mode})
	if err == nil {
		r.controls = r.driver.controls.edit(r.native, func(c *controls) { c.mode = mode })
	}
	return "", err
}

// setOption sets an option to a value that it takes, and learns from the answer how all
// options stand now.
func (r *ready) setOption(ctx context.Context, o option, setting json.RawMessage) error {
	kind := ""
	if o.boolean {
		kind = kindBoolean
	}
	told, err := r.agent.call(ctx, methodSetOption, struct {
		SessionID string          `json:"sessionId"`
		Option    string          `json:"configId"`
		Kind      string          `json:"type,omitempty"`
		Value     json.RawMessage `json:"value"`
	}{r.native, o.id, kind, setting})
	if err == nil {
		r.controls = r.driver.controls.setOptions(r.native, told)
	}
	return err
}

// fulfil sets what the session was set to before and the agent has forgotten. What is not
// offered in any form any more is forgotten too, and named; a value that is not offered
// any more is a failure: nobody wants a prompt to run in another mode.
func (r *ready) fulfil(ctx context.Context) (forgotten []string, failed *collect.Outcome) {
	wanted := r.driver.wanted.of(r.native)
	stop := func(o collect.Outcome) ([]string, *collect.Outcome) { return forgotten, &o }
	if offered := r.controls.offeredModes(); wanted.Mode != "" {
		switch {
		case len(offered) == 0:
			forgotten, wanted.Mode = append(forgotten, "mode"), ""
		case !slices.Contains(offered, wanted.Mode):
			return stop(unofferedMode(collect.Failed, offered))
		case r.mode() != wanted.Mode:
			if _, err := r.setMode(ctx, wanted.Mode); err != nil {
				return stop(failure(fmt.Errorf("set the session's mode again: %w", err)))
			}
		}
	}
	for _, id := range slices.Sorted(maps.Keys(wanted.Options)) {
		o, offered := r.controls.option(id)
		switch {
		case !offered:
			forgotten = append(forgotten, id)
			delete(wanted.Options, id)
		case !o.takes(wanted.Options[id]):
			return stop(untouched(problem(collect.Failed, codeUnoffered,
				"the session does not offer any more what its option was set to", false)))
		case !o.has(wanted.Options[id]):
			if err := r.setOption(ctx, o, wanted.Options[id]); err != nil {
				return stop(failure(fmt.Errorf("set the session's option again: %w", err)))
			}
		}
	}
	if len(forgotten) > 0 {
		r.driver.wanted.keep(ctx, r.native, wanted)
	}
	return forgotten, nil
}

func unofferedMode(status collect.Status, offered []string) collect.Outcome {
	message := "the session offers no modes"
	if len(offered) > 0 {
		message = "the session offers the modes " + strings.Join(offered, ", ")
	}
	return untouched(problem(status, codeModeUnoffered, message, false))
}

// idle makes a session ready in which no prompt of ours runs.
func (d *Driver) idle(ctx context.Context, session string) (*ready, *collect.Outcome) {
	r, err := d.find(ctx, session)
	if err != nil {
		o := failure(err)
		return nil, &o
	}
	prepared, err := d.ready(ctx, r, nil)
	if err != nil {
		o := failure(err)
		return nil, &o
	}
	return prepared, nil
}

// SetMode sets a session to one of its modes, now and before each later prompt.
func (d *Driver) SetMode(ctx context.Context, nativeSessionID, mode string) (collect.Outcome, error) {
	r, failed := d.idle(ctx, nativeSessionID)
	if failed != nil {
		return *failed, nil
	}
	defer r.release()
	return r.chooseMode(ctx, mode), nil
}

func (r *ready) chooseMode(ctx context.Context, mode string) collect.Outcome {
	if offered := r.controls.offeredModes(); !slices.Contains(offered, mode) {
		return unofferedMode(collect.Unsupported, offered)
	}
	option, err := r.setMode(ctx, mode)
	if err != nil {
		return answered(err, codeSettingUnknown)
	}
	wanted := r.driver.wanted.of(r.native)
	wanted.Mode = mode
	for id := range wanted.Options {
		if o, ok := r.controls.option(id); ok && o.category == categoryMode {
			delete(wanted.Options, id)
		}
	}
	durable := r.driver.wanted.keep(ctx, r.native, wanted)
	return collect.Outcome{Status: collect.Succeeded, Result: result(func(b *value.Builder) {
		b.Key("mode").String(mode)
		if option != "" {
			b.Key("configOption").String(option)
		}
		b.Key("remembered").Bool(durable)
	})}
}

// SetConfigOption sets one of a session's options, now and before each later prompt.
func (d *Driver) SetConfigOption(ctx context.Context, nativeSessionID, key string, v value.Value) (collect.Outcome, error) {
	r, failed := d.idle(ctx, nativeSessionID)
	if failed != nil {
		return *failed, nil
	}
	defer r.release()
	o, offered := r.controls.option(key)
	if !offered {
		return untouched(problem(collect.Unsupported, codeUnoffered, "the session offers no such option", false)), nil
	}
	setting := settingOf(v)
	if !o.takes(setting) {
		message := "the option takes true or false"
		if !o.boolean {
			message = "the option takes one of: " + strings.Join(o.allowed, ", ")
		}
		return untouched(problem(collect.Failed, codeInvalidValue, message, false)), nil
	}
	if err := r.setOption(ctx, o, setting); err != nil {
		return answered(err, codeSettingUnknown), nil
	}
	wanted := d.wanted.of(r.native)
	if wanted.Options == nil {
		wanted.Options = map[string]json.RawMessage{}
	}
	wanted.Options[key] = setting
	if o.category == categoryMode {
		wanted.Mode = ""
	}
	durable := d.wanted.keep(ctx, r.native, wanted)
	return collect.Outcome{Status: collect.Succeeded, Result: result(func(b *value.Builder) {
		b.Key("configOption").String(key).Key("remembered").Bool(durable)
	})}, nil
}

// settingOf is the JSON text of a value that an option can have, "" for any other.
func settingOf(v value.Value) json.RawMessage {
	switch v.Kind() {
	case value.True:
		return json.RawMessage("true")
	case value.False:
		return json.RawMessage("false")
	case value.String:
		text, _ := json.Marshal(v.Str())
		return text
	}
	return nil
}
