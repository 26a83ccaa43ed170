package value

import (
	"math"
	"strconv"
)

// sure is the number of decimal digits that a double always keeps.
const sure = 15

// tens are the powers of ten that a double holds exactly and that sure digits need.
var tens = [sure + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// digits reads decimal digits from i on into m, which wraps around past 19 of them.
func (s *scanner) digits(i int, m uint64) (int, uint64) {
	for i < len(s.b) && s.b[i]-'0' <= 9 {
		m = m*10 + uint64(s.b[i]-'0')
		i++
	}
	return i, m
}

func (s *scanner) number() bool {
	start, first := s.i, s.i
	if s.b[start] == '-' {
		first++
	}
	i, m := s.digits(first, 0)
	if i == first || i-first > 1 && s.b[first] == '0' {
		return s.stop("malformed number")
	}
	if i < len(s.b) && (s.b[i] == '.' || s.b[i]|0x20 == 'e') {
		return s.fraction(start, first, i, m)
	}
	s.i = i
	if i-first > sure || m == 0 && first > start {
		return s.slow(s.b[start:i])
	}
	f := float64(m)
	if first > start {
		f = -f
	}
	s.double(f, i-start)
	return true
}

// fraction goes on after a number's whole digits, which end at i.
func (s *scanner) fraction(start, first, i int, m uint64) bool {
	point, end := i, i
	if s.b[i] == '.' {
		if end, m = s.digits(i+1, m); end == i+1 {
			return s.stop("malformed number")
		}
	}
	s.i = end
	if end < len(s.b) && s.b[end]|0x20 == 'e' {
		return s.exponent(start, end)
	}
	// With this few digits the quotient of two exact doubles is the nearest one, and
	// its shortest form has the digits of the text; small numbers and a final zero are
	// written otherwise.
	decimals := end - point - 1
	f := float64(m) / tens[min(decimals, sure)]
	if end-first-1 > sure || s.b[end-1] == '0' || f < 1e-6 {
		return s.slow(s.b[start:end])
	}
	if first > start {
		f = -f
	}
	s.double(f, end-start)
	return true
}

func (s *scanner) exponent(start, i int) bool {
	i++
	if i < len(s.b) && (s.b[i] == '+' || s.b[i] == '-') {
		i++
	}
	end, _ := s.digits(i, 0)
	if end == i {
		return s.stop("malformed number")
	}
	s.i = end
	return s.slow(s.b[start:end])
}

// slow lays the number of any well-formed text.
func (s *scanner) slow(text []byte) bool {
	f, _ := strconv.ParseFloat(string(text), 64) // the only error left is the range, which gives an infinity
	var buf [40]byte
	s.double(f, len(appendNumber(buf[:0], f)))
	return true
}

// appendNumber writes a double as ECMAScript does, and the special ones as their tag.
func appendNumber(dst []byte, f float64) []byte {
	switch {
	case f != f:
		return append(dst, `{"/SpecialNumber@1":"NaN"}`...)
	case math.IsInf(f, 1):
		return append(dst, `{"/SpecialNumber@1":"+Infinity"}`...)
	case math.IsInf(f, -1):
		return append(dst, `{"/SpecialNumber@1":"-Infinity"}`...)
	case f == 0 && math.Signbit(f):
		return append(dst, `{"/SpecialNumber@1":"-0"}`...)
	}
	if n := int64(f); float64(n) == f && n > -1<<53 && n < 1<<53 {
		return strconv.AppendInt(dst, n, 10)
	}
	if a := math.Abs(f); a >= 1e-6 && a < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	if n := len(dst); dst[n-4] == 'e' && dst[n-2] == '0' { // e-07 is e-7
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}
