package hashgraph

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"

	"agentsync/collect/value"
	"agentsync/hashgraph/digest"
)

// The paths at which a session's normalized messages stand in its snapshot record and
// in its manifest record (spec 5.6, 5.7).
var (
	snapshotPath = fed("normalizedMessages")
	manifestPath = fed("normalized", "messages")
)

// Messages stands for the normalized messages of one session in its two hashes. It
// keeps 96 bytes a message, whatever the messages hold. Add and Truncate need it
// alone; several goroutines may hash with it at once, each with its own Hasher.
type Messages struct {
	values   []digest.Digest // of the texts of the value hashes
	snapshot []digest.Digest // causes in the snapshot record
	manifest []digest.Digest // causes in the manifest record
}

// Len counts the messages.
func (m *Messages) Len() int { return len(m.values) }

// Truncate keeps the first n messages.
func (m *Messages) Truncate(n int) {
	m.values, m.snapshot, m.manifest = m.values[:n], m.snapshot[:n], m.manifest[:n]
}

// Add appends a message. The id must not be empty and be no other message's; record
// must hold it as its field id, have no field key, and hold no array.
func (m *Messages) Add(h *Hasher, id string, record value.Value) {
	d := h.Hash(record)
	m.values = append(m.values, h.textDigest(&d))
	h.feed = append(h.feed[:0], causeHead...)
	h.feed = append(h.feed, atIdentity...)
	h.feed = append(h.feed, byField...)
	h.feed = appendShort(h.feed, fieldNames[fieldID])
	h.feed = append(h.feed, byValue...)
	h.text([]byte(id))
	h.feed = append(append(h.feed, tagEnd), atPath...)
	head := len(h.feed)
	m.snapshot = append(m.snapshot, h.causeAt(head, snapshotPath))
	m.manifest = append(m.manifest, h.causeAt(head, manifestPath))
}

// causeAt closes the cause whose stream is written up to its path.
func (h *Hasher) causeAt(head int, path string) digest.Digest {
	h.feed = append(append(h.feed[:head], path...), atScope...)
	h.feed = append(append(h.feed, stableScope...), tagEnd)
	return digest.Sum(h.feed)
}

// SnapshotHash returns the stable hash of a snapshot record (spec 5.6) whose
// normalizedMessages, empty in the value, are those of m.
// It panics when the record has no such empty array.
func SnapshotHash(h *Hasher, snapshot value.Value, m *Messages) digest.Digest {
	return h.filled(snapshot, &gap{path: snapshotPath, causes: m.snapshot, values: m.values})
}

// ManifestHash returns the stable hash of a manifest record (spec 5.7) whose
// normalized.messages, empty in the value, are those of m.
// It panics when the record has no such empty array.
func ManifestHash(h *Hasher, manifest value.Value, m *Messages) digest.Digest {
	return h.filled(manifest, &gap{path: manifestPath, causes: m.manifest, values: m.values})
}

// gap is the array of a record that messages fill.
type gap struct {
	path   string // the streams of its keys
	causes []digest.Digest
	values []digest.Digest
	at     int // where in the root's stream its elements belong
	found  bool
}

// meet notes the array when it is the one to fill: at the root, under its path.
func (g *gap) meet(depth int, path []byte, at int) {
	if g != nil && depth == 0 && string(path) == g.path {
		g.at, g.found = at, true
	}
}

// filled is StableHash of a record whose gap holds the messages.
func (h *Hasher) filled(v value.Value, g *gap) digest.Digest {
	h.begin()
	h.gap = g
	h.planned(v)
	if !g.found || g.at >= len(h.feed) || h.feed[g.at] != tagEnd {
		panic("hashgraph: a record without the empty list of messages")
	}
	root := running{hash: digest.New(), buf: h.spare[:0]}
	root.buf = append(root.buf, h.feed[:g.at]...)
	for i := range g.causes {
		root.buf = h.appendLink(root.buf, h.named("of:", &g.causes[i]))
		root.room()
	}
	root.buf = append(root.buf, h.feed[g.at:]...)
	d := root.sum()
	h.spare = root.buf
	return h.finishFilled(d, g)
}

