package claude

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/collect/value"
	fake "agentsync/fixtures/fakeagent/claude"
)

// TestMain makes the test binary the client's program when it is run as one.
func TestMain(m *testing.M) {
	if _, ok := os.LookupEnv("FAKE_AGENT"); ok {
		os.Exit(fake.Main())
	}
	os.Exit(m.Run())
}

// workshop is a source whose program is the fake one.
type workshop struct {
	config
	driver *Driver
	dir    string // that the sessions are in
	log    string
}

// newWorkshop makes a source whose program has these faults.
func newWorkshop(t *testing.T, faults string, change ...func(*collect.SourceConfig, *collect.Env)) *workshop {
	t.Helper()
	w := &workshop{config: newConfig(t), dir: t.TempDir()}
	w.log = filepath.Join(t.TempDir(), "log")
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cfg := collect.SourceConfig{ID: "claude", ConfigDir: w.config.dir, Command: []string{program},
		Env: map[string]string{"FAKE_AGENT": faults, "FAKE_AGENT_LOG": w.log}}
	env := collect.Env{Now: time.Now()}
	for _, c := range change {
		c(&cfg, &env)
	}
	if w.driver, err = New(cfg, env); err != nil {
		t.Fatal(err)
	}
	w.driver.patience = patience{answer: 20 * time.Second, cancel: 20 * time.Second, interrupt: 5 * time.Second, linger: 5 * time.Second,
		appear: time.Second, grace: 300 * time.Millisecond}
	t.Cleanup(func() { _ = w.driver.Stop() })
	return w
}

// session puts a session of one turn into the workshop's directory.
func (w *workshop) session(n int) string {
	w.t.Helper()
	line := strings.ReplaceAll(talk("hello"), "/home/dev/proj", w.dir)
	w.put(collect.ProjectKey(w.real())+"/"+u(n)+".jsonl", line)
	return u(n)
}

func (w *workshop) real() string {
	w.t.Helper()
	real, err := filepath.EvalSymlinks(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	return real
}

func (w *workshop) prompt(id, text string) collect.Outcome {
	w.t.Helper()
	o, err := w.driver.Prompt(context.Background(), id, collect.PromptInput{Text: text}, &stones{})
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

func (w *workshop) start(id string, in collect.StartInput) collect.Outcome {
	w.t.Helper()
	o, err := w.driver.StartSession(context.Background(), id, in, &stones{})
	if err != nil {
		w.t.Fatal(err)
	}
	return o
}

// logged returns what the program told under a key, in order.
func (w *workshop) logged(key string) (list []json.RawMessage) {
	w.t.Helper()
	content, err := os.ReadFile(w.log)
	if err != nil && !os.IsNotExist(err) {
		w.t.Fatal(err)
	}
	lines := bufio.NewScanner(strings.NewReader(string(content)))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var m map[string]json.RawMessage
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			w.t.Fatal(err)
		}
		if v, ok := m[key]; ok {
			list = append(list, v)
		}
	}
	return list
}

// stones are milestones that remember.
type stones struct {
	mutex  sync.Mutex
	ready  int
	begun  int
	active func(ctx context.Context) error
}

func (s *stones) CancelReady() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.ready++
}

func (s *stones) SessionActive(ctx context.Context, _ string) error {
	s.mutex.Lock()
	s.begun++
	s.mutex.Unlock()
	if s.active != nil {
		return s.active(ctx)
	}
	return nil
}

func (s *stones) seen() (ready, begun int) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.ready, s.begun
}

// wantOutcome compares status and code.
func wantOutcome(t *testing.T, o collect.Outcome, status collect.Status, code string) {
	t.Helper()
	got := ""
	if o.Problem != nil {
		got = o.Problem.Code
	}
	if o.Status != status || got != code {
		t.Errorf("outcome %s %q (%v), want %s %q", o.Status, got, o.Problem, status, code)
	}
}

func canonical(v value.Value) string { return string(value.AppendText(nil, v)) }

func quote(s string) string { return string(value.AppendString(nil, s)) }

func decode(t *testing.T, text json.RawMessage, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}
