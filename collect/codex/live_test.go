package codex

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/fixtures/realagents"
)

// milestones notes how far an operation came. Look is called while the provider works.
type milestones struct {
	mu      sync.Mutex
	told    []string
	session string // that was said to be active
	ready   chan struct{}
	active  chan struct{}
	look    func()
}

func newMilestones() *milestones {
	return &milestones{ready: make(chan struct{}), active: make(chan struct{})}
}

func (m *milestones) CancelReady() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.told = append(m.told, "cancel-ready")
	close(m.ready)
}

func (m *milestones) SessionActive(_ context.Context, id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.session = id
	m.told = append(m.told, "session-active")
	if m.look != nil {
		m.look()
	}
	close(m.active)
	return nil
}

// realCodex is the real agent with a home and a project of its own.
type realCodex struct {
	cfg     collect.SourceConfig
	env     collect.Env
	home    string
	project string
	model   *realagents.ModelServer
}

func newRealCodex(t *testing.T) *realCodex {
	t.Helper()
	if testing.Short() {
		t.Skip("runs the real agent")
	}
	program := realagents.Require(t, realagents.Codex)
	model := realagents.Model(t)
	project := t.TempDir()
	home, env := realagents.CodexHome(t, model, project)
	known := map[string]string{}
	for _, entry := range env {
		name, text, _ := strings.Cut(entry, "=")
		known[name] = text
	}
	return &realCodex{home: home, project: project, model: model,
		cfg: collect.SourceConfig{ID: "codex", CodexBin: program, CodexHome: home, Cwd: project,
			Env: map[string]string{"MOCK_KEY": known["MOCK_KEY"]}},
		env: collect.Env{Now: time.Now().Add(time.Hour), Home: known["HOME"], Getenv: func(name string) string { return known[name] }}}
}

// driver makes one more driver of the same home. It is stopped with the test.
func (c *realCodex) driver(t *testing.T) *Driver {
	t.Helper()
	d, err := New(c.cfg, c.env)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stopped(t, d) })
	return d
}

func stopped(t *testing.T, d *Driver) {
	t.Helper()
	if err := d.Stop(); err != nil {
		t.Error(err)
	}
}

// config sets the policy of threads that say nothing else.
func (c *realCodex) config(t *testing.T, approval, sandbox string) {
	t.Helper()
	path := filepath.Join(c.home, "config.toml")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.NewReplacer(`approval_policy = "never"`, `approval_policy = "`+approval+`"`,
		`sandbox_mode = "danger-full-access"`, `sandbox_mode = "`+sandbox+`"`).Replace(string(text))
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
}

// start begins a session and returns its thread.
func start(t *testing.T, d *Driver, text string) string {
	t.Helper()
	o, err := d.StartSession(t.Context(), "asked", collect.StartInput{PromptInput: collect.PromptInput{Text: text}}, newMilestones())
	if err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, o, collect.Succeeded, "")
	return o.Session
}

func prompt(t *testing.T, d *Driver, id, text string, m collect.Milestones) collect.Outcome {
	t.Helper()
	o, err := d.Prompt(t.Context(), id, collect.PromptInput{Text: text}, m)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func wantOutcome(t *testing.T, o collect.Outcome, status collect.Status, code string) {
	t.Helper()
	got := ""
	if o.Problem != nil {
		got = o.Problem.Code
	}
	if o.Status != status || got != code {
		t.Fatalf("outcome %s %q (%v), want %s %q", o.Status, got, o.Problem, status, code)
	}
}

// summaryOf reads a summary anew.
func summaryOf(t *testing.T, d *Driver, id string) collect.Summary {
	t.Helper()
	list(t, d)
	s, err := d.Summarize(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// noneLeft checks that no process of a home's agent goes on running. The agent's looks at
// the shell run in groups of their own, and end by themselves.
func noneLeft(t *testing.T, home string) {
	t.Helper()
	var left []process
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if left = processesOf(t, home); len(left) == 0 {
			return
		}
	}
	for _, p := range left {
		t.Errorf("process %d is left: %.100q", p.pid, p.command)
	}
}

// process is one that runs.
type process struct {
	pid     int
	command string
}

// processesOf lists the processes whose environment names a home.
func processesOf(t *testing.T, home string) []process {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Skipf("which processes run is not known here: %v", err)
	}
	var list []process
	for _, e := range entries {
		environ, err := os.ReadFile(filepath.Join("/proc", e.Name(), "environ"))
		if err != nil || !strings.Contains(string(environ), "CODEX_HOME="+home+"\x00") {
			continue
		}
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			command, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
			list = append(list, process{pid, string(command)})
		}
	}
	return list
}

func TestLiveStartPromptRename(t *testing.T) {
	c := newRealCodex(t)
	d := c.driver(t)
	m := newMilestones()
	var seen collect.Summary
	o, err := d.StartSession(t.Context(), "asked-for", collect.StartInput{Title: "First title",
		PromptInput: collect.PromptInput{Text: "Begin. [[mock: text:Begun.]]"}}, m)
	if err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, o, collect.Succeeded, "")
	if o.Session == "" || o.Result.Path("nativeSessionId").Str() != o.Session || o.Result.Path("startedAs").Str() != "asked-for" ||
		o.Result.Path("cwd").Str() != c.project || o.Result.Path("turnId").Str() != o.ProviderOperationID {
		t.Errorf("the outcome %+v names another thread, folder or turn", o)
	}
	s := summaryOf(t, d, o.Session)
	if text(s.Title) != "First title" || text(s.Cwd) != c.project || s.Active != nil {
		t.Errorf("summary %+v", s)
	}
	id := o.Session
	m = newMilestones()
	m.look = func() { seen = summaryOf(t, d, id) }
	o = prompt(t, d, id, "Go on. [[mock: text:Gone on.]]", m)
	wantOutcome(t, o, collect.Succeeded, "")
	if strings.Join(m.told, " ") != "cancel-ready session-active" || seen.Active == nil || !*seen.Active {
		t.Errorf("milestones %v, active while it ran: %v", m.told, seen.Active)
	}
	if s := summaryOf(t, d, id); s.Active != nil {
		t.Error("the session is active after its turn")
	}
	if said := said(read(t, d, id, nil).messages); !strings.Contains(strings.Join(said, "\n"), "Gone on.") {
		t.Errorf("messages %q", said)
	}
	if o, _ := d.Rename(t.Context(), id, "Second title"); o.Status != collect.Succeeded {
		t.Errorf("rename: %+v", o.Problem)
	}
	if s := summaryOf(t, d, id); text(s.Title) != "Second title" {
		t.Errorf("title %s", text(s.Title))
	}
	stopped(t, d)
	noneLeft(t, c.home)
}

// People have a wrapper on their PATH, which starts the program as a child of its own.
func TestLiveWrapper(t *testing.T) {
	c := newRealCodex(t)
	wrapper := realagents.RequireWrapper(t, realagents.Codex)
	c.cfg.CodexBin = ""
	getenv := c.env.Getenv
	c.env.Getenv = func(name string) string {
		if name == "PATH" {
			return filepath.Dir(wrapper) + string(filepath.ListSeparator) + getenv(name)
		}
		return getenv(name)
	}
	d := c.driver(t)
	id := start(t, d, "Begin. [[mock: text:Begun.]]")
	wantOutcome(t, inFlight(t.Context(), t, d, id, func() { stopped(t, d) }), collect.Failed, codeCancelled)
	noneLeft(t, c.home)
}