// finishFilled is finish with the messages' cells among those found. Causes of
// messages are all different, so their order needs no value hashes.
func (h *Hasher) finishFilled(root digest.Digest, g *gap) digest.Digest {
	n := len(g.causes)
	cause := func(i int) *digest.Digest {
		if i < n {
			return &g.causes[i]
		}
		return &h.cells[i-n].cause
	}
	h.rank(n+len(h.cells), cause)
	h.settle(func(i, j uint32) int {
		if c := bytes.Compare(cause(int(i))[:], cause(int(j))[:]); c != 0 || int(i) < n || int(j) < n {
			return c
		}
		return bytes.Compare(h.cells[int(i)-n].value[:], h.cells[int(j)-n].value[:])
	})
	all := running{hash: digest.New(), buf: append(h.spare[:0], cellsHead...)}
	for rest := h.order; len(rest) > 0; rest = rest[min(batch, len(rest)):] {
		h.gather(rest[:min(batch, len(rest))], g)
		for i := range h.batch {
			c := &h.batch[i]
			all.buf = appendLong(append(all.buf, cellCause...), h.textDigest(&c.cause))
			all.buf = appendLong(append(all.buf, cellValue...), c.value)
			all.buf = append(all.buf, tagEnd)
		}
		all.room()
	}
	all.buf = appendLong(append(all.buf, cellsTail...), h.textDigest(&root))
	all.buf = append(all.buf, tagEnd)
	d := all.sum()
	h.spare = all.buf
	return d
}

// batch is how many cells are fetched before the first of them is used: they lie all
// over memory, in the order of their digests, and come faster together.
const batch = 64

// gather fetches the causes of some cells, and the digests of their value hashes' texts.
func (h *Hasher) gather(order []ranked, g *gap) {
	h.batch = h.batch[:0]
	for _, r := range order {
		if i := int(r.index) - len(g.causes); i >= 0 {
			h.batch = append(h.batch, cell{h.cells[i].cause, h.textDigest(&h.cells[i].value)})
			continue
		}
		h.batch = append(h.batch, cell{g.causes[r.index], g.values[r.index]})
	}
}

// exportHead starts an exported state; the number is its form's.
const exportHead = "agentsync messages 1\n"

// columns are the lists that make up the state.
func (m *Messages) columns() [3]*[]digest.Digest {
	return [3]*[]digest.Digest{&m.values, &m.snapshot, &m.manifest}
}

// Export appends the state in a form that Import reads, 96 bytes a message.
func (m *Messages) Export(dst []byte) []byte {
	from := len(dst)
	dst = slices.Grow(dst, len(exportHead)+8+96*m.Len()+4)
	dst = append(dst, exportHead...)
	dst = binary.BigEndian.AppendUint64(dst, uint64(m.Len()))
	for _, column := range m.columns() {
		for i := range *column {
			dst = append(dst, (*column)[i][:]...)
		}
	}
	return binary.BigEndian.AppendUint32(dst, crc32.Checksum(dst[from:], crc32.MakeTable(crc32.Castagnoli)))
}

// ErrState is wrapped by the error of Import: the bytes are no exported state.
var ErrState = errors.New("not a state of messages")

// Import replaces the messages by those of an exported state. After an error nothing
// has changed.
func (m *Messages) Import(state []byte) error {
	body, ok := bytes.CutPrefix(state, []byte(exportHead))
	if !ok || len(body) < 12 {
		return fmt.Errorf("import %d bytes: %w", len(state), ErrState)
	}
	sum := crc32.Checksum(state[:len(state)-4], crc32.MakeTable(crc32.Castagnoli))
	n, rows := binary.BigEndian.Uint64(body), body[8:len(body)-4]
	if n != uint64(len(rows)/96) || len(rows)%96 != 0 || sum != binary.BigEndian.Uint32(body[len(body)-4:]) {
		return fmt.Errorf("import %d bytes: %w", len(state), ErrState)
	}
	for _, column := range m.columns() {
		*column = make([]digest.Digest, n)
		for i := range *column {
			rows = rows[copy((*column)[i][:], rows):]
		}
	}
	return nil
}
