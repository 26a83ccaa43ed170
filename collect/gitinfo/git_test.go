package gitinfo

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// sandbox is a home of its own with the git program of this machine.
type sandbox struct {
	t    *testing.T
	home string
	env  map[string]string
}

func newSandbox(t *testing.T) *sandbox {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("builds real repositories with the git program, which is not installed")
	}
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &sandbox{t: t, home: home, env: map[string]string{"PATH": os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM": "1"}}
	s.write(".gitconfig", "[user]\n\tname = dev\n\temail = dev@example.com\n[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n")
	return s
}

func (s *sandbox) getenv(name string) string { return s.env[name] }

func (s *sandbox) path(name string) string { return filepath.Join(s.home, name) }

// write creates a file below home, with its folders.
func (s *sandbox) write(name, text string) {
	s.t.Helper()
	if err := os.MkdirAll(filepath.Dir(s.path(name)), 0o755); err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(s.path(name), []byte(text), 0o644); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sandbox) add(name, text string) {
	s.t.Helper()
	old, err := os.ReadFile(s.path(name))
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(name, string(old)+text)
}

// try runs git below home as a person would.
func (s *sandbox) try(folder string, arguments ...string) (string, error) {
	cmd := exec.Command("git", arguments...)
	cmd.Dir = s.path(folder)
	cmd.Env = []string{"HOME=" + s.home, "LC_ALL=C", "GIT_OPTIONAL_LOCKS=0"}
	for name, value := range s.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	out, err := cmd.Output()
	return strings.TrimSuffix(string(out), "\n"), err
}

func (s *sandbox) git(folder string, arguments ...string) string {
	s.t.Helper()
	out, err := s.try(folder, arguments...)
	if err != nil {
		detail := ""
		if exit, ok := err.(*exec.ExitError); ok {
			detail = string(exit.Stderr)
		}
		s.t.Fatalf("git %v: %v %s", arguments, err, detail)
	}
	return out
}

// repo makes a repository with one commit and an origin: a copy of one that is
// built once, since every run of git takes milliseconds.
func (s *sandbox) repo(name string) {
	s.t.Helper()
	first, err := template()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.CopyFS(s.path(name), os.DirFS(first)); err != nil {
		s.t.Fatal(err)
	}
	s.add(name+"/.git/config", "[remote \"origin\"]\n\turl = https://u:secret@example.com/"+name+".git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n")
}

// templates is where TestMain lets the first repository be built.
var templates string

var template = sync.OnceValues(func() (string, error) {
	first := filepath.Join(templates, "r")
	if err := os.MkdirAll(filepath.Join(first, "sub", "deep"), 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(first, "sub", "deep", "file"), []byte("text"), 0o644); err != nil {
		return "", err
	}
	for _, arguments := range [][]string{
		{"-c", "init.defaultBranch=main", "init", "-q", "--template="}, {"add", "."},
		{"-c", "user.name=dev", "-c", "user.email=dev@example.com", "commit", "-q", "-m", "first"},
	} {
		cmd := exec.Command("git", arguments...)
		cmd.Dir, cmd.Env = first, []string{"HOME=" + templates, "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1"}
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", fmt.Errorf("git %v: %w: %s", arguments, err, out)
		}
	}
	return first, nil
})

