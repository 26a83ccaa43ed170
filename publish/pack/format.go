package pack

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"agentsync/hashgraph/digest"
)

// The file:
//
//	frames   end to end from offset 0
//	table    one row a frame, in the same order: length, plain length, SHA-256, id
//	trailer  table length, count, variant, magic
//
// Numbers in the table are unsigned varints, in the trailer little-endian. A row needs
// no offset: it is the sum of the lengths before it, so no frame can overlap another
// or leave a gap. The SHA-256 is that of the frame's bytes. An id is one byte of form,
// then 32 bytes for the forms of a digest, or a length and the text.
//
// The SHA-256 of table and trailer is the pack's name: it vouches for every frame, and
// whoever wants one of them reads the end of the file and that frame alone. The variant
// is 0, unless a damaged file stands at the name that it gives.
const (
	magic       = "asyncpk\x02" // the last byte is the version of the format
	trailerSize = 8 + 8 + 8 + len(magic)
	minRow      = 1 + 1 + len(digest.Digest{}) + 3 // bytes: two numbers, a digest, and an id of one letter

	maxTable = 64 << 20 // bytes; over a million rows, where a pack has some thousands
	maxID    = 1024     // bytes
	maxFrame = 2 << 30  // bytes; sizes beyond are damage, not documents
	maxPlain = 64 << 30 // bytes
)

// Forms of an id.
const (
	formText   = iota // any other text
	formCell          // of:fid1:<digest>
	formFID           // fid1:<digest>
	formSHA256        // sha256:<digest>
)

const (
	cellLead   = "of:fid1:"
	fidLead    = "fid1:"
	sha256Lead = "sha256:"
)

// idForm finds the form that spells id in the fewest bytes.
func idForm(id string) (form byte, d digest.Digest) {
	if rest, has := strings.CutPrefix(id, cellLead); has {
		form = formCell
		id = rest
	} else if rest, has := strings.CutPrefix(id, fidLead); has {
		form = formFID
		id = rest
	}
	if form != formText {
		if len(id) != base64.RawURLEncoding.EncodedLen(len(d)) {
			return formText, d
		}
		if n, err := fidEncoding.Decode(d[:], []byte(id)); err != nil || n != len(d) {
			return formText, digest.Digest{}
		}
		return form, d
	}
	if rest, has := strings.CutPrefix(id, sha256Lead); has && len(rest) == hex.EncodedLen(len(d)) {
		if parsed, err := digest.Parse(rest); err == nil {
			return formSHA256, parsed
		}
	}
	return formText, d
}

// fidEncoding accepts one spelling of a digest only.
var fidEncoding = base64.RawURLEncoding.Strict()

// checkID refuses what a table cannot hold.
func checkID(id string) error {
	if id == "" || len(id) > maxID || !utf8.ValidString(id) {
		return fmt.Errorf("id %.40q is empty, over %d bytes or not UTF-8", id, maxID)
	}
	return nil
}

func appendRow(table []byte, e Entry) []byte {
	table = binary.AppendUvarint(table, uint64(e.Length))
	table = binary.AppendUvarint(table, uint64(e.Plain))
	table = append(table, e.Sum[:]...)
	form, d := idForm(e.ID)
	table = append(table, form)
	if form != formText {
		return append(table, d[:]...)
	}
	table = binary.AppendUvarint(table, uint64(len(e.ID)))
	return append(table, e.ID...)
}

func appendTrailer(dst []byte, tableSize, count int, variant uint64) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, uint64(tableSize))
	dst = binary.LittleEndian.AppendUint64(dst, uint64(count))
	dst = binary.LittleEndian.AppendUint64(dst, variant)
	return append(dst, magic...)
}

// trailer is what the end of a pack says.
type trailer struct{ tableSize, count int64 }

// fieldError is damage in one field, before the pack's name is known.
type fieldError struct {
	field string
	err   error
}

func (e *fieldError) Error() string { return e.field + ": " + e.err.Error() }

func damaged(field, format string, args ...any) error {
	return &fieldError{field, fmt.Errorf(format, args...)}
}

