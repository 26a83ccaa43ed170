package hashgraph

import (
	"encoding/binary"
	"math"

	"agentsync/collect/value"
	"agentsync/hashgraph/digest"
)

// Streams of an element's cause around its identity and path (spec 5.4 step 4).
var (
	causeHead   = string([]byte{tagRecord}) + fed("agentConnector", "array-element")
	atCollision = fed("collisionHash")
	atDuplicate = fed("duplicate")
	atIdentity  = fed("identity")
	atPath      = fed("path") + string([]byte{tagArray})
	atScope     = string([]byte{tagEnd}) + fed("scope")
	// stableScope is the base scope of a stable hash.
	stableScope = string([]byte{tagRecord}) + fed("agentConnector", "stable-array-value-hash") + string([]byte{tagEnd})
)

// StableHash returns the hash of a value as a graph, in which every array element is a
// cell of its own (spec 5.4).
func StableHash(v value.Value) digest.Digest { return new(Hasher).StableHash(v) }

// StableHash returns the hash of a value as a graph.
func (h *Hasher) StableHash(v value.Value) digest.Digest {
	h.begin()
	h.planned(v)
	return h.finish(digest.Sum(h.feed))
}

// StableArray returns the stable hash of the array of the events, without building
// it. It is a chunk's contentHash.
func (h *Hasher) StableArray(events []value.Value) digest.Digest {
	h.begin()
	level := h.elements.level()
	for _, e := range events {
		h.add(e)
	}
	h.plannedElements(level)
	return h.finish(digest.Sum(h.feed))
}

func (h *Hasher) begin() {
	h.forget()
	h.elements.drop(level{})
	h.scopes.set(stableScope)
}

// planned feeds a value whose array elements are replaced by links to their cells.
func (h *Hasher) planned(v value.Value) {
	switch k := v.Kind(); {
	case k == value.Array:
		level := h.elements.level()
		for items := v.Items(); ; {
			e, ok := items.Next()
			if !ok {
				break
			}
			h.add(e)
		}
		h.plannedElements(level)
	case k == value.Record && !isLink(v):
		h.plannedRecord(v)
	default:
		h.plain(v)
	}
}

func (h *Hasher) plannedRecord(v value.Value) {
	h.feed = append(h.feed, tagRecord)
	f := v.Fields()
	for i := range f.Len() {
		key := len(h.feed)
		h.text(f.Key(i))
		e := f.Value(i)
		if k := e.Kind(); k != value.Record && k != value.Array {
			h.scalar(k, e)
			continue
		}
		h.path = append(h.path, span{key, len(h.feed)})
		h.planned(e)
		h.path = h.path[:len(h.path)-1]
	}
	h.feed = append(h.feed, tagEnd)
}

// plannedElements feeds the array of the elements above a level, takes them off their
// stack, and adds their cells.
func (h *Hasher) plannedElements(l level) {
	h.findClashes(l.list)
	h.feed = append(h.feed, tagArray)
	scope := h.scopes.size()
	h.pushPath()
	for i, n := l.list, len(h.elements.list); i < n; i++ {
		if v := h.elements.list[i].value; v.Kind() == value.Hole {
			h.scalar(value.Hole, v)
		} else {
			h.element(i)
		}
	}
	h.scopes.drop(scope)
	h.feed = append(h.feed, tagEnd)
	h.elements.drop(l)
}

// pushPath puts what the causes of one array's elements have in common before their
// scope: the path from the scope's owner.
func (h *Hasher) pushPath() {
	at := len(h.feed)
	h.feed = append(h.feed, atPath...)
	keys := len(h.feed)
	for _, key := range h.path[h.owned:] {
		h.feed = append(h.feed, h.feed[key.from:key.to]...)
	}
	h.gap.meet(h.scopes.depth, h.feed[keys:], at)
	h.feed = append(h.feed, atScope...)
	h.scopes.push(h.feed[at:])
	h.feed = h.feed[:at]
}

// element feeds the link to the i-th element's cell, and adds the cell and those
// nested in it.
func (h *Hasher) element(i int) {
	scope := h.scopes.size()
	h.pushIdentity(&h.elements.list[i])
	h.scopes.depth++
	c := cell{cause: digest.Sum(h.scopes.cause())}
	h.feed = h.appendLink(h.feed, h.named("of:", &c.cause))
	at, owned := len(h.feed), h.owned
	h.owned = len(h.path)
	h.planned(h.elements.list[i].value)
	c.value = digest.Sum(h.feed[at:])
	h.feed, h.owned = h.feed[:at], owned
	h.scopes.depth--
	h.scopes.drop(scope)
	h.cells = append(h.cells, c)
}

// pushIdentity puts the head of an element's cause before its path.
func (h *Hasher) pushIdentity(e *element) {
	at := len(h.feed)
	h.feed = append(h.feed, causeHead...)
	if e.clash != noClash {
		c := &h.elements.clashes[e.clash]
		h.feed = appendLong(append(h.feed, atCollision...), c.content)
		if c.duplicate > 0 {
			h.feed = append(append(h.feed, atDuplicate...), tagNumber)
			h.feed = binary.BigEndian.AppendUint64(h.feed, math.Float64bits(float64(c.duplicate)))
		}
	}
	h.feed = append(h.feed, atIdentity...)
	h.feed = append(h.feed, h.elements.streams[e.identity.from:e.identity.to]...)
	h.scopes.push(h.feed[at:])
	h.feed = h.feed[:at]
}
