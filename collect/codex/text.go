package codex

import (
	"bytes"
	"encoding/hex"
	"time"

	"agentsync/collect"
	"agentsync/collect/value"
)

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

// previewOf is the preview of what a value says.
func previewOf(v value.Value) string {
	return string(collect.CutUnits(collect.AppendWords(nil, v), collect.PreviewUnits))
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
