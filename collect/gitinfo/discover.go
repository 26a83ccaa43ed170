package gitinfo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// DefaultSkip names the folders that Discover does not enter unless told otherwise:
// installed packages and caches, which are large and hold nobody's work.
func DefaultSkip() []string { return []string{"node_modules", ".venv", "__pycache__", ".tox"} }

// DefaultDepth is how many folders below a configured one Discover descends unless
// told otherwise. It only ends what never would, such as a mount within itself.
const DefaultDepth = 64

// DiscoverOptions narrow a discovery.
type DiscoverOptions struct {
	// Skip lists folders that are not entered, by name ("node_modules") or by absolute
	// path. Nil is DefaultSkip, an empty list skips nothing. A configured folder itself
	// is never skipped.
	Skip []string
	// MaxDepth limits the descent below a configured folder; 0 is DefaultDepth. Deeper
	// folders are left out without an error.
	MaxDepth int
}

// Discover returns the worktree roots at and below the given absolute folders, each
// once, sorted, with the links of the given folders resolved. It enters worktrees
// too, since others may lie inside them, but never their .git. Links below the
// given folders are not followed.
//
// Whoever publishes the result replaces an older one with it, so a discovery is
// whole or an error: a missing root and an unreadable folder fail it, and the error
// names each. A stale or invalid .git marker is left out silently, as is a folder
// that vanishes meanwhile.
func Discover(ctx context.Context, roots []string, options DiscoverOptions) ([]string, error) {
	if options.Skip == nil {
		options.Skip = DefaultSkip()
	}
	if options.MaxDepth <= 0 {
		options.MaxDepth = DefaultDepth
	}
	w := walk{ctx: ctx, options: options, seen: map[string]int{}}
	for _, root := range roots {
		w.root(root)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("discover checkouts: %w", err)
	}
	if len(w.problems) > 0 {
		return nil, fmt.Errorf("discover checkouts: %w", errors.Join(w.problems...))
	}
	slices.Sort(w.found)
	return slices.Compact(w.found), nil
}

// walk is one discovery under way.
type walk struct {
	ctx      context.Context
	options  DiscoverOptions
	seen     map[string]int // folders entered, each with the depth that was left below it
	found    []string
	problems []error
}

func (w *walk) root(root string) {
	if !filepath.IsAbs(root) {
		w.problems = append(w.problems, fmt.Errorf("folder %q is not absolute", root))
		return
	}
	real, err := filepath.EvalSymlinks(root)
	if err == nil {
		var info fs.FileInfo
		if info, err = os.Stat(real); err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is not a folder", root)
		}
	}
	if err != nil {
		w.problems = append(w.problems, err)
		return
	}
	w.folder(real, w.options.MaxDepth, true)
}

// folder visits one folder and, while depth lasts, those below it.
func (w *walk) folder(folder string, depth int, isRoot bool) {
	if left, ok := w.seen[folder]; w.ctx.Err() != nil || ok && left >= depth {
		return
	}
	w.seen[folder] = depth
	entries, err := os.ReadDir(folder)
	if err != nil {
		if isRoot || !absent(err) {
			w.problems = append(w.problems, err)
		}
		return
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == ".git" }) {
		w.marker(folder)
	}
	if depth == 0 {
		return
	}
	for _, entry := range entries {
		if below := filepath.Join(folder, entry.Name()); entry.IsDir() && !w.skipped(entry.Name(), below) {
			w.folder(below, depth-1, false)
		}
	}
}

// marker adds a folder whose .git is valid.
func (w *walk) marker(folder string) {
	at, _, err := inspect(folder)
	if err != nil {
		w.problems = append(w.problems, err)
		return
	}
	if at.kind == repository {
		w.found = append(w.found, filepath.ToSlash(folder))
	}
}

func (w *walk) skipped(name, path string) bool {
	if name == ".git" {
		return true
	}
	return slices.ContainsFunc(w.options.Skip, func(skip string) bool {
		return skip == name || strings.ContainsRune(skip, filepath.Separator) && filepath.Clean(skip) == path
	})
}
