package cli

import (
	"slices"
	"strings"
)

// shortKey is the least number of characters of a native id in an abbreviated key.
const shortKey = 8

// abbreviate shortens session keys for people: the source, and as much of the native
// id as tells the keys apart. What is returned can be typed.
func abbreviate(keys []string) map[string]string {
	sorted := slices.Clone(keys)
	slices.Sort(sorted)
	sorted = slices.Compact(sorted)
	short := make(map[string]string, len(sorted))
	for i, key := range sorted {
		length := strings.IndexByte(key, '/') + 1 + shortKey
		if i > 0 {
			length = max(length, commonPrefix(key, sorted[i-1])+1)
		}
		if i+1 < len(sorted) {
			length = max(length, commonPrefix(key, sorted[i+1])+1)
		}
		if length >= len(key) {
			length = len(key)
		}
		short[key] = key[:length]
	}
	return short
}

func commonPrefix(a, b string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// keyMatch says how well a session answers to what was typed.
type keyMatch int

const (
	noMatch keyMatch = iota
	beginsWith
	exactly
)

// matchKey compares a session with a typed key, native id, or beginning of either.
func matchKey(typed, key string) keyMatch {
	_, native, _ := strings.Cut(key, "/")
	switch {
	case typed == "":
		return noMatch
	case typed == key, typed == native:
		return exactly
	case strings.HasPrefix(key, typed) && strings.Contains(typed, "/"), strings.HasPrefix(native, typed):
		return beginsWith
	}
	return noMatch
}

// mostNamed is how many candidates an ambiguous key's error names.
const mostNamed = 5

// chooseKey returns the one key that answers to what was typed. A whole key or native
// id wins over beginnings; several answers or none are usage errors.
func chooseKey(typed string, keys []string) (string, error) {
	var begin, whole []string
	for _, key := range keys {
		switch matchKey(typed, key) {
		case exactly:
			whole = append(whole, key)
		case beginsWith:
			begin = append(begin, key)
		}
	}
	found := whole
	if len(found) == 0 {
		found = begin
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return "", &failure{exit: exitFailed, code: "no-such-session", session: typed,
			message: "no published session answers to " + typed, hint: "see them all: agentsync ls --all"}
	}
	slices.Sort(found)
	more := ""
	if len(found) > mostNamed {
		found, more = found[:mostNamed], ", …"
	}
	return "", usageError("type more of it: "+joined(found)+more, "several sessions answer to %s", typed)
}
