package claude

import (
	"os"
	"path/filepath"
	"strings"

	"agentsync/collect"
)

// maxKey is the length at which a project folder's name is cut, in UTF-16 units.
const maxKey = 200

// wanted tells which project folders the source lists: all, or those of the configured
// directory and of its repository's worktrees.
func (d *Driver) wanted() func(key string) bool {
	if d.cwd == "" {
		return func(string) bool { return true }
	}
	dir := d.cwd
	if real, err := d.resolve(dir); err == nil {
		dir = real
	}
	keys := map[string]bool{collect.ProjectKey(dir): true}
	for _, tree := range worktrees(dir) {
		keys[collect.ProjectKey(tree)] = true
	}
	return func(key string) bool { return keys[key] }
}

// worktrees lists the working trees of the repository that dir lies in, main one first,
// as Git's own files name them. A repository without linked ones has none.
func worktrees(dir string) []string {
	common := commonDir(dir)
	if common == "" {
		return nil
	}
	entries, err := os.ReadDir(filepath.Join(common, "worktrees"))
	if err != nil || len(entries) == 0 {
		return nil
	}
	trees := []string{filepath.Dir(common)}
	for _, e := range entries {
		if link := readLine(filepath.Join(common, "worktrees", e.Name(), "gitdir")); link != "" {
			trees = append(trees, filepath.Dir(link))
		}
	}
	return trees
}

// commonDir finds the repository that dir lies in, "" for none.
func commonDir(dir string) string {
	for {
		git := filepath.Join(dir, ".git")
		info, err := os.Stat(git)
		switch {
		case err == nil && info.IsDir():
			return git
		case err == nil:
			return commonOfLink(dir, git)
		case filepath.Dir(dir) == dir:
			return ""
		}
		dir = filepath.Dir(dir)
	}
}

// commonOfLink reads the .git file of a linked worktree.
func commonOfLink(dir, git string) string {
	own, ok := strings.CutPrefix(readLine(git), "gitdir: ")
	if !ok {
		return ""
	}
	own = under(dir, own)
	common := readLine(filepath.Join(own, "commondir"))
	if common == "" {
		return ""
	}
	return under(own, common)
}

func under(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

func readLine(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(content), "\n")
	return strings.TrimRight(line, "\r")
}
