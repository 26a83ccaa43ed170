package value

import (
	"iter"
	"math"
)

func (v Value) node() *node { return &v.t.nodes[v.n] }

func (v Value) kind() Kind {
	if v.t == nil {
		return Invalid
	}
	return v.t.nodes[v.n].kind
}

func (v Value) text() []byte {
	switch v.kind() {
	case String, Symbol:
		return v.t.bytes(v.node())
	case Instance:
		return Value{v.t, v.n + 1}.text()
	}
	return nil
}

// Octets returns the bytes of a Bytes, or the integer of a BigInt or temporal kind,
// nil for other kinds. They belong to the tape.
func (v Value) Octets() []byte {
	if k := v.kind(); octets>>k&1 == 0 {
		return nil
	}
	return v.t.bytes(v.node())
}

func (v Value) float() float64 {
	if v.kind() != Number {
		return 0
	}
	return math.Float64frombits(v.node().bits)
}

func (v Value) integer() (int64, bool) {
	f := v.float()
	n := int64(f)
	if v.kind() != Number || float64(n) != f || n < -1<<53 || n > 1<<53 {
		return 0, false
	}
	return n, true
}

func (v Value) length() int {
	if k := v.kind(); k != Array && k != Record {
		return 0
	}
	return int(v.node().size)
}

// Run is the number of absent elements a Hole stands for, 0 for other kinds.
func (v Value) Run() int {
	if v.kind() != Hole {
		return 0
	}
	return int(v.node().bits)
}

// Place tells the value from all others on its tape.
func (v Value) Place() (*Tape, uint32) { return v.t, v.n }

func (v Value) get(key string) (Value, bool) {
	f := v.Fields()
	low, high := 0, f.Len()
	for low < high {
		mid := int(uint(low+high) >> 1)
		switch k := f.Key(mid); {
		case string(k) == key:
			return f.Value(mid), true
		case string(k) < key:
			low = mid + 1
		default:
			high = mid
		}
	}
	return Value{}, false
}

// Fields are a record's members in the order of their keys' WTF-8 bytes, the order
// of the canonical hash and text.
type Fields struct {
	t    *Tape
	keys []uint32
}

// Fields returns a record's members in key order, none for other kinds.
func (v Value) Fields() Fields {
	if v.kind() != Record {
		return Fields{}
	}
	d := v.node()
	at := d.bits >> 32
	return Fields{v.t, v.t.order[at : at+uint64(d.size)]}
}

// Len counts the members.
func (f Fields) Len() int { return len(f.keys) }

// Key returns the i-th key; it belongs to the tape.
func (f Fields) Key(i int) []byte { return f.t.bytes(&f.t.nodes[f.keys[i]]) }

// Value returns the i-th member's value.
func (f Fields) Value(i int) Value { return Value{f.t, f.keys[i] + 1} }

// Items walks an array's elements, or the parts of a compound kind in the order of
// their Kind's comment; a run of holes is one item.
type Items struct {
	t       *Tape
	at, end uint32
}

// Items starts the walk; other kinds have no items.
func (v Value) Items() Items {
	if k := v.kind(); !k.holds() || k == Record {
		return Items{}
	}
	return Items{v.t, v.n + 1, uint32(v.node().bits)}
}

// Next returns the next item, false after the last one.
func (it *Items) Next() (Value, bool) {
	if it.at >= it.end {
		return Value{}, false
	}
	v := Value{it.t, it.at}
	it.at = it.t.next(it.at)
	return v, true
}

func (v Value) elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.kind() != Array {
			return
		}
		for it := v.Items(); ; {
			e, ok := it.Next()
			if !ok || !yield(e) {
				return
			}
		}
	}
}

func (v Value) members() iter.Seq2[[]byte, Value] {
	return func(yield func([]byte, Value) bool) {
		if v.kind() != Record {
			return
		}
		for n, end := v.n+1, uint32(v.node().bits); n < end; n = v.t.next(n + 1) {
			d := &v.t.nodes[n]
			if d.flag&dropped == 0 && !yield(v.t.bytes(d), Value{v.t, n + 1}) {
				return
			}
		}
	}
}

// Bits is a Number's IEEE form, 0 for other kinds.
func (v Value) Bits() uint64 {
	if v.kind() != Number {
		return 0
	}
	return v.node().bits
}
