package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentsync/publish/document"
)

// shelf is a machine with a published store, on which verbs that read are run.
type shelf struct {
	*testing.T
	dir string
}

func newShelf(t *testing.T) *shelf {
	t.Helper()
	s := &shelf{t, t.TempDir()}
	s.write("claude/projects/-home-dev-app/0f3c9a1b-0000-4000-8000-000000000001.jsonl",
		`{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"0f3c9a1b-0000-4000-8000-000000000001","cwd":"/home/dev/app","timestamp":"2026-02-28T09:29:00.000Z","message":{"role":"user","content":"A title with \u001b[31m and \u009b and \u007f"}}`+"\n")
	s.write("claude/projects/-home-dev-app/11111111-0000-4000-8000-000000000002.jsonl",
		`{"type":"user","uuid":"u2","parentUuid":null,"sessionId":"11111111-0000-4000-8000-000000000002","cwd":"/home/dev/app","timestamp":"2026-02-20T08:00:00.000Z","message":{"role":"user","content":"Write tests"}}`+"\n\x00\x00half {")
	s.write("config.yaml", "sources: [{id: claude, driver: claude-agent-sdk, roots: [claude]}]\n")
	if code, _, stderr := s.run("publish"); code != exitDone {
		t.Fatalf("publish: exit %d, %s", code, stderr)
	}
	return s
}

func (s *shelf) write(name, content string) {
	s.Helper()
	path := filepath.Join(s.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		s.Fatal(err)
	}
	old := time.Date(2026, 2, 28, 9, 30, 0, 0, time.UTC)
	if err := os.Chtimes(path, old, old); err != nil {
		s.Fatal(err)
	}
}

func (s *shelf) run(args ...string) (code exitCode, stdout, stderr string) {
	var out, errs bytes.Buffer
	args = append([]string{"agentsync", "--config", filepath.Join(s.dir, "config.yaml"), "--state", filepath.Join(s.dir, "state")}, args...)
	code = exitCode(Main(args, strings.NewReader(""), &out, &errs))
	return code, out.String(), errs.String()
}

// objects parses every line of JSON output and returns their types.
func (s *shelf) objects(stdout string) (types []string) {
	s.Helper()
	for line := range strings.Lines(stdout) {
		var o struct {
			Type string `json:"message_type"`
		}
		if err := json.Unmarshal([]byte(line), &o); err != nil || o.Type == "" {
			s.Errorf("not an object with a type: %q, %v", line, err)
		}
		types = append(types, o.Type)
	}
	return types
}

func TestReadingVerbsPrintOneObjectALine(t *testing.T) {
	s := newShelf(t)
	for _, row := range []struct {
		typed string
		want  string // types, each once, in order
	}{
		{"ls", "session summary"},
		{"ls --all --long", "session summary"},
		{"ls nothing-like-it", "summary"},
		{"show 0f3c", "session message summary"},
		{"show 1111 --full --system", "session message summary"},
		{"log", "generation summary"},
		{"cat 0f3c", "cell summary"},
		{"verify", "summary"},
		{"verify --deep --sources", "summary"},
		{"restore --all --dry-run", "file summary"},
		{"prune", "summary"},
		{"status", "store commands source machine warning summary"},
	} {
		t.Run(row.typed, func(t *testing.T) {
			code, stdout, stderr := s.run(append(strings.Fields(row.typed), "--json")...)
			if code != exitDone {
				t.Fatalf("exit %d, %s", code, stderr)
			}
			if got := strings.Join(slices.Compact(s.objects(stdout)), " "); got != row.want {
				t.Errorf("objects %s, want %s", got, row.want)
			}
			for _, r := range strings.ReplaceAll(stdout, "\n", "") {
				if r < ' ' || r >= 0x7f && r < 0xa0 {
					t.Fatalf("raw %U in %q", r, stdout)
				}
			}
		})
	}
}

func TestReadingVerbsShowNothingThatATerminalObeys(t *testing.T) {
	s := newShelf(t)
	for _, typed := range []string{"ls", "ls --long --all", "show 0f3c --full", "log", "status", "restore --all --dry-run", "verify"} {
		_, stdout, stderr := s.run(strings.Fields(typed)...)
		for _, r := range strings.ReplaceAll(stdout+stderr, "\n", "") {
			if r < ' ' || r >= 0x7f && r < 0xa0 {
				t.Errorf("%s: raw %U", typed, r)
			}
		}
	}
}

