package value

import (
	"math"
	"unicode/utf8"
)

// Builder lays a value on its own tape by calls: Record, Key, …, End, then Finish.
// A call out of turn (a value without its Key in a record, an End too many, a second
// value beside the first) is a mistake of the program and panics.
type Builder struct {
	t        *Tape
	first    uint32 // the node of the value being built
	exotic   int    // length of the tape's exotic list before it
	repeated bool   // a record in it has equal keys
	open     []frame
}

// frame is one open container.
type frame struct {
	node   uint32
	keys   int // where a record's keys start in tape.open
	record bool
	keyed  bool // a key waits for its value
	run    int  // where the nodes after an array's last run of holes start
}

// NewBuilder starts an empty value.
func NewBuilder() *Builder { return &Builder{t: new(Tape)} }

// Reset forgets what was built and keeps the memory: values that this builder
// finished before are gone.
func (b *Builder) Reset() *Builder {
	b.t.Reset()
	b.first, b.exotic, b.repeated, b.open = 0, 0, false, b.open[:0]
	return b
}

// Finish returns the value built; it stays good until Reset. The builder may go on
// with another value.
func (b *Builder) Finish() Value {
	if len(b.open) > 0 || int(b.first) == len(b.t.nodes) {
		panic("value: Finish before the value is complete")
	}
	v := Value{b.t, b.first}
	if b.repeated {
		b.t.recount(b.first, b.exotic)
	}
	b.first, b.exotic, b.repeated = uint32(len(b.t.nodes)), len(b.t.exotic), false
	return v
}

// turn takes note that a value follows, whose elements count as so many slots.
func (b *Builder) turn(slots uint64) {
	if !b.t.fits(1) {
		panic("value: more nodes than a tape can hold")
	}
	if len(b.open) == 0 {
		if int(b.first) != len(b.t.nodes) {
			panic("value: a second value beside the first")
		}
		return
	}
	f := &b.open[len(b.open)-1]
	if f.record && !f.keyed {
		panic("value: a value without its key in a record")
	}
	f.keyed = false
	d := &b.t.nodes[f.node]
	if slots > math.MaxUint32-uint64(d.size) {
		panic("value: more elements than an array can hold")
	}
	d.size += uint32(slots)
}

func (b *Builder) lay(d node) *Builder {
	b.turn(1)
	b.push(d)
	return b
}

func (b *Builder) push(d node) {
	if d.isExotic() {
		b.t.exotic = append(b.t.exotic, uint32(len(b.t.nodes)))
	}
	b.t.nodes = append(b.t.nodes, d)
}

// Record opens a record; End closes it. Of equal keys the last one counts.
func (b *Builder) Record() *Builder { return b.begin(Record) }

// Array opens an array; End closes it.
func (b *Builder) Array() *Builder { return b.begin(Array) }

func (b *Builder) begin(k Kind) *Builder {
	b.turn(1)
	b.open = append(b.open, frame{node: uint32(len(b.t.nodes)), keys: len(b.t.open), record: k == Record})
	b.push(node{kind: k})
	return b
}

// End closes the innermost open array, record or instance.
func (b *Builder) End() *Builder {
	if len(b.open) == 0 || b.open[len(b.open)-1].keyed {
		panic("value: End of nothing")
	}
	f := b.open[len(b.open)-1]
	b.open = b.open[:len(b.open)-1]
	if f.record {
		repeated, _ := b.t.seal(f.node, b.t.open[f.keys:], source{})
		b.repeated = b.repeated || repeated
		b.t.open = b.t.open[:f.keys]
		return b
	}
	d := &b.t.nodes[f.node]
	if d.kind == Instance && d.size != 2 {
		panic("value: an instance without exactly one state")
	}
	d.bits = uint64(len(b.t.nodes))
	return b
}

// Key names the next member of the open record.
func (b *Builder) Key(k string) *Builder {
	if len(b.open) == 0 || !b.open[len(b.open)-1].record || b.open[len(b.open)-1].keyed {
		panic("value: a key outside a record")
	}
	b.open[len(b.open)-1].keyed = true
	b.t.open = append(b.t.open, uint32(len(b.t.nodes)))
	b.push(b.wtf8(String, k))
	return b
}

// wtf8 keeps a text's bytes and returns its node.
func (b *Builder) wtf8(k Kind, s string) node {
	at := len(b.t.side)
	if utf8.ValidString(s) {
		b.t.side = append(b.t.side, s...)
	} else {
		b.t.side = wellFormed(b.t.side, s)
	}
	return node{k, aside, uint32(len(b.t.side) - at), uint64(at)}
}

func (b *Builder) octets(k Kind, p []byte) node {
	at := len(b.t.side)
	b.t.side = append(b.t.side, p...)
	return node{k, aside, uint32(len(p)), uint64(at)}
}

// String adds a string of WTF-8 bytes. Bytes that are none become U+FFFD, and
// surrogate halves that meet become one character.
func (b *Builder) String(s string) *Builder { return b.lay(b.wtf8(String, s)) }

// oneNaN is the form in which all NaNs are one value.
const oneNaN = 0x7FF8 << 48

// Number adds a double.
func (b *Builder) Number(f float64) *Builder {
	if f != f {
		f = math.Float64frombits(oneNaN)
	}
	return b.lay(node{kind: Number, bits: math.Float64bits(f)})
}

