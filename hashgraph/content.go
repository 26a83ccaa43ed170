package hashgraph

import (
	"encoding/binary"

	"agentsync/collect/value"
	"agentsync/hashgraph/digest"
)

// Streams of the records that content hashes are made of (spec 5.4 step 1).
var (
	arrayHead  = string([]byte{tagRecord}) + fed("items") + string([]byte{tagArray})
	arrayTail  = string([]byte{tagEnd}) + fed("kind", "array") + string([]byte{tagEnd})
	recordHead = string([]byte{tagRecord}) + fed("entries") + string([]byte{tagRecord})
	recordTail = string([]byte{tagEnd}) + fed("kind", "record") + string([]byte{tagEnd})
)

// content returns the digest of the text of a value's content hash.
func (h *Hasher) content(v value.Value) digest.Digest {
	switch k := v.Kind(); {
	case k == value.Array, k == value.Record && !isLink(v):
		d := h.contentHash(v)
		return h.textDigest(&d)
	case k == value.String && len(v.Text()) > short:
		h.texts.put(v, digest.Sum(v.Text()))
	}
	at := len(h.feed)
	h.plain(v)
	stream := h.feed[at:]
	h.feed = h.feed[:at]
	slot, hit := h.scalars.slot(stream, h.maphash(stream))
	if hit {
		return slot.text
	}
	d := digest.Sum(stream)
	text := h.textDigest(&d)
	if slot != nil {
		slot.set(stream, text)
	}
	return text
}

// contentHash returns a value's content hash: a tree of hashes in which arrays and
// records are split, and links and special values are leaves (spec 5.4 step 1).
func (h *Hasher) contentHash(v value.Value) digest.Digest {
	at := len(h.feed)
	switch k := v.Kind(); {
	case k == value.Array:
		h.contentItems(v)
	case k == value.Record && !isLink(v):
		h.feed = append(h.feed, recordHead...)
		f := v.Fields()
		for i := range f.Len() {
			h.text(f.Key(i))
			h.feed = appendLong(h.feed, h.content(f.Value(i)))
		}
		h.feed = append(h.feed, recordTail...)
	default:
		h.plain(v)
	}
	d := digest.Sum(h.feed[at:])
	h.feed = h.feed[:at]
	return d
}

func (h *Hasher) contentItems(v value.Value) {
	h.feed = append(h.feed, arrayHead...)
	for items := v.Items(); ; {
		e, ok := items.Next()
		if !ok {
			break
		}
		if e.Kind() == value.Hole {
			h.feed = binary.AppendUvarint(append(h.feed, tagHoles), uint64(e.Run()))
			continue
		}
		h.feed = appendLong(h.feed, h.elementContent(e))
	}
	h.feed = append(h.feed, arrayTail...)
}

// elementContent is content for an array's element, whose identity may ask again.
func (h *Hasher) elementContent(v value.Value) digest.Digest {
	if d, ok := h.contents.get(v); ok {
		return d
	}
	d := h.content(v)
	h.contents.put(v, d)
	return d
}
