package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentsync/fixtures/realagents"
)

// liveMachine is a machine with one real agent, a scripted model, and the program.
type liveMachine struct {
	*testing.T
	exe, home, project string
	env                []string
	model              *realagents.ModelServer
}

// newLiveMachine makes a machine whose configuration has the one source that describe
// writes; what it needs beside HOME and PATH comes in the source's own env.
func newLiveMachine(t *testing.T, agent realagents.Agent, describe func(m *liveMachine, program string) string) *liveMachine {
	t.Helper()
	m := &liveMachine{T: t, exe: build(t)}
	program := realagents.Require(t, agent)
	m.model = realagents.Model(t)
	m.home, m.project = t.TempDir(), t.TempDir()
	m.env = []string{"HOME=" + m.home, "PATH=" + os.Getenv("PATH"), "TZ=UTC"}
	config := "store: " + filepath.Join(m.home, "store") + "\nsources:\n" + describe(m, program)
	if err := os.MkdirAll(filepath.Join(m.home, ".config", "agentsync"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(m.home, ".config", "agentsync", "config.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return m
}

// yamlEnv writes variables as the env of a source, but those that every program has.
func yamlEnv(env []string) string {
	var pairs []string
	for _, entry := range env {
		name, text, _ := strings.Cut(entry, "=")
		if !slices.Contains([]string{"HOME", "PATH", "LANG", "SHELL", "TZ", "TMPDIR"}, name) {
			pairs = append(pairs, fmt.Sprintf("%s: %q", name, text))
		}
	}
	return "{" + strings.Join(pairs, ", ") + "}"
}

func newLiveCodex(t *testing.T) *liveMachine {
	return newLiveMachine(t, realagents.Codex, func(m *liveMachine, program string) string {
		home, env := realagents.CodexHome(t, m.model, m.project)
		return fmt.Sprintf("  - {id: agent, driver: codex-app-server, codexBin: %q, codexHome: %q, cwd: %q, env: %s}\n",
			program, home, m.project, yamlEnv(env))
	})
}

func newLiveClaude(t *testing.T) *liveMachine {
	return newLiveMachine(t, realagents.Claude, func(m *liveMachine, program string) string {
		folder := filepath.Join(m.home, ".claude")
		if err := os.MkdirAll(folder, 0o700); err != nil { // one that is configured and missing is told
			m.Fatal(err)
		}
		return fmt.Sprintf("  - {id: agent, driver: claude-agent-sdk, command: [%q], configDir: %q, env: %s}\n",
			program, folder, yamlEnv(realagents.ClaudeEnv(m.model, folder)))
	})
}

func newLiveOpencode(t *testing.T) *liveMachine {
	return newLiveMachine(t, realagents.Opencode, func(m *liveMachine, program string) string {
		return fmt.Sprintf("  - {id: agent, driver: acp, command: [%q, acp], cwd: %q, env: %s}\n",
			program, m.project, yamlEnv(realagents.OpencodeEnv(t, m.model)))
	})
}

// command prepares a run of the program.
func (m *liveMachine) command(args ...string) *exec.Cmd {
	cmd := exec.Command(m.exe, append(args, "--json")...)
	cmd.Env, cmd.Dir = m.env, m.project
	return cmd
}

// run runs the program, expects the exit code, and returns its JSON objects.
func (m *liveMachine) run(code int, args ...string) []map[string]any {
	m.Helper()
	var stdout, stderr bytes.Buffer
	cmd := m.command(args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if got := cmd.ProcessState.ExitCode(); got != code {
		m.Fatalf("%v: exit %d (%v), want %d\n%s%s", args, got, err, code, stdout.String(), stderr.String())
	}
	return m.objects(stdout.Bytes())
}

func (m *liveMachine) objects(output []byte) (list []map[string]any) {
	m.Helper()
	for line := range bytes.Lines(output) {
		var o map[string]any
		if err := json.Unmarshal(line, &o); err != nil {
			m.Fatalf("%v in %q", err, line)
		}
		list = append(list, o)
	}
	return list
}

func last(list []map[string]any) map[string]any { return list[len(list)-1] }

// send sends a command and returns its summary.
func (m *liveMachine) send(args ...string) map[string]any {
	m.Helper()
	return last(m.run(0, append([]string{"command", "send"}, args...)...))
}

// receipt returns a command's receipt.
func (m *liveMachine) receipt(id any) map[string]any {
	m.Helper()
	return m.run(0, "receipts", id.(string))[0]
}

// settles drains and expects the command's outcome.
func (m *liveMachine) settles(sent map[string]any, status string) map[string]any {
	m.Helper()
	summary := last(m.run(0, "drain"))
	r := m.receipt(sent["id"])
	if r["status"] != status {
		m.Fatalf("%v is %v, want %s; drain said %v", sent["command"], r, status, summary)
	}
	if summary["pending"] != 0.0 {
		m.Fatalf("receipts were left: %v", summary)
	}
	return r
}

// started starts a session and returns its key.
func (m *liveMachine) started(text string) string {
	m.Helper()
	r := m.settles(m.send("start", "agent", text, "--cwd", m.project), "succeeded")
	result, _ := r["result"].(map[string]any)
	id, _ := result["nativeSessionId"].(string)
	if id == "" {
		m.Fatalf("the result names no session: %v", r)
	}
	return "agent/" + id
}

// says counts the published messages of a role that hold a text.
func (m *liveMachine) says(key, role, text string) (n int) {
	m.Helper()
	for _, o := range m.run(0, "show", key, "--full") {
		if said, _ := o["text"].(string); o["role"] == role && strings.Contains(said, text) {
			n++
		}
	}
	return n
}

// asked counts the model requests whose newest marker is this one. Prompts carry
// markers of the form MARK-…-END.
func (m *liveMachine) asked(marker string) (n int) {
	for _, r := range m.model.Requests() {
		if i := bytes.LastIndex(r.Body, []byte("MARK-")); i >= 0 && bytes.HasPrefix(r.Body[i:], []byte(marker)) && !isTitle(r.Body) {
			n++
		}
	}
	return n
}

// isTitle reports a request for a session's title, which agents make beside the turn.
func isTitle(body []byte) bool {
	return bytes.Contains(body, []byte("title generator"))
}

// within waits for a condition.
func (m *liveMachine) within(limit time.Duration, what string, holds func() bool) {
	m.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if holds() {
			return
		}
	}
	m.Fatalf("after %v still not: %s", limit, what)
}

// converses starts a session, prompts it, renames it where that is possible, and cancels
// a prompt while it runs.
func (m *liveMachine) converses(renames bool) string {
	m.run(0, "publish")
	key := m.started("MARK-one-END [[mock: text:First answer.]]")
	if m.says(key, "assistant", "First answer.") != 1 {
		m.Errorf("the started session was not published with its answer")
	}
	m.settles(m.send("prompt", key, "MARK-two-END [[mock: text:Second answer.]]"), "succeeded")
	if m.says(key, "user", "MARK-two-END") != 1 || m.says(key, "assistant", "Second answer.") != 1 {
		m.Errorf("the prompt and its answer are not in the published session")
	}
	for _, marker := range []string{"MARK-one-END", "MARK-two-END"} {
		if n := m.asked(marker); n != 1 {
			m.Errorf("%s reached the model %d times", marker, n)
		}
	}
	if renames {
		m.settles(m.send("rename", key, "Another title"), "succeeded")
		if o := m.run(0, "show", key, "--limit", "1")[0]; o["title"] != "Another title" {
			m.Errorf("the title is %v", o["title"])
		}
	} else if r := m.settles(m.send("rename", key, "Another title"), "unsupported"); r["error"].(map[string]any)["code"] != "unsupported" {
		m.Errorf("rename: %v", r)
	}
	m.cancels(key)
	return key
}

// cancels interrupts a prompt that a drain is running.
func (m *liveMachine) cancels(key string) {
	m.Helper()
	prompt := m.send("prompt", key, "MARK-slow-END [[mock: slow:400 "+strings.Repeat("word ", 200)+"]]")
	drain := m.command("drain")
	var stdout bytes.Buffer
	drain.Stdout = &stdout
	if err := drain.Start(); err != nil {
		m.Fatal(err)
	}
	m.within(40*time.Second, "the prompt reached the model", func() bool { return m.asked("MARK-slow-END") > 0 })
	cancel := m.send("cancel", key)
	if err := drain.Wait(); err != nil {
		m.Errorf("drain: %v\n%s", err, stdout.String())
	}
	r := m.receipt(prompt["id"])
	if problem, _ := r["error"].(map[string]any); r["status"] != "failed" || problem["code"] != "cancelled" {
		m.Errorf("the cancelled prompt: %v", r)
	}
	if r := m.receipt(cancel["id"]); r["status"] != "succeeded" {
		m.Errorf("the cancellation: %v", r)
	}
	if n := m.asked("MARK-slow-END"); n != 1 {
		m.Errorf("the cancelled prompt reached the model %d times", n)
	}
}

func TestLiveCodexTakesCommands(t *testing.T) {
	m := newLiveCodex(t)
	m.converses(true)
	m.run(0, "publish")
	m.run(0, "verify", "--deep", "--sources")
}

func TestLiveClaudeTakesCommands(t *testing.T) {
	m := newLiveClaude(t)
	key := m.converses(true)
	m.settles(m.send("set-mode", key, "plan"), "succeeded")
	m.settles(m.send("prompt", key, "MARK-plan-END [[mock: text:Planned.]]"), "succeeded")
	for _, r := range m.model.Requests() {
		if bytes.Contains(r.Body, []byte("MARK-plan-END")) && !bytes.Contains(r.Body, []byte("lan mode")) {
			t.Errorf("the mode of one drain was not that of the next one's prompt")
		}
	}
	m.run(0, "publish")
	m.run(0, "verify", "--deep", "--sources")
}

func TestLiveOpencodeTakesCommands(t *testing.T) {
	m := newLiveOpencode(t)
	key := m.converses(false)
	m.settles(m.send("set-mode", key, "plan"), "succeeded")
	m.run(0, "verify", "--deep")
}
