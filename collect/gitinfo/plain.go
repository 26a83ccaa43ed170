package gitinfo

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/format/config"
)

// details are the answers about one repository.
type details struct {
	root      string
	branch    string // "" when detached
	head      string // "" when unborn
	preferred string // address of upstream, else of origin, "" for neither
	rows      []row
}

// readPlain answers for a repository without any process. It returns errAskGit
// where the answer may depend on something that is not understood here.
func readPlain(at place, user []*config.Config) (details, error) {
	if at.kind != repository || !ownedByUs(at.root, at.marker, at.gitDir) {
		return details{}, errAskGit
	}
	local, err := readConfig(filepath.Join(at.common, "config"))
	if err != nil {
		return details{}, err
	}
	if err := understood(local, at); err != nil {
		return details{}, err
	}
	if err := (includes{}).immaterial(local, at.common, 0); err != nil {
		return details{}, err
	}
	if err := noLegacyRemotes(at.common); err != nil {
		return details{}, err
	}
	remotes, err := configuredRemotes(append(user[:len(user):len(user)], local))
	if err != nil {
		return details{}, err
	}
	answer := details{root: filepath.ToSlash(at.root), rows: shown(remotes)}
	if answer.branch, answer.head, err = readHead(at); err != nil {
		return details{}, err
	}
	address, exists := fetchURL(remotes, "upstream")
	if !exists {
		address, _ = fetchURL(remotes, "origin")
	}
	answer.preferred = address
	return answer, nil
}

// understood checks that the repository's format and worktree are the ordinary ones.
// A linked worktree ignores what the shared configuration says of the worktree.
func understood(local *config.Config, at place) error {
	core := section(local, "core")
	extensions := section(local, "extensions")
	switch core.Option("repositoryformatversion") {
	case "1":
	case "", "0":
		if len(extensions.Options) > 0 {
			return errAskGit // only some of them count in the old format
		}
	default:
		return errAskGit
	}
	for _, option := range extensions.Options {
		if !harmless(strings.ToLower(option.Key), strings.ToLower(option.Value)) {
			return errAskGit
		}
	}
	if at.linked {
		return nil
	}
	if core.HasOption("bare") && !strings.EqualFold(core.Option("bare"), "false") {
		return errAskGit
	}
	if core.HasOption("worktree") && !sameFolder(core.Option("worktree"), at) {
		return errAskGit
	}
	return nil
}

// harmless reports an extension that changes nothing about what is read here.
func harmless(key, value string) bool {
	switch key {
	case "noop", "preciousobjects", "partialclone":
		return true
	case "objectformat":
		return value == "sha1"
	case "refstorage":
		return value == "files"
	}
	return false
}

// sameFolder reports that a configured worktree is the folder of the marker, as it
// is in every submodule.
func sameFolder(worktree string, at place) bool {
	if worktree == "" {
		return false
	}
	if !filepath.IsAbs(worktree) {
		worktree = filepath.Join(at.gitDir, worktree)
	}
	real, err := filepath.EvalSymlinks(worktree)
	return err == nil && real == at.root
}

// noLegacyRemotes checks that no remote is described outside the configuration.
func noLegacyRemotes(common string) error {
	for _, folder := range []string{"remotes", "branches"} {
		for _, name := range []string{"upstream", "origin"} {
			if _, err := os.Lstat(filepath.Join(common, folder, name)); !absent(err) {
				return errAskGit
			}
		}
	}
	return nil
}

// readHead returns the branch and the commit that HEAD stands for.
func readHead(at place) (branch, head string, err error) {
	text, err := readReference(filepath.Join(at.gitDir, "HEAD"))
	if err != nil {
		return "", "", err
	}
	target, symbolic := strings.CutPrefix(text, "ref:")
	if !symbolic {
		return "", text, objectName(text)
	}
	target = strings.TrimSpace(target)
	branch, ok := strings.CutPrefix(target, "refs/heads/")
	if !ok || plumbing.ReferenceName(target).Validate() != nil {
		return "", "", errAskGit
	}
	head, err = readReference(filepath.Join(at.common, filepath.FromSlash(target)))
	if absent(err) {
		head, err = packedReference(filepath.Join(at.common, "packed-refs"), target)
	}
	if err != nil || head == "" {
		return branch, "", err
	}
	return branch, head, objectName(head)
}

// objectName checks that text is one whole SHA-1 name in Git's spelling.
func objectName(text string) error {
	if len(text) != 40 || !plumbing.IsHash(text) || strings.ToLower(text) != text {
		return errAskGit
	}
	return nil
}

// readReference reads a reference's file. One that is a link, a folder, or cannot
// be read is left to the git program; an absent one is an absent error.
func readReference(name string) (string, error) {
	info, err := os.Lstat(name)
	if absent(err) {
		return "", err
	}
	if err != nil || !info.Mode().IsRegular() {
		if err == nil && info.IsDir() {
			return "", fs.ErrNotExist // an empty folder left behind by deeper branches
		}
		return "", errAskGit
	}
	text, err := readSmall(name)
	if absent(err) {
		return "", err
	}
	if text = strings.TrimRight(text, " \t\r\n"); err != nil || text == "" {
		return "", fmt.Errorf("%w: cannot read %s", errAskGit, name)
	}
	return text, nil
}

// packedReference finds one reference among the packed ones, "" when it is not there.
func packedReference(name, reference string) (string, error) {
	text, err := os.ReadFile(name)
	if absent(err) {
		return "", nil
	}
	if err != nil {
		return "", errAskGit
	}
	suffix := []byte(" " + reference)
	for line := range bytes.Lines(text) {
		object, found := bytes.CutSuffix(bytes.TrimRight(line, "\r\n"), suffix)
		if found && line[0] != '#' {
			return string(object), nil
		}
	}
	return "", nil
}
