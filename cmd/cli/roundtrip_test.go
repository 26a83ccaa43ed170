package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentsync/fixtures/gen/odd"
	"agentsync/fixtures/gen/tree"
)

// station is one machine: agents' folders, a store, and the program run on them.
type station struct {
	*testing.T
	dir    string
	agents string // holds claude/ and codex/
}

func newStation(t *testing.T, agents string) *station {
	t.Helper()
	s := &station{T: t, dir: t.TempDir(), agents: agents}
	for _, agent := range []string{"claude", "codex"} { // the configuration names both
		if err := os.MkdirAll(filepath.Join(agents, agent), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	config := fmt.Sprintf(`sources:
  - id: claude
    driver: claude-agent-sdk
    configDir: %q
  - id: codex
    driver: codex-app-server
    codexHome: %q
`, filepath.Join(agents, "claude"), filepath.Join(agents, "codex"))
	if err := os.WriteFile(filepath.Join(s.dir, "config.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// run runs the program, expects the exit code, and returns the last JSON object.
func (s *station) run(code int, args ...string) map[string]any {
	s.Helper()
	rows := s.all(code, args...)
	return rows[len(rows)-1]
}

// all runs the program, expects the exit code, and returns every JSON object.
func (s *station) all(code int, args ...string) (objects []map[string]any) {
	s.Helper()
	var stdout, stderr bytes.Buffer
	args = append([]string{"agentsync", "--config", filepath.Join(s.dir, "config.yaml"), "--state", filepath.Join(s.dir, "state"),
		"--store", filepath.Join(s.dir, "store"), "--json"}, args...)
	if got := Main(args, strings.NewReader(""), &stdout, &stderr); got != code {
		s.Fatalf("%v: exit %d, want %d\n%s%s", args[7:], got, code, stdout.String(), stderr.String())
	}
	for line := range strings.Lines(stdout.String()) {
		var o map[string]any
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			s.Fatalf("%v: %v in %q", args[7:], err, line)
		}
		objects = append(objects, o)
	}
	return objects
}

// comesBack publishes, verifies every hash, restores everything elsewhere and
// compares each file; then a second pass must write nothing and open nothing.
func (s *station) comesBack(into string) {
	s.Helper()
	s.run(0, "publish")
	s.run(0, "verify", "--deep")
	again := s.run(0, "publish")
	if again["documents"] != 0.0 || again["published"] != 0.0 || again["bytes_read"] != 0.0 {
		s.Errorf("a second pass over unchanged files: %v", again)
	}
	out := filepath.Join(s.dir, into)
	s.run(0, "restore", "--all", "--to", out)
	for _, below := range []string{"claude/projects", "codex/sessions", "codex/archived_sessions"} {
		sameFiles(s.T, filepath.Join(s.agents, filepath.FromSlash(below)), filepath.Join(out, filepath.FromSlash(below)))
	}
	names := filepath.Join("codex", "session_index.jsonl")
	if want, err := os.ReadFile(filepath.Join(s.agents, names)); err == nil {
		if got, err := os.ReadFile(filepath.Join(out, names)); err != nil || !bytes.Equal(got, want) {
			s.Errorf("%s does not come back: %v", names, err)
		}
	}
}

// showsEveryMessage shows every session in both ways: what is shown and what is said to be
// left out are all its messages, and --full leaves out none.
func (s *station) showsEveryMessage() {
	s.Helper()
	for _, row := range s.all(0, "ls", "--all") {
		if row["message_type"] != "session" {
			continue
		}
		key := row["key"].(string)
		for _, args := range [][]string{{}, {"--full"}, {"--system"}, {"--limit", "3"}, {"--full", "--limit", "3"}} {
			rows := s.all(0, append([]string{"show", key}, args...)...)
			sum := rows[len(rows)-1]
			n := func(field string) int { return int(sum[field].(float64)) }
			left := n("compacted") + n("before_break") + n("branches") + n("notes") + n("system") + n("limited")
			if n("shown")-n("queued")+left != n("messages") {
				s.Errorf("show %s %v: %v", key, args, sum)
			}
			shown := 0
			for _, one := range rows {
				if one["message_type"] == "message" {
					shown++
				}
			}
			if shown != n("shown") || len(args) == 1 && args[0] == "--full" && left != 0 {
				s.Errorf("show %s %v shows %d: %v", key, args, shown, sum)
			}
		}
	}
}

// rest dates every file back, so that no unfinished last line is waited for.
func (s *station) rest(ago time.Duration) {
	s.Helper()
	at := time.Now().Add(-ago)
	err := filepath.WalkDir(s.agents, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		return os.Chtimes(path, at, at)
	})
	if err != nil {
		s.Fatal(err)
	}
}

// sameFiles checks that every plain file below one folder stands below the other,
// byte for byte.
func sameFiles(t *testing.T, want, got string) {
	t.Helper()
	err := filepath.WalkDir(want, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(want, path)
		if err != nil {
			return err
		}
		a, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		b, err := os.ReadFile(filepath.Join(got, strings.TrimSuffix(rel, ".zst")))
		switch {
		case err != nil:
			t.Errorf("%s does not come back: %v", rel, err)
		case strings.HasSuffix(rel, ".zst"): // comes back unpacked, compared by its reader's tests
		case !bytes.Equal(a, b):
			t.Errorf("%s comes back with %d bytes, had %d", rel, len(b), len(a))
		}
		return nil
	})
	if err != nil && !os.IsNotExist(err) {
		t.Error(err)
	}
}

func TestEveryOddInputComesBack(t *testing.T) {
	for _, c := range append(odd.All(), odd.Unmet()...) {
		t.Run(c.Name, func(t *testing.T) {
			agents := t.TempDir()
			if err := c.Write(agents); err != nil {
				t.Fatal(err)
			}
			s := newStation(t, agents)
			s.rest(time.Hour)
			s.comesBack("out")
			s.showsEveryMessage()
			for k := range c.Later {
				if err := c.WriteLater(agents, k); err != nil {
					t.Fatal(err)
				}
				s.rest(time.Hour - time.Duration(k+1)*time.Minute)
				s.comesBack(fmt.Sprintf("out%d", k))
			}
		})
	}
}

func TestAGrowingTreeComesBack(t *testing.T) {
	agents := filepath.Join(t.TempDir(), "agents")
	if _, _, err := tree.Write(agents, tree.Options{Bytes: 4 << 20, Seed: 7, Grow: true, Files: 60}); err != nil {
		t.Fatal(err)
	}
	s := newStation(t, agents)
	s.comesBack("out0")
	for k := 1; k <= 3; k++ {
		if _, _, err := tree.WriteStep(agents, k); err != nil {
			t.Fatal(err)
		}
		s.comesBack(fmt.Sprintf("out%d", k))
	}
}

// TestARecordedSessionGrows publishes the recorded states of one session one after
// the other, as its file grew.
func TestARecordedSessionGrows(t *testing.T) {
	states, err := filepath.Glob("../../../shared/corpus/growth/claude/*/*/*.jsonl")
	if err != nil || len(states) == 0 {
		t.Skip("the recorded transcripts are not beside the checkout")
	}
	agents := t.TempDir()
	file := filepath.Join(agents, "claude", "projects", "-home-dev-app", filepath.Base(filepath.Dir(states[0]))+".jsonl")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	s := newStation(t, agents)
	for k, state := range states {
		content, err := os.ReadFile(state)
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.Write(content); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		s.rest(time.Hour - time.Duration(k)*time.Minute)
		s.comesBack(fmt.Sprintf("out%d", k))
	}
}

// TestRecordedTranscriptsComeBack runs over real transcripts, which are not part of
// the project.
func TestRecordedTranscriptsComeBack(t *testing.T) {
	corpus, err := filepath.Abs("../../../shared/corpus")
	if err != nil {
		t.Fatal(err)
	}
	for _, agent := range []string{"claude", "codex"} {
		sets, err := os.ReadDir(filepath.Join(corpus, agent))
		if err != nil {
			t.Skip("the recorded transcripts are not beside the checkout")
		}
		for _, set := range sets {
			t.Run(agent+" "+set.Name(), func(t *testing.T) {
				agents := t.TempDir()
				if err := os.CopyFS(filepath.Join(agents, agent), os.DirFS(filepath.Join(corpus, agent, set.Name()))); err != nil {
					t.Fatal(err)
				}
				s := newStation(t, agents)
				s.comesBack("out")
				s.showsEveryMessage()
			})
		}
	}
}

// TestRecordedSessionsShowEveryMessage runs over the project's own recordings.
func TestRecordedSessionsShowEveryMessage(t *testing.T) {
	for _, set := range []string{"claude/real/config", "claude/edge/config", "codex/home", "codex/legacy-home"} {
		t.Run(set, func(t *testing.T) {
			agents := t.TempDir()
			agent, _, _ := strings.Cut(set, "/")
			from := filepath.Join("..", "..", "fixtures", "sessions", filepath.FromSlash(set))
			if err := os.CopyFS(filepath.Join(agents, agent), os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
			s := newStation(t, agents)
			s.rest(time.Hour)
			s.run(0, "publish")
			s.showsEveryMessage()
		})
	}
}
