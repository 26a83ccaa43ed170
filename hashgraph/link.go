package hashgraph

import (
	"agentsync/collect/value"
	"agentsync/hashgraph/digest"
)

// modernLinks switches the form of links: false is the record {"/": {"link@1": …}},
// true the Link@1 instance (spec 4, "two regimes, never mixed"). Published hashes are
// made with the record.
const modernLinks = false

// Streams around the id in the link that stands for a cell inside a stable hash.
var (
	legacyHead = string([]byte{tagRecord}) + fed("/") + string([]byte{tagRecord}) + fed("link@1") + modernBody
	modernHead = string([]byte{tagInstance}) + fed("Link@1") + modernBody
	modernBody = string([]byte{tagRecord}) + fed("id")
	legacyTail = string([]byte{tagEnd, tagEnd, tagEnd})
	modernTail = string([]byte{tagEnd})
)

// appendLink feeds the link to a cell, whose id is digested already: its text "of:"
// and 64 digits is longer than a short one.
func (h *Hasher) appendLink(dst []byte, id digest.Digest) []byte {
	if h.modern || modernLinks {
		return append(appendLong(append(dst, modernHead...), id), modernTail...)
	}
	return append(appendLong(append(dst, legacyHead...), id), legacyTail...)
}

// isLink reports a link in its record form, which is a leaf of the graph.
func isLink(v value.Value) bool {
	f := v.Fields()
	if f.Len() != 1 || string(f.Key(0)) != "/" {
		return false
	}
	inner := f.Value(0).Fields()
	return inner.Len() == 1 && string(inner.Key(0)) == "link@1"
}

// BuildLink adds the link that stands for a cell in a stored document: its id, the
// empty path, and its space as scope.
func BuildLink(b *value.Builder, id, space string) {
	if modernLinks {
		b.Instance("Link@1")
	} else {
		b.Record().Key("/").Record().Key("link@1")
	}
	b.Record().Key("id").String(id).Key("path").Array().End()
	b.Key("scope").String("space").Key("space").String(space).End().End()
	if !modernLinks {
		b.End()
	}
}

// BuildPlainLink adds the plain record by which the receipt index names a receipt.
func BuildPlainLink(b *value.Builder, id, space string) {
	b.Record().Key("id").String(id).Key("path").Array().End().Key("space").String(space).End()
}

// CellID returns the id of the cell with that cause (spec 4).
func CellID(cause value.Value) string { return new(Hasher).CellID(cause) }

// CellID returns the id of the cell with that cause.
func (h *Hasher) CellID(cause value.Value) string {
	h.forget()
	h.feed = append(append(h.feed, tagRecord), fed("causal")...)
	h.plain(cause)
	h.feed = append(h.feed, tagEnd)
	return "of:" + digest.Sum(h.feed).FID()
}
