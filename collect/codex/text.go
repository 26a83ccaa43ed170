package codex

import (
	"bytes"
	"encoding/hex"
	"time"

	"agentsync/collect/value"
)

// previewUnits is the longest preview of a message, in UTF-16 units (spec 6).
const previewUnits = 500

// isoMillis is how all times are published: ISO 8601, milliseconds, UTC.
const isoMillis = "2006-01-02T15:04:05.000Z"

// formatMillis writes milliseconds since 1970 UTC as the published form.
func formatMillis(ms int64) string { return time.UnixMilli(ms).UTC().Format(isoMillis) }

// parseMillis reads an RFC 3339 time as milliseconds since 1970 UTC, rounded down. A
// year that the published form cannot write is no time.
func parseMillis(text []byte) (ms int64, ok bool) {
	var t time.Time
	if len(text) < len("2006-01-02T15:04:05Z") || t.UnmarshalText(text) != nil {
		return 0, false
	}
	if year := t.UTC().Year(); year < 1 || year > 9999 {
		return 0, false
	}
	return t.UnixMilli(), true
}

// uuidSize is the length of a UUID's text.
const uuidSize = 36

// isUUID reports the text of a UUID, in either case.
func isUUID[T string | []byte](s T) bool {
	if len(s) != uuidSize {
		return false
	}
	for i := range uuidSize {
		c := s[i]
		switch {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
		default:
			return false
		}
	}
	return true
}

// uuidMillis returns the time in a time-ordered UUID (version 7), in milliseconds.
func uuidMillis[T string | []byte](id T) (ms int64, ok bool) {
	if !isUUID(id) || id[14] != '7' {
		return 0, false
	}
	var raw [6]byte
	digits := append(append(make([]byte, 0, 12), id[:8]...), id[9:13]...)
	if _, err := hex.Decode(raw[:], digits); err != nil {
		return 0, false
	}
	for _, b := range raw {
		ms = ms<<8 | int64(b)
	}
	return ms, true
}

// cutUnits returns the longest beginning of WTF-8 text with at most n UTF-16 units. It
// splits no code point.
func cutUnits(text []byte, n int) []byte {
	if len(text) <= n {
		return text
	}
	for i := 0; i < len(text); {
		size, units := sequence(text[i])
		if n -= units; n < 0 {
			return text[:i]
		}
		i += size
	}
	return text
}

// sequence tells how many bytes a WTF-8 sequence has that begins with a byte, and how
// many UTF-16 units it means.
func sequence(first byte) (size, units int) {
	switch {
	case first < 0x80:
		return 1, 1
	case first < 0xE0:
		return 2, 1
	case first < 0xF0:
		return 3, 1
	}
	return 4, 2
}

// appendText appends what a value says in words: a string, the text or else the content
// of a record, the parts of an array with line feeds between them (spec 6). It stops
// soon after the text has more bytes than a preview can need.
func appendText(dst []byte, v value.Value) []byte {
	const enough = 4 * previewUnits // bytes
	if len(dst) > enough {
		return dst
	}
	switch v.Kind() {
	case value.String:
		return append(dst, cutUnits(v.Text(), previewUnits+1)...)
	case value.Record:
		if text, ok := v.Get("text"); ok && text.Kind() == value.String {
			return appendText(dst, text)
		}
		return appendText(dst, v.Path("content"))
	case value.Array:
		start := len(dst)
		for item := range v.Elements() {
			before := len(dst)
			if before > start {
				dst = append(dst, '\n')
			}
			if after := appendText(dst, item); len(after) > len(dst) {
				dst = after
			} else {
				dst = dst[:before]
			}
		}
	}
	return dst
}

// previewOf is the preview of what a value says.
func previewOf(v value.Value) string {
	return string(cutUnits(appendText(nil, v), previewUnits))
}

// requestHeading ends what an editor puts before a person's own words.
var requestHeading = []byte("## My request for Codex:")

// ownWords is the part of a prompt that the person wrote, without blanks around it.
func ownWords(text []byte) []byte {
	if _, after, found := bytes.Cut(text, requestHeading); found {
		text = after
	}
	return bytes.TrimSpace(text)
}
