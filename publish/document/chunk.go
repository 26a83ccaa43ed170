package document

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"unicode/utf8"

	"agentsync/collect/value"
	"agentsync/hashgraph/digest"
)

// ChunkEvent is one event of a chunk, as it is stored.
type ChunkEvent struct {
	// Text stands in the document's events: the provider's own text, or the canonical
	// one where the provider's could not be read back as the captured value.
	Text []byte
	// Raw is the record's own bytes, line end included. For a plain event it is Text
	// and a newline, and is not stored a second time.
	Raw   []byte
	Plain bool
	// Value is set by ParseChunk and lies on its tape.
	Value value.Value
}

// Chunk is one part of a session's native events.
type Chunk struct {
	OwnerDID    string
	Key         string
	Part        int
	ContentHash digest.Digest
	Events      []ChunkEvent
	// Messages are the normalized messages of the events, as canonical texts. They lie
	// in one frame with the events that they preview, so they take little room.
	Messages [][]byte
	// Normalized are the same messages, set by ParseChunk.
	Normalized []value.Value
}

const (
	chunkHead   = value.Prefix + `{"contentHash":"`
	chunkEvents = `","events":[`
)

// AppendChunk appends the chunk's text to dst. Keys stand in canonical order; the
// events are the bytes given.
func AppendChunk(dst []byte, c *Chunk) []byte {
	dst = append(dst, chunkHead...)
	dst = append(dst, c.ContentHash.String()...)
	dst = append(dst, chunkEvents...)
	kept := false
	for i := range c.Events {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, c.Events[i].Text...)
		kept = kept || !c.Events[i].Plain
	}
	dst = value.AppendString(append(dst, `],"key":`...), c.Key)
	dst = append(dst, `,"messages":[`...)
	for i, m := range c.Messages {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, m...)
	}
	dst = append(dst, ']')
	dst = value.AppendString(append(dst, `,"ownerDid":`...), c.OwnerDID)
	dst = strconv.AppendInt(append(dst, `,"part":`...), int64(c.Part), 10)
	if kept {
		dst = appendRaws(append(dst, `,"raw":`...), c.Events)
	}
	return append(dst, `,"schema":"`+SchemaChunk+`"}`...)
}

// appendRaws writes the bytes of the events whose text does not give them back: as
// text where they are UTF-8, which compresses better, else as bytes.
func appendRaws(dst []byte, events []ChunkEvent) []byte {
	sep := byte('[')
	for i := range events {
		e := &events[i]
		if e.Plain {
			continue
		}
		dst = append(dst, sep, '{')
		sep = ','
		text := utf8.Valid(e.Raw)
		if !text {
			dst = append(dst, `"bytes":{"/Bytes@1":"`...)
			dst = append(base64.RawURLEncoding.AppendEncode(dst, e.Raw), `"},`...)
		}
		dst = strconv.AppendInt(append(dst, `"index":`...), int64(i), 10)
		if text {
			dst = value.AppendString(append(dst, `,"text":`...), e.Raw)
		}
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// FrameBreak separates chunk documents that share a frame. It never stands inside one.
const FrameBreak = '\n'

// EachChunk calls fn for every chunk document of a frame, with the content hash that
// it begins with, until fn returns false.
func EachChunk(frame []byte, fn func(hash digest.Digest, text []byte) bool) error {
	for len(frame) > 0 {
		text, rest, _ := bytes.Cut(frame, []byte{FrameBreak})
		hash, _, err := chunkHash(text)
		if err != nil {
			return err
		}
		if !fn(hash, text) {
			return nil
		}
		frame = rest
	}
	return nil
}

// chunkHash reads the beginning of a chunk's text and returns what follows it.
func chunkHash(text []byte) (digest.Digest, []byte, error) {
	const hashLen = len("sha256:") + 64
	rest, ok := bytes.CutPrefix(text, []byte(chunkHead))
	if !ok || len(rest) < hashLen {
		return digest.Digest{}, nil, &InvalidError{SchemaChunk, "contentHash", "is missing"}
	}
	hash, err := digest.Parse(string(rest[:hashLen]))
	if err != nil {
		return hash, nil, &InvalidError{SchemaChunk, "contentHash", err.Error()}
	}
	return hash, rest[hashLen:], nil
}

// ParseChunk reads a chunk's text. The events' texts are slices of it, their
// values lie on the tape. Without a tape the events have no values, except those whose
// bytes are kept beside them, and the text is not checked to be JSON.
func ParseChunk(text []byte, tape *value.Tape) (*Chunk, error) {
	bad := func(field, reason string) (*Chunk, error) {
		return nil, &InvalidError{SchemaChunk, field, reason}
	}
	hash, rest, err := chunkHash(text)
	if err != nil {
		return nil, err
	}
	rest, ok := bytes.CutPrefix(rest, []byte(chunkEvents))
	if !ok {
		return bad("events", "is missing")
	}
	c := &Chunk{ContentHash: hash}
	for len(rest) > 0 && rest[0] != ']' {
		e, n, err := chunkEvent(rest, tape)
		if err != nil {
			return bad("events", "element "+strconv.Itoa(len(c.Events))+": "+err.Error())
		}
		c.Events = append(c.Events, e)
		rest = rest[n:]
		if len(rest) > 1 && rest[0] == ',' && rest[1] != ']' {
			rest = rest[1:]
		}
	}
	if len(rest) < 2 || rest[0] != ']' || rest[1] != ',' {
		return bad("events", "does not end")
	}
	return c, c.parseTail(rest[2:])
}

// chunkEvent takes one event off the front of a list.
func chunkEvent(list []byte, tape *value.Tape) (ChunkEvent, int, error) {
	if tape == nil {
		n, err := value.Skip(list)
		return ChunkEvent{Text: list[:n], Plain: true}, n, err
	}
	got, n, err := tape.CapturePrefix(list)
	return ChunkEvent{Text: list[:n], Plain: true, Value: got.Value}, n, err
}

// parseTail reads what follows the events: the members from "key" on.
func (c *Chunk) parseTail(members []byte) error {
	r, err := open(append([]byte(value.Prefix+"{"), members...), SchemaChunk)
	if err != nil {
		return err
	}
	c.Key, c.OwnerDID, c.Part = r.str("key"), r.str("ownerDid"), int(r.count("part"))
	c.Normalized = r.list("messages")
	if raws, ok := r.v.Get("raw"); ok {
		for v := range raws.Elements() {
			if err := c.parseRaw(r.sub(v)); err != nil {
				return err
			}
		}
	}
	return r.err
}

func (c *Chunk) parseRaw(r *reader) error {
	i := r.count("index")
	if r.err == nil && (i >= int64(len(c.Events)) || !c.Events[i].Plain) {
		r.fail("index", "names no event, or one twice")
	}
	if r.err != nil {
		return r.err
	}
	e := &c.Events[i]
	e.Plain = false
	if v, ok := r.v.Get("bytes"); ok && v.Kind() == value.Bytes {
		e.Raw = v.Octets()
	} else {
		e.Raw = r.get("text").Text()
	}
	v, err := value.Parse(append([]byte(value.Prefix), e.Text...))
	if err != nil {
		r.fail("events", err.Error())
	}
	e.Value = v
	return r.err
}
