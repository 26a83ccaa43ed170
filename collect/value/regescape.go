package value

import (
	"strconv"
	"strings"
	"unicode/utf16"
)

// many is what an escape or class stands for when it is no single character.
const many = -1

// escape reads what follows a backslash, in a class or outside, and returns the
// character it stands for, or many.
func (p *pattern) escape(inClass bool) (rune, bool) {
	c := p.peek()
	p.at++
	switch {
	case c == -1:
		return 0, false
	case strings.ContainsRune("dDsSwW", c):
		return many, true
	case (c == 'p' || c == 'P') && p.strict:
		return many, p.property()
	case c == 'k' && p.named && !inClass:
		if !p.take("<") {
			return 0, false
		}
		name, ok := p.name()
		p.wanted = append(p.wanted, name)
		return many, ok
	case c >= '0' && c <= '9':
		return p.number(c, inClass)
	case c == 'c':
		return p.control(inClass)
	case c == 'x':
		if n, ok := p.hex(2); ok {
			return n, true
		}
		return c, !p.strict
	case c == 'u':
		if n, ok := p.unicodeEscape(p.strict); ok {
			return n, true
		}
		return c, !p.strict
	}
	if i := strings.IndexRune("fnrtv", c); i >= 0 {
		return []rune("\f\n\r\t\v")[i], true
	}
	if inClass && (c == 'b' || c == '-' && p.strict) {
		return map[rune]rune{'b': '\b', '-': '-'}[c], true
	}
	if p.strict {
		return c, strings.ContainsRune("^$\\.*+?()[]{}|/", c) || p.sets && inClass && strings.ContainsRune("&-!#%,:;<=>@`~", c)
	}
	return c, c != 'k' || !p.named
}

// property reads a property's braces: a name, or a name and a value.
func (p *pattern) property() bool {
	if !p.take("{") {
		return false
	}
	name, value, both := "", "", false
	for c := p.peek(); !p.take("}"); c = p.peek() {
		switch {
		case c == '=' && !both:
			both = true
		case c > 0x7F || !strings.ContainsRune("_0123456789", c) && (c|0x20 < 'a' || c|0x20 > 'z'):
			return false
		case both:
			value += string(c)
		default:
			name += string(c)
		}
		p.at++
	}
	return name != "" && (!both || value != "")
}

// number reads a back reference or a character's number, whose first digit was c.
func (p *pattern) number(c rune, inClass bool) (rune, bool) {
	next := p.peek()
	digit := next >= '0' && next <= '9'
	switch {
	case c == '0' && !digit:
		return 0, true
	case p.strict && (c == '0' || inClass):
		return 0, false
	case c != '0' && !inClass:
		p.at--
		n, err := strconv.Atoi(p.digits())
		if err != nil {
			n = 1<<31 - 1
		}
		p.back = max(p.back, n)
		return many, true
	}
	n := c - '0' // an octal number, or the digit itself
	for i := 0; c < '8' && i < 2 && p.peek() >= '0' && p.peek() < '8' && n*8+p.peek()-'0' < 256; i++ {
		n = n*8 + p.peek() - '0'
		p.at++
	}
	if c >= '8' {
		n = c
	}
	return n, true
}

func (p *pattern) control(inClass bool) (rune, bool) {
	c := p.peek()
	letter := c|0x20 >= 'a' && c|0x20 <= 'z'
	if letter || inClass && !p.strict && (c >= '0' && c <= '9' || c == '_') {
		p.at++
		return c % 32, true
	}
	if p.strict {
		return 0, false
	}
	p.at-- // the backslash stands for itself
	return '\\', true
}

// hex reads exactly n hexadecimal digits, or none.
func (p *pattern) hex(n int) (rune, bool) {
	if len(p.source)-p.at < n {
		return 0, false
	}
	v, err := strconv.ParseUint(string(p.source[p.at:p.at+n]), 16, 32)
	if err != nil {
		return 0, false
	}
	p.at += n
	return rune(v), true
}

// unicodeEscape reads what follows \u: four digits, a pair of such escapes, or where
// full is set also a number in braces.
func (p *pattern) unicodeEscape(full bool) (rune, bool) {
	from := p.at
	if full && p.take("{") {
		end := p.at
		for end < len(p.source) && p.source[end] != '}' {
			end++
		}
		v, err := strconv.ParseUint(string(p.source[p.at:end]), 16, 32)
		if err != nil || v > 0x10FFFF || end == len(p.source) {
			p.at = from
			return 0, false
		}
		p.at = end + 1
		return rune(v), true
	}
	high, ok := p.hex(4)
	if !ok || !full || !utf16.IsSurrogate(high) {
		return high, ok
	}
	after := p.at
	if p.take("\\u") {
		if low, ok := p.hex(4); ok {
			if r := utf16.DecodeRune(high, low); r != '\uFFFD' {
				return r, true
			}
		}
	}
	p.at = after
	return high, true
}

// class reads a character class.
func (p *pattern) class() bool {
	p.at++
	p.take("^")
	if p.sets {
		return p.set()
	}
	for !p.take("]") {
		from, ok := p.classAtom()
		if !ok {
			return false
		}
		if p.peek() != '-' || p.at+1 < len(p.source) && p.source[p.at+1] == ']' {
			continue
		}
		p.at++
		to, ok := p.classAtom()
		if !ok || (from == many || to == many) && p.strict || from != many && to != many && from > to {
			return false
		}
	}
	return true
}

func (p *pattern) classAtom() (rune, bool) {
	c := p.peek()
	p.at++
	if c == '\\' {
		return p.escape(true)
	}
	return c, c != -1
}

// set reads a class of the v flag up to its bracket, for its form.
func (p *pattern) set() bool {
	if p.depth++; p.depth > MaxDepth {
		return false
	}
	for !p.take("]") {
		switch c := p.peek(); {
		case c == '[':
			if !p.class() {
				return false
			}
		case p.take("\\q{"):
			for c := p.peek(); c != '}'; c = p.peek() {
				if _, ok := p.classAtom(); !ok {
					return false
				}
			}
			p.at++
		case strings.ContainsRune("(){}/|", c):
			return false
		default:
			if _, ok := p.classAtom(); !ok {
				return false
			}
		}
	}
	p.depth--
	return true
}
