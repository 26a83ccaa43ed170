package value

import "math"

// node is one value, or one key of a record, on a tape. Nodes stand in the order of
// the text: a container first, then what it holds; in a record each key is a String
// node followed by its value's nodes.
type node struct {
	kind Kind
	flag uint8
	size uint32 // bytes of a text; elements of an array, holes included; members of a record; parts of a compound
	// bits holds a Number's IEEE form; a text's offset; a Hole's run; and for a
	// container the index after its last node (low half) and, in a record, where its
	// key order starts (high half).
	bits uint64
}

const (
	aside   uint8 = 1 << iota // the bytes lie in tape.side, not in tape.text
	plain                     // the bytes are also the canonical text between the quotes
	dropped                   // a key that a later equal key replaced
)

type tape struct {
	nodes  []node
	text   []byte   // the captured texts, back to back
	side   []byte   // strings that differ from their text, and all that was built
	order  []uint32 // key nodes of each record in key order
	exotic []uint32 // nodes that the fvj1 form writes as a tag or a marker, ascending
	open   []uint32 // key nodes of the records being laid, innermost last
	rank   []ranked // scratch of seal
}

// mark is the state a failed capture goes back to.
type mark struct{ nodes, text, side, order, exotic int }

func (t *tape) mark() mark {
	return mark{len(t.nodes), len(t.text), len(t.side), len(t.order), len(t.exotic)}
}

func (t *tape) rewind(m mark) {
	t.nodes, t.text, t.side = t.nodes[:m.nodes], t.text[:m.text], t.side[:m.side]
	t.order, t.exotic, t.open = t.order[:m.order], t.exotic[:m.exotic], t.open[:0]
}

// reset keeps the memory, but gives back large buffers of which the values forgotten
// used little: one giant event must not be paid for ever after.
func (t *tape) reset() {
	t.nodes, t.order = trimmed(t.nodes, 16), trimmed(t.order, 4)
	t.text, t.side = trimmed(t.text, 1), trimmed(t.side, 1)
	t.rewind(mark{})
}

// idle is the size in bytes from which a buffer must be used by a quarter to be kept.
const idle = 4 << 20

func trimmed[T any](buffer []T, size int) []T {
	if cap(buffer)*size > idle && 4*len(buffer) < cap(buffer) {
		return nil
	}
	return buffer
}

func (t *tape) size() int {
	return 16*len(t.nodes) + len(t.text) + len(t.side) + 4*(len(t.order)+len(t.exotic))
}

// fits reports whether indexes stay within 32 bits when text more bytes are captured:
// a text has at most one node a byte.
func (t *tape) fits(text int) bool { return len(t.nodes)+text < math.MaxUint32 }

// next is the index of the node after the value at n.
func (t *tape) next(n uint32) uint32 {
	if d := &t.nodes[n]; d.kind.holds() {
		return uint32(d.bits)
	}
	return n + 1
}

// bytes returns a text's bytes.
func (t *tape) bytes(d *node) []byte {
	if d.flag&aside != 0 {
		return t.side[d.bits : d.bits+uint64(d.size)]
	}
	return t.text[d.bits : d.bits+uint64(d.size)]
}

// holds reports the kinds whose node is followed by the nodes of their parts.
func (k Kind) holds() bool { return containers>>k&1 != 0 }

// texts reports the kinds that are a run of bytes.
func (k Kind) texts() bool { return textual>>k&1 != 0 }

const (
	containers = 1<<Array | 1<<Record | compounds
	compounds  = 1<<Hash | 1<<RegExp | 1<<KeyPair | 1<<Unavailable | 1<<Instance
	textual    = 1<<String | 1<<Symbol | octets
	octets     = 1<<BigInt | 1<<Bytes | 1<<EpochNsec | 1<<EpochDay | 1<<DurationNsec | 1<<DurationDay
)

// simple are the kinds that JSON itself can write; a Number may still be special.
const simple = 1<<Null | 1<<False | 1<<True | 1<<Number | 1<<String | 1<<Array | 1<<Record

// isExotic reports whether the fvj1 form needs a tag or a marker for the node itself.
func (d *node) isExotic() bool {
	return simple>>d.kind&1 == 0 || d.kind == Number && special(math.Float64frombits(d.bits))
}

// special reports the doubles that have no JSON number: -0, NaN and the infinities.
func special(f float64) bool {
	return f-f != 0 || f == 0 && math.Signbit(f)
}

// recount lists the exotic nodes from node first on anew, those of dropped members
// left out; the list was listed entries long before that node.
func (t *tape) recount(first uint32, listed int) {
	t.exotic = t.exotic[:listed]
	for n := first; int(n) < len(t.nodes); {
		d := &t.nodes[n]
		if d.flag&dropped != 0 {
			n = t.next(n + 1)
			continue
		}
		if d.isExotic() {
			t.exotic = append(t.exotic, n)
		}
		n++
	}
}
