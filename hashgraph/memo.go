package hashgraph

import (
	"agentsync/collect/value"
	"agentsync/hashgraph/digest"
)

// memo remembers a digest for values, by their place on their tape. It is a sparse
// set: forgetting costs nothing.
type memo struct {
	sparse []uint32 // by place: where in dense it may be
	dense  []noted
}

type noted struct {
	tape   *value.Tape
	place  uint32
	digest digest.Digest
}

func (m *memo) forget() { m.dense = m.dense[:0] }

func (m *memo) get(v value.Value) (d digest.Digest, ok bool) {
	tape, place := v.Place()
	if int(place) >= len(m.sparse) {
		return d, false
	}
	at := m.sparse[place]
	if int(at) >= len(m.dense) || m.dense[at].place != place || m.dense[at].tape != tape {
		return d, false
	}
	return m.dense[at].digest, true
}

func (m *memo) put(v value.Value, d digest.Digest) {
	tape, place := v.Place()
	if int(place) >= len(m.sparse) {
		m.sparse = append(m.sparse, make([]uint32, int(place)+1-len(m.sparse)+len(m.sparse)/2)...)
	}
	m.sparse[place] = uint32(len(m.dense))
	m.dense = append(m.dense, noted{tape, place, d})
}

// scalarCache remembers the content hashes of scalars, which come again and again: type
// names, session ids, paths, null. It knows them by their streams, which are short for
// any text. A later one takes the place of an earlier one.
type scalarCache struct{ slots []scalarSlot }

type scalarSlot struct {
	size   uint8
	stream [short + 2]byte
	text   digest.Digest
}

const scalarSlots = 2048 // 200 KiB: stays in a second-level cache

// slot returns the place for a stream, and whether it holds that stream already; nil
// when the stream is too long.
func (c *scalarCache) slot(stream []byte, hash uint64) (s *scalarSlot, hit bool) {
	if len(stream) > len(s.stream) {
		return nil, false
	}
	if c.slots == nil {
		c.slots = make([]scalarSlot, scalarSlots)
	}
	s = &c.slots[hash%scalarSlots]
	return s, int(s.size) == len(stream) && string(s.stream[:s.size]) == string(stream)
}

func (s *scalarSlot) set(stream []byte, text digest.Digest) {
	s.size, s.text = uint8(copy(s.stream[:], stream)), text
}
