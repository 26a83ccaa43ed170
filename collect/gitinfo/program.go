package gitinfo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"agentsync/collect/programs"
)

// outcome says how far the git program got.
type outcome struct {
	noWorktree bool  // a repository that has no worktree: nothing to observe
	remotes    bool  // the rows are whole
	err        error // the first thing that failed
}

const maxOutput = 4 << 20 // bytes of one answer of the git program

// askGit asks the git program about the repository at root, in the order root,
// branch, addresses, commit, remotes. After a failure the rest is asked all the same.
func (r *Resolver) askGit(ctx context.Context, root string) (details, outcome) {
	var d details
	var err error
	if d.root, err = r.run(ctx, root, "rev-parse", "--show-toplevel"); err != nil {
		if isExit(err) {
			_, opened := r.run(ctx, root, "rev-parse", "--git-dir")
			return details{}, outcome{noWorktree: opened == nil, err: err}
		}
		return details{}, outcome{err: err}
	}
	var result outcome
	note := func(err error) {
		if result.err == nil {
			result.err = err
		}
	}
	d.branch, err = r.run(ctx, root, "branch", "--show-current")
	note(err)
	d.preferred, err = r.preferredAddress(ctx, root)
	note(err)
	d.head, err = r.headCommit(ctx, root)
	note(err)
	text, err := r.run(ctx, root, "remote", "-v")
	note(err)
	d.rows, result.remotes = parseRows(text), err == nil
	return d, result
}

// preferredAddress returns the address of upstream, or of origin when there is no
// upstream, "" when there is neither.
func (r *Resolver) preferredAddress(ctx context.Context, root string) (string, error) {
	for _, name := range []string{"upstream", "origin"} {
		address, err := r.run(ctx, root, "remote", "get-url", name)
		if err == nil || !isExit(err) {
			return address, err
		}
	}
	return "", nil
}

// headCommit returns the commit of HEAD, "" when its branch has none yet.
func (r *Resolver) headCommit(ctx context.Context, root string) (string, error) {
	head, err := r.run(ctx, root, "rev-parse", "--verify", "--quiet", "HEAD")
	if err == nil || !isExit(err) {
		return head, err
	}
	_, err = r.run(ctx, root, "symbolic-ref", "-q", "HEAD")
	return "", err
}

// isExit reports that the program ran to its end and said no.
func isExit(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() > 0
}

// run runs the git program in folder and returns its standard output without the
// last line end, "" when it failed. Errors do not repeat what it wrote: messages
// of Git can hold addresses with passwords.
func (r *Resolver) run(ctx context.Context, folder string, arguments ...string) (string, error) {
	program, err := r.git()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, r.options.Timeout)
	defer cancel()
	fixed := []string{"--no-pager", "--no-replace-objects", "-C", folder,
		"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-c", "credential.helper="}
	cmd := exec.CommandContext(ctx, program, append(fixed, arguments...)...)
	cmd.Env = r.environment()
	cmd.WaitDelay = time.Second // after the limit, do not wait for what holds the pipe
	out := &limited{left: maxOutput}
	cmd.Stdout = out
	r.spawned.Add(1)
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		err = ctx.Err()
	case out.left < 0:
		err = errors.New("answer too long")
	}
	if err != nil {
		return "", fmt.Errorf("ask git for %s of %s: %w", strings.Join(arguments, " "), folder, err)
	}
	return strings.TrimRight(out.String(), "\r\n"), nil
}

// environment is all that the git program sees: where the user's configuration
// is, what programs need to run at all, and no variable that points Git at another
// repository.
func (r *Resolver) environment() []string {
	env := []string{"LC_ALL=C", "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1",
		"GIT_ASKPASS=", "SSH_ASKPASS=", "GIT_PAGER=cat"}
	if r.options.Home != "" {
		env = append(env, "HOME="+r.options.Home)
	}
	for _, name := range []string{"PATH", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM",
		"GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH", "SUDO_UID", "TMPDIR", "LD_LIBRARY_PATH", "DEVELOPER_DIR",
		"SystemRoot", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "ProgramData",
		"ProgramFiles", "TEMP", "TMP", "COMSPEC", "PATHEXT"} {
		if value := r.options.Getenv(name); value != "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// lookUp finds the git program: the one given, or the first along PATH.
func lookUp(given string, getenv func(string) string) (string, error) {
	if given != "" {
		return given, nil
	}
	path, err := programs.Find("git", getenv("PATH"))
	if err != nil {
		return "", fmt.Errorf("look for the git program: %w", err)
	}
	return path, nil
}

// limited keeps the first bytes of an output and counts below zero what is too much.
type limited struct {
	bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	l.left -= len(p)
	if l.left >= 0 {
		return l.Buffer.Write(p)
	}
	return len(p), nil
}
