package lines

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"

	"agentsync/collect"
	"agentsync/collect/value"
)

const blanks = " \t\r\n"

// probeFactor bounds the work of recovery: the parser may look at this many bytes for
// each byte of a damaged line. What is left then is one unparsed segment.
const probeFactor = 16

// splitter divides a damaged line into segments: whole values, runs of NULs, and
// fragments that are no JSON value.
type splitter struct {
	line       []byte
	pos        int
	terminated bool
	shared     bool // a record, or what is left of one, stands before pos
	budget     int  // bytes the parser may still look at
	probe      value.Tape
}

// segment is the next piece of a damaged line.
type segment struct {
	size  int
	value []byte // the text of a whole value, nil for none
	kind  collect.Damage
}

func (s *splitter) begin(line []byte, terminated bool) {
	s.line, s.pos, s.terminated, s.shared = line, 0, terminated, false
	s.budget = probeFactor * len(line)
}

func (s *splitter) pending() bool { return s.pos < len(s.line) }

// next returns the segment at pos and moves behind it. The blanks that end the line
// belong to the line's last segment.
func (s *splitter) next() segment {
	rest := s.line[s.pos:]
	g := s.classify(rest)
	if isBlank(rest[g.size:]) {
		g.size = len(rest)
	}
	if g.kind == collect.Unparsed && g.size == len(rest) && !s.terminated {
		g.kind = collect.TornTail
	}
	s.shared = s.shared || g.kind != collect.NulFill && g.kind != collect.Blank
	s.pos += g.size
	if !s.pending() {
		s.line, s.pos = nil, 0
	}
	return g
}

func (s *splitter) classify(rest []byte) segment {
	if n := emptyRun(rest); n > 0 {
		if bytes.IndexByte(rest[:n], 0) >= 0 {
			return segment{size: n, kind: collect.NulFill}
		}
		if n == len(rest) {
			return segment{size: n, kind: collect.Blank}
		}
	}
	if n, whole := s.wholeValue(rest); whole {
		kind := collect.Glued
		if !s.shared && emptyRun(rest[n:]) == len(rest)-n {
			kind = collect.Sound
		}
		return segment{size: n, value: trimBOM(rest[:n]), kind: kind}
	}
	return segment{size: s.fragment(rest), kind: collect.Unparsed}
}

// wholeValue measures the record or array that text starts with.
func (s *splitter) wholeValue(text []byte) (size int, whole bool) {
	lead := 0
	if s.pos == 0 && bytes.HasPrefix(text, bom) {
		lead = len(bom)
	}
	start := lead + blankRun(text[lead:])
	if start == len(text) || text[start] != '{' && text[start] != '[' {
		return 0, false
	}
	n, whole := s.tryValue(text[lead:])
	return lead + n, whole
}

// tryValue asks the parser for a value at the start of text, and charges for the look.
func (s *splitter) tryValue(text []byte) (size int, whole bool) {
	if s.budget <= 0 {
		return 0, false
	}
	_, n, err := s.probe.CapturePrefix(text)
	s.probe.Reset()
	if err == nil {
		s.budget -= n
		return n, true
	}
	s.budget -= 16 // even a refusal at the first byte costs
	if bad, ok := errors.AsType[*value.SyntaxError](err); ok {
		s.budget -= bad.Offset
	} else {
		s.budget -= len(text)
	}
	return 0, false
}

// fragment measures what no value starts with: up to the next NUL, the next record
// that stands whole, or the line's end.
func (s *splitter) fragment(rest []byte) int {
	stop := len(rest)
	if i := bytes.IndexByte(rest, 0); i >= 0 {
		stop = i
	}
	var inside nesting
	for from := 1; s.budget > 0; {
		i := bytes.Index(rest[min(from, stop):stop], []byte(`{"`))
		if i < 0 {
			return stop
		}
		at := from + i
		n, whole := s.tryValue(rest[at:stop])
		if !whole {
			from = at + 1
			continue
		}
		inside.read(rest[:at])
		if endsRecord(rest[at+n:]) && !inside.member(rest[:at], rest[at:at+n]) {
			return at
		}
		from = at + n
	}
	return len(rest)
}

// endsRecord reports that a record may end before what follows: nothing, NULs, or
// another record. A comma or a bracket says that it is part of something larger.
func endsRecord(following []byte) bool {
	following = following[blankRun(following):]
	return len(following) == 0 || following[0] == 0 || following[0] == '{'
}

func isBlank(text []byte) bool { return blankRun(text) == len(text) }

func blankRun(text []byte) int {
	for i, b := range text {
		if b != ' ' && b != '\t' && b != '\r' && b != '\n' {
			return i
		}
	}
	return len(text)
}

// emptyRun counts the NULs and blanks that text starts with.
func emptyRun(text []byte) int {
	for i, b := range text {
		if b != 0 && b != ' ' && b != '\t' && b != '\r' && b != '\n' {
			return i
		}
	}
	return len(text)
}

// nextSegment makes an event of the damaged line's next segment.
func (r *Reader) nextSegment(tape *value.Tape) (collect.Event, error) {
	from := r.split.line[r.split.pos:]
	g := r.split.next()
	text := g.value
	if text == nil {
		r.text = appendUnparsed(r.text[:0], from[:g.size])
		text = r.text
	}
	captured, err := tape.Capture(text)
	if err != nil {
		return collect.Event{}, err
	}
	return r.event(from[:g.size], captured, g.kind, !r.split.pending()), nil
}

// appendUnparsed appends the record that stands for bytes which are no JSON value.
func appendUnparsed(dst, raw []byte) []byte {
	sum := sha256.Sum256(raw)
	dst = append(dst, `{"agentsync":"unparsed","bytes":`...)
	dst = strconv.AppendInt(dst, int64(len(raw)), 10)
	dst = append(dst, `,"sha256":"`...)
	dst = hex.AppendEncode(dst, sum[:])
	return append(dst, `"}`...)
}
