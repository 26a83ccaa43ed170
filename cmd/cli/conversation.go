package cli

import (
	"errors"
	"iter"
	"slices"
	"strings"

	"agentsync/collect/drivers"
	"agentsync/publish"
	"agentsync/publish/document"
)

// place is where a message stands beside the conversation that its agent shows.
type place uint8

const (
	current     place = iota // in it
	compacted                // taken away by a compaction
	beforeBreak              // before a line whose parent is not there
	aside                    // on another branch
	noted                    // on the branch, for the agent and not for people
	ofSystem                 // of the system
	limited                  // beyond --limit
	places
)

// String names a place in JSON.
func (p place) String() string {
	return [places]string{"", "compacted", "before-break", "branch", "note", "system", "limited"}[p]
}

// text says of a shown message why its agent does not show it.
func (p place) text() string {
	return [places]string{"", "compacted away", "before a break", "on another branch", "not for people", "", ""}[p]
}

// conversation is the order in which the events of a session are shown, and of its
// messages how many are not.
type conversation struct {
	session   *publish.Session
	events    []int
	queued    map[int]bool // of events, those that are no messages: prompts that were queued
	places    map[int]place
	summaries map[int]bool // messages that stand for what was compacted away
	left      [places]int
}

// choiceOfMessages says which messages a conversation shows.
type choiceOfMessages struct{ full, system bool }

// said is one message of a session.
type said struct {
	event int
	role  string
}

// conversationOf decides which events are shown: by the rules of the session's client, or
// else all messages as they stand. Each message is shown or counted as left out. With
// full every one is shown, as they were written.
func conversationOf(s *publish.Session, want choiceOfMessages) (*conversation, error) {
	o := &conversation{session: s, queued: map[int]bool{}, places: map[int]place{}, summaries: map[int]bool{}}
	var messages []said
	var failed error
	agent := strings.Contains(s.Row.NativeSessionID, "/agent-")
	lines := eventLines(s, &messages, &failed)
	visible, ok := drivers.VisibleOf(s.Row.Driver, lines, drivers.Transcript{Size: s.Manifest.Size, Agent: agent, System: want.system})
	if !ok {
		for range lines { // for the messages
		}
		visible.Break = -1
		for _, m := range messages {
			if want.system || m.role != roleSystem {
				visible.Events = append(visible.Events, m.event)
			}
		}
	}
	if failed != nil {
		return nil, failed
	}
	o.judge(visible, messages)
	o.choose(visible, messages, want)
	return o, nil
}

const roleSystem = "system"

// judge finds the place of every message.
func (o *conversation) judge(visible drivers.Visible, messages []said) {
	for _, event := range visible.Summaries {
		o.summaries[event] = true
	}
	for _, event := range visible.Events {
		o.queued[event] = true
		o.places[event] = current
	}
	mark := func(events []int, as place) {
		for _, event := range events {
			if _, known := o.places[event]; !known {
				o.places[event] = as
			}
		}
	}
	mark(visible.Compacted, compacted)
	mark(visible.Notes, noted)
	for _, m := range messages {
		delete(o.queued, m.event)
		at, known := o.places[m.event]
		switch {
		case m.role == roleSystem && (!known || at == noted):
			o.places[m.event] = ofSystem
		case known:
		case m.event < visible.Break:
			o.places[m.event] = beforeBreak
		default:
			o.places[m.event] = aside
		}
	}
}

// choose takes the events that are shown and counts the messages that are not.
func (o *conversation) choose(visible drivers.Visible, messages []said, want choiceOfMessages) {
	o.events = visible.Events
	if want.full {
		for _, m := range messages {
			if o.places[m.event] != current {
				o.events = append(o.events, m.event)
			}
		}
		slices.Sort(o.events)
		return
	}
	for _, m := range messages {
		if at := o.places[m.event]; at != current {
			o.left[at]++
		}
	}
}

// eventLines gives a session's own lines, and to messages what is said in them; what ends
// them early goes to failed.
func eventLines(s *publish.Session, messages *[]said, failed *error) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		i := 0
		for n := range s.Parts() {
			c, err := s.Part(n)
			if err != nil {
				*failed = err
				return
			}
			for _, m := range c.Normalized {
				event, _ := m.Path("rawIndex").Integer()
				*messages = append(*messages, said{int(event), m.Path("role").Str()})
			}
			for k := range c.Events {
				line := c.Events[k].Text
				if !c.Events[k].Plain {
					line = c.Events[k].Raw
				}
				if !yield(i, line) {
					*failed = errors.New("the conversation was not read to its end")
					return
				}
				i++
			}
		}
	}
}

// keepLast keeps the last n events of several conversations in a row, all for 0.
func keepLast(all []*conversation, n int) {
	if n == 0 {
		return
	}
	for _, o := range slices.Backward(all) {
		drop := max(0, len(o.events)-n)
		for _, event := range o.events[:drop] {
			if o.queued[event] {
				delete(o.queued, event)
			} else {
				o.left[limited]++
			}
		}
		o.events = o.events[drop:]
		n -= len(o.events)
	}
}

// leftText says what is not shown of several conversations, "" for nothing, and whether
// that is more than --limit asks for.
func leftText(all []*conversation) (text string, unasked bool) {
	var left [places]int
	for _, o := range all {
		for at, n := range o.left {
			left[at] += n
		}
	}
	var parts []string
	for _, one := range []struct {
		at   place
		what string
	}{{compacted, "compacted away"}, {beforeBreak, "before a break"}, {aside, "on other branches"},
		{noted, "not for people"}, {ofSystem, "of the system"}, {limited, "beyond --limit"}} {
		if n := left[one.at]; n > 0 {
			parts = append(parts, number(n)+" "+one.what)
			unasked = unasked || one.at != limited
		}
	}
	return joined(parts), unasked
}

// thread are the sessions that one conversation lies in, in order: those of a thread whose
// agent began a new file when it went on.
func thread(view *publish.View, row *document.Row) ([]*document.Row, error) {
	all := []*document.Row{row}
	id, ok := drivers.ThreadOf(row.Driver, row.NativeSessionID)
	if !ok {
		return all, nil
	}
	err := view.Rows(func(other *document.Row) error {
		of, _ := drivers.ThreadOf(other.Driver, other.NativeSessionID)
		if of == id && other.SourceID == row.SourceID && other.Parent == row.NativeSessionID {
			all = append(all, other)
		}
		return nil
	})
	slices.SortStableFunc(all[1:], func(a, b *document.Row) int {
		return strings.Compare(fileName(a), fileName(b))
	})
	return all, err
}

func fileName(row *document.Row) string {
	return row.Placement.Path[strings.LastIndexByte(row.Placement.Path, '/')+1:]
}
