package value

import "math"

// scanner reads one strict JSON text onto a tape. Besides the nodes it keeps count of
// the canonical text's length, and notices what a plain fvj1 reader would refuse or
// decode to something else.
type scanner struct {
	b     []byte
	i     int
	t     *tape
	base  int // added to an index in b, gives the offset in tape.text
	depth int // containers that may still be opened
	canon int
	exact bool // as Captured.Exact
	// Either of these asks for the canonical length to be counted by writing.
	repeated bool // a record has equal keys
	slashed  bool // a key starts with a slash
	refusal  refusal
	reason   string // set on a syntax error, which is at i
}

// refusal is the first thing met that JSON allows and fvj1 does not.
type refusal struct {
	reason string
	at     int
}

func (t *Tape) capture(text []byte) (Captured, error) {
	c, _, err := t.captureOne(text, true)
	return c, err
}

func (t *Tape) capturePrefix(text []byte) (Captured, int, error) {
	return t.captureOne(text, false)
}

// captureOne captures the value at the start of text, the only one if whole is set.
func (t *Tape) captureOne(text []byte, whole bool) (Captured, int, error) {
	m := t.mark()
	s := scanner{b: text, t: &t.tape, depth: MaxDepth, exact: true}
	end, err := s.scan(m)
	if err == nil && whole {
		err = s.trailing(end)
	}
	if err != nil {
		t.rewind(m)
		return Captured{}, 0, err
	}
	v := Value{t, uint32(m.nodes)}
	if s.repeated {
		t.recount(v.n, m.exotic)
	}
	if s.repeated || s.slashed {
		s.canon = len(AppendText(nil, v))
	}
	return Captured{v, s.canon, s.exact, t.text[m.text:len(t.text):len(t.text)]}, end, nil
}

// scan lays the value at the start of the text and copies its text; it returns the
// index after it.
func (s *scanner) scan(m mark) (int, *SyntaxError) {
	if !s.t.fits(len(s.b)) {
		return 0, &SyntaxError{Reason: "more text than a tape can hold"}
	}
	s.blanks()
	start := s.i
	s.base = m.text - start
	if !s.value() {
		return 0, &SyntaxError{Offset: s.i, Reason: s.reason}
	}
	s.t.text = append(s.t.text, s.b[start:s.i]...)
	return s.i, nil
}

func (s *scanner) stop(reason string) bool {
	s.reason = reason
	return false
}

// refuse notes what an fvj1 reader refuses, and that the text is not exact.
func (s *scanner) refuse(reason string) {
	s.exact = false
	if s.refusal.reason == "" {
		s.refusal = refusal{reason, s.i}
	}
}

func blank(c byte) bool { return c == ' ' || c == '\n' || c == '\r' || c == '\t' }

func (s *scanner) blanks() {
	for s.i < len(s.b) && s.b[s.i] <= ' ' && blank(s.b[s.i]) {
		s.i++
	}
}

// peek is the byte at hand, 0 at the end, where 0 itself never belongs.
func (s *scanner) peek() byte {
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

func (s *scanner) lay(d node) { s.t.nodes = append(s.t.nodes, d) }

func (s *scanner) value() bool {
	switch c := s.peek(); c {
	case '"':
		return s.str()
	case '{':
		return s.record()
	case '[':
		return s.array()
	case 't':
		return s.literal("true", True)
	case 'f':
		return s.literal("false", False)
	case 'n':
		return s.literal("null", Null)
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return s.number()
	}
	if s.i >= len(s.b) {
		return s.stop("text ends where a value is expected")
	}
	return s.stop("no value starts with this character")
}

func (s *scanner) literal(word string, k Kind) bool {
	if len(s.b)-s.i < len(word) || string(s.b[s.i:s.i+len(word)]) != word {
		return s.stop("no value starts with this character")
	}
	s.i += len(word)
	s.canon += len(word)
	s.lay(node{kind: k})
	return true
}

// enter lays a container's node and steps over its bracket.
func (s *scanner) enter(k Kind) (at uint32, ok bool) {
	if s.depth == 0 {
		return 0, s.stop("nested too deeply")
	}
	s.depth--
	at = uint32(len(s.t.nodes))
	s.lay(node{kind: k})
	s.i++
	s.blanks()
	return at, true
}

func (s *scanner) array() bool {
	at, ok := s.enter(Array)
	if !ok {
		return false
	}
	count := 0
	if s.peek() == ']' {
		s.i++
	} else {
		for more := true; more; count++ {
			if !s.value() {
				return false
			}
			if more, ok = s.separator(']'); !ok {
				return false
			}
		}
	}
	d := &s.t.nodes[at]
	d.size, d.bits = uint32(count), uint64(len(s.t.nodes))
	s.canon += 2 + max(count-1, 0)
	s.depth++
	return true
}

// separator steps over a comma, which promises more, or the closing bracket.
func (s *scanner) separator(end byte) (more, ok bool) {
	s.blanks()
	switch c := s.peek(); {
	case c == ',':
		s.i++
		s.blanks()
		return true, true
	case c == end && s.i < len(s.b):
		s.i++
		return false, true
	}
	return false, s.stop("neither a comma nor the closing bracket")
}

func (s *scanner) record() bool {
	at, ok := s.enter(Record)
	if !ok {
		return false
	}
	first := len(s.t.open)
	if s.peek() == '}' {
		s.i++
	} else {
		for more := true; more; {
			if !s.member() {
				return false
			}
			if more, ok = s.separator('}'); !ok {
				return false
			}
		}
	}
	keys := s.t.open[first:]
	s.canon += 2 + max(2*len(keys)-1, 0)
	s.close(at, keys)
	s.t.open = s.t.open[:first]
	s.depth++
	return true
}

func (s *scanner) member() bool {
	if s.peek() != '"' {
		return s.stop("a record's key is not a string")
	}
	s.t.open = append(s.t.open, uint32(len(s.t.nodes)))
	if !s.str() {
		return false
	}
	s.blanks()
	if s.peek() != ':' {
		return s.stop("no colon after a record's key")
	}
	s.i++
	s.blanks()
	return s.value()
}

func (s *scanner) close(at uint32, keys []uint32) {
	repeated, slashed := s.t.seal(at, keys, source{s.b, s.base})
	if repeated {
		s.repeated = true
		s.refuse("repeated key")
	}
	if slashed {
		s.exact, s.slashed = false, true
	}
}

// double lays a number whose canonical text has the given length.
func (s *scanner) double(f float64, length int) {
	if special(f) {
		s.t.exotic = append(s.t.exotic, uint32(len(s.t.nodes)))
		s.refuse("number that has no exact double")
	}
	if f >= 1<<53 || f <= -1<<53 {
		s.exact = false
	}
	s.canon += length
	s.lay(node{kind: Number, bits: math.Float64bits(f)})
}
