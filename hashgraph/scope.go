package hashgraph

// scopes holds the stream of the innermost cause. A cause ends with its scope, which
// is the parent's whole cause, so the heads of nested causes stand before each other
// and their ends behind: the buffer grows downwards, and behind it only ends follow.
type scopes struct {
	buf   []byte // ends (zero bytes) from end on
	start int
	end   int // after the base scope
	depth int // causes around it, each of which ends once
}

// span is a range of bytes in another buffer.
type span struct{ from, to int }

// set starts with a base scope.
func (s *scopes) set(base string) {
	s.start, s.depth = s.end, 0
	s.push([]byte(base))
}

// push puts p before everything.
func (s *scopes) push(p []byte) {
	s.room(len(p), s.depth+1)
	s.start -= len(p)
	copy(s.buf[s.start:], p)
}

// room makes place for head bytes before and for the ends behind.
func (s *scopes) room(head, ends int) {
	if s.start >= head && len(s.buf)-s.end >= ends {
		return
	}
	size := 2*len(s.buf) + 2*head + 2*ends + 1024
	grown := make([]byte, size)
	end := size - size/8 - 2*ends
	used := s.end - s.start
	copy(grown[end-used:], s.buf[s.start:s.end])
	s.buf, s.start, s.end = grown, end-used, end
}

// size is what drop goes back to.
func (s *scopes) size() int { return s.end - s.start }

func (s *scopes) drop(size int) { s.start = s.end - size }

// cause is the stream of the innermost cause.
func (s *scopes) cause() []byte { return s.buf[s.start : s.end+s.depth] }
