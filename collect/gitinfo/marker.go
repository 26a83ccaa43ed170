package gitinfo

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/go-git/go-git/v5/plumbing"
)

// found is what stands above a folder.
type found uint8

const (
	nothing    found = iota // no repository, or a stale marker that ends the search
	repository              // a folder that holds a valid .git
	bare                    // a folder that is itself a git directory
)

// place is a located repository. Its paths are absolute and free of links up to
// the marker.
type place struct {
	kind   found
	root   string // the folder that holds .git; the git directory of a bare one
	marker string // root/.git
	gitDir string // what the marker is or points to
	common string // where branches and configuration are: gitDir, or that of the main worktree
	linked bool   // a worktree that shares another's repository
}

const maxMarker = 1 << 20 // bytes of a .git file, commondir or HEAD; Git's own limit for .git files

// locate finds the repository of a folder, searching upward by Git's rules: an
// invalid .git folder is passed by, an invalid .git file ends the search, and so
// does a mount point. A folder that does not exist has none. An error means that
// something on the way could not be read.
func locate(folder string) (place, error) {
	info, err := os.Stat(folder)
	if absent(err) {
		return place{}, nil
	}
	if err != nil {
		return place{}, fmt.Errorf("look for a repository: %w", err)
	}
	if !info.IsDir() {
		return place{}, nil
	}
	real, err := filepath.EvalSymlinks(folder)
	if absent(err) {
		return place{}, nil
	}
	if err != nil {
		return place{}, fmt.Errorf("look for a repository: %w", err)
	}
	return locateUpward(real, deviceOf(info))
}

func locateUpward(folder string, device uint64) (place, error) {
	for {
		at, stop, err := inspect(folder)
		if err != nil || stop || at.kind == repository {
			return at, err
		}
		if isBare, err := isGitDir(folder, folder); err != nil || isBare {
			return place{kind: bare, root: folder, gitDir: folder, common: folder}, err
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return place{}, nil
		}
		info, err := os.Stat(parent)
		if err != nil {
			return place{}, fmt.Errorf("look for a repository: %w", err)
		}
		if deviceOf(info) != device {
			return place{}, nil
		}
		folder = parent
	}
}

// inspect says whether folder holds a .git and where it leads. Stop means that the
// marker is a file that leads nowhere: Git then looks no further.
func inspect(folder string) (at place, stop bool, err error) {
	marker := filepath.Join(folder, ".git")
	info, err := os.Stat(marker)
	if absent(err) {
		return place{}, false, nil
	}
	if err != nil {
		return place{}, false, fmt.Errorf("look for a repository: %w", err)
	}
	at = place{kind: repository, root: folder, marker: marker, gitDir: marker}
	if !info.IsDir() {
		if !info.Mode().IsRegular() {
			return place{}, false, nil
		}
		if at.gitDir, err = readGitFile(marker); err != nil || at.gitDir == "" {
			return place{}, true, err
		}
	}
	if at.common, at.linked, err = commonDir(at.gitDir); err != nil {
		return place{}, false, err
	}
	if valid, err := isGitDir(at.gitDir, at.common); err != nil || !valid {
		return place{}, !info.IsDir(), err
	}
	return at, false, nil
}

// readGitFile returns the git directory that a .git file names, "" when it is no
// such file.
func readGitFile(marker string) (string, error) {
	text, err := readSmall(marker)
	if err != nil {
		return "", err
	}
	target, ok := strings.CutPrefix(text, "gitdir: ")
	target = strings.TrimRight(target, "\r\n")
	if !ok || target == "" {
		return "", nil
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(marker), target)
	}
	return target, nil
}

// commonDir returns the folder that holds the shared part of a repository.
func commonDir(gitDir string) (common string, linked bool, err error) {
	text, err := readSmall(filepath.Join(gitDir, "commondir"))
	if absent(err) {
		return gitDir, false, nil
	}
	if err != nil {
		return "", false, err
	}
	common = strings.TrimRight(text, "\r\n")
	if !filepath.IsAbs(common) {
		common = filepath.Join(gitDir, common)
	}
	return common, true, nil
}

// isGitDir applies Git's test: a HEAD that may be one, and folders for objects and
// references.
func isGitDir(gitDir, common string) (bool, error) {
	valid, err := isHead(filepath.Join(gitDir, "HEAD"))
	if err != nil || !valid {
		return false, err
	}
	for _, name := range []string{"objects", "refs"} {
		info, err := os.Stat(filepath.Join(common, name))
		if absent(err) || err == nil && !info.IsDir() {
			return false, nil
		}
		if err != nil {
			return false, fmt.Errorf("look for a repository: %w", err)
		}
	}
	return true, nil
}

// isHead reports a file that names a reference or an object, or a link to a
// reference.
func isHead(name string) (bool, error) {
	info, err := os.Lstat(name)
	if absent(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for a repository: %w", err)
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(name)
		return err == nil && strings.HasPrefix(filepath.ToSlash(target), "refs/"), err
	}
	if !info.Mode().IsRegular() {
		return false, nil
	}
	text, err := readSmall(name)
	if err != nil {
		return false, err
	}
	if target, ok := strings.CutPrefix(text, "ref:"); ok {
		return strings.HasPrefix(strings.TrimLeft(target, " \t\n\v\f\r"), "refs/"), nil
	}
	return len(text) >= 40 && plumbing.IsHash(text[:40]), nil
}

// readSmall reads a regular file of limited size without ever waiting for one that
// is none, such as a pipe; one that is none, or longer, reads as "".
func readSmall(name string) (string, error) {
	file, err := os.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return "", fmt.Errorf("read Git metadata: %w", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", fmt.Errorf("read Git metadata: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxMarker {
		return "", nil
	}
	text, err := io.ReadAll(io.LimitReader(file, maxMarker))
	if err != nil {
		return "", fmt.Errorf("read Git metadata: %w", err)
	}
	return string(text), nil
}

// nowhere are the answers of a system to a path that leads to nothing: an element
// is missing, a file in the place of a folder, a name no file can have, a circle of
// links.
var nowhere = []error{fs.ErrNotExist, syscall.ENOTDIR, syscall.ENAMETOOLONG, syscall.EINVAL, syscall.ELOOP}

// absent reports that a path leads to nothing, as opposed to something unreadable.
func absent(err error) bool {
	for _, one := range nowhere {
		if errors.Is(err, one) {
			return true
		}
	}
	return false
}
