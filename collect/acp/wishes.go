package acp

import (
	"context"
	"encoding/json"
	"sync"

	"agentsync/collect"
)

// wish is what a session was set to. The agent forgets it with its process, so it is
// remembered from pass to pass, and set again before a prompt.
type wish struct {
	Mode    string                     `json:"mode,omitempty"`
	Options map[string]json.RawMessage `json:"options,omitempty"`
}

// wishKey is what a wish is remembered under.
const wishKey = "controls"

// wishes remembers the wish of each session, durably where there is a memory.
type wishes struct {
	source string
	memory collect.Memory // may be nil

	mu     sync.Mutex
	inPass map[string]wish // by native id
}

// of returns a session's wish.
func (w *wishes) of(session string) wish {
	w.mu.Lock()
	defer w.mu.Unlock()
	if known, ok := w.inPass[session]; ok {
		return known.clone()
	}
	var remembered wish
	if w.memory != nil {
		if text, found := w.memory.Recall(w.source, session, wishKey); found {
			_ = json.Unmarshal([]byte(text), &remembered) // what cannot be read was not written here
		}
	}
	return remembered
}

func (w wish) clone() wish {
	options := make(map[string]json.RawMessage, len(w.Options))
	for id, setting := range w.Options {
		options[id] = setting
	}
	w.Options = options
	return w
}

// keep replaces a session's wish. It reports whether a later pass will know of it.
func (w *wishes) keep(ctx context.Context, session string, wanted wish) (durable bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.inPass == nil {
		w.inPass = map[string]wish{}
	}
	w.inPass[session] = wanted
	if w.memory == nil {
		return false
	}
	text := []byte(nil)
	if wanted.Mode != "" || len(wanted.Options) > 0 {
		text, _ = json.Marshal(wanted) // strings and values that were JSON already
	}
	return w.memory.Remember(ctx, w.source, session, wishKey, string(text)) == nil
}
