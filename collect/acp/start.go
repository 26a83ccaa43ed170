package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"

	"agentsync/collect"
	"agentsync/collect/value"
)

// StartSession begins a session and sends it the first prompt. The agent chooses the
// session's id: it is the outcome's session, and the id asked for is only remembered in
// the result, and reaches the prompt for its cancellation. The protocol has no titles.
func (d *Driver) StartSession(ctx context.Context, nativeSessionID string, in collect.StartInput, m collect.Milestones) (collect.Outcome, error) {
	cwd, failed := d.directory(in.Cwd)
	if failed != nil {
		return *failed, nil
	}
	t := d.admit(nativeSessionID)
	if t == nil {
		return failure(errActive), nil
	}
	defer d.dismiss(t)
	a, err := d.live(ctx)
	if err != nil {
		return failure(err), nil
	}
	r, err := d.begin(ctx, a, cwd)
	if err != nil {
		o := answered(err, codeStartUnknown)
		o.Untouched = o.Status == collect.Failed
		return o, nil
	}
	defer r.release()
	d.also(t, r.native)
	// What is not remembered costs the pairing in the index, and no start.
	_ = collect.RememberStart(ctx, d.env.Memory, d.id, r.native, nativeSessionID)
	return d.first(ctx, r, t, beginning{in, nativeSessionID, cwd}, m), nil
}

// beginning is what a session is started with.
type beginning struct {
	collect.StartInput
	asked string // the id that the caller chose
	cwd   string
}

// first sets the mode of a new session and sends its first prompt.
func (d *Driver) first(ctx context.Context, r *ready, t *turn, b beginning, m collect.Milestones) collect.Outcome {
	o := collect.Outcome{Status: collect.Succeeded}
	if b.Mode != "" {
		o = r.chooseMode(ctx, b.Mode)
	}
	if o.Status == collect.Succeeded {
		o = r.perform(ctx, t, b.Text, m)
	}
	if o.Status == collect.Failed && b.Mode != "" {
		d.wanted.keep(ctx, r.native, wish{}) // a start that fails keeps no mode
	}
	o.Untouched, o.Session = false, r.native
	o.Result = result(func(v *value.Builder) {
		v.Key("nativeSessionId").String(r.native).Key("startedAs").String(b.asked).Key("cwd").String(b.cwd)
		if b.Title != "" {
			v.Key("title").String("not-supported")
		}
		if o.Status == collect.Succeeded {
			t.describe(v, nil)
		}
	})
	return o
}

// begin makes a session and takes its turn.
func (d *Driver) begin(ctx context.Context, a *agent, cwd string) (*ready, error) {
	told, err := a.call(ctx, methodNew, paramsOf("", cwd))
	if err != nil {
		return nil, err
	}
	var begun struct {
		ID string `json:"sessionId"`
	}
	if json.Unmarshal(told, &begun) != nil || begun.ID == "" {
		return nil, fmt.Errorf("the agent's answer to %s names no session", methodNew)
	}
	if err := a.acquire(ctx, begun.ID); err != nil {
		return nil, err
	}
	d.mu.Lock()
	if d.catalog.rows == nil {
		d.catalog.rows = map[string]row{}
	}
	text, _ := json.Marshal(map[string]string{"sessionId": begun.ID, "cwd": cwd})
	if begunRow, err := rowOf(text); err == nil {
		d.catalog.rows[begunRow.id] = begunRow
	}
	d.mu.Unlock()
	return &ready{driver: d, agent: a, native: begun.ID, controls: d.controls.learn(begun.ID, told)}, nil
}

// directory is where a session starts: as asked, or in the source's own. A source that
// has one starts none outside of it: an agent lists what belongs to the directory that it
// runs in, and what it does not list would count as deleted.
func (d *Driver) directory(asked string) (string, *collect.Outcome) {
	cwd := asked
	if cwd == "" {
		cwd = d.cfg.Cwd
	}
	if !filepath.IsAbs(cwd) {
		o := untouched(problem(collect.Failed, codeCwd, "a start needs an absolute working directory, of its own or of the source", false))
		return "", &o
	}
	cwd = filepath.Clean(cwd)
	if own := d.cfg.Cwd; own != "" && !below(cwd, filepath.Clean(own)) {
		o := untouched(problem(collect.Failed, codeOutside, "the directory is outside of the source's own, "+own, false))
		return "", &o
	}
	return cwd, nil
}

// below reports a directory that is another one or lies in it.
func below(dir, other string) bool {
	return dir == other || strings.HasPrefix(dir, strings.TrimSuffix(other, string(filepath.Separator))+string(filepath.Separator))
}
