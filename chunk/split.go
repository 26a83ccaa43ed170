// Package chunk cuts captured events into parts of about a target size, and
// compresses the stored form of documents.
// It never splits an event and never looks inside one.
package chunk

// DefaultTarget is the target size of a part in bytes of fvj1 text; the published
// format's default.
const DefaultTarget = 512 << 10

// Empty is the byte length of a part without events: fvj1:[].
const Empty = 7

// Splitter tells where parts begin (spec 5.5), one event at a time. A part is as long
// as the fvj1 text of its list of events, brackets and commas included. An event that
// alone is longer than the target gets a part of its own; no events make one empty
// part.
type Splitter struct {
	target int64
	open   int64   // length of the open part, Empty while it has no event
	closed []int64 // lengths of closed parts nobody asked for yet
}

// NewSplitter cuts at target bytes; 0 or less is DefaultTarget.
func NewSplitter(target int) *Splitter {
	if target <= 0 {
		target = DefaultTarget
	}
	return &Splitter{target: int64(target), open: Empty}
}

// Starts takes the next event, by the length of its canonical text in bytes, and
// reports whether it starts a new part, which closes the one before. The first event
// never does: its part is open already.
func (s *Splitter) Starts(canonical int) bool {
	cost := int64(canonical)
	if s.open == Empty {
		s.open += cost
		return false
	}
	if s.open+1+cost <= s.target {
		s.open += 1 + cost
		return false
	}
	s.closed = append(s.closed, s.open)
	s.open = Empty + cost
	return true
}

// Close ends the open part, so that the next event begins another one. An empty part
// stays open.
func (s *Splitter) Close() {
	if s.open > Empty {
		s.closed = append(s.closed, s.open)
		s.open = Empty
	}
}

// Length returns the length in bytes of the earliest part not asked for yet: closed
// ones in order, each once, and then the open one.
func (s *Splitter) Length() int64 {
	if len(s.closed) == 0 {
		return s.open
	}
	length := s.closed[0]
	s.closed = append(s.closed[:0], s.closed[1:]...)
	return length
}
