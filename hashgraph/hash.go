package hashgraph

import (
	"encoding/binary"
	"hash/maphash"

	"agentsync/collect/value"
	"agentsync/hashgraph/digest"
)

// Hasher computes hashes in reused memory. It serves one goroutine; the values it
// reads may lie on any tapes. The zero Hasher is ready.
type Hasher struct {
	feed   []byte // streams being written, the innermost last
	scopes scopes
	path   []span // keys from the owner of the scope down to the value at hand
	owned  int    // where in path the keys of the current owner start
	gap    *gap   // an array to be filled by messages, nil for none
	cells  []cell
	order  []ranked
	bucket []uint32
	batch  []cell
	spare  []byte // buffer of running streams

	elements elements
	texts    memo // digests of long strings
	contents memo // content hashes of array elements, as their texts' digests
	scalars  scalarCache
	seed     maphash.Seed
	seeded   bool
	line     [72]byte // a digest's text while it is digested
	modern   bool     // links are instances; tests only, see appendLink
}

// cell is one array element: the digests that stand for it in a stable hash.
type cell struct{ cause, value digest.Digest }

// Hash returns a value's canonical hash (spec 2). The zero Value counts as undefined.
func Hash(v value.Value) digest.Digest { return new(Hasher).Hash(v) }

// Hash returns a value's canonical hash.
func (h *Hasher) Hash(v value.Value) digest.Digest {
	h.forget()
	h.plain(v)
	return digest.Sum(h.feed)
}

// forget drops what was noted about values whose tapes may have changed since.
func (h *Hasher) forget() {
	h.feed, h.path, h.cells, h.owned, h.gap = h.feed[:0], h.path[:0], h.cells[:0], 0, nil
	h.texts.forget()
	h.contents.forget()
}

// maphash is a hash for tables in memory.
func (h *Hasher) maphash(p []byte) uint64 {
	if !h.seeded {
		h.seed, h.seeded = maphash.MakeSeed(), true
	}
	return maphash.Bytes(h.seed, p)
}

// hexPairs holds the two digits of every byte, the first one low.
var hexPairs = func() (pairs [256]uint16) {
	const digits = "0123456789abcdef"
	for i := range pairs {
		pairs[i] = uint16(digits[i>>4]) | uint16(digits[i&15])<<8
	}
	return pairs
}()

// named returns the digest of the text that is prefix and d's hexadecimal digits.
func (h *Hasher) named(prefix string, d *digest.Digest) digest.Digest {
	n := copy(h.line[:], prefix)
	digits := h.line[n : n+2*len(d)]
	for i := 0; i < len(d); i += 4 {
		binary.LittleEndian.PutUint64(digits[2*i:], uint64(hexPairs[d[i]])|uint64(hexPairs[d[i+1]])<<16|
			uint64(hexPairs[d[i+2]])<<32|uint64(hexPairs[d[i+3]])<<48)
	}
	return digest.Sum(h.line[:n+2*len(d)])
}

// textDigest returns the digest of d's "sha256:" form, by which it is always fed:
// that form is longer than a short text.
func (h *Hasher) textDigest(d *digest.Digest) digest.Digest { return h.named("sha256:", d) }