func TestMain(m *testing.M) {
	var err error
	if templates, err = os.MkdirTemp("", "gitinfo"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(templates)
	os.Exit(code)
}

func (s *sandbox) resolver() *Resolver {
	return NewResolver(Options{Home: s.home, Getenv: s.getenv})
}

var someTime = time.Date(2024, 5, 6, 7, 8, 9, 10_999_999, time.FixedZone("", 3600))

const someTimeText = "2024-05-06T06:08:09.010Z"

// resolve answers for a folder below home and says how many processes that took.
func (s *sandbox) resolve(folder string) (Context, int64) {
	r := s.resolver()
	c := r.NewObservation(someTime).Resolve(context.Background(), s.path(folder))
	return c, r.spawned.Load()
}

// gitSays is the context by the six commands that define it.
func (s *sandbox) gitSays(folder string) Context {
	root, err := s.try(folder, "rev-parse", "--show-toplevel")
	if err != nil {
		return Context{}
	}
	at := someTimeText
	c := Context{Root: &root, ObservedAt: &at}
	branch := s.git(folder, "branch", "--show-current")
	c.Branch = filled(branch)
	preferred, err := s.try(folder, "remote", "get-url", "upstream")
	if err != nil {
		preferred, _ = s.try(folder, "remote", "get-url", "origin")
	}
	if head, err := s.try(folder, "rev-parse", "HEAD"); err == nil {
		c.HeadSHA = &head
	} else {
		s.git(folder, "symbolic-ref", "-q", "HEAD")
	}
	c.Remotes = publishedRemotes(parseRows(s.git(folder, "remote", "-v")))
	c.RepoURL = publishedURL(preferred, c.Remotes)
	return c
}

// snapshot lists every file below home with size, time and mode.
func (s *sandbox) snapshot() string {
	s.t.Helper()
	var b strings.Builder
	err := filepath.Walk(s.home, func(path string, info os.FileInfo, err error) error {
		if err == nil {
			b.WriteString(path + info.Mode().String() + info.ModTime().String() + "\n")
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return b.String()
}

const (
	inProcess = false // answered in this process
	byProgram = true  // answered by the git program
)

// scenarios are repositories of every kind, with who must answer for them.
var scenarios = []struct {
	name   string
	folder string
	asks   bool
	build  func(s *sandbox)
}{
	{"a plain repository", "r", inProcess, func(s *sandbox) { s.repo("r") }},
	{"a folder below", "r/sub/deep", inProcess, func(s *sandbox) { s.repo("r") }},
	{"a folder reached by a link", "link/deep", inProcess, func(s *sandbox) {
		s.repo("r")
		s.link("r/sub", "link")
	}},
	{"a branch with slashes and other letters", "r", inProcess, func(s *sandbox) {
		s.repo("r")
		s.git("r", "checkout", "-q", "-b", "feature/größe#1")
	}},
	{"a detached HEAD", "r", inProcess, func(s *sandbox) {
		s.repo("r")
		s.git("r", "checkout", "-q", "--detach")
	}},
	{"an unborn branch", "r", inProcess, func(s *sandbox) { s.git("", "init", "-q", "r") }},
	{"packed references", "r", inProcess, func(s *sandbox) {
		s.repo("r")
		s.git("r", "branch", "main2")
		s.git("r", "tag", "-a", "-m", "x", "v1")
		s.git("r", "pack-refs", "--all")
	}},
	{"a packed branch where a folder was left behind", "r", inProcess, func(s *sandbox) {
		s.repo("r")
		s.git("r", "pack-refs", "--all")
		s.write("r/.git/refs/heads/main/x", "")
		if err := os.Remove(s.path("r/.git/refs/heads/main/x")); err != nil {
			s.t.Fatal(err)
		}
	}},
	{"a loose branch newer than the packed one", "r", inProcess, func(s *sandbox) {
		s.repo("r")
		s.git("r", "pack-refs", "--all")
		s.git("r", "commit", "-q", "--allow-empty", "-m", "second")
	}},
	{"a linked worktree", "w/sub", inProcess, func(s *sandbox) {
		s.repo("r")
		s.git("r", "worktree", "add", "-q", "-b", "other", s.path("w"))
	}},
	{"a detached worktree with packed references", "w", inProcess, func(s *sandbox) {
		s.repo("r")
		s.git("r", "worktree", "add", "-q", "--detach", s.path("w"))
		s.git("r", "pack-refs", "--all")
	}},
	{"a worktree inside its repository", "r/trees/w", inProcess, func(s *sandbox) {
		s.repo("r")
		s.git("r", "worktree", "add", "-q", "-b", "other", s.path("r/trees/w"))
	}},
	{"a worktree of a bare repository", "b.git/w", inProcess, func(s *sandbox) {
		s.repo("r")
		s.git("", "clone", "-q", "--bare", s.path("r"), "b.git")
		s.git("b.git", "worktree", "add", "-q", "-b", "other", "w")
	}},
	{"a worktree with configuration of its own", "w", byProgram, func(s *sandbox) {
		s.repo("r")
		s.git("r", "worktree", "add", "-q", "-b", "other", s.path("w"))
		s.git("r", "config", "extensions.worktreeConfig", "true")
		s.git("w", "config", "--worktree", "remote.upstream.url", "https://example.com/own.git")
	}},
	{"a submodule", "r/module/sub", inProcess, func(s *sandbox) {
		s.repo("inner")
		s.repo("r")
		s.git("r", "submodule", "--quiet", "add", s.path("inner"), "module")
	}},
	{"a separate git directory", "r/sub", inProcess, func(s *sandbox) {
		s.git("", "init", "-q", "--separate-git-dir", s.path("elsewhere"), "r")
		s.write("r/sub/x", "")
	}},
	{"upstream before origin", "r", inProcess, func(s *sandbox) {
		s.repo("r")
		s.git("r", "remote", "add", "upstream", "git@example.com:up/r.git")
	}},
	{"an upstream that is not published", "r", inProcess, func(s *sandbox) {
		s.repo("r")
		s.git("r", "remote", "add", "upstream", "/srv/local")
	}},
	{"a local upstream with a published push address", "r", inProcess, func(s *sandbox) {
		s.repo("r")
		s.git("r", "remote", "add", "upstream", "/srv/local")
		s.git("r", "config", "remote.upstream.pushurl", "https://example.com/push")
	}},
	{"several addresses and push addresses", "r", inProcess, func(s *sandbox) {
		s.repo("r")
		s.git("r", "remote", "set-url", "--add", "origin", "https://example.com/second.git")
		s.git("r", "remote", "set-url", "--add", "--push", "origin", "ssh://git@example.com/p1")
		s.git("r", "remote", "set-url", "--add", "--push", "origin", "ssh://git@example.com/p2")
	}},
	{"several addresses without push addresses", "r", inProcess, func(s *sandbox) {
		s.repo("r")
		s.git("r", "remote", "set-url", "--add", "origin", "https://example.com/second.git")
	}},
	{"insteadOf of the repository and of the user, longest first", "r", inProcess, func(s *sandbox) {
		s.repo("r")
		s.git("r", "remote", "set-url", "origin", "gh:a/b")
		s.git("r", "remote", "add", "upstream", "gh:special/b")
		s.add(".gitconfig", "[url \"https://u:p@example.com/\"]\n\tinsteadOf = gh:\n[url \"https://other.example.com/x\"]\n\tinsteadOf = gh:special\n")
		s.add("r/.git/config", "[url \"https://late.example.com/\"]\n\tinsteadOf = gh:\n")
	}},
	{"pushInsteadOf", "r", inProcess, func(s *sandbox) {
		s.repo("r")
		s.git("r", "remote", "add", "own", "https://example.com/own")
		s.git("r", "config", "remote.own.pushurl", "https://example.com/kept")
		s.git("r", "remote", "set-url", "--add", "origin", "gh:second")
		s.add(".gitconfig", "[url \"git@example.com:\"]\n\tpushInsteadOf = https://example.com/\n[url \"git@second.example.com:\"]\n\tinsteadOf = gh:\n")
	}},
	{"a remote in the user's configuration", "r", inProcess, func(s *sandbox) {
		s.repo("r")
		s.add(".gitconfig", "[remote \"everywhere\"]\n\turl = https://example.com/everywhere\n")
	}},
	{"the user's configuration in the XDG folder", "r", inProcess, func(s *sandbox) {
		s.repo("r")
		s.env["XDG_CONFIG_HOME"] = s.path("xdg")
		s.write("xdg/git/config", "[remote \"xdg\"]\n\turl = https://example.com/xdg\n")
	}},
	{"an include that matters to nobody", "r", inProcess, func(s *sandbox) {
		s.repo("r")
		s.add(".gitconfig", "[includeIf \"gitdir:~/r/\"]\n\tpath = ~/work.inc\n[include]\n\tpath = absent.inc\n")
		s.write("work.inc", "[user]\n\temail = work@example.com\n")
	}},
	{"a conditional include with rewriting", "r", byProgram, func(s *sandbox) {
		s.repo("r")
		s.add(".gitconfig", "[includeIf \"gitdir:~/r/\"]\n\tpath = ~/work.inc\n")
		s.write("work.inc", "[url \"https://work.example.com/\"]\n\tinsteadOf = https://u:secret@example.com/\n")
	}},
	{"a nested include with a remote", "r", byProgram, func(s *sandbox) {
		s.repo("r")
		s.add("r/.git/config", "[include]\n\tpath = ../../one.inc\n")
		s.write("one.inc", "[include]\n\tpath = two.inc\n")
		s.write("two.inc", "[remote \"included\"]\n\turl = https://example.com/included\n")
	}},
	{"a circle of includes", "r", byProgram, func(s *sandbox) {
		s.repo("r")
		s.add("r/.git/config", "[includeIf \"onbranch:never\"]\n\tpath = loop.inc\n")
		s.write("r/.git/loop.inc", "[include]\n\tpath = loop.inc\n")
	}},
	{"rewriting in the system-wide configuration", "r", byProgram, func(s *sandbox) {
		s.repo("r")
		delete(s.env, "GIT_CONFIG_NOSYSTEM")
		s.env["GIT_CONFIG_SYSTEM"] = s.path("system")
		s.write("system", "[url \"https://system.example.com/\"]\n\tinsteadOf = https://u:secret@example.com/\n")
	}},
	{"a continued line", "r", byProgram, func(s *sandbox) {
		s.repo("r")
		s.add("r/.git/config", "[remote \"long\"]\n\turl = https://exam\\\nple.com/long\n")
	}},
	{"the old spelling of a section", "r", byProgram, func(s *sandbox) {
		s.repo("r")
		s.add("r/.git/config", "[remote.old]\n\turl = https://example.com/old\n")
	}},
	{"quotes, comments and escapes", "r", inProcess, func(s *sandbox) {
		s.repo("r")
		s.add("r/.git/config", "[Remote \"a \\\"b\\\\\"] ; one\n\tURL = \"https://example.com/#x\" # two\n\tuRl=https://example.com/y#z\n")
	}},
	{"a remote in the old remotes folder", "r", byProgram, func(s *sandbox) {
		s.git("", "init", "-q", "r")
		s.write("r/.git/remotes/origin", "URL: https://example.com/legacy\n")
	}},
	{"an origin without an address", "r", byProgram, func(s *sandbox) {
		s.git("", "init", "-q", "r")
		s.git("r", "config", "remote.origin.prune", "true")
	}},
	{"a sha256 repository", "r/sub", byProgram, func(s *sandbox) {
		s.git("", "init", "-q", "--object-format=sha256", "r")
		s.write("r/sub/x", "")
		s.git("r", "commit", "-q", "--allow-empty", "-m", "x")
	}},
	{"a worktree elsewhere", "r", byProgram, func(s *sandbox) {
		s.repo("r")
		s.write("tree/x", "")
		s.git("r", "config", "core.worktree", s.path("tree"))
	}},
	{"a bare repository", "b.git", byProgram, func(s *sandbox) { s.git("", "init", "-q", "--bare", "b.git") }},
	{"a folder of a bare repository", "b.git/hooks", byProgram, func(s *sandbox) { s.git("", "init", "-q", "--bare", "b.git") }},
	{"a repository declared bare", "r", byProgram, func(s *sandbox) {
		s.repo("r")
		s.git("r", "config", "core.bare", "true")
	}},
	{"the inside of a git directory", "r/.git/refs", byProgram, func(s *sandbox) { s.repo("r") }},
	{"a HEAD that is a link", "r", byProgram, func(s *sandbox) {
		s.repo("r")
		if err := os.Remove(s.path("r/.git/HEAD")); err != nil {
			s.t.Fatal(err)
		}
		if err := os.Symlink("refs/heads/main", s.path("r/.git/HEAD")); err != nil {
			s.t.Skip(err)
		}
	}},
	{"a branch that stands for another", "r", byProgram, func(s *sandbox) {
		s.repo("r")
		s.git("r", "symbolic-ref", "refs/heads/alias", "refs/heads/main")
		s.write("r/.git/HEAD", "ref: refs/heads/alias\n")
	}},
	{"a monitor that must not run", "r", byProgram, func(s *sandbox) {
		s.repo("r")
		s.git("r", "config", "extensions.worktreeConfig", "true")
		s.git("r", "config", "core.fsmonitor", s.path("monitor"))
		s.write("monitor", "#!/bin/sh\necho ran > "+s.path("ran")+"\n")
		if err := os.Chmod(s.path("monitor"), 0o755); err != nil {
			s.t.Fatal(err)
		}
	}},
	{"a file in a worktree as working folder", "r/sub/deep/file", inProcess, func(s *sandbox) { s.repo("r") }},
	{"no repository", "empty", inProcess, func(s *sandbox) { s.write("empty/x", "") }},
	{"an empty .git folder below a repository", "r/sub", inProcess, func(s *sandbox) {
		s.repo("r")
		s.write("r/sub/.git/nothing", "")
	}},
	{"a stale .git file below a repository", "r/sub", inProcess, func(s *sandbox) {
		s.repo("r")
		s.write("r/sub/.git", "gitdir: /nonexistent/place\n")
	}},
	{"a .git file that is none", "r/sub", inProcess, func(s *sandbox) {
		s.repo("r")
		s.write("r/sub/.git", "no marker")
	}},
	{"a worktree whose repository is gone", "w", inProcess, func(s *sandbox) {
		s.repo("r")
		s.git("r", "worktree", "add", "-q", "-b", "other", s.path("w"))
		if err := os.RemoveAll(s.path("r")); err != nil {
			s.t.Fatal(err)
		}
	}},
}

func (s *sandbox) link(target, name string) {
	s.t.Helper()
	if err := os.Symlink(s.path(target), s.path(name)); err != nil {
		s.t.Skipf("links cannot be made here: %v", err)
	}
}

func TestTheContextIsWhatGitSays(t *testing.T) {
	for _, scenario := range scenarios {
		t.Run(scenario.name, func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t)
			scenario.build(s)
			before := s.snapshot()
			got, spawned := s.resolve(scenario.folder)
			if after := s.snapshot(); after != before {
				t.Errorf("the observation changed files:\n%s\nbefore:\n%s", after, before)
			}
			want := s.gitSays(scenario.folder)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got  %s\nwant %s", text(got), text(want))
			}
			if asked := spawned > 0; asked != scenario.asks {
				t.Errorf("%d processes; the git program must be asked: %v", spawned, scenario.asks)
			}
		})
	}
}

// text renders a context for a failed test.
func text(c Context) string {
	show := func(p *string) string {
		if p == nil {
			return "-"
		}
		return *p
	}
	parts := []string{show(c.Root), show(c.RepoURL), show(c.Branch), show(c.HeadSHA), show(c.ObservedAt), c.Problem}
	for _, r := range c.Remotes {
		parts = append(parts, r.Name+"="+strings.Join(r.URLs, ","))
	}
	if c.Remotes == nil {
		parts = append(parts, "no remotes observed")
	}
	if c.Failed {
		parts = append(parts, "FAILED")
	}
	return strings.Join(parts, " | ")
}

func TestAPlainRepositoryIsObservedWhole(t *testing.T) {
	s := newSandbox(t)
	s.repo("r")
	s.git("r", "remote", "add", "upstream", "git@example.com:up/r.git")
	got, _ := s.resolve("r/sub")
	wantRemotes := []Remote{{"origin", []string{"https://example.com/r.git"}}, {"upstream", []string{"git@example.com:up/r.git"}}}
	if got.Root == nil || *got.Root != filepath.ToSlash(s.path("r")) || *got.Branch != "main" || len(*got.HeadSHA) != 40 ||
		*got.RepoURL != "git@example.com:up/r.git" || *got.ObservedAt != someTimeText || !slices.EqualFunc(got.Remotes, wantRemotes, func(a, b Remote) bool { return reflect.DeepEqual(a, b) }) {
		t.Errorf("got %s", text(got))
	}
}
