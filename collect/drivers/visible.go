package drivers

import (
	"iter"

	"agentsync/collect/claude"
	"agentsync/collect/codex"
)

// Transcript is what a driver's client must know of a transcript to show it.
type Transcript struct {
	Size   int64 // bytes
	Agent  bool  // of a sub-agent
	System bool  // system lines are to be shown
}

// Visible are the events that a client shows of a transcript, in its order.
type Visible struct {
	Events    []int // by index in the session
	Compacted []int // what compactions took away before them, oldest first
	Notes     []int // what belongs to them and the client leaves out
	Summaries []int // those that stand for what was compacted away
	Break     int   // the first of them when its parent is not there, else -1
}

// ThreadOf tells which thread a session's file is a part of, for a driver kind whose agent
// may write one thread into several files; ok is false for every other session.
func ThreadOf(kind, nativeSessionID string) (thread string, ok bool) {
	if kind != Codex {
		return "", false
	}
	return codex.ThreadOf(nativeSessionID)
}

// VisibleOf finds what the client of a driver kind shows of a session's events; ok is
// false for a kind whose client shows all messages as they stand.
func VisibleOf(kind string, events iter.Seq2[int, []byte], t Transcript) (visible Visible, ok bool) {
	if kind != Claude {
		return Visible{}, false
	}
	o := claude.ChainOptions{Size: t.Size, System: t.System}
	if t.Agent {
		o.Agent = &claude.AgentOptions{}
	}
	c := claude.Chain(events, o)
	visible.Notes, visible.Summaries, visible.Break = c.Notes, c.Summaries, c.Break
	for _, e := range c.Messages {
		visible.Events = append(visible.Events, e.Index)
	}
	for _, e := range c.Before {
		visible.Compacted = append(visible.Compacted, e.Index)
	}
	return visible, true
}
