// Package value holds provider data captured once, at the edge: what is measured,
// hashed and written afterwards is the same captured value.
//
// It knows the kinds of a Fabric value, strict JSON, and the fvj1: text form.
// It hashes nothing and reads no files.
package value

import "iter"

// Kind tells what a captured node is.
type Kind uint8

// The kinds of a Fabric value. Text holds WTF-8: UTF-8 in which a lone UTF-16
// surrogate is kept as the three bytes of its code point.
const (
	Invalid Kind = iota
	Null
	Undefined
	False
	True
	Number // IEEE double; -0, NaN and the infinities are values of their own
	String
	Array
	Record
	Hole   // a run of absent elements, inside an array only
	BigInt // minimal big-endian two's complement, at least one byte
	Bytes
	EpochNsec // the four temporal kinds carry an integer laid out as BigInt's
	EpochDay
	DurationNsec
	DurationDay
	Hash        // algorithm tag and digest bytes
	Symbol      // registered key
	RegExp      // source, flags, flavor
	KeyPair     // algorithm, public and private bytes
	Unavailable // reason, kind, message
	Instance    // a type tag such as "Link@1" and its state
)

// Tape holds captured values back to back in reused memory. A Value taken from
// a tape is good until that tape is reset. A Tape serves one goroutine.
type Tape struct{ tape }

// Captured is one JSON text laid on a tape.
type Captured struct {
	Value Value
	// Canonical is the length in bytes of the value's fvj1 text without the prefix.
	Canonical int
	// Exact reports that the text itself may stand inside an fvj1 document: a strict
	// reader of that format decodes it to Value, and no number in it is an integer
	// beyond 2^53.
	Exact bool
	// Text is the tape's own copy of the captured text, without surrounding blanks.
	Text []byte
}

// Reset forgets all values and keeps the memory, large buffers only while they are used.
func (t *Tape) Reset() { t.reset() }

// Size is the number of bytes the tape's values occupy, for memory budgets.
func (t *Tape) Size() int { return t.size() }

// Capture lays one JSON text on the tape. The text must be one value with nothing
// but blanks around it (RFC 8259, strict: valid UTF-8, no control bytes in strings).
// A record's repeated key keeps its last value; a number outside the double range
// becomes an infinity; nesting deeper than MaxDepth is an error. On an error the
// tape is as it was, and the error is a *SyntaxError.
func (t *Tape) Capture(text []byte) (Captured, error) { return t.capture(text) }

// CapturePrefix captures the JSON value at the start of text, after blanks, and
// returns how many bytes of text it took.
func (t *Tape) CapturePrefix(text []byte) (Captured, int, error) { return t.capturePrefix(text) }

// MaxDepth is the deepest nesting of arrays and records that is captured.
const MaxDepth = 10000

// SyntaxError locates what is not strict JSON.
type SyntaxError struct {
	Offset int // bytes from the start of the text
	Reason string
}

func (e *SyntaxError) Error() string { return e.Reason }

// Value is one immutable node on a tape. The zero Value has kind Invalid.
type Value struct {
	t *Tape
	n uint32
}

// Kind returns what the value is.
func (v Value) Kind() Kind { return v.kind() }

// Text returns the WTF-8 bytes of a String (or Symbol key, or Instance tag). They
// belong to the tape: do not change them.
func (v Value) Text() []byte { return v.text() }

// Str is Text as a string, "" for other kinds.
func (v Value) Str() string { return string(v.text()) }

// Float returns a Number, 0 for other kinds.
func (v Value) Float() float64 { return v.float() }

// Integer returns a Number that is a whole number within ±2^53.
func (v Value) Integer() (int64, bool) { return v.integer() }

// IsTrue reports the kind True.
func (v Value) IsTrue() bool { return v.Kind() == True }

// Len counts an array's elements (holes included) or a record's members.
func (v Value) Len() int { return v.length() }

// Get returns a record's member.
func (v Value) Get(key string) (Value, bool) { return v.get(key) }

// Path follows record keys, and returns the zero Value where one is missing.
func (v Value) Path(keys ...string) Value {
	for _, k := range keys {
		v, _ = v.Get(k)
	}
	return v
}

// Elements yields an array's elements in order; a run of holes is yielded once, as Hole.
func (v Value) Elements() iter.Seq[Value] { return v.elements() }

// Members yields a record's members in the order they were captured, dropped
// duplicates left out. The key belongs to the tape.
func (v Value) Members() iter.Seq2[[]byte, Value] { return v.members() }
