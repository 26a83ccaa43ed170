// Package programs finds the programs that drivers and Git context run. There is one rule for
// all of them, and it never looks in the working folder: a session's folder is somebody
// else's, and what lies in it must not run because it has an agent's name.
package programs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// ErrNotFound reports a program that is not where it is looked for.
var ErrNotFound = errors.New("no such program")

// Find returns the absolute path of a program: the name itself when it is an absolute
// path, else the first file of that name that may be run in the folders of search, a list
// as PATH is one. Empty and relative elements of the list are passed over, and a relative
// path with a folder in it is not found: both would mean the working folder. The error
// wraps ErrNotFound.
func Find(name, search string) (string, error) {
	if strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator) {
		if path := firstRunnable(filepath.FromSlash(name)); filepath.IsAbs(path) {
			return path, nil
		}
		return "", fmt.Errorf("%w: %s", ErrNotFound, name)
	}
	for _, folder := range filepath.SplitList(search) {
		if !filepath.IsAbs(folder) || name == "" {
			continue
		}
		if path := firstRunnable(filepath.Join(folder, name)); path != "" {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w in the folders of PATH: %s", ErrNotFound, name)
}

// firstRunnable returns the path with the first of the system's endings that is a file
// and may be run, as far as its permissions tell, or "".
func firstRunnable(path string) string {
	for _, ending := range endings {
		info, err := os.Stat(path + ending)
		if err == nil && info.Mode().IsRegular() && (everyFileRuns || info.Mode().Perm()&0o111 != 0) {
			return path + ending
		}
	}
	return ""
}
