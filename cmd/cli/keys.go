package cli

import (
	"slices"
	"strings"
)

// shortKey is the least number of characters of a native id in an abbreviated key.
const shortKey = 8

// abbreviate shortens session keys for people: the source, and as much of the native
// id as tells the keys apart. What is returned can be typed. A key that others begin
// with, as those of children do, is told apart from the rest alone.
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
		next := i + 1
		for next < len(sorted) && strings.HasPrefix(sorted[next], key) {
			next++
		}
		if next < len(sorted) {
			length = max(length, commonPrefix(key, sorted[next])+1)
		}
		short[key] = key[:min(length, len(key))]
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

// childMarkInKey is the slash between the id of a session and what tells a child of it,
// as a key holds it.
const childMarkInKey = "%2F"

// answers reports whether a session is meant by what was typed: its key, its native
// id, or the beginning of either.
func answers(typed, key string) bool {
	_, native, _ := strings.Cut(key, "/")
	return typed != "" && (strings.HasPrefix(key, typed) || strings.HasPrefix(native, typed))
}

// mostNamed is how many candidates an ambiguous key's error names.
const mostNamed = 5

// onlyKey returns the one key that was found for what was typed; of a session and its
// children, which begin with its key, the session. None and several are errors:
// nothing is guessed.
func onlyKey(typed string, found []string) (string, error) {
	if len(found) == 0 {
		return "", &failure{exit: exitFailed, code: "no-such-session", session: typed,
			message: "no published session answers to " + typed, hint: "see them all: agentsync ls --all"}
	}
	named, more := slices.Sorted(slices.Values(found)), ""
	if !slices.ContainsFunc(named, func(key string) bool { return key != named[0] && !strings.HasPrefix(key, named[0]+childMarkInKey) }) {
		return named[0], nil
	}
	if len(named) > mostNamed {
		named, more = named[:mostNamed], ", …"
	}
	return "", usageError("type more of it: "+joined(named)+more, "several sessions answer to %s", typed)
}
