package hashgraph

import (
	"bytes"
	"encoding/binary"
	"slices"

	"agentsync/collect/value"
	"agentsync/hashgraph/digest"
)

// element is one element of an array being planned.
type element struct {
	value    value.Value
	identity span // its stream, in elements.streams
	key      span // the same, -0 taken for 0
	clash    int32
}

// clash is an element that shares its identity with another one of its array.
type clash struct {
	content   digest.Digest // of the text of its content hash
	duplicate uint32        // equal ones before it
	followers uint32        // equal ones after the first, counted there
}

// elements is a stack: the arrays around the one at hand lie below it.
type elements struct {
	list    []element
	streams []byte
	clashes []clash
	table   []int32 // indexes in list plus one, by hash
}

// level is the height of the stack.
type level struct{ list, streams, clashes int }

func (e *elements) level() level { return level{len(e.list), len(e.streams), len(e.clashes)} }

func (e *elements) drop(l level) {
	e.list, e.streams, e.clashes = e.list[:l.list], e.streams[:l.streams], e.clashes[:l.clashes]
}

// noClash marks an element whose identity is its own.
const noClash = -1

// Streams of identities.
var (
	byField   = string([]byte{tagRecord}) + fed("field")
	byValue   = fed("value")
	byNative  = string([]byte{tagRecord}) + fed("nativeSessionId")
	bySource  = fed("sourceId")
	byContent = string([]byte{tagRecord}) + fed("contentHash")
)

// add puts an element on the stack with the stream of its identity.
func (h *Hasher) add(v value.Value) {
	e := element{value: v, clash: noClash}
	if v.Kind() != value.Hole {
		id := identify(v)
		e.identity = h.identityStream(id, v, false)
		e.key = e.identity
		if id.signed() {
			e.key = h.identityStream(id, v, true)
		}
	}
	h.elements.list = append(h.elements.list, e)
}

// identityStream writes an identity; unsigned takes -0 for 0.
func (h *Hasher) identityStream(id identity, v value.Value, unsigned bool) span {
	at := len(h.feed)
	switch {
	case id.field < 0:
		h.feed = append(h.feed, byContent...)
		h.feed = appendLong(h.feed, h.elementContent(v))
	case id.pair():
		h.feed = append(h.feed, byNative...)
		h.idValue(id.value, unsigned)
		h.feed = append(h.feed, bySource...)
		h.idValue(id.sourceID, unsigned)
	default:
		h.feed = append(h.feed, byField...)
		h.feed = appendShort(h.feed, fieldNames[id.field])
		h.feed = append(h.feed, byValue...)
		h.idValue(id.value, unsigned)
	}
	h.feed = append(h.feed, tagEnd)
	s := span{from: len(h.elements.streams)}
	h.elements.streams = append(h.elements.streams, h.feed[at:]...)
	s.to = len(h.elements.streams)
	h.feed = h.feed[:at]
	return s
}

func (h *Hasher) idValue(v value.Value, unsigned bool) {
	if unsigned && isNegativeZero(v) {
		h.feed = binary.BigEndian.AppendUint64(append(h.feed, tagNumber), 0)
		return
	}
	h.plain(v)
}

// findClashes finds the elements from first on that share an identity, and numbers the
// equal ones among them (spec 5.4 step 3).
func (h *Hasher) findClashes(first int) {
	list := h.elements.list[first:]
	if len(list) < 2 {
		return
	}
	found := false
	h.group(len(list), func(i int) (trait, bool) {
		return trait{identity: h.elements.key(&list[i])}, list[i].value.Kind() != value.Hole
	}, func(i, j int) {
		found = true
		h.clash(&list[i])
		h.clash(&list[j])
	})
	if !found {
		return
	}
	clashes := h.elements.clashes
	h.group(len(list), func(i int) (trait, bool) {
		if list[i].clash == noClash {
			return trait{}, false
		}
		return trait{h.elements.key(&list[i]), clashes[list[i].clash].content}, true
	}, func(i, j int) {
		leader := &clashes[list[j].clash]
		leader.followers++
		clashes[list[i].clash].duplicate = leader.followers
	})
}

func (e *elements) key(x *element) []byte { return e.streams[x.key.from:x.key.to] }

// clash marks an element as one of several, once.
func (h *Hasher) clash(e *element) {
	if e.clash == noClash {
		e.clash = int32(len(h.elements.clashes))
		h.elements.clashes = append(h.elements.clashes, clash{content: h.elementContent(e.value)})
	}
}

// trait is what equal elements have in common.
type trait struct {
	identity []byte
	content  digest.Digest // zero while contents do not matter
}

// group calls meet(i, j) for each of n elements whose trait is that of the earlier
// element j, the first one with it; elements without a trait take no part.
func (h *Hasher) group(n int, of func(int) (trait, bool), meet func(i, j int)) {
	size := uint64(4)
	for size < 2*uint64(n) {
		size *= 2
	}
	h.elements.table = slices.Grow(h.elements.table[:0], int(size))[:size]
	table := h.elements.table
	clear(table)
next:
	for i := range n {
		t, ok := of(i)
		if !ok {
			continue
		}
		at := (h.maphash(t.identity) ^ binary.LittleEndian.Uint64(t.content[:])) % size
		for ; table[at] != 0; at = (at + 1) % size {
			j := int(table[at]) - 1
			if other, _ := of(j); other.content == t.content && bytes.Equal(other.identity, t.identity) {
				meet(i, j)
				continue next
			}
		}
		table[at] = int32(i + 1)
	}
}