// Int adds a whole number within ±2^53.
func (b *Builder) Int(n int64) *Builder { return b.Number(float64(n)) }

// Bool adds true or false.
func (b *Builder) Bool(v bool) *Builder {
	if v {
		return b.lay(node{kind: True})
	}
	return b.lay(node{kind: False})
}

// Null adds null.
func (b *Builder) Null() *Builder { return b.lay(node{kind: Null}) }

// Undefined adds undefined.
func (b *Builder) Undefined() *Builder { return b.lay(node{kind: Undefined}) }

// Holes adds n absent elements to the open array. Neighbouring runs become one.
func (b *Builder) Holes(n uint32) *Builder {
	if len(b.open) == 0 || b.t.nodes[b.open[len(b.open)-1].node].kind != Array {
		panic("value: holes outside an array")
	}
	if n == 0 {
		return b
	}
	b.turn(uint64(n))
	f := &b.open[len(b.open)-1]
	if f.run == len(b.t.nodes) {
		b.t.nodes[f.run-1].bits += uint64(n)
		return b
	}
	b.push(node{kind: Hole, bits: uint64(n)})
	f.run = len(b.t.nodes)
	return b
}

// Bytes adds a byte string.
func (b *Builder) Bytes(p []byte) *Builder { return b.lay(b.octets(Bytes, p)) }

// Symbol adds the registered symbol of a key.
func (b *Builder) Symbol(key string) *Builder { return b.lay(b.wtf8(Symbol, key)) }

// Integer adds a BigInt or one of the four temporal kinds; twos is the integer as
// big-endian two's complement of any length.
func (b *Builder) Integer(k Kind, twos []byte) *Builder {
	if k == Bytes || octets>>k&1 == 0 {
		panic("value: not a kind of integer")
	}
	return b.lay(b.octets(k, minimal(twos)))
}

// minimal cuts a big-endian two's complement to the fewest bytes, at least one.
func minimal(p []byte) []byte {
	if len(p) == 0 {
		return []byte{0}
	}
	for len(p) > 1 && (p[0] == 0 && p[1] < 0x80 || p[0] == 0xFF && p[1] >= 0x80) {
		p = p[1:]
	}
	return p
}

// compound adds a kind that is a fixed list of parts.
func (b *Builder) compound(k Kind, parts ...node) *Builder {
	at := len(b.t.nodes)
	b.lay(node{kind: k, size: uint32(len(parts)), bits: uint64(at + 1 + len(parts))})
	b.t.nodes = append(b.t.nodes, parts...)
	return b
}

// Hash adds a digest under its algorithm's tag.
func (b *Builder) Hash(tag string, digest []byte) *Builder {
	return b.compound(Hash, b.wtf8(String, tag), b.octets(Bytes, digest))
}

// RegExp adds a regular expression; flavor is "es2025" for ECMAScript's.
func (b *Builder) RegExp(source, flags, flavor string) *Builder {
	return b.compound(RegExp, b.wtf8(String, source), b.wtf8(String, flags), b.wtf8(String, flavor))
}

// KeyPair adds a key pair by its material.
func (b *Builder) KeyPair(algorithm string, public, private []byte) *Builder {
	return b.compound(KeyPair, b.wtf8(String, algorithm), b.octets(Bytes, public), b.octets(Bytes, private))
}

// Unavailable adds a value that could not be had; kind and message are nil where
// there is none.
func (b *Builder) Unavailable(reason string, kind, message *string) *Builder {
	return b.compound(Unavailable, b.wtf8(String, reason), b.optional(kind), b.optional(message))
}

func (b *Builder) optional(s *string) node {
	if s == nil {
		return node{kind: Null}
	}
	return b.wtf8(String, *s)
}

// Instance opens an instance of a type tag such as "Link@1"; one value follows, its
// state, then End.
func (b *Builder) Instance(tag string) *Builder {
	b.begin(Instance)
	b.turn(1)
	b.push(b.wtf8(String, tag))
	return b
}

// Value copies a captured value, from any tape. The zero Value counts as undefined.
func (b *Builder) Value(v Value) *Builder {
	switch v.kind() {
	case Invalid:
		return b.Undefined()
	case Hole:
		return b.Holes(uint32(v.Run()))
	}
	b.turn(1)
	// The copy may hold dropped members. The distance wraps around, and back when added.
	b.repeated = true
	moved := uint32(len(b.t.nodes)) - v.n
	for n, end := v.n, v.t.next(v.n); n < end; n++ {
		b.move(v.t, n, moved)
	}
	return b
}

// move copies one node of another tape, whose index grows by moved.
func (b *Builder) move(from *Tape, n, moved uint32) {
	d := from.nodes[n]
	switch {
	case d.kind.texts():
		at := len(b.t.side)
		b.t.side = append(b.t.side, from.bytes(&d)...)
		d.bits, d.flag = uint64(at), d.flag|aside
	case d.kind == Record:
		at := len(b.t.order)
		from := from.order[d.bits>>32:][:d.size]
		for _, key := range from {
			b.t.order = append(b.t.order, key+moved)
		}
		d.bits = uint64(at)<<32 | uint64(uint32(d.bits)+moved)
	case d.kind.holds():
		d.bits = uint64(uint32(d.bits) + moved)
	}
	b.push(d)
}
