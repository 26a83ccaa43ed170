package hashgraph

import (
	"encoding/binary"

	"agentsync/collect/value"
	"agentsync/hashgraph/digest"
)

// The tags of the canonical byte stream (spec 2).
const (
	tagEnd         = 0x00
	tagHoles       = 0x01
	tagArray       = 0x10
	tagRecord      = 0x11
	tagInstance    = 0x12
	tagNull        = 0x20
	tagUndefined   = 0x21
	tagBool        = 0x22
	tagNumber      = 0x23
	tagString      = 0x24
	tagHash        = 0x29
	tagSymbol      = 0x2A
	tagRegExp      = 0x2B
	tagKeyPair     = 0x2C
	tagUnavailable = 0x2D
	tagLong        = 0xF0
)

// octetTags are the tags of the kinds that are a length and bytes.
var octetTags = [...]byte{
	value.Bytes: 0x25, value.BigInt: 0x26, value.EpochNsec: 0x27, value.EpochDay: 0x28,
	value.DurationNsec: 0x2E, value.DurationDay: 0x2F,
}

// short is the greatest length in bytes of a text that is fed as it is; longer ones
// are fed as their digest.
const short = 64

// appendShort feeds a text of at most short bytes.
func appendShort[T string | []byte](dst []byte, s T) []byte {
	return append(append(dst, tagString, byte(len(s))), s...)
}

// appendLong feeds a text of more than short bytes by its digest.
func appendLong(dst []byte, d digest.Digest) []byte {
	return append(append(dst, tagLong), d[:]...)
}

// fed is the stream of a short text that the code itself names.
func fed(texts ...string) string {
	var out []byte
	for _, s := range texts {
		out = appendShort(out, s)
	}
	return string(out)
}

// text feeds a text that is no value of its own.
func (h *Hasher) text(s []byte) {
	if len(s) <= short {
		h.feed = appendShort(h.feed, s)
		return
	}
	h.feed = appendLong(h.feed, digest.Sum(s))
}

// str feeds a String value; a long one is digested once, when its content hash was
// asked for before.
func (h *Hasher) str(v value.Value) {
	s := v.Text()
	if len(s) <= short {
		h.feed = appendShort(h.feed, s)
		return
	}
	d, ok := h.texts.get(v)
	if !ok {
		d = digest.Sum(s)
	}
	h.feed = appendLong(h.feed, d)
}

// plain feeds a value as it stands, no array split. The zero Value counts as undefined.
func (h *Hasher) plain(v value.Value) {
	switch k := v.Kind(); k {
	case value.Record:
		h.feed = append(h.feed, tagRecord)
		f := v.Fields()
		for i := range f.Len() {
			h.text(f.Key(i))
			h.plain(f.Value(i))
		}
		h.feed = append(h.feed, tagEnd)
	case value.Array:
		h.feed = append(h.feed, tagArray)
		for items := v.Items(); ; {
			e, ok := items.Next()
			if !ok {
				break
			}
			h.plain(e)
		}
		h.feed = append(h.feed, tagEnd)
	default:
		h.scalar(k, v)
	}
}

// scalar feeds a value that is neither an array nor a record.
func (h *Hasher) scalar(k value.Kind, v value.Value) {
	switch k {
	case value.String:
		h.str(v)
	case value.Number:
		h.feed = binary.BigEndian.AppendUint64(append(h.feed, tagNumber), v.Bits())
	case value.Null:
		h.feed = append(h.feed, tagNull)
	case value.True:
		h.feed = append(h.feed, tagBool, 1)
	case value.False:
		h.feed = append(h.feed, tagBool, 0)
	case value.Undefined, value.Invalid:
		h.feed = append(h.feed, tagUndefined)
	case value.Hole:
		h.feed = binary.AppendUvarint(append(h.feed, tagHoles), uint64(v.Run()))
	case value.Symbol:
		h.feed = append(h.feed, tagSymbol)
		h.text(v.Text())
	case value.Instance:
		h.feed = append(h.feed, tagInstance)
		h.parts(v)
	case value.RegExp:
		h.feed = append(h.feed, tagRegExp)
		h.parts(v)
	case value.KeyPair:
		h.feed = append(h.feed, tagKeyPair)
		h.parts(v)
	case value.Unavailable:
		h.feed = append(h.feed, tagUnavailable)
		h.parts(v)
	case value.Hash:
		h.hashValue(v)
	default:
		h.feed = append(h.feed, octetTags[k])
		h.octets(v)
	}
}

// parts feeds what a compound kind consists of.
func (h *Hasher) parts(v value.Value) {
	for items := v.Items(); ; {
		e, ok := items.Next()
		if !ok {
			return
		}
		h.plain(e)
	}
}

// hashValue feeds a Hash, whose digest has no tag of its own.
func (h *Hasher) hashValue(v value.Value) {
	items := v.Items()
	algorithm, _ := items.Next()
	bytes, _ := items.Next()
	h.feed = append(h.feed, tagHash)
	h.plain(algorithm)
	h.octets(bytes)
}

func (h *Hasher) octets(v value.Value) {
	p := v.Octets()
	h.feed = append(binary.AppendUvarint(h.feed, uint64(len(p))), p...)
}
