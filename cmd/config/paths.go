package config

import (
	"errors"
	"path"
	"strings"
)

// system is the operating system whose paths are meant; a GOOS value. Paths are
// settled by text alone, so that the rules of each system are tested on every one.
type system string

const windows system = "windows"

// absolute reports a path that does not depend on a working folder.
func (s system) absolute(p string) bool {
	if s != windows {
		return strings.HasPrefix(p, "/")
	}
	p = strings.ReplaceAll(p, "/", `\`)
	return strings.HasPrefix(p, `\\`) || len(p) > 2 && s.drive(p) && p[2] == '\\'
}

// drive reports a path that starts with a drive letter.
func (s system) drive(p string) bool {
	return s == windows && len(p) > 1 && p[1] == ':' && (p[0]|0x20) >= 'a' && (p[0]|0x20) <= 'z'
}

// separated reports a path of more than one element.
func (s system) separated(p string) bool {
	return strings.Contains(p, "/") || s == windows && strings.Contains(p, `\`)
}

// join puts elements together and removes what is superfluous.
func (s system) join(elements ...string) string {
	if s != windows {
		return path.Join(elements...)
	}
	whole := strings.ReplaceAll(strings.Join(elements, `\`), `\`, "/")
	volume := ""
	switch {
	case strings.HasPrefix(whole, "//"):
		volume, whole = `\`, whole[1:]
	case s.drive(whole):
		volume, whole = whole[:2], whole[2:]
	}
	return volume + strings.ReplaceAll(path.Clean(whole), "/", `\`)
}

// parent returns the folder of an absolute path.
func (s system) parent(p string) string { return s.join(p, "..") }

var (
	errEmptyPath = errors.New("the path is empty")
	errNoHome    = errors.New("needs a home folder, and there is none")
	errOtherHome = errors.New("only ~/ is expanded, not another user's home; to mean a file of that name, write ./~")
	errNoFolder  = errors.New("a relative path, and no folder that it is relative to")
	errNulByte   = errors.New("holds a NUL character")
	errDriveOnly = errors.New("a drive needs a slash after its colon")
)

// settle makes a path absolute: ~/ by the home folder, a relative one by folder.
func (s system) settle(p, folder, home string) (string, error) {
	switch {
	case p == "":
		return "", errEmptyPath
	case strings.ContainsRune(p, 0):
		return "", errNulByte
	case p == "~" || strings.HasPrefix(p, "~/") || s == windows && strings.HasPrefix(p, `~\`):
		if !s.absolute(home) {
			return "", errNoHome
		}
		return s.join(home, p[1:]), nil
	case strings.HasPrefix(p, "~"):
		return "", errOtherHome
	case s.absolute(p):
		return s.join(p), nil
	case s.drive(p):
		return "", errDriveOnly
	case !s.absolute(folder):
		return "", errNoFolder
	}
	return s.join(folder, p), nil
}

// settleProgram settles the name of a program: a single word is looked up along PATH
// by whoever starts it.
func (s system) settleProgram(p, folder, home string) (string, error) {
	if p != "" && !s.separated(p) && !strings.ContainsRune(p, 0) && p[0] != '~' {
		return p, nil
	}
	return s.settle(p, folder, home)
}
