package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/collect/value"
	fake "agentsync/fixtures/fakeagent/acp"
)

// TestMain lets the test binary be the agent: it is started again with FAKE_AGENT.
func TestMain(m *testing.M) {
	if os.Getenv(fake.Words) != "" {
		fake.Main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// now is the pass's reading of the clock in all tests, long after the fake's changes.
var now = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// stage is a fake agent's home and the driver of it.
type stage struct {
	t      *testing.T
	home   string
	cfg    collect.SourceConfig
	env    collect.Env
	limits limits
	*Driver
}

// newStage prepares an agent that shows the given faults. It is not started.
func newStage(t *testing.T, words string) *stage {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{t: t, home: t.TempDir(), limits: limits{request: 20 * time.Second, idle: 20 * time.Second, grace: 5 * time.Second}}
	s.cfg = collect.SourceConfig{ID: "agent", Driver: Kind, Command: []string{program}, Cwd: t.TempDir(),
		Env: map[string]string{fake.Words: "plain," + words, fake.Home: s.home}}
	s.env = collect.Env{Now: now, Getenv: os.Getenv, Temp: t.TempDir(), Memory: &notebook{}}
	return s
}

// begin makes a new driver of the stage and starts it: a new pass.
func (s *stage) begin() *stage {
	s.t.Helper()
	if s.Driver != nil {
		_ = s.Stop()
	}
	d, err := New(s.cfg, s.env)
	if err != nil {
		s.t.Fatal(err)
	}
	d.limits = s.limits
	s.Driver = d
	if err := d.Start(s.t.Context()); err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = d.Stop() })
	return s
}

func begin(t *testing.T, words string) *stage {
	t.Helper()
	return newStage(t, words).begin()
}

// words changes what the agent does from its next start on.
func (s *stage) words(words string) { s.cfg.Env[fake.Words] = "plain," + words }

// seed writes a session as another process of the agent would have left it.
func (s *stage) seed(id string, texts ...string) {
	s.t.Helper()
	updates := []any{}
	for i, text := range texts {
		kind := [2]string{"user_message_chunk", "agent_message_chunk"}[i%2]
		updates = append(updates, map[string]any{"sessionUpdate": kind, "content": map[string]any{"type": "text", "text": text}})
	}
	s.write(map[string]any{"sessionId": id, "cwd": s.cfg.Cwd, "title": "Title of " + id, "changes": 1, "updates": updates})
}

func (s *stage) write(session map[string]any) {
	s.t.Helper()
	text, err := json.Marshal(session)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.home, session["sessionId"].(string)+".session.json"), text, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// wantSaved waits until the agent has saved a text in a session.
func (s *stage) wantSaved(id, text string) {
	s.t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		saved, err := os.ReadFile(filepath.Join(s.home, id+".session.json"))
		if err == nil && bytes.Contains(saved, []byte(text)) {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("%s is not saved in %s: %v", text, id, err)
		}
	}
}

// received are the messages that all processes of the agent got of a method.
func (s *stage) received(method string) (params []string) {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.home, "received.jsonl"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		var m struct {
			Method string
			Params json.RawMessage
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			s.t.Fatal(err)
		}
		if m.Method == method {
			params = append(params, string(m.Params))
		}
	}
	return params
}

// replayed is what a session's reading gave.
type replayed struct {
	raw      string
	events   []collect.Event // without their buffers
	messages []collect.Message
	trailer  collect.Trailer
}

// read reads a session to its end.
func read(t *testing.T, d *Driver, session string) (replayed, error) {
	t.Helper()
	snap, err := d.ReadSession(t.Context(), session, nil)
	if err != nil {
		return replayed{}, err
	}
	defer snap.Close()
	return drain(t, snap), nil
}

func drain(t *testing.T, snap collect.Snapshot) replayed {
	t.Helper()
	var h replayed
	var raw strings.Builder
	for tape := new(value.Tape); ; tape.Reset() {
		at := snap.At()
		e, err := snap.Next(tape)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if at.Offset != int64(raw.Len()) || e.Offset != at.Offset || at.Event != len(h.events) {
			t.Fatalf("event %d stands at %+v, after %d bytes", len(h.events), at, raw.Len())
		}
		raw.Write(e.Raw)
		if e.Message != nil {
			h.messages = append(h.messages, *e.Message)
		}
		h.events = append(h.events, collect.Event{Damage: e.Damage})
	}
	h.raw = raw.String()
	var err error
	if h.trailer, err = snap.Finish(); err != nil {
		t.Fatal(err)
	}
	return h
}

// mustRead reads a session that can be read.
func mustRead(t *testing.T, d *Driver, session string) replayed {
	t.Helper()
	h, err := read(t, d, session)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// milestones counts them, and does what a test wants at each.
type milestones struct {
	mu            sync.Mutex
	ready, active int
	onReady       func()
	onActive      func()
}

func (m *milestones) CancelReady() {
	m.mu.Lock()
	m.ready++
	m.mu.Unlock()
	if m.onReady != nil {
		m.onReady()
	}
}

func (m *milestones) SessionActive(context.Context, string) error {
	m.mu.Lock()
	m.active++
	m.mu.Unlock()
	if m.onActive != nil {
		m.onActive()
	}
	return nil
}

// notebook is a collect.Memory that lasts as long as the test.
type notebook struct {
	mu    sync.Mutex
	pages map[string]string
}

func (n *notebook) Recall(source, session, key string) (string, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	text, found := n.pages[source+"/"+session+"/"+key]
	return text, found
}

func (n *notebook) Remember(_ context.Context, source, session, key, text string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.pages == nil {
		n.pages = map[string]string{}
	}
	n.pages[source+"/"+session+"/"+key] = text
	maps.DeleteFunc(n.pages, func(_, text string) bool { return text == "" })
	return nil
}

// wantOutcome checks an outcome's status and code, and that no payload shows in it.
func wantOutcome(t *testing.T, o collect.Outcome, err error, status collect.Status, code string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	if o.Problem != nil {
		got = o.Problem.Code
		if strings.Contains(o.Problem.Message, secret) {
			t.Errorf("the problem quotes the prompt: %s", o.Problem.Message)
		}
	}
	if o.Status != status || got != code {
		t.Fatalf("outcome %s %q (%v), want %s %q", o.Status, got, o.Problem, status, code)
	}
}

// secret stands in prompts and must not show up anywhere else.
const secret = "open sesame"

// resultText is a detail of an outcome.
func resultText(o collect.Outcome, key string) string { return o.Result.Path(key).Str() }

// remove deletes a session as another process of the agent would.
func (s *stage) remove(id string) {
	s.t.Helper()
	if err := os.Remove(filepath.Join(s.home, id+".session.json")); err != nil {
		s.t.Fatal(err)
	}
}
