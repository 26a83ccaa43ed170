package claude

import (
	"strings"
	"unicode/utf8"

	"agentsync/collect/value"
)

// Texts here are WTF-8, and lengths are counted in UTF-16 units, as the client counts.

// decodeUTF8 replaces what is not UTF-8 as a browser does: one U+FFFD for each longest
// beginning of a sequence.
func decodeUTF8(p []byte) string {
	if utf8.Valid(p) {
		return string(p)
	}
	var b strings.Builder
	for len(p) > 0 {
		if r, n := utf8.DecodeRune(p); r != utf8.RuneError || n > 1 {
			b.Write(p[:n])
			p = p[n:]
			continue
		}
		b.WriteRune(utf8.RuneError)
		p = p[brokenLength(p):]
	}
	return b.String()
}

// brokenLength measures the beginning of an ill-formed sequence that one replacement
// character stands for.
func brokenLength(p []byte) int {
	low, high, want := byte(0x80), byte(0xBF), 0
	switch c := p[0]; {
	case c >= 0xC2 && c <= 0xDF:
		want = 1
	case c >= 0xE0 && c <= 0xEF:
		want = 2
		if c == 0xE0 {
			low = 0xA0
		} else if c == 0xED {
			high = 0x9F
		}
	case c >= 0xF0 && c <= 0xF4:
		want = 3
		if c == 0xF0 {
			low = 0x90
		} else if c == 0xF4 {
			high = 0x8F
		}
	}
	n := 1
	for n <= want && n < len(p) && p[n] >= low && p[n] <= high {
		low, high = 0x80, 0xBF
		n++
	}
	return n
}

// cutUnits returns the longest beginning of s with at most n UTF-16 units, in which no
// pair is split, and whether that is less than all of it.
func cutUnits(s string, n int) (string, bool) {
	if len(s) <= n {
		return s, false
	}
	units := 0
	for i := 0; i < len(s); {
		size, width := unitSize(s[i])
		if units += width; units > n {
			return s[:i], true
		}
		i += size
	}
	return s, false
}

// unitSize tells how many bytes a WTF-8 sequence has and how many UTF-16 units it means.
func unitSize(lead byte) (bytes, units int) {
	switch {
	case lead < 0xC0:
		return 1, 1
	case lead < 0xE0:
		return 2, 1
	case lead < 0xF0:
		return 3, 1
	default:
		return 4, 2
	}
}

// trim removes what JavaScript holds for blank from both ends.
func trim(s string) string { return strings.TrimFunc(s, isSpace) }

func isSpace(r rune) bool {
	switch {
	case r >= '\t' && r <= '\r', r == ' ', r == 0xA0, r == 0x1680, r >= 0x2000 && r <= 0x200A,
		r == 0x2028, r == 0x2029, r == 0x202F, r == 0x205F, r == 0x3000, r == 0xFEFF:
		return true
	}
	return false
}

// parser reads the JSON of single lines; it forgets one when it reads the next.
type parser struct{ tape value.Tape }

// parse returns the line's value if it is one JSON value.
func (p *parser) parse(line string) (value.Value, bool) {
	p.tape.Reset()
	c, err := p.tape.Capture([]byte(line))
	return c.Value, err == nil
}

// str returns a record's member that is a string.
func str(v value.Value, key string) (string, bool) {
	m, ok := v.Get(key)
	if !ok || m.Kind() != value.String {
		return "", false
	}
	return m.Str(), true
}

// truthy tells what JavaScript's conditions make of a member.
func truthy(v value.Value, key string) bool {
	m, ok := v.Get(key)
	if !ok {
		return false
	}
	switch m.Kind() {
	case value.Null, value.Undefined, value.False, value.Invalid:
		return false
	case value.Number:
		return m.Float() != 0 && m.Float() == m.Float()
	case value.String:
		return len(m.Text()) > 0
	}
	return true
}
