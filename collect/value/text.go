package value

import (
	"encoding/base64"
	"math"
	"slices"
	"strconv"
)

// Prefix starts every fvj1 text.
const Prefix = "fvj1:"

// letters maps a byte to the letter of its short escape in canonical text.
var letters = [256]byte{'"': '"', '\\': '\\', '\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r'}

// AppendText appends the value's canonical fvj1 text, without the prefix: sorted keys,
// no blanks, the shortest numbers, tags for what JSON cannot say. The zero Value
// counts as undefined. An Instance is written under its tag as it stands.
func AppendText(dst []byte, v Value) []byte {
	if v.t == nil {
		return append(dst, `{"/Undefined@1":null}`...)
	}
	w := writer{&v.t.tape, dst}
	w.value(v.n, false)
	return w.dst
}

type writer struct {
	t   *tape
	dst []byte
}

func (w *writer) put(s string) { w.dst = append(w.dst, s...) }

// value writes the value at n; within a quote, slash keys need no more care.
func (w *writer) value(n uint32, quoted bool) {
	d := &w.t.nodes[n]
	switch d.kind {
	case Null:
		w.put("null")
	case True:
		w.put("true")
	case False:
		w.put("false")
	case Number:
		w.dst = appendNumber(w.dst, math.Float64frombits(d.bits))
	case String:
		w.str(d)
	case Array:
		w.array(n, quoted)
	case Record:
		w.record(n, quoted)
	case Hole:
		w.put(`{"/hole":`)
		w.dst = append(strconv.AppendUint(w.dst, d.bits, 10), '}')
	case Instance:
		w.put(`{"/`)
		w.escape(w.t.bytes(&w.t.nodes[n+1]))
		w.put(`":`)
		w.value(n+2, false)
		w.put("}")
	default:
		w.put(`{"/` + tags[d.kind] + `":`)
		w.primitive(n, d)
		w.put("}")
	}
}

func (w *writer) array(n uint32, quoted bool) {
	w.put("[")
	end := uint32(w.t.nodes[n].bits)
	for e := n + 1; e < end; e = w.t.next(e) {
		if e > n+1 {
			w.put(",")
		}
		w.value(e, quoted)
	}
	w.put("]")
}

// record writes a record. One with a slash key is quoted as a whole when nothing in it
// needs a tag, so that its text is literal, and is marked as an object otherwise.
func (w *writer) record(n uint32, quoted bool) {
	d := &w.t.nodes[n]
	keys := w.t.order[d.bits>>32:][:d.size]
	if quoted || !w.slashed(keys) {
		w.members(keys, quoted)
		return
	}
	if w.literal(n, uint32(d.bits)) {
		w.put(`{"/quote":`)
		w.members(keys, true)
	} else {
		w.put(`{"/object":`)
		w.members(keys, false)
	}
	w.put("}")
}

func (w *writer) slashed(keys []uint32) bool {
	for _, k := range keys {
		if b := w.t.bytes(&w.t.nodes[k]); len(b) > 0 && b[0] == '/' {
			return true
		}
	}
	return false
}

// literal reports whether plain JSON can say everything from node n up to end.
func (w *writer) literal(n, end uint32) bool {
	i, _ := slices.BinarySearch(w.t.exotic, n)
	return i == len(w.t.exotic) || w.t.exotic[i] >= end
}

func (w *writer) members(keys []uint32, quoted bool) {
	w.put("{")
	for i, k := range keys {
		if i > 0 {
			w.put(",")
		}
		w.str(&w.t.nodes[k])
		w.put(":")
		w.value(k+1, quoted)
	}
	w.put("}")
}

func (w *writer) str(d *node) {
	w.put(`"`)
	if d.flag&plain != 0 {
		w.dst = append(w.dst, w.t.bytes(d)...)
	} else {
		w.escape(w.t.bytes(d))
	}
	w.put(`"`)
}

// escape writes a text as between the quotes of a canonical string.
func (w *writer) escape(b []byte) {
	const hex = "0123456789abcdef"
	from := 0
	for i := 0; i < len(b); i++ {
		c := b[i]
		if c >= 0x20 && c != '"' && c != '\\' && c != 0xED {
			continue
		}
		unit, lone := surrogate(b[i:])
		if c == 0xED && !lone {
			continue
		}
		w.dst = append(w.dst, b[from:i]...)
		switch {
		case lone:
			w.dst = append(w.dst, '\\', 'u', 'd', hex[unit>>8&15], hex[unit>>4&15], hex[unit&15])
			i += 2
		case letters[c] != 0:
			w.dst = append(w.dst, '\\', letters[c])
		default:
			w.dst = append(w.dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		from = i + 1
	}
	w.dst = append(w.dst, b[from:]...)
}

// tags are the fvj1 tags of the primitive kinds.
var tags = [...]string{
	Undefined: "Undefined@1", BigInt: "BigInt@1", Bytes: "Bytes@1",
	EpochNsec: "EpochNsec@1", EpochDay: "EpochDay@1", DurationNsec: "DurationNsec@1", DurationDay: "DurationDay@1",
	Hash: "Hash@1", Symbol: "Symbol@1", RegExp: "RegExp@1", KeyPair: "KeyPair@1", Unavailable: "Unavailable@1",
}

// part is one field of a compound's state, and which of its parts that is.
type part struct {
	field string
	index uint32
}

// states lists the fields of the compound primitives, in key order.
var states = map[Kind][]part{
	Hash:        {{"hash", 2}, {"tag", 1}},
	RegExp:      {{"flags", 2}, {"flavor", 3}, {"source", 1}},
	KeyPair:     {{"algorithm", 1}, {"privateKey", 3}, {"publicKey", 2}},
	Unavailable: {{"errorKind", 2}, {"errorMessage", 3}, {"reason", 1}},
}

// primitive writes the state of a primitive kind.
func (w *writer) primitive(n uint32, d *node) {
	switch d.kind {
	case Undefined:
		w.put("null")
	case Symbol:
		w.str(d)
	case Hash, RegExp, KeyPair, Unavailable:
		w.fields(n, states[d.kind])
	default:
		w.base64(d)
	}
}

// fields writes a compound's state, null parts left out.
func (w *writer) fields(n uint32, parts []part) {
	open := `{"`
	for _, p := range parts {
		d := &w.t.nodes[n+p.index]
		if d.kind == Null {
			continue
		}
		w.put(open + p.field + `":`)
		if d.kind == String {
			w.str(d)
		} else {
			w.base64(d)
		}
		open = `,"`
	}
	w.put("}")
}

func (w *writer) base64(d *node) {
	w.put(`"`)
	w.dst = base64.RawURLEncoding.AppendEncode(w.dst, w.t.bytes(d))
	w.put(`"`)
}
