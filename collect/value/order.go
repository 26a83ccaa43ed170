package value

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"
)

// ranked is one key of the record being sealed.
type ranked struct {
	prefix uint64 // its first eight bytes as a big-endian number, zero-filled
	node   uint32
	size   uint32
}

// few is the number of keys up to which insertion beats the general sort.
const few = 24

// source says where key bytes lie while a text is still being scanned: those not
// aside are at offset-base in text.
type source struct {
	text []byte
	base int
}

func (t *tape) keyBytes(src source, n uint32) []byte {
	d := &t.nodes[n]
	if d.flag&aside != 0 {
		return t.side[d.bits : d.bits+uint64(d.size)]
	}
	at := int(d.bits) - src.base
	return src.text[at : at+int(d.size)]
}

// seal closes the record at node n whose members are named by keys: it lays their
// order by WTF-8 bytes and drops all but the last of equal keys. It reports whether
// any was dropped, and whether any key starts with a slash.
func (t *tape) seal(n uint32, keys []uint32, src source) (repeated, slashed bool) {
	rank, sorted := t.ranks(keys, src)
	if !sorted {
		t.sortRanks(rank, src)
	}
	start := len(t.order)
	for i, r := range rank {
		if i+1 < len(rank) && r.prefix == rank[i+1].prefix && r.size == rank[i+1].size &&
			(r.size <= 8 || bytes.Equal(t.keyBytes(src, r.node), t.keyBytes(src, rank[i+1].node))) {
			t.nodes[r.node].flag |= dropped
			repeated = true
			continue
		}
		slashed = slashed || r.prefix>>56 == '/' && r.size > 0
		t.order = append(t.order, r.node)
	}
	d := &t.nodes[n]
	d.size = uint32(len(t.order) - start)
	d.bits = uint64(start)<<32 | uint64(len(t.nodes))
	return repeated, slashed
}

// ranks lists the keys with their prefixes, and reports whether they are in order
// already, each one greater than the one before.
func (t *tape) ranks(keys []uint32, src source) (rank []ranked, sorted bool) {
	rank, sorted = t.rank[:0], true
	var last uint64
	for i, n := range keys {
		k := t.keyBytes(src, n)
		p := prefix(k)
		sorted = sorted && (i == 0 || p > last)
		last = p
		rank = append(rank, ranked{p, n, uint32(len(k))})
	}
	t.rank = rank
	return rank, sorted
}

func (t *tape) sortRanks(rank []ranked, src source) {
	if len(rank) > few {
		slices.SortFunc(rank, func(a, b ranked) int { return t.compare(src, a, b) })
		return
	}
	for i := 1; i < len(rank); i++ {
		r, j := rank[i], i
		for j > 0 && (rank[j-1].prefix > r.prefix ||
			rank[j-1].prefix == r.prefix && t.compare(src, rank[j-1], r) > 0) {
			rank[j] = rank[j-1]
			j--
		}
		rank[j] = r
	}
}

// compare orders keys by their bytes, and equal keys by their place in the text.
func (t *tape) compare(src source, a, b ranked) int {
	if a.prefix != b.prefix {
		return cmp.Compare(a.prefix, b.prefix)
	}
	if a.size > 8 || b.size > 8 {
		if c := bytes.Compare(t.keyBytes(src, a.node), t.keyBytes(src, b.node)); c != 0 {
			return c
		}
	} else if a.size != b.size {
		return cmp.Compare(a.size, b.size)
	}
	return cmp.Compare(a.node, b.node)
}

// prefix is the first eight bytes of k as a big-endian number, zero-filled.
func prefix(k []byte) uint64 {
	if cap(k) >= 8 {
		unused := 64 - 8*min(len(k), 8)
		return binary.BigEndian.Uint64(k[:8]) >> unused << unused
	}
	var p uint64
	for i, c := range k {
		p |= uint64(c) << (56 - 8*i)
	}
	return p
}