func TestReadingVerbsMeetADamagedStore(t *testing.T) {
	packs := func(s *shelf) string {
		found, err := filepath.Glob(filepath.Join(s.dir, "state", "store", "packs", "*", "*.pack"))
		if err != nil || len(found) != 1 {
			s.Fatal(found, err)
		}
		return found[0]
	}
	for _, row := range []struct {
		name  string
		spoil func(s *shelf)
		typed []string
	}{
		{"a pack that is cut off", func(s *shelf) {
			if err := os.Truncate(packs(s), 100); err != nil {
				s.Fatal(err)
			}
		}, []string{"ls", "show 0f3c", "cat 0f3c", "cat --raw 0f3c", "verify", "restore --all", "prune", "status"}},
		{"a pack that is gone", func(s *shelf) {
			if err := os.Remove(packs(s)); err != nil {
				s.Fatal(err)
			}
		}, []string{"ls", "verify", "restore --all", "prune", "status"}},
		{"a head that is another text", func(s *shelf) {
			path := filepath.Join(s.dir, "state", "store", "heads", "sessions", "000000000001.json")
			text, err := os.ReadFile(path)
			if err != nil {
				s.Fatal(err)
			}
			_ = os.Chmod(path, 0o600)
			if err := os.WriteFile(path, bytes.Replace(text, []byte(`"generation":1`), []byte(`"generation":2`), 1), 0o600); err != nil {
				s.Fatal(err)
			}
		}, []string{"ls", "log", "show 0f3c", "verify", "restore --all", "status"}},
		{"no head at all and a format that says nothing", func(s *shelf) {
			path := filepath.Join(s.dir, "state", "store", "format.json")
			_ = os.Chmod(path, 0o600)
			if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
				s.Fatal(err)
			}
		}, []string{"ls", "log", "verify", "prune", "status"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newShelf(t)
			row.spoil(s)
			for _, typed := range row.typed {
				code, stdout, stderr := s.run(append(strings.Fields(typed), "--progress=none")...)
				if code != exitDamaged || !strings.Contains(stderr, "agentsync: hint: ") {
					t.Errorf("%s: exit %d, want %d: %s%s", typed, code, exitDamaged, stdout, stderr)
				}
				if strings.Contains(typed, "raw") {
					continue
				}
				if code, stdout, _ := s.run(append(strings.Fields(typed), "--json")...); code != exitDamaged || !slices.Contains(s.objects(stdout), "error") {
					t.Errorf("%s --json: exit %d, %s", typed, code, stdout)
				}
			}
		})
	}
}

func TestVerifyOfASoundPartNamesTheDamagedOne(t *testing.T) {
	s := newShelf(t)
	found, _ := filepath.Glob(filepath.Join(s.dir, "state", "store", "packs", "*", "*.pack"))
	content, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	content[30] ^= 1
	_ = os.Chmod(found[0], 0o600)
	if err := os.WriteFile(found[0], content, 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := s.run("verify")
	if code != exitDamaged || !strings.Contains(stderr, filepath.Base(found[0])) || !strings.Contains(stdout, "1 generation") {
		t.Errorf("exit %d\n%s%s", code, stdout, stderr)
	}
}

// flip changes one bit of the only pack.
func (s *shelf) flip(at int) {
	s.Helper()
	found, err := filepath.Glob(filepath.Join(s.dir, "state", "store", "packs", "*", "*.pack"))
	if err != nil || len(found) != 1 {
		s.Fatal(found, err)
	}
	content, err := os.ReadFile(found[0])
	if err != nil {
		s.Fatal(err)
	}
	content[at] ^= 1
	_ = os.Chmod(found[0], 0o600)
	if err := os.WriteFile(found[0], content, 0o600); err != nil {
		s.Fatal(err)
	}
}

func TestDamageIsMendedFromTheSources(t *testing.T) {
	for _, typed := range []string{"verify --repair", "publish --full"} {
		t.Run(typed, func(t *testing.T) {
			s := newShelf(t)
			s.flip(30)
			out := filepath.Join(s.dir, "out")
			code, stdout, stderr := s.run("restore", "--all", "--to", out)
			if code != exitDamaged || !strings.Contains(stdout, "1 written") || !strings.Contains(stdout, "1 failed") {
				t.Errorf("restore before: exit %d\n%s%s", code, stdout, stderr)
			}
			code, stdout, stderr = s.run(strings.Fields(typed)...)
			want := map[bool]exitCode{true: exitDamaged, false: exitDone}[strings.HasPrefix(typed, "verify")]
			if code != want || !strings.Contains(stdout, "1 session mended") && !strings.Contains(stdout, ", 1 mended") ||
				!strings.Contains(stderr, "its published copy was damaged; it has been written anew") {
				t.Errorf("exit %d\n%s%s", code, stdout, stderr)
			}
			if want == exitDamaged && !strings.Contains(stderr, "only generations before 2 need it") {
				t.Errorf("what is left: %s", stderr)
			}
			if code, stdout, stderr := s.run("restore", "--all", "--to", out); code != exitDone || !strings.Contains(stdout, "1 written") {
				t.Errorf("restore afterwards: exit %d\n%s%s", code, stdout, stderr)
			}
			if code, _, stderr := s.run("prune", "--keep", "1", "--grace", "0s", "--apply"); code != exitDone {
				t.Errorf("prune: exit %d, %s", code, stderr)
			}
			if code, stdout, stderr := s.run("verify", "--deep", "--repair", "--json"); code != exitDone || !strings.Contains(stdout, `"mended":0`) {
				t.Errorf("at last: exit %d\n%s%s", code, stdout, stderr)
			}
		})
	}
}

func TestARestoreFollowsNoLinkBelowItsFolder(t *testing.T) {
	s := newShelf(t)
	out, outside := filepath.Join(s.dir, "out"), filepath.Join(s.dir, "outside")
	for _, dir := range []string{out, outside} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(out, "claude")); err != nil {
		t.Skipf("no link can be made here: %v", err)
	}
	code, _, stderr := s.run("restore", "--all", "--to", out)
	left, err := os.ReadDir(outside)
	if code != exitPartial || err != nil || len(left) > 0 || !strings.Contains(stderr, "is a link or a file, and no folder") {
		t.Errorf("exit %d, %v, %v: %s", code, left, err, stderr)
	}
}

