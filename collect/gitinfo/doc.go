// Package gitinfo says which Git checkout a folder belongs to, in the form that may
// be published: root, branch, commit, and remote addresses without credentials. It
// also finds the checkouts below given folders. It never writes to a repository,
// never runs its hooks or its file-system monitor, and never opens a file of the
// project itself.
//
// # Who answers
//
// The package finds the repository itself, by Git's own rules: upward from the
// folder, a .git directory or file, not across a mount point. A folder outside any
// repository, a missing folder, and a stale marker never cost a process.
//
// Most repositories are then read in this process, with go-git for the syntax of
// configuration files: ordinary and linked worktrees, submodules, separate git
// directories, loose and packed branches, detached and unborn HEADs, remotes with
// several addresses, push addresses, and address rewriting (insteadOf,
// pushInsteadOf) of the repository or the user's own configuration. References are
// read here because go-git answers an unreadable loose reference with an outdated
// packed one, and accepts half a hash.
//
// The git program is asked whenever the answer might depend on more than that:
//
//   - an included configuration file that holds remotes or rewriting rules, or
//     cannot be read; rewriting rules or remotes in a system-wide configuration
//   - repository extensions other than the known harmless ones: sha256 objects,
//     reftable, per-worktree configuration, and any that are new
//   - a bare repository, or core.worktree pointing elsewhere
//   - a repository, its marker, or its worktree that belongs to another user: Git
//     itself decides, by safe.directory
//   - a HEAD or a branch that is a link, points outside refs/heads, or is damaged
//   - remotes kept in the old remotes and branches folders
//   - configuration that go-git cannot parse or parses unlike Git: continued lines,
//     a missing value, anything broken
//
// It runs with a time limit, a cleared environment and no lock, prompt, pager, lazy
// fetch or monitor. When it is not installed, these repositories count as failed;
// the others are answered all the same.
package gitinfo
