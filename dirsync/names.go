package dirsync

import (
	"errors"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// Folding says which names the project's file system takes for the same. It is probed,
// never guessed.
type Folding struct {
	Case        bool `json:"case"`        // letters that differ in case only
	Composition bool `json:"composition"` // composed and decomposed characters
}

// MaxPath is the longest path, in bytes, that a dataset can name.
const MaxPath = 4096

const maxName = 255 // bytes of one name; common file systems take no more

// CheckPath returns an error unless path is fit for a dataset: UTF-8, at most MaxPath
// bytes, composed (NFC), slash-separated, without an empty, "." or ".." segment, a
// backslash or a NUL.
func CheckPath(path string) error {
	switch {
	case path == "":
		return errors.New("is empty")
	case len(path) > MaxPath:
		return errors.New("is longer than 4096 bytes")
	case !utf8.ValidString(path):
		return errors.New("is not UTF-8")
	case !isASCII(path) && !norm.NFC.IsNormalString(path):
		return errors.New("is not composed (NFC)")
	case strings.ContainsAny(path, "\\\x00"):
		return errors.New("holds a backslash or a NUL")
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return errors.New("has an empty, . or .. segment")
		}
	}
	return nil
}

// Wire is the path that a dataset has for a path on disk: the composed form (NFC). ok
// is false when no dataset can name it.
func Wire(disk string) (path string, ok bool) {
	path = disk
	if !isASCII(disk) {
		if !utf8.ValidString(disk) {
			return "", false
		}
		path = norm.NFC.String(disk)
	}
	return path, CheckPath(path) == nil
}

// key is what two paths share that the project's file system takes for the same.
func (f Folding) key(path string) string {
	if !f.Case {
		return path // wire paths are composed already
	}
	if lower, ok := lowerASCII(path); ok {
		return lower
	}
	return norm.NFC.String(cases.Fold().String(path))
}

// lowerASCII lowers plain letters; ok is false where there is more to do.
func lowerASCII(s string) (lower string, ok bool) {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return "", false
		}
	}
	return strings.ToLower(s), true
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// NameRules are the names that a file system takes.
type NameRules uint8

// The name rules of a project's system.
const (
	UnixNames NameRules = iota
	WindowsNames
)

// refuses reports that a name of a dataset cannot stand on the project's side.
func (r NameRules) refuses(name string) bool {
	if len(name) > maxName {
		return true
	}
	if r == UnixNames {
		return false
	}
	if strings.ContainsAny(name, `<>:"|?*\`) || strings.IndexFunc(name, func(c rune) bool { return c < 0x20 }) >= 0 {
		return true
	}
	return strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") || isDevice(name)
}

// isDevice reports the names that Windows keeps for devices, with any extension.
func isDevice(name string) bool {
	stem, _, _ := strings.Cut(name, ".")
	stem = strings.ToUpper(strings.TrimRight(stem, " "))
	switch stem {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	digits := []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³"}
	for _, d := range digits {
		if stem == "COM"+d || stem == "LPT"+d {
			return true
		}
	}
	return false
}

// SafeTarget reports a link that means the same on every machine and stays below the
// root: relative, counted by depth, without a colon or backslash, at most 247 bytes.
func SafeTarget(path, target string) bool {
	if target == "" || len(target) > maxTarget || !utf8.ValidString(target) ||
		strings.ContainsAny(target, ":\\\x00") || strings.HasPrefix(target, "/") {
		return false
	}
	depth := strings.Count(path, "/")
	for segment := range strings.SplitSeq(target, "/") {
		switch segment {
		case "", ".":
		case "..":
			if depth--; depth < 0 {
				return false
			}
		default:
			depth++
		}
	}
	return true
}

const maxTarget = 247 // bytes of a link's target
