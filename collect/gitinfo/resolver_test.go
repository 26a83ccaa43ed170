package gitinfo

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"agentsync/fixtures/plainuser"
)

func TestWhatCannotBeLearnedIsAFailure(t *testing.T) {
	cases := []struct {
		name      string
		build     func(s *sandbox)
		root      bool // the root is known all the same
		wantCause string
	}{
		{"broken configuration", func(s *sandbox) {
			s.repo("r")
			s.add("r/.git/config", "[remote \"x\n")
		}, false, "rev-parse --show-toplevel"},
		{"broken configuration of the user", func(s *sandbox) {
			s.repo("r")
			s.add(".gitconfig", "][\n")
		}, false, "rev-parse --show-toplevel"},
		{"an unknown extension", func(s *sandbox) {
			s.repo("r")
			s.git("r", "config", "core.repositoryformatversion", "1")
			s.git("r", "config", "extensions.fromTheFuture", "true")
		}, false, "rev-parse --show-toplevel"},
		{"a damaged branch", func(s *sandbox) {
			s.repo("r")
			s.git("r", "pack-refs", "--all")
			s.write("r/.git/refs/heads/main", "0123456789\n")
		}, true, "branch --show-current"},
		{"a HEAD outside the branches", func(s *sandbox) {
			s.repo("r")
			s.git("r", "update-ref", "refs/other/x", "HEAD")
			s.git("r", "symbolic-ref", "HEAD", "refs/other/x")
		}, true, "branch --show-current"},
		{"a repository of another user", func(s *sandbox) {
			if os.Geteuid() != 0 {
				s.t.Skip("only root can give a repository away")
			}
			s.repo("r")
			s.give("r/.git")
		}, false, "rev-parse --show-toplevel"},
		{"a git directory that cannot be entered", func(s *sandbox) {
			s.repo("r")
			s.mode("r/.git", 0)
		}, false, "permission denied"},
		{"a working folder that cannot be entered", func(s *sandbox) {
			s.repo("r")
			s.mode("r", 0)
		}, false, "permission denied"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.wantCause == "permission denied" && plainuser.Runs(t) {
				return
			}
			s := newSandbox(t)
			c.build(s)
			got, _ := s.resolve("r/sub")
			if !got.Failed || got.ObservedAt != nil || (got.Root != nil) != c.root || !strings.Contains(got.Problem, c.wantCause) {
				t.Errorf("got %s", text(got))
			}
			if strings.Contains(text(got), "secret") {
				t.Errorf("a password shows: %s", text(got))
			}
		})
	}
}

func (s *sandbox) give(name string) {
	s.t.Helper()
	if err := os.Lchown(s.path(name), 12345, -1); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sandbox) mode(name string, mode os.FileMode) {
	s.t.Helper()
	if err := os.Chmod(s.path(name), mode); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { os.Chmod(s.path(name), 0o755) })
}

func TestAnotherUsersRepositoryIsReadOnceTheUserTrustsIt(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a repository away")
	}
	s := newSandbox(t)
	s.repo("r")
	s.give("r")
	s.give("r/.git")
	s.add(".gitconfig", "[safe]\n\tdirectory = "+s.path("r")+"\n")
	got, spawned := s.resolve("r/sub")
	if want := s.gitSays("r/sub"); got.Failed || spawned == 0 || text(got) != text(want) || want.Root == nil {
		t.Errorf("%d processes, got %s\nwant %s", spawned, text(got), text(want))
	}
}

func TestReftableIsLeftToGit(t *testing.T) {
	s := newSandbox(t)
	if _, err := s.try("", "init", "-q", "--ref-format=reftable", "r"); err != nil {
		t.Skip("this version of git does not know reftable")
	}
	s.git("r", "commit", "-q", "--allow-empty", "-m", "x")
	got, spawned := s.resolve("r")
	if want := s.gitSays("r"); spawned == 0 || text(got) != text(want) {
		t.Errorf("%d processes, got %s\nwant %s", spawned, text(got), text(want))
	}
}

