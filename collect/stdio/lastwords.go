package stdio

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	wordsWait  = 250 * time.Millisecond // for a child whose connection has ended to end itself
	wordsLines = 3                      // lines of standard error that an error repeats
	wordsMost  = 300                    // characters of them
	secretLeft = 8                      // bytes; a shorter value of a variable hides nothing
	masked     = "[masked]"
)

// Ending says how the child ended and what it last wrote to standard error, as one line
// that may stand in an error: a few lines, cut, without control characters, and with what
// looks like a credential masked. It gives a child that is about to end a moment, and is
// "" when it goes on.
func (p *Process) Ending() string {
	if !within(p.done, wordsWait) {
		return ""
	}
	how := "a signal ended it"
	if code, signaled := p.Exit(); !signaled {
		how = fmt.Sprintf("it ended with exit code %d", code)
	}
	if said := lastWords(string(p.stderr.kept()), p.cmd.Env); said != "" {
		return how + "; its last words: " + said
	}
	return how
}

// lastWords makes the end of a program's standard error fit for an error. Values of the
// variables that may hold a secret are masked wherever they stand.
func lastWords(text string, env []string) string {
	var lines []string
	text = escapes.ReplaceAllString(strings.ToValidUTF8(text, "\uFFFD"), "")
	for line := range strings.Lines(text) {
		line = strings.TrimFunc(line, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
		if line != "" {
			lines = append(lines, line)
		}
	}
	said := strings.Join(lines[max(0, len(lines)-wordsLines):], " / ")
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		if len(value) >= secretLeft && secretName.MatchString(name) {
			said = strings.ReplaceAll(said, value, masked)
		}
	}
	said = namedSecret.ReplaceAllString(said, "${1}"+masked)
	said = opaque.ReplaceAllStringFunc(said, maskOpaque)
	said = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, said)
	if n := utf8.RuneCountInString(said); n > wordsMost {
		said = "…" + string([]rune(said)[n-wordsMost:])
	}
	return said
}

var (
	escapes     = regexp.MustCompile("\x1b\\[[0-9;?]*[ -/]*[@-~]")
	secretName  = regexp.MustCompile(`(?i)key|token|secret|pass|auth|credential|cookie`)
	namedSecret = regexp.MustCompile(`(?i)((?:bearer|basic) +|(?:key|token|secret|password|passwd|authorization|cookie)["']? *[:=] *["']?)[^\s"',;]+`)
	opaque      = regexp.MustCompile(`[A-Za-z0-9_+=.-]{20,}`)
)

// maskOpaque masks a long run that has letters and digits mixed, as keys have, and leaves
// alone what reads like words or a file's name.
func maskOpaque(run string) string {
	parts := strings.FieldsFunc(run, func(r rune) bool { return r == '-' || r == '_' || r == '.' })
	if slices.ContainsFunc(parts, func(part string) bool {
		return len(part) >= 12 && strings.ContainsAny(part, "0123456789") && strings.ContainsFunc(part, unicode.IsLetter)
	}) {
		return masked
	}
	return run
}
