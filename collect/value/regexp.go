package value

import (
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// errPattern is the error for a source or flags that ECMAScript would not compile.
var errPattern = errors.New("not an es2025 regular expression")

// checkRegExp tells whether a source and flags make an ECMAScript 2025 regular
// expression, by the language's grammar with its extensions for the web where neither
// u nor v is set. Property names, and what stands in the classes of the v flag, are
// checked for their form only.
func checkRegExp(source, flags string) error {
	for i, f := range flags {
		if !strings.ContainsRune("dgimsuvy", f) || strings.ContainsRune(flags[:i], f) {
			return errPattern
		}
	}
	full, sets := strings.Contains(flags, "u"), strings.Contains(flags, "v")
	p := pattern{source: []rune(source), strict: full || sets, sets: sets}
	p.named = p.strict
	ok := p.whole()
	if ok && len(p.names) > 0 && !p.named { // \k means a name only where a group has one
		p = pattern{source: p.source, named: true}
		ok = p.whole()
	}
	if full && sets || !ok {
		return errPattern
	}
	return nil
}

// pattern is a regular expression being read; its methods report false for an error.
type pattern struct {
	source  []rune
	at      int
	depth   int
	strict  bool     // the grammar of u and v
	sets    bool     // the classes of v
	named   bool     // \k is a reference
	groups  int      // capturing ones so far
	back    int      // greatest number referred to
	names   []string // of all groups
	visible []string // of groups that can match together with the next one
	wanted  []string // names referred to
}

func (p *pattern) whole() bool {
	if !p.disjunction() || p.at < len(p.source) || p.strict && p.back > p.groups {
		return false
	}
	for _, name := range p.wanted {
		if !slices.Contains(p.names, name) {
			return false
		}
	}
	return true
}

// peek is the rune at hand, -1 at the end.
func (p *pattern) peek() rune {
	if p.at < len(p.source) {
		return p.source[p.at]
	}
	return -1
}

// take steps over a text if it stands here.
func (p *pattern) take(s string) bool {
	n := utf8.RuneCountInString(s)
	if len(p.source)-p.at < n || string(p.source[p.at:p.at+n]) != s {
		return false
	}
	p.at += n
	return true
}

// disjunction reads alternatives up to a closing parenthesis or the end. Two groups may
// have one name when they stand in different alternatives.
func (p *pattern) disjunction() bool {
	if p.depth++; p.depth > MaxDepth {
		return false
	}
	before := len(p.visible)
	var all []string
	for more := true; more; more = p.take("|") {
		p.visible = p.visible[:before:before]
		for c := p.peek(); c != -1 && c != '|' && c != ')'; c = p.peek() {
			if !p.term() {
				return false
			}
		}
		all = append(all, p.visible[before:]...)
	}
	p.visible = append(p.visible[:before:before], all...)
	p.depth--
	return true
}

func (p *pattern) term() bool {
	switch c := p.peek(); c {
	case '^', '$':
		p.at++
		return true
	case '(':
		return p.group()
	case '[':
		return p.class() && p.quantifier()
	case '\\':
		p.at++
		if c := p.peek(); c == 'b' || c == 'B' {
			p.at++
			return true
		}
		_, ok := p.escape(false)
		return ok && p.quantifier()
	case '*', '+', '?':
		return false
	case '{', '}', ']':
		if _, is := p.braces(); p.strict || is {
			return false
		}
	}
	p.at++
	return p.quantifier()
}

// group reads a parenthesis of any sort.
func (p *pattern) group() bool {
	quantified := true
	switch {
	case p.take("(?="), p.take("(?!"):
		quantified = !p.strict
	case p.take("(?<="), p.take("(?<!"):
		quantified = false
	case p.take("(?<"):
		name, ok := p.name()
		if !ok || slices.Contains(p.visible, name) {
			return false
		}
		p.names, p.visible, p.groups = append(p.names, name), append(p.visible, name), p.groups+1
	case p.take("(?"):
		if !p.modifiers() {
			return false
		}
	default:
		p.at++
		p.groups++
	}
	if !p.disjunction() || !p.take(")") {
		return false
	}
	return !quantified || p.quantifier()
}

// modifiers reads the flags of a group up to its colon: none, or some to set and some
// to clear, no flag twice.
func (p *pattern) modifiers() bool {
	from := p.at
	for strings.ContainsRune("ims-", p.peek()) {
		p.at++
	}
	flags := string(p.source[from:p.at])
	for i, f := range flags {
		if strings.ContainsRune(flags[:i], f) {
			return false
		}
	}
	return flags != "-" && p.take(":")
}

// name reads a group's name and the bracket after it.
func (p *pattern) name() (string, bool) {
	var name []rune
	for !p.take(">") {
		c := p.peek()
		p.at++
		if c == '\\' {
			u := p.take("u")
			var ok bool
			if c, ok = p.unicodeEscape(true); !ok || !u {
				return "", false
			}
		}
		start := c == '$' || c == '_' || unicode.IsLetter(c) || unicode.Is(unicode.Nl, c) || unicode.Is(unicode.Other_ID_Start, c)
		part := unicode.In(c, unicode.Mn, unicode.Mc, unicode.Nd, unicode.Pc, unicode.Other_ID_Continue) || c == 0x200C || c == 0x200D
		if !start && (!part || len(name) == 0) {
			return "", false
		}
		name = append(name, c)
	}
	return string(name), len(name) > 0
}

// quantifier steps over a quantifier if one stands here.
func (p *pattern) quantifier() bool {
	ordered, is := p.braces()
	if is && !ordered {
		return false
	}
	if is || p.take("*") || p.take("+") || p.take("?") {
		p.take("?")
	}
	return true
}

// braces steps over {n}, {n,} or {n,m} and reports whether it is one and in order.
func (p *pattern) braces() (ordered, is bool) {
	from := p.at
	if p.take("{") {
		if low := p.digits(); low != "" {
			high := low
			if p.take(",") {
				high = p.digits()
			}
			if p.take("}") {
				return high == "" || len(low) < len(high) || len(low) == len(high) && low <= high, true
			}
		}
	}
	p.at = from
	return false, false
}

// digits reads decimal digits, zeros before them left out but for one.
func (p *pattern) digits() string {
	from := p.at
	for c := p.peek(); c >= '0' && c <= '9'; c = p.peek() {
		p.at++
	}
	if from == p.at {
		return ""
	}
	if s := strings.TrimLeft(string(p.source[from:p.at]), "0"); s != "" {
		return s
	}
	return "0"
}
