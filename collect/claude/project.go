package claude

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxKey is the length at which a project folder's name is cut, in UTF-16 units.
const maxKey = 200

// ProjectKey is the name of the project folder for a working directory (spec, agents 2).
// Different directories can share one.
func ProjectKey(cwd string) string {
	var b strings.Builder
	hash := int32(0)
	for _, unit := range utf16Units(cwd) {
		hash = hash*31 + int32(unit)
		if unit < utf8.RuneSelf && isAlphanumeric(byte(unit)) {
			b.WriteByte(byte(unit))
		} else {
			b.WriteByte('-')
		}
	}
	if b.Len() <= maxKey {
		return b.String()
	}
	return b.String()[:maxKey] + "-" + strconv.FormatInt(absolute(int64(hash)), 36)
}

func absolute(n int64) int64 { return max(n, -n) }

func isAlphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func utf16Units(s string) []uint16 {
	units := make([]uint16, 0, len(s))
	for _, r := range s {
		if r >= 0x10000 {
			r -= 0x10000
			units = append(units, uint16(0xD800+r>>10), uint16(0xDC00+r&0x3FF))
			continue
		}
		units = append(units, uint16(r))
	}
	return units
}

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
	keys := map[string]bool{ProjectKey(dir): true}
	for _, tree := range worktrees(dir) {
		keys[ProjectKey(tree)] = true
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
