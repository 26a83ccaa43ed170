package hashgraph

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"hash"
	"math/bits"
	"slices"

	"agentsync/hashgraph/digest"
)

// Streams of the record that a stable hash is the hash of.
var (
	cellsHead = string([]byte{tagRecord}) + fed("cells") + string([]byte{tagArray})
	cellCause = string([]byte{tagRecord}) + fed("causeHash")
	cellValue = fed("valueHash")
	cellsTail = string([]byte{tagEnd}) + fed("rootHash")
)

// finish returns the stable hash of a root and the cells found.
func (h *Hasher) finish(root digest.Digest) digest.Digest {
	h.rank(len(h.cells), func(i int) *digest.Digest { return &h.cells[i].cause })
	h.settle(func(i, j uint32) int {
		a, b := &h.cells[i], &h.cells[j]
		return cmp.Or(bytes.Compare(a.cause[:], b.cause[:]), bytes.Compare(a.value[:], b.value[:]))
	})
	h.feed = append(h.feed[:0], cellsHead...)
	for _, r := range h.order {
		c := &h.cells[r.index]
		h.feed = appendLong(append(h.feed, cellCause...), h.textDigest(&c.cause))
		h.feed = appendLong(append(h.feed, cellValue...), h.textDigest(&c.value))
		h.feed = append(h.feed, tagEnd)
	}
	h.feed = appendLong(append(h.feed, cellsTail...), h.textDigest(&root))
	h.feed = append(h.feed, tagEnd)
	return digest.Sum(h.feed)
}

// ranked is a cell by the first bytes of its cause's digest.
type ranked struct {
	prefix uint64
	index  uint32
}

// rank lists n cells, nearly in order: digests are evenly spread, so counting by their
// first bits puts each cell within a few places of its own.
func (h *Hasher) rank(n int, cause func(int) *digest.Digest) {
	h.order = slices.Grow(h.order[:0], n)[:n]
	shift := 64 - bits.Len(uint(n))
	buckets := 1<<(64-shift) + 1
	h.bucket = slices.Grow(h.bucket[:0], buckets)[:buckets]
	clear(h.bucket)
	for i := range n {
		h.bucket[binary.BigEndian.Uint64(cause(i)[:8])>>shift+1]++
	}
	for i := 1; i < buckets; i++ {
		h.bucket[i] += h.bucket[i-1]
	}
	for i := range n {
		prefix := binary.BigEndian.Uint64(cause(i)[:8])
		at := &h.bucket[prefix>>shift]
		h.order[*at] = ranked{prefix, uint32(i)}
		*at++
	}
}

// settle finishes the order: by prefix, and where that is equal by the whole cells.
func (h *Hasher) settle(whole func(i, j uint32) int) {
	for i := 1; i < len(h.order); i++ {
		r, j := h.order[i], i
		for j > 0 && (h.order[j-1].prefix > r.prefix ||
			h.order[j-1].prefix == r.prefix && whole(h.order[j-1].index, r.index) > 0) {
			h.order[j] = h.order[j-1]
			j--
		}
		h.order[j] = r
	}
}

// running digests a stream longer than memory should hold.
type running struct {
	hash hash.Hash
	buf  []byte
}

const runningBuffer = 16 << 10

func (r *running) room() {
	if len(r.buf) >= runningBuffer {
		r.hash.Write(r.buf)
		r.buf = r.buf[:0]
	}
}

func (r *running) sum() digest.Digest {
	r.hash.Write(r.buf)
	return digest.Of(r.hash)
}