func TestAReadOnlyStoreCanBeReadWithoutAStateFolder(t *testing.T) {
	s := newShelf(t)
	store := filepath.Join(s.dir, "state", "store")
	frozen := filepath.Join(s.dir, "frozen")
	if err := os.Rename(store, frozen); err != nil {
		t.Fatal(err)
	}
	_ = filepath.WalkDir(frozen, func(path string, e os.DirEntry, err error) error {
		if e.IsDir() {
			t.Cleanup(func() { _ = os.Chmod(path, 0o700) })
			return os.Chmod(path, 0o500)
		}
		return os.Chmod(path, 0o400)
	})
	before, _ := os.ReadDir(s.dir)
	for _, typed := range []string{"ls", "show 0f3c", "log", "cat 0f3c", "verify --deep", "prune", "status", "restore --all --dry-run --to out"} {
		var stdout, stderr bytes.Buffer
		args := append([]string{"agentsync", "--store", frozen, "--state", filepath.Join(s.dir, "absent")}, strings.Fields(typed)...)
		if code := Main(args, strings.NewReader(""), &stdout, &stderr); code != 0 {
			t.Errorf("%s: exit %d, %s", typed, code, &stderr)
		}
	}
	if after, _ := os.ReadDir(s.dir); len(after) != len(before) {
		t.Errorf("something was made: %v", after)
	}
}

func TestAStoreIntoWhichNothingWasPublished(t *testing.T) {
	s := newShelf(t)
	for _, name := range []string{filepath.Join("store", "heads"), "stores"} { // and what was seen of them
		if err := os.RemoveAll(filepath.Join(s.dir, "state", name)); err != nil {
			t.Fatal(err)
		}
	}
	for typed, want := range map[string]exitCode{"ls": exitDone, "log": exitDone, "verify": exitDone, "prune": exitDone,
		"show 0f3c": exitNotSetUp, "cat 0f3c": exitNotSetUp, "restore --all": exitNotSetUp, "status": exitNotSetUp} {
		code, stdout, stderr := s.run(append(strings.Fields(typed), "--json")...)
		if code != want {
			t.Errorf("%s: exit %d, want %d: %s%s", typed, code, want, stdout, stderr)
		}
		s.objects(stdout)
	}
}

func TestFoldedTextFitsTheTerminal(t *testing.T) {
	text := "short\n\n  indented code stays\twith its tab\n" + strings.Repeat("word ", 40) + "\n" + strings.Repeat("x", 100) + "修复" + strings.Repeat("修", 40) + "\r\nbad \xff byte \x1b[2J"
	for _, width := range []int{1, 2, 10, 40, 80} {
		for _, line := range folded(text, width) {
			if width > 2 && textWidth(line) > width {
				t.Errorf("%q takes %d columns of %d", line, textWidth(line), width)
			}
			if strings.ContainsAny(line, "\x1b\r\t") {
				t.Errorf("raw control in %q", line)
			}
		}
	}
	joined := strings.Join(folded(strings.Repeat("x", 100), 40), "")
	if joined != strings.Repeat("x", 100) {
		t.Errorf("a long word became %q", joined)
	}
}