// parseTrailer reads the last bytes of a pack of the given size. What it accepts is
// possible: the table fits the file, and the count fits the table.
func parseTrailer(b []byte, size int64) (trailer, error) {
	if len(b) != trailerSize {
		return trailer{}, damaged("size", "%d bytes, fewer than a trailer has", size)
	}
	if end := string(b[24:]); end != magic {
		if end[:7] == magic[:7] {
			return trailer{}, damaged("trailer", "format version %d is not known to this program", end[7])
		}
		return trailer{}, damaged("trailer", "not the end of a pack")
	}
	tableSize := binary.LittleEndian.Uint64(b)
	if tableSize > maxTable || int64(tableSize) > size-int64(trailerSize) {
		return trailer{}, damaged("table length", "%d bytes in a file of %d", tableSize, size)
	}
	count := binary.LittleEndian.Uint64(b[8:])
	if count > tableSize/uint64(minRow) {
		return trailer{}, damaged("count", "%d rows in a table of %d bytes", count, tableSize)
	}
	return trailer{int64(tableSize), int64(count)}, nil
}

// parseTable reads the table of a pack whose frames take framesSize bytes.
func parseTable(table []byte, t trailer, framesSize int64) ([]Entry, error) {
	entries := make([]Entry, 0, t.count)
	r := rowReader{rest: table}
	var offset int64
	for i := range t.count {
		e := r.row(offset, framesSize)
		if r.err != nil {
			return nil, damaged(fmt.Sprintf("entry %d %s", i, r.field), "%w", r.err)
		}
		entries = append(entries, e)
		offset += e.Length
	}
	if len(r.rest) != 0 {
		return nil, damaged("table", "%d bytes after its last row", len(r.rest))
	}
	if offset != framesSize {
		return nil, damaged("table", "its frames end at %d, the file's at %d", offset, framesSize)
	}
	return entries, nil
}

// rowReader reads rows; the first failure stays in field and err.
type rowReader struct {
	rest  []byte
	field string
	err   error
}

func (r *rowReader) row(offset, framesSize int64) Entry {
	e := Entry{Located: Located{Offset: offset}}
	e.Length = r.number("length", min(maxFrame, framesSize-offset))
	e.Plain = r.number("plain length", maxPlain)
	if e.Length == 0 {
		r.fail("length", errors.New("is zero"))
	}
	copy(e.Sum[:], r.take("digest", int64(len(e.Sum))))
	e.ID = r.id()
	return e
}

func (r *rowReader) fail(field string, err error) {
	if r.err == nil {
		r.field, r.err = field, err
	}
}

func (r *rowReader) number(field string, limit int64) int64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 || size > 1 && r.rest[size-1] == 0 {
		r.fail(field, errors.New("is no number in its shortest form"))
		return 0
	}
	r.rest = r.rest[size:]
	if n > uint64(limit) {
		r.fail(field, fmt.Errorf("%d is more than %d", n, limit))
		return 0
	}
	return int64(n)
}

func (r *rowReader) take(field string, n int64) []byte {
	if r.err != nil || n > int64(len(r.rest)) {
		r.fail(field, errors.New("ends with the table"))
		return nil
	}
	taken := r.rest[:n]
	r.rest = r.rest[n:]
	return taken
}

func (r *rowReader) id() string {
	form := r.take("id form", 1)
	if form == nil {
		return ""
	}
	if form[0] == formText {
		return r.textID()
	}
	raw := r.take("id", int64(len(digest.Digest{})))
	if raw == nil {
		return ""
	}
	switch form[0] {
	case formCell:
		return "of:" + digest.Digest(raw).FID()
	case formFID:
		return digest.Digest(raw).FID()
	case formSHA256:
		return digest.Digest(raw).String()
	}
	r.fail("id form", fmt.Errorf("%d is not known", form[0]))
	return ""
}

func (r *rowReader) textID() string {
	id := string(r.take("id", r.number("id length", maxID)))
	if r.err != nil {
		return ""
	}
	if err := checkID(id); err != nil {
		r.fail("id", err)
	}
	if form, _ := idForm(id); form != formText {
		r.fail("id", errors.New("is a digest spelled as text"))
	}
	return id
}
