package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one mistake in a configuration file. It never repeats a value of env,
// nor anything of an address that may hold a password.
type Problem struct {
	File    string
	Line    int    // 1-based, 0 when the file as a whole is meant
	Column  int    // 1-based, 0 with Line
	Key     string // such as sources[0].driver, "" when none is meant
	Message string
	Hint    string // what could be written instead, "" for no idea
}

// String returns the mistake as one line: file:line: key: message (hint).
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d", p.Line)
	}
	if p.Key != "" {
		b.WriteString(": " + p.Key)
	}
	b.WriteString(": " + p.Message)
	if p.Hint != "" {
		b.WriteString(" (" + p.Hint + ")")
	}
	return b.String()
}

// InvalidError reports everything that is wrong with a configuration file, in the
// order of its lines.
type InvalidError struct{ Problems []Problem }

func (e *InvalidError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// SetupError reports that something outside the file is missing or cannot be used,
// and what can be typed to mend it.
type SetupError struct {
	Err  error
	Hint string
}

func (e *SetupError) Error() string { return e.Err.Error() }

func (e *SetupError) Unwrap() error { return e.Err }

// sorted returns the problems as an error, nil when there are none.
func sorted(problems []Problem) error {
	if len(problems) == 0 {
		return nil
	}
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return &InvalidError{problems}
}

// nearest returns the known word that was probably meant, "" when none is near.
func nearest(word string, known []string) string {
	best, least := "", max(len(word)/3, 1)+1
	for _, candidate := range known {
		if d := distance(strings.ToLower(word), strings.ToLower(candidate)); d < least {
			best, least = candidate, d
		}
	}
	return best
}

// distance counts the insertions, deletions, replacements and swaps of neighbours
// that turn a into b.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	if len(x) > 64 || len(y) > 64 {
		return 64 // nobody mistypes that much
	}
	var before, last []int
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(x); i++ {
		before, last, row = last, row, make([]int, len(y)+1)
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(y)]
}

// meant words the hint for a mistyped word: the near one, or all there are.
func meant(word string, known []string) string {
	if near := nearest(word, known); near != "" {
		return "did you mean " + near + "?"
	}
	return "known: " + strings.Join(known, ", ")
}