func TestWithoutTheGitProgramOnlyThatWhichNeedsItFails(t *testing.T) {
	s := newSandbox(t)
	s.repo("r")
	s.git("", "init", "-q", "--object-format=sha256", "special")
	s.write("none/x", "")
	s.env["PATH"] = s.path("none")
	if got, _ := s.resolve("r"); got.Failed || got.HeadSHA == nil {
		t.Errorf("a plain repository: %s", text(got))
	}
	if got, _ := s.resolve("special"); !got.Failed || got.ObservedAt != nil {
		t.Errorf("a repository that needs the program: %s", text(got))
	}
	if got, _ := s.resolve("none"); text(got) != text(Context{}) {
		t.Errorf("no repository: %s", text(got))
	}
}

func TestAGitProgramThatHangsIsEndedAndCountsAsFailed(t *testing.T) {
	s := newSandbox(t)
	s.git("", "init", "-q", "--object-format=sha256", "r")
	s.write("bin/git", "#!/bin/sh\nexec sleep 60\n")
	if err := os.Chmod(s.path("bin/git"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := NewResolver(Options{Home: s.home, Getenv: s.getenv, Git: s.path("bin/git"), Timeout: 20 * time.Millisecond})
	got := r.NewObservation(someTime).Resolve(context.Background(), s.path("r"))
	if !got.Failed || !strings.Contains(got.Problem, context.DeadlineExceeded.Error()) {
		t.Errorf("got %s", text(got))
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got = s.resolver().NewObservation(someTime).Resolve(ctx, s.path("r")); !got.Failed {
		t.Errorf("after cancelling: %s", text(got))
	}
}

func TestTheEnvironmentCannotPointGitElsewhere(t *testing.T) {
	s := newSandbox(t)
	s.repo("other")
	s.git("", "init", "-q", "--object-format=sha256", "r")
	for name, value := range map[string]string{"GIT_DIR": s.path("other/.git"), "GIT_WORK_TREE": s.path("other"),
		"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "remote.x.url", "GIT_CONFIG_VALUE_0": "https://example.com/x"} {
		s.env[name] = value
	}
	got, _ := s.resolve("r")
	if got.Failed || *got.Root != s.path("r") || len(got.Remotes) != 0 {
		t.Errorf("got %s", text(got))
	}
}

func TestNothingIsObservedOutsideRepositories(t *testing.T) {
	s := newSandbox(t)
	s.write("file", "")
	s.link("loop", "loop")
	for _, folder := range []string{"", ".", "relative", `C:\work`, s.path("missing/below"), s.path("file"), s.path("file/below"),
		s.path("loop"), "/\x00", "/" + strings.Repeat("x", 5000), s.home} {
		r := s.resolver()
		got := r.NewObservation(someTime).Resolve(context.Background(), folder)
		if text(got) != text(Context{}) || r.spawned.Load() != 0 {
			t.Errorf("%.40q: %s", folder, text(got))
		}
	}
}

func TestAnObservationLooksOnceAndANewOneLooksAgain(t *testing.T) {
	s := newSandbox(t)
	s.git("", "init", "-q", "--object-format=sha256", "r")
	s.write("r/a/x", "")
	s.write("later/x", "")
	r := s.resolver()
	first := r.NewObservation(someTime)
	var wait sync.WaitGroup
	for i := range 20 {
		wait.Go(func() {
			folder := []string{"r", "r/a", "later"}[i%3]
			c := first.Resolve(context.Background(), s.path(folder))
			if folder != "later" {
				*c.Branch = "scribbled" // answers belong to their askers
			}
		})
	}
	wait.Wait()
	spawned := r.spawned.Load()
	if c := first.Resolve(context.Background(), s.path("r/a")); *c.Branch != "main" || r.spawned.Load() != spawned {
		t.Errorf("asked again: %s", text(c))
	}
	once := s.resolver()
	once.NewObservation(someTime).Resolve(context.Background(), s.path("r"))
	if spawned != once.spawned.Load() {
		t.Errorf("two folders of one repository took %d processes, one takes %d", spawned, once.spawned.Load())
	}
	s.git("", "init", "-q", "later")
	s.git("r", "symbolic-ref", "HEAD", "refs/heads/other")
	if c := first.Resolve(context.Background(), s.path("later")); c.Root != nil {
		t.Errorf("the first observation changed its mind: %s", text(c))
	}
	second := r.NewObservation(someTime)
	if c := second.Resolve(context.Background(), s.path("later")); c.Root == nil {
		t.Errorf("the second observation did not look: %s", text(c))
	}
	if c := second.Resolve(context.Background(), s.path("r")); *c.Branch != "other" {
		t.Errorf("the second observation did not look: %s", text(c))
	}
}

func TestAPipeInPlaceOfAMarkerDoesNotBlock(t *testing.T) {
	s := newSandbox(t)
	s.repo("r")
	for _, name := range []string{"r/sub/.git", "r/sub/deep/.git/HEAD"} {
		s.write(name+".folder/x", "")
		s.write(filepath.Dir(name)+"/x", "")
		if err := mkfifo(s.path(name)); errors.Is(err, errors.ErrUnsupported) {
			t.Skip("no named pipes here")
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := s.resolve("r/sub/deep"); got.Root == nil || *got.Root != filepath.ToSlash(s.path("r")) {
		t.Errorf("got %s", text(got))
	}
}

// The budget of a pass over sessions whose folders are gone: ten milliseconds for 500.
func BenchmarkResolveMissingFolders(b *testing.B) {
	home := b.TempDir()
	var folders []string
	for i := range 500 {
		folders = append(folders, filepath.Join(home, "gone", strconv.Itoa(i), "project"))
	}
	r := NewResolver(Options{Home: home})
	b.ReportAllocs()
	for b.Loop() {
		o := r.NewObservation(someTime)
		for _, folder := range folders {
			o.Resolve(context.Background(), folder)
		}
	}
}

// The budget of a plain repository: two milliseconds.
func BenchmarkResolvePlainRepository(b *testing.B) {
	first, err := template()
	if err != nil {
		b.Skip(err)
	}
	r := NewResolver(Options{Home: b.TempDir()})
	b.ReportAllocs()
	for b.Loop() {
		if c := r.NewObservation(someTime).Resolve(context.Background(), filepath.Join(first, "sub", "deep")); c.HeadSHA == nil {
			b.Fatal(text(c))
		}
	}
}

func BenchmarkResolveManyBranches(b *testing.B) {
	first, err := template()
	if err != nil {
		b.Skip(err)
	}
	root := filepath.Join(b.TempDir(), "r")
	if err := os.CopyFS(root, os.DirFS(first)); err != nil {
		b.Fatal(err)
	}
	var packed, config strings.Builder
	packed.WriteString("# pack-refs with: peeled fully-peeled sorted \n")
	for i := range 20000 {
		packed.WriteString("0123456789012345678901234567890123456789 refs/heads/b" + strconv.Itoa(i) + "\n")
	}
	for i := range 200 {
		config.WriteString("[branch \"b" + strconv.Itoa(i) + "\"]\n\tremote = origin\n\tmerge = refs/heads/b\n")
	}
	old, _ := os.ReadFile(filepath.Join(root, ".git", "config"))
	for name, content := range map[string]string{"packed-refs": packed.String(), "HEAD": "ref: refs/heads/b19999\n", "config": string(old) + config.String()} {
		if err := os.WriteFile(filepath.Join(root, ".git", name), []byte(content), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	r := NewResolver(Options{Home: b.TempDir()})
	b.SetBytes(int64(packed.Len() + config.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if c := r.NewObservation(someTime).Resolve(context.Background(), root); c.HeadSHA == nil {
			b.Fatal(text(c))
		}
	}
}
