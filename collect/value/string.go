package value

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	ones = 0x0101010101010101
	tops = 0x8080808080808080
)

// stops marks in its top bits the bytes of a word, the first one lowest, at or after
// the first quote, backslash or control byte; the lowest mark is that byte.
func stops(x uint64) uint64 {
	q, e := x^(ones*'"'), x^(ones*'\\')
	return ((q-ones)&^q | (e-ones)&^e | (x-ones*0x20)&^x) & tops
}

// skip returns the index of the first quote, backslash or control byte from i on, and
// whether a byte before it is not ASCII.
func skip(b []byte, i int) (at int, high bool) {
	var seen uint64
	for p := b[i:]; len(p) >= 16; p = p[16:] {
		x, y := binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[8:])
		m, n := stops(x), stops(y)
		if m|n == 0 {
			seen |= x | y
			i += 16
			continue
		}
		if m == 0 {
			seen |= x
			i, x, m = i+8, y, n
		}
		bit := bits.TrailingZeros64(m) &^ 7
		return i + bit>>3, (seen|x&(1<<bit-1))&tops != 0
	}
	for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= 0x20 {
		seen |= uint64(b[i])
		i++
	}
	return i, seen&tops != 0
}

// transfer is skip that copies the bytes it passes to out from n on, which has room
// for all of b, and for a word more.
func transfer(out []byte, n int, b []byte, i int) (end, at int, high bool) {
	var seen uint64
	for len(b)-i >= 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		binary.LittleEndian.PutUint64(out[n:], x)
		if m := stops(x); m != 0 {
			bit := bits.TrailingZeros64(m) &^ 7
			return n + bit>>3, i + bit>>3, (seen|x&(1<<bit-1))&tops != 0
		}
		seen |= x
		i += 8
		n += 8
	}
	for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= 0x20 {
		seen |= uint64(b[i])
		out[n] = b[i]
		i++
		n++
	}
	return n, i, seen&tops != 0
}

// str lays the string whose opening quote is at hand.
func (s *scanner) str() bool {
	start := s.i + 1
	end, high := skip(s.b, start)
	if end < len(s.b) && s.b[end] == '\\' {
		return s.escaped(start, end, high)
	}
	return s.finish(start, end, high, node{String, plain, uint32(end - start), uint64(s.base + start)}, end-start)
}

// escaped lays a string that has escapes, the first of them at i. What it stands for is
// never longer than its text.
func (s *scanner) escaped(start, i int, high bool) bool {
	b, from := s.b, len(s.t.side)
	out := slices.Grow(s.t.side, len(b)-start+8)
	out = out[:cap(out)]
	n := from + copy(out[from:], b[start:i])
	length, more := i-start, false
	for i+1 < len(b) && b[i] == '\\' {
		if c := short[b[i+1]]; c != 0 {
			out[n] = c
			n, i, length = n+1, i+2, length+2
			if c == '/' {
				length--
			}
		} else {
			text, after, canon := unicodeEscape(out[:n], b, i)
			if canon == 0 {
				s.i = i
				return s.stop("unknown escape in a string")
			}
			n, i, length = len(text), after, length+canon
		}
		at := i
		n, i, more = transfer(out, n, b, i)
		high, length = high || more, length+i-at
	}
	s.t.side = out[:n]
	return s.finish(start, i, high, node{String, aside, uint32(n - from), uint64(from)}, length)
}

// finish lays a string whose text must end at i.
func (s *scanner) finish(start, i int, high bool, d node, canon int) bool {
	s.i = i
	switch {
	case i >= len(s.b) || s.b[i] == '\\':
		return s.stop("text ends inside a string")
	case s.b[i] != '"':
		return s.stop("control byte in a string")
	case high && !utf8.Valid(s.b[start:i]):
		return s.stop("string is not valid UTF-8")
	}
	s.lay(d)
	s.canon += canon + 2
	s.i = i + 1
	return true
}

// short maps the letter of a short escape to its byte.
var short = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unicodeEscape appends what the escape \uXXXX at i stands for, or a pair of them. It
// returns the index after it and the length of its canonical text, 0 for another escape.
func unicodeEscape(dst, b []byte, i int) (out []byte, after, canon int) {
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
