package gitinfo

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"agentsync/fixtures/plainuser"
)

// fake makes the least that is a worktree, without running git.
func (s *sandbox) fake(name string) {
	s.t.Helper()
	s.write(name+"/.git/HEAD", "ref: refs/heads/main\n")
	for _, folder := range []string{"objects", "refs"} {
		if err := os.MkdirAll(s.path(name+"/.git/"+folder), 0o755); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *sandbox) discover(options DiscoverOptions, roots ...string) ([]string, error) {
	for i, root := range roots {
		roots[i] = s.path(root)
	}
	found, err := Discover(context.Background(), roots, options)
	for i := range found {
		found[i] = strings.TrimPrefix(strings.TrimPrefix(found[i], filepath.ToSlash(s.home)), "/")
	}
	return found, err
}

func TestDiscoverFindsWorktrees(t *testing.T) {
	cases := []struct {
		name    string
		options DiscoverOptions
		build   func(s *sandbox)
		roots   []string
		want    []string
	}{
		{"below a folder, in order", DiscoverOptions{}, func(s *sandbox) {
			s.fake("src/b")
			s.fake("src/a/x")
			s.write("src/plain/file", "")
		}, []string{"src"}, []string{"src/a/x", "src/b"}},
		{"the folder itself and what lies inside a worktree", DiscoverOptions{}, func(s *sandbox) {
			s.fake("src")
			s.fake("src/vendor/inner")
			s.fake("src/.git/modules/hidden")
		}, []string{"src"}, []string{"src", "src/vendor/inner"}},
		{"linked worktrees, submodules, not bare repositories", DiscoverOptions{}, func(s *sandbox) {
			s.repo("src/r")
			s.git("src/r", "worktree", "add", "-q", "-b", "o", "trees/w")
			s.git("", "init", "-q", "--bare", "src/b.git")
		}, []string{"src"}, []string{"src/r", "src/r/trees/w"}},
		{"no stale or invalid markers", DiscoverOptions{}, func(s *sandbox) {
			s.write("src/empty/.git/x", "")
			s.write("src/stale/.git", "gitdir: /nonexistent/place\n")
			s.write("src/text/.git", "text")
			s.write("src/odd/.git/HEAD", "nonsense")
			s.fake("src/good")
		}, []string{"src"}, []string{"src/good"}},
		{"nothing behind links below a root", DiscoverOptions{}, func(s *sandbox) {
			s.fake("elsewhere/r")
			s.write("src/x", "")
			s.link("elsewhere", "src/link")
		}, []string{"src"}, []string{}},
		{"a root that is a link", DiscoverOptions{}, func(s *sandbox) {
			s.fake("elsewhere/r")
			s.link("elsewhere", "src")
		}, []string{"src"}, []string{"elsewhere/r"}},
		{"each once when roots overlap", DiscoverOptions{}, func(s *sandbox) {
			s.fake("src/a/b/c")
		}, []string{"src/a/b", "src", "src/a", "src"}, []string{"src/a/b/c"}},
		{"nothing in skipped folders", DiscoverOptions{}, func(s *sandbox) {
			s.fake("src/node_modules/r")
			s.fake("src/kept/r")
		}, []string{"src"}, []string{"src/kept/r"}},
		{"everything when nothing is skipped", DiscoverOptions{Skip: []string{}}, func(s *sandbox) {
			s.fake("src/node_modules/r")
		}, []string{"src"}, []string{"src/node_modules/r"}},
		{"a skipped folder that is itself configured", DiscoverOptions{}, func(s *sandbox) {
			s.fake("node_modules/r")
		}, []string{"node_modules"}, []string{"node_modules/r"}},
		{"what the depth allows, from each root", DiscoverOptions{MaxDepth: 2}, func(s *sandbox) {
			s.fake("src/1/2")
			s.fake("src/1/b/3")
			s.fake("src/1/b/c/4")
		}, []string{"src", "src/1"}, []string{"src/1/2", "src/1/b/3"}},
		{"nothing without roots", DiscoverOptions{}, func(*sandbox) {}, nil, []string{}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newSandbox(t)
			c.build(s)
			got, err := s.discover(c.options, append([]string(nil), c.roots...)...)
			if err != nil || len(got) != len(c.want) || len(got) > 0 && !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %v, %v; want %v", got, err, c.want)
			}
		})
	}
}

func TestASkippedPathIsOnlyThatFolder(t *testing.T) {
	s := newSandbox(t)
	s.fake("src/a/data/r")
	s.fake("src/b/data/r")
	got, err := s.discover(DiscoverOptions{Skip: []string{s.path("src/a/data") + "/"}}, "src")
	if err != nil || !reflect.DeepEqual(got, []string{"src/b/data/r"}) {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestAnIncompleteDiscoveryIsAnError(t *testing.T) {
	s := newSandbox(t)
	s.fake("src/r")
	s.write("file", "")
	got, err := s.discover(DiscoverOptions{}, "src", "missing", "file")
	if got != nil || !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), s.path("missing")) ||
		!strings.Contains(err.Error(), s.path("file")) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := Discover(context.Background(), []string{"relative"}, DiscoverOptions{}); err == nil {
		t.Error("a relative folder was taken")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if got, err := Discover(ctx, []string{s.path("src")}, DiscoverOptions{}); got != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("after cancelling: %v, %v", got, err)
	}
}

func TestAnUnreadableFolderFailsTheDiscoveryUnlessSkipped(t *testing.T) {
	if plainuser.Runs(t) {
		return
	}
	s := newSandbox(t)
	s.fake("src/r")
	s.fake("src/locked/r")
	s.mode("src/locked", 0)
	got, err := s.discover(DiscoverOptions{}, "src")
	if got != nil || !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), s.path("src/locked")) {
		t.Errorf("got %v, %v", got, err)
	}
	if got, err = s.discover(DiscoverOptions{Skip: []string{s.path("src/locked")}}, "src"); err != nil || !reflect.DeepEqual(got, []string{"src/r"}) {
		t.Errorf("skipped: got %v, %v", got, err)
	}
	s.fake("src/half")
	s.mode("src/locked", 0o755)
	s.mode("src/half/.git", 0)
	if _, err = s.discover(DiscoverOptions{}, "src"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a marker that cannot be entered: %v", err)
	}
}

func BenchmarkDiscover(b *testing.B) {
	home := b.TempDir()
	for i := range 1000 {
		if err := os.MkdirAll(filepath.Join(home, strconv.Itoa(i%10), strconv.Itoa(i)), 0o755); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Discover(context.Background(), []string{home}, DiscoverOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}
