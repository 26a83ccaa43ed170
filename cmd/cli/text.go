package cli

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// ellipsis stands where text was cut.
const ellipsis = "…"

// clean makes text from files and stores fit for a terminal: one line, no control
// characters, nothing that turns the direction of what follows, no broken UTF-8.
// Runs of blanks become one.
func clean(s string) string {
	if isClean(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	blank := false
	for _, r := range s {
		if unicode.IsSpace(r) {
			blank = true
			continue
		}
		if blank && b.Len() > 0 {
			b.WriteByte(' ')
		}
		blank = false
		b.WriteRune(visible(r))
	}
	return b.String()
}

// isClean reports the common case: printable ASCII with single blanks.
func isClean(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c >= 0x7f || c == ' ' && (i == 0 || i == len(s)-1 || s[i-1] == ' ') {
			return false
		}
	}
	return true
}

// visible replaces what a terminal would obey instead of show.
func visible(r rune) rune {
	switch {
	case unicode.IsControl(r), r == '\u200e', r == '\u200f', r == '\u061c',
		r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
		return utf8.RuneError
	}
	return r
}

// printable is clean for text of our own that may quote others' and has its own
// spacing: every control character but a line feed is replaced, blanks are kept.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' {
			return r
		}
		return visible(r)
	}, s)
}

// textWidth is the number of terminal columns that s takes.
func textWidth(s string) int {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return uniseg.StringWidth(s)
		}
	}
	return len(s)
}

// cut shortens s to at most width columns, whole characters only, with an
// ellipsis where something was left out.
func cut(s string, width int) string {
	if textWidth(s) <= width {
		return s
	}
	if width < 1 {
		return ""
	}
	kept, used, state := 0, 0, -1
	for rest := s; rest != ""; {
		var cluster string
		var columns int
		cluster, rest, columns, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if used+columns > width-1 {
			break
		}
		used += columns
		kept += len(cluster)
	}
	return s[:kept] + ellipsis
}

// cutFront is cut with the end of s kept.
func cutFront(s string, width int) string {
	for rest, state := s, -1; textWidth(s) > width && rest != ""; {
		_, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if textWidth(rest)+1 <= width {
			return ellipsis + rest
		}
	}
	return cut(s, width)
}

// wrap breaks text at blanks into lines of at most width columns. Lines that start
// with a blank are kept as they are.
func wrap(text string, width int) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(text, "\n") {
		if paragraph == "" || paragraph[0] == ' ' {
			lines = append(lines, paragraph)
			continue
		}
		line := ""
		for _, word := range strings.Fields(paragraph) {
			switch {
			case line == "":
				line = word
			case textWidth(line)+1+textWidth(word) > width:
				lines = append(lines, line)
				line = word
			default:
				line += " " + word
			}
		}
		lines = append(lines, line)
	}
	return lines
}
