package acp

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"agentsync/collect/value"
)

// controls are the modes and options that one session offers.
type controls struct {
	modes   []string
	mode    string // the current one
	options []option
}

// option is one configuration option as the agent describes it.
type option struct {
	id       string
	category string
	boolean  bool
	current  json.RawMessage
	allowed  []string // values of a select, groups taken apart
	text     json.RawMessage
}

// The kinds of options that can be set.
const (
	kindBoolean = "boolean"
	kindSelect  = "select"
)

// categoryMode marks the option that is a session's mode.
const categoryMode = "mode"

// controlsOf reads the controls in the result of a load, resume or new. What cannot be
// read is not offered.
func controlsOf(result json.RawMessage) controls {
	var r struct {
		Modes struct {
			Current   string `json:"currentModeId"`
			Available []struct {
				ID string `json:"id"`
			} `json:"availableModes"`
		} `json:"modes"`
		Options []json.RawMessage `json:"configOptions"`
	}
	_ = json.Unmarshal(result, &r)
	c := controls{mode: r.Modes.Current, options: optionsOf(r.Options)}
	for _, m := range r.Modes.Available {
		if m.ID != "" {
			c.modes = append(c.modes, m.ID)
		}
	}
	return c
}

// optionsOf reads options; one of a kind that nobody knows cannot be set and is left out.
func optionsOf(texts []json.RawMessage) []option {
	var list []option
	for _, text := range texts {
		var o struct {
			ID       string          `json:"id"`
			Category string          `json:"category"`
			Kind     string          `json:"type"`
			Current  json.RawMessage `json:"currentValue"`
			Options  []choice        `json:"options"`
		}
		if json.Unmarshal(text, &o) != nil || o.ID == "" || o.Kind != kindBoolean && o.Kind != kindSelect {
			continue
		}
		list = append(list, option{id: o.ID, category: o.Category, boolean: o.Kind == kindBoolean,
			current: o.Current, allowed: flatten(nil, o.Options), text: text})
	}
	return list
}

// choice is a value of a select, or a group of them.
type choice struct {
	Value   *string  `json:"value"`
	Options []choice `json:"options"`
}

func flatten(list []string, choices []choice) []string {
	for _, c := range choices {
		if c.Value != nil {
			list = append(list, *c.Value)
		}
		list = flatten(list, c.Options)
	}
	return list
}

// option returns an option by its id.
func (c controls) option(id string) (option, bool) {
	i := slices.IndexFunc(c.options, func(o option) bool { return o.id == id })
	if i < 0 {
		return option{}, false
	}
	return c.options[i], true
}

// modeOption is the option that stands for the mode where there are no modes.
func (c controls) modeOption() (option, bool) {
	i := slices.IndexFunc(c.options, func(o option) bool { return o.category == categoryMode && !o.boolean })
	if i < 0 {
		return option{}, false
	}
	return c.options[i], true
}

// offeredModes are the modes that a session can be set to.
func (c controls) offeredModes() []string {
	if len(c.modes) > 0 {
		return c.modes
	}
	o, _ := c.modeOption()
	return o.allowed
}

// takes reports that an option may be set to a value: true or false, or one of the texts
// of a select, or the one that it stands at, which agents do not always list.
func (o option) takes(setting json.RawMessage) bool {
	if o.boolean {
		return string(setting) == "true" || string(setting) == "false"
	}
	var text string
	return o.has(setting) || json.Unmarshal(setting, &text) == nil && slices.Contains(o.allowed, text)
}

// has reports that an option stands at a value.
func (o option) has(setting json.RawMessage) bool {
	if o.boolean {
		return string(o.current) == string(setting)
	}
	var a, b string
	return json.Unmarshal(o.current, &a) == nil && json.Unmarshal(setting, &b) == nil && a == b
}

// controlBook holds the controls of the sessions that the agent has told of.
type controlBook struct {
	mu       sync.Mutex
	sessions map[string]controls // by native id
}

// learn replaces a session's controls, and returns them.
func (b *controlBook) learn(session string, result json.RawMessage) controls {
	c := controlsOf(result)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sessions == nil {
		b.sessions = map[string]controls{}
	}
	b.sessions[session] = c
	return c
}

// edit changes the controls of a session that has any, and returns them.
func (b *controlBook) edit(session string, change func(*controls)) controls {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, known := b.sessions[session]
	if known {
		change(&c)
		b.sessions[session] = c
	}
	return c
}

// changed follows what the agent reports of a session's controls.
func (b *controlBook) changed(session string, u update) {
	switch u.kind {
	case "current_mode_update":
		var told struct {
			Mode string `json:"currentModeId"`
		}
		if json.Unmarshal(u.text, &told) == nil {
			b.edit(session, func(c *controls) { c.mode = told.Mode })
		}
	case "config_option_update":
		b.setOptions(session, json.RawMessage(u.text))
	}
}

// setOptions replaces a session's options by those in a text, if it has any.
func (b *controlBook) setOptions(session string, text json.RawMessage) controls {
	var told struct {
		Options []json.RawMessage `json:"configOptions"`
	}
	if json.Unmarshal(text, &told) != nil || told.Options == nil {
		return b.edit(session, func(*controls) {})
	}
	return b.edit(session, func(c *controls) { c.options = optionsOf(told.Options) })
}

// keep drops the controls of sessions that are not there any more.
func (b *controlBook) keep(present func(session string) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.sessions, func(session string, _ controls) bool { return !present(session) })
}

// modes is the sorted union of the modes of all sessions, and whether any was told of.
func (b *controlBook) modes() (union []string, told bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.sessions {
		union = append(union, c.offeredModes()...)
	}
	slices.Sort(union)
	return slices.Compact(union), len(b.sessions) > 0
}

// descriptors is a record of the options' own descriptions by id, without the values that
// sessions stand at: where they differ,
// that of the session whose id comes first. Without options it is the zero Value.
func (b *controlBook) descriptors() value.Value {
	b.mu.Lock()
	defer b.mu.Unlock()
	union := map[string]json.RawMessage{}
	for _, session := range slices.Sorted(maps.Keys(b.sessions)) {
		for _, o := range b.sessions[session].options {
			if _, taken := union[o.id]; !taken {
				union[o.id] = o.text
			}
		}
	}
	if len(union) == 0 {
		return value.Value{}
	}
	record := value.NewBuilder().Record()
	for _, id := range slices.Sorted(maps.Keys(union)) {
		described, err := new(value.Tape).Capture(union[id])
		if err != nil {
			continue
		}
		record.Key(id).Record()
		for key, v := range described.Value.Members() {
			if string(key) != "currentValue" { // a session's own
				record.Key(string(key)).Value(v)
			}
		}
		record.End()
	}
	return record.End().Finish()
}
