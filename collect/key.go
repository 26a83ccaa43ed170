package collect

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/language"
)

// ErrEmpty is the reason of a KeyError when nothing is left after trimming.
var ErrEmpty = errors.New("empty")

// KeyError reports an identity that no session key can hold.
type KeyError struct {
	Part   string // source id, session id or session key
	Reason error
}

func (e *KeyError) Error() string { return e.Part + ": " + e.Reason.Error() }

func (e *KeyError) Unwrap() error { return e.Reason }

// SourceID returns the canonical form of a source's id: trimmed as ECMAScript trims,
// then lower-cased by Unicode's full mapping (spec 5.2). An empty id, a control
// character, text that is no valid UTF-8, or a dot or two, which as the name of a folder
// would be another one's, is a *KeyError.
func SourceID(id string) (string, error) {
	trimmed, err := identity("source id", id)
	if trimmed == "." || trimmed == ".." {
		return "", &KeyError{"source id", fmt.Errorf("%q is no name", trimmed)}
	}
	if err != nil || lowerASCII(trimmed) {
		return trimmed, err
	}
	return cases.Lower(language.Und).String(trimmed), nil
}

// SessionID returns a native session id trimmed as SourceID trims; its letters keep
// their case. It refuses what SourceID refuses.
func SessionID(id string) (string, error) { return identity("session id", id) }

// SessionKey joins a source and a session of it to the key that names the session
// everywhere: both ids in canonical form, percent-encoded, with a slash between them
// (spec 5.2). It fails as SourceID and SessionID do.
func SessionKey(sourceID, nativeSessionID string) (string, error) {
	source, err := SourceID(sourceID)
	if err != nil {
		return "", err
	}
	session, err := SessionID(nativeSessionID)
	if err != nil {
		return "", err
	}
	return EncodeComponent(source) + "/" + EncodeComponent(session), nil
}

// ParseKey takes a session key apart. Only the exact text that SessionKey makes of the
// two ids is a key; everything else is a *KeyError.
func ParseKey(key string) (sourceID, nativeSessionID string, err error) {
	source, session, found := strings.Cut(key, "/")
	sourceID, okSource := DecodeComponent(source)
	nativeSessionID, okSession := DecodeComponent(session)
	if !found || !okSource || !okSession {
		return "", "", malformed(key)
	}
	if again, err := SessionKey(sourceID, nativeSessionID); err != nil || again != key {
		return "", "", malformed(key)
	}
	return sourceID, nativeSessionID, nil
}

func malformed(key string) error {
	return &KeyError{"session key", fmt.Errorf("not of the form source/session: %.80q", key)}
}

// identity trims a part and refuses what no key can hold.
func identity(part, id string) (string, error) {
	if !utf8.ValidString(id) {
		return "", &KeyError{part, fmt.Errorf("not valid Unicode: %.80q", id)}
	}
	trimmed := strings.TrimFunc(id, blank)
	if trimmed == "" {
		return "", &KeyError{part, ErrEmpty}
	}
	if strings.IndexFunc(trimmed, control) >= 0 {
		return "", &KeyError{part, fmt.Errorf("holds a control character: %.80q", id)}
	}
	return trimmed, nil
}

// blank reports ECMAScript's white space and line ends. U+0085 is none of them.
func blank(r rune) bool {
	switch {
	case r >= '\t' && r <= '\r', r == ' ', r == 0xA0, r == 0x1680:
		return true
	case r >= 0x2000 && r <= 0x200A, r == 0x2028, r == 0x2029:
		return true
	}
	return r == 0x202F || r == 0x205F || r == 0x3000 || r == 0xFEFF
}

func control(r rune) bool { return r < 0x20 || r == 0x7F }

// lowerASCII reports text that lower-casing leaves as it is.
func lowerASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf || s[i] >= 'A' && s[i] <= 'Z' {
			return false
		}
	}
	return true
}

const upperHex = "0123456789ABCDEF"

// EncodeComponent percent-encodes as ECMAScript's encodeURIComponent does.
func EncodeComponent(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if c := s[i]; unreserved(c) {
			b.WriteByte(c)
		} else {
			b.WriteByte('%')
			b.WriteByte(upperHex[c>>4])
			b.WriteByte(upperHex[c&15])
		}
	}
	return b.String()
}

func unreserved(c byte) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	}
	return strings.IndexByte("-_.!~*'()", c) >= 0
}

// DecodeComponent undoes EncodeComponent; ok is false for a broken escape.
func DecodeComponent(s string) (text string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", false
		}
		high, low := strings.IndexByte(upperHex, s[i+1]), strings.IndexByte(upperHex, s[i+2])
		if high < 0 || low < 0 {
			return "", false
		}
		b.WriteByte(byte(high<<4 | low))
		i += 2
	}
	return b.String(), true
}