func TestTheFamilyOfASession(t *testing.T) {
	k := &kinship{
		members: map[string]member{
			"s/a": {cwd: "/a"}, "s/b": {parent: "s/a", cwd: "/b"}, "s/c": {parent: "s/b"},
			"s/x": {parent: "s/y", cwd: "/x"}, "s/y": {parent: "s/x", cwd: "/y"}, "s/orphan": {parent: "s/none", cwd: "/o"},
		},
		children: map[string][]string{"s/a": {"s/b"}, "s/b": {"s/c"}, "s/x": {"s/y"}, "s/y": {"s/x"}, "s/none": {"s/orphan"}},
	}
	if got := strings.Join(k.family([]string{"s/a"}), " "); got != "s/a s/b s/c" {
		t.Errorf("family %s", got)
	}
	if got := strings.Join(k.family([]string{"s/x"}), " "); got != "s/x s/y" {
		t.Errorf("a circle gives %s", got)
	}
	for key, want := range map[string]string{"s/a": "/a", "s/c": "/a", "s/orphan": "/o"} {
		if got := k.directory(&document.Row{Key: key}); got != want {
			t.Errorf("%s belongs to %q, want %q", key, got, want)
		}
	}
}

func TestASessionGoesBackToTheFolderItWasIn(t *testing.T) {
	s := newShelf(t)
	id := "77777777-0000-4000-8000-000000000007.jsonl"
	line := `{"type":"user","uuid":"u7","sessionId":"77777777-0000-4000-8000-000000000007","cwd":"/home/dev/app","message":{"role":"user","content":"` + "%" + `"}}` + "\n"
	want := map[string]string{}
	for _, root := range []string{"one", "two"} {
		name := root + "/projects/-home-dev-app/" + id
		want[name] = strings.Replace(line, "%", "in "+root, 1)
		s.write(name, want[name])
	}
	s.write("config.yaml", "sources: [{id: both, driver: claude-agent-sdk, roots: [one, two]}]\n")
	if code, _, stderr := s.run("publish", "--source", "both"); code != exitDone {
		t.Fatal(code, stderr)
	}
	if code, _, stderr := s.run("restore", "--all", "--source", "both", "--to", filepath.Join(s.dir, "to")); code != exitDone {
		t.Error(code, stderr)
	}
	if found, _ := filepath.Glob(filepath.Join(s.dir, "to", "both", "*", "projects", "*", id)); len(found) != 2 {
		t.Errorf("elsewhere: %v", found)
	}
	for name := range want {
		if err := os.Remove(filepath.Join(s.dir, filepath.FromSlash(name))); err != nil {
			t.Fatal(err)
		}
	}
	if code, _, stderr := s.run("restore", "--all", "--source", "both"); code != exitDone {
		t.Error(code, stderr)
	}
	for name, content := range want {
		if got, err := os.ReadFile(filepath.Join(s.dir, filepath.FromSlash(name))); err != nil || string(got) != content {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestTheRecentIndexIsEnoughForRecentDays(t *testing.T) {
	root := &document.Root{GeneratedAt: "2026-03-08T12:00:00.000Z"}
	for _, row := range []struct {
		name string
		w    choice
		want bool
	}{
		{"no time", choice{}, false},
		{"exactly seven days before", choice{since: "2026-03-01T12:00:00.000Z"}, true},
		{"a moment earlier", choice{since: "2026-03-01T11:59:59.999Z"}, false},
		{"later", choice{since: "2026-03-08T00:00:00.000Z", query: "x", cwds: []string{"/a"}}, true},
		{"deleted ones too", choice{since: "2026-03-08T00:00:00.000Z", all: true}, false},
		{"deleted ones only", choice{since: "2026-03-08T00:00:00.000Z", status: document.StatusDeleted}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := row.w.recentEnough(root); got != row.want {
				t.Errorf("%v, want %v", got, row.want)
			}
		})
	}
}

func TestAge(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for stored, want := range map[string]string{"2026-03-01T11:59:30.000Z": "now", "2026-03-01T11:00:00.000Z": "1h", "2026-03-01T13:00:00.000Z": "now",
		"2026-02-27T11:00:00.000Z": "2d", "2024-02-27T11:00:00.000Z": "2y", "never": "?"} {
		if got := age(now, &stored); got != want {
			t.Errorf("%s is %s, want %s", stored, got, want)
		}
	}
}

func TestASessionsOwnBytesNeverGoToATerminal(t *testing.T) {
	s := newShelf(t)
	var stdout, stderr bytes.Buffer
	env := processEnv(strings.NewReader(""), &stdout, &stderr)
	env.StdoutTerminal = true
	args := []string{"agentsync", "--store", filepath.Join(s.dir, "state", "store"), "cat", "--raw", "1111"}
	if code := run(t.Context(), env, args); code != exitUsage || stdout.Len() > 0 {
		t.Errorf("exit %d, printed %q", code, &stdout)
	}
	code, out, _ := s.run("cat", "--raw", "1111")
	want, err := os.ReadFile(filepath.Join(s.dir, "claude", "projects", "-home-dev-app", "11111111-0000-4000-8000-000000000002.jsonl"))
	if err != nil || code != exitDone || out != string(want) {
		t.Errorf("exit %d, %q, want %q", code, out, want)
	}
}
