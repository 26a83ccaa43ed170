package value

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	ones = 0x0101010101010101
	tops = 0x8080808080808080
)

// skip returns the index of the first quote, backslash or control byte from i on, and
// whether a byte before it is not ASCII.
func skip(b []byte, i int) (at int, high bool) {
	var seen uint64
	for len(b)-i >= 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		q, e := x^(ones*'"'), x^(ones*'\\')
		if m := ((q-ones)&^q | (e-ones)&^e | (x-ones*0x20)&^x) & tops; m != 0 {
			n := bits.TrailingZeros64(m) &^ 7
			seen |= x & (1<<n - 1)
			return i + n>>3, seen&tops != 0
		}
		seen |= x
		i += 8
	}
	for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= 0x20 {
		seen |= uint64(b[i])
		i++
	}
	return i, seen&tops != 0
}

// str lays the string whose opening quote is at hand.
func (s *scanner) str() bool {
	start := s.i + 1
	end, high := skip(s.b, start)
	if end >= len(s.b) || s.b[end] != '"' {
		return s.escaped(start, end, high)
	}
	if high && !utf8.Valid(s.b[start:end]) {
		return s.stop("string is not valid UTF-8")
	}
	s.lay(node{String, plain, uint32(end - start), uint64(s.base + start)})
	s.canon += end - start + 2
	s.i = end + 1
	return true
}

// escaped lays a string that has escapes, the first of them at i.
func (s *scanner) escaped(start, i int, high bool) bool {
	side, more := append(s.t.side, s.b[start:i]...), false
	length := i - start
	for i < len(s.b) && s.b[i] == '\\' {
		var canon int
		if side, i, canon = unescape(side, s.b, i); canon == 0 {
			s.i = i
			return s.stop("unknown escape in a string")
		}
		from := i
		i, more = skip(s.b, from)
		high = high || more
		side = append(side, s.b[from:i]...)
		length += canon + i - from
	}
	s.i = i
	if i >= len(s.b) {
		return s.stop("text ends inside a string")
	}
	if s.b[i] != '"' {
		return s.stop("control byte in a string")
	}
	if high && !utf8.Valid(s.b[start:i]) {
		return s.stop("string is not valid UTF-8")
	}
	s.lay(node{String, aside, uint32(len(side) - len(s.t.side)), uint64(len(s.t.side))})
	s.t.side = side
	s.canon += length + 2
	s.i = i + 1
	return true
}

// short maps the letter of a short escape to its byte.
var short = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescape appends what the escape at i stands for. It returns the index after it and
// the length of its canonical text, 0 for an escape that JSON does not know.
func unescape(dst, b []byte, i int) (out []byte, after, canon int) {
	if i+1 >= len(b) {
		return dst, i, 0
	}
	letter := b[i+1]
	if c := short[letter]; c != 0 {
		if c == '/' {
			return append(dst, c), i + 2, 1
		}
		return append(dst, c), i + 2, 2
	}
	unit, ok := hex4(b, i)
	if !ok {
		return dst, i, 0
	}
	if !utf16.IsSurrogate(unit) {
		return utf8.AppendRune(dst, unit), i + 6, canonical(unit)
	}
	if low, ok := hex4(b, i+6); ok {
		if r := utf16.DecodeRune(unit, low); r != utf8.RuneError {
			return utf8.AppendRune(dst, r), i + 12, 4
		}
	}
	return appendSurrogate(dst, unit), i + 6, 6
}

// canonical is the length of a character's canonical text, surrogates aside.
func canonical(r rune) int {
	switch {
	case r >= 0x20 && r != '"' && r != '\\':
		return utf8.RuneLen(r)
	case r < 0x20 && letters[r] == 0:
		return 6
	}
	return 2
}

// appendSurrogate appends the three bytes of a lone surrogate.
func appendSurrogate(dst []byte, unit rune) []byte {
	return append(dst, 0xED, byte(0x80|unit>>6&0x3F), byte(0x80|unit&0x3F))
}

// hex4 reads the escape \uXXXX at i.
func hex4(b []byte, i int) (unit rune, ok bool) {
	if len(b)-i < 6 || b[i] != '\\' || b[i+1] != 'u' {
		return 0, false
	}
	for _, c := range b[i+2 : i+6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|32 >= 'a' && c|32 <= 'f':
			c = c | 32 - 'a' + 10
		default:
			return 0, false
		}
		unit = unit<<4 | rune(c)
	}
	return unit, true
}

// wellFormed returns s as WTF-8: bytes that are none become U+FFFD each, and two
// surrogate halves that meet become the character they stand for.
func wellFormed(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		unit, ok := surrogate(s[i:])
		if !ok {
			r, n := utf8.DecodeRuneInString(s[i:])
			dst = utf8.AppendRune(dst, r)
			i += n
			continue
		}
		i += 3
		if low, ok := surrogate(s[i:]); ok {
			if r := utf16.DecodeRune(unit, low); r != utf8.RuneError {
				dst = utf8.AppendRune(dst, r)
				i += 3
				continue
			}
		}
		dst = appendSurrogate(dst, unit)
	}
	return dst
}

// surrogate reads the three bytes of a surrogate at the start of s.
func surrogate[T string | []byte](s T) (unit rune, ok bool) {
	if len(s) < 3 || s[0] != 0xED || s[1]&0xE0 != 0xA0 || s[2]&0xC0 != 0x80 {
		return 0, false
	}
	return 0xD000 | rune(s[1]&0x3F)<<6 | rune(s[2]&0x3F), true
}
