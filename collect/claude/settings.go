package claude

import (
	"context"
	"slices"
	"strings"

	"agentsync/collect"
	"agentsync/collect/value"
)

// Keys of what is remembered of a session.
const (
	modeKey  = "mode"
	modelKey = "model"
)

// bypassMode lets the program do everything unasked.
const bypassMode = "bypassPermissions"

// maxModel is the longest name of a model, in bytes.
const maxModel = 256

// capabilities are what the source offers, whether the program is installed or not.
func capabilities(cfg collect.SourceConfig) collect.Capabilities {
	modes := []string{"acceptEdits", "auto", "default", "dontAsk", "plan"}
	if cfg.AllowDangerFullAccess {
		modes = append(modes, bypassMode)
		slices.Sort(modes)
	}
	return collect.Capabilities{Inventory: true, Read: true, Prompt: true, Cancel: true, Rename: true,
		StartSession: true, SetMode: true, SetOption: true, Modes: modes, Options: value.NewBuilder().Record().
				Key(modelKey).Record().Key("id").String(modelKey).Key("name").String("Model").Key("type").String("string").End().
				End().Finish()}
}

func (d *Driver) advertises(mode string) bool {
	return slices.Contains(d.descriptor.Capabilities.Modes, mode)
}

func (d *Driver) modeUnsupported() *collect.Outcome {
	return refused(collect.Unsupported, "unsupported",
		"this source's modes are "+strings.Join(d.descriptor.Capabilities.Modes, ", "), false)
}

// settings are the arguments that a session's mode and model ask for; a start brings its
// own mode. One that the source no longer offers is left out: the program then asks for
// permission, and is refused.
func (d *Driver) settings(id, mode string) (args []string) {
	if mode == "" {
		mode = d.recall(id, modeKey)
	}
	if d.advertises(mode) {
		args = append(args, "--permission-mode="+mode)
	}
	if mode == bypassMode && d.advertises(mode) {
		args = append(args, "--allow-dangerously-skip-permissions")
	}
	if model := d.recall(id, modelKey); model != "" {
		args = append(args, "--model="+model)
	}
	return args
}

// SetMode sets the mode that later prompts of this source run in.
func (d *Driver) SetMode(ctx context.Context, nativeSessionID, mode string) (collect.Outcome, error) {
	if !d.advertises(mode) {
		return *d.modeUnsupported(), nil
	}
	return d.set(ctx, nativeSessionID, modeKey, mode)
}

// SetConfigOption sets the model that later prompts of this source ask; there is no other
// option.
func (d *Driver) SetConfigOption(ctx context.Context, nativeSessionID, key string, v value.Value) (collect.Outcome, error) {
	if key != modelKey {
		return *refused(collect.Unsupported, "unsupported", "this source's only option is model", false), nil
	}
	model := trim(v.Str())
	if v.Kind() != value.String || model == "" || len(model) > maxModel || strings.ContainsFunc(model, isControl) {
		return *refused(collect.Failed, "claude-model-invalid", "a model is named by a short text", false), nil
	}
	return d.set(ctx, nativeSessionID, modelKey, model)
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// set remembers a setting of a session that there is.
func (d *Driver) set(ctx context.Context, id, key, text string) (collect.Outcome, error) {
	if _, problem := d.conversation(id); problem != nil {
		return *problem, nil
	}
	if err := d.remember(ctx, id, key, text); err != nil {
		return collect.Outcome{}, err
	}
	return collect.Outcome{Status: collect.Succeeded, Untouched: true,
		Result: value.NewBuilder().Record().Key(key).String(text).End().Finish()}, nil
}

// recall returns what is remembered of a session, "" for nothing.
func (d *Driver) recall(id, key string) string {
	if d.env.Memory != nil {
		text, _ := d.env.Memory.Recall(d.descriptor.ID, id, key)
		return text
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.remembered[[2]string{id, key}]
}

// remember keeps something of a session from pass to pass, or in this process when there
// is no memory; "" forgets it.
func (d *Driver) remember(ctx context.Context, id, key, text string) error {
	if d.env.Memory != nil {
		return d.env.Memory.Remember(ctx, d.descriptor.ID, id, key, text)
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.remembered == nil {
		d.remembered = map[[2]string]string{}
	}
	d.remembered[[2]string{id, key}] = text
	return nil
}
