package collect

import "agentsync/collect/value"

// PreviewUnits is the longest preview of a message, in UTF-16 units (spec 6).
const PreviewUnits = 500

// CutUnits returns the longest beginning of WTF-8 text with at most n UTF-16 units. It
// splits no code point.
func CutUnits(text []byte, n int) []byte {
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

// AppendWords appends what a value says in words: a string, the text or else the content
// of a record, the parts of an array with line feeds between them (spec 6). It stops
// soon after the text has more bytes than a preview can need.
func AppendWords(dst []byte, v value.Value) []byte {
	const enough = 4 * PreviewUnits // bytes
	if len(dst) > enough {
		return dst
	}
	switch v.Kind() {
	case value.String:
		return append(dst, CutUnits(v.Text(), PreviewUnits+1)...)
	case value.Record:
		if text, ok := v.Get("text"); ok && text.Kind() == value.String {
			return AppendWords(dst, text)
		}
		return AppendWords(dst, v.Path("content"))
	case value.Array:
		start := len(dst)
		for item := range v.Elements() {
			before := len(dst)
			if before > start {
				dst = append(dst, '\n')
			}
			if after := AppendWords(dst, item); len(after) > len(dst) {
				dst = after
			} else {
				dst = dst[:before]
			}
		}
	}
	return dst
}
