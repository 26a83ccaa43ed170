//go:build unix

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Variables of TestNoKillLosesAnything: how often it kills, and where it begins.
const (
	killsVariable    = "AGENTSYNC_KILLS"
	killSeedVariable = "AGENTSYNC_KILLS_SEED"
)

const (
	ordinaryKills = 15
	settleEvery   = 25 // kills
)

// machine is one machine at work: sessions that grow, two directories in step, a queue of
// commands. Its passes are killed at any moment.
type machine struct {
	*testing.T
	rng      *rand.Rand
	exe, dir string
	sessions []string          // files of sessions, in the agent's folder
	contents map[string]string // of the directories' files, by name
	sent     []string          // texts of the prompts, each its own
	usual    map[string]time.Duration
	kills    map[string]int
	verb     string // that was killed last
}

// TestNoKillLosesAnything kills publish, drain, applications, restore and prune at random
// moments. After each kill the store is sound, and whatever was published is there; again
// and again everything is brought to rest, with no step that a timer would not take: then
// every session comes back byte for byte, every content is in both directories, and each
// prompt reached its agent at most once.
func TestNoKillLosesAnything(t *testing.T) {
	kills, seed := ordinaryKills, uint64(time.Now().UnixNano())
	if text := os.Getenv(killsVariable); text != "" {
		kills = atoi(t, text)
	}
	if text := os.Getenv(killSeedVariable); text != "" {
		seed = uint64(atoi(t, text))
	}
	t.Logf("%s=%d %s=%d", killsVariable, kills, killSeedVariable, seed)
	m := newMachine(t, seed)
	for done := 0; done < kills; {
		m.work()
		if !m.kill() {
			continue
		}
		done++
		m.sound()
		if done%settleEvery == 0 {
			m.settle()
		}
	}
	m.settle()
	t.Logf("killed %v", m.kills)
}

func atoi(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func newMachine(t *testing.T, seed uint64) *machine {
	t.Helper()
	m := &machine{T: t, rng: rand.New(rand.NewPCG(seed, 0)), exe: build(t), dir: t.TempDir(), contents: map[string]string{},
		usual: map[string]time.Duration{}, kills: map[string]int{}}
	agent, err := exec.LookPath("fakeclaude")
	if err != nil {
		t.Fatal(err)
	}
	m.write("config.yaml", fmt.Sprintf("sources:\n  - {id: claude, driver: claude-agent-sdk, command: [%q], configDir: %q, env: {FAKE_AGENT_LOG: %q}}\n",
		agent, m.path("claude"), m.path("agent.log")))
	for range 40 {
		m.begin()
	}
	for _, side := range []string{"here", "there"} {
		m.write(side+"/begun by "+side, "so that it is there")
		m.contents["begun by "+side] = "so that it is there"
		m.run([]int{0}, "dirsync", "bind", m.path(side), "notes", "--id", side, "--direction", "both")
	}
	m.run([]int{0}, "publish")
	m.run([]int{0}, "command", "send", "start", "claude", "prompt number 0 ends", "--cwd", m.path("here"), "--session-id", started, "--force")
	m.sent = []string{"prompt number 0 ends"}
	m.run([]int{0}, "drain")
	return m
}

const started = "5e000000-0000-4000-8000-000000000001"

func (m *machine) path(name string) string { return filepath.Join(m.dir, filepath.FromSlash(name)) }

func (m *machine) write(name, content string) {
	m.Helper()
	path := m.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		m.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		m.Fatal(err)
	}
}

// begin makes a session, append adds records to one.
func (m *machine) begin() {
	id := fmt.Sprintf("%08x-0000-4000-8000-%012x", m.rng.Uint32(), len(m.sessions))
	m.sessions = append(m.sessions, fmt.Sprintf("claude/projects/-home-dev-app/%s.jsonl", id))
	m.append(len(m.sessions) - 1)
}

func (m *machine) append(i int) {
	m.Helper()
	path := m.path(m.sessions[i])
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		m.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		m.Fatal(err)
	}
	id := strings.TrimSuffix(filepath.Base(path), ".jsonl")
	for range 1 + m.rng.IntN(8) {
		noise := make([]byte, 1<<m.rng.IntN(15))
		for k := range noise {
			noise[k] = byte(m.rng.Uint32())
		}
		_, err = fmt.Fprintf(f, `{"type":"user","uuid":"%x","parentUuid":null,"sessionId":%q,"cwd":"/home/dev/app","timestamp":"2026-02-28T09:29:00.000Z","message":{"role":"user","content":"%x"}}`+"\n",
			m.rng.Uint64(), id, noise)
		if err != nil {
			m.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		m.Fatal(err)
	}
}

// work changes something: what the next pass finds.
func (m *machine) work() {
	for range 1 + m.rng.IntN(4) {
		switch m.rng.IntN(5) {
		case 0:
			m.begin()
		case 1, 2:
			m.append(m.rng.IntN(len(m.sessions)))
		case 3: // each name is edited on one side, so that nothing is a conflict
			side := []string{"here", "there"}[m.rng.IntN(2)]
			name := fmt.Sprintf("d%d/%s %d", m.rng.IntN(4), side, m.rng.IntN(30))
			content := strings.Repeat(fmt.Sprintf("content %d ", m.rng.Uint32()), 1+m.rng.IntN(3000))
			m.contents[name] = content
			m.write(side+"/"+name, content)
		case 4:
			text := fmt.Sprintf("prompt number %d ends", len(m.sent))
			m.sent = append(m.sent, text)
			m.run([]int{0}, "command", "send", "prompt", "claude/"+started, text)
		}
	}
}

// kill begins a pass and kills it; false when it was quicker.
func (m *machine) kill() bool {
	m.Helper()
	verbs := [][]string{{"publish"}, {"publish", "--full"}, {"drain"}, {"restore", "--all", "--to", m.path("restored")},
		{"prune", "--keep", "3", "--grace", "0s", "--apply"}, nil}
	args := verbs[m.rng.IntN(len(verbs))]
	if args == nil {
		if args = m.plan([]string{"here", "there"}[m.rng.IntN(2)]); args == nil {
			return false
		}
	}
	m.verb = strings.Join(args[:min(2, len(args))], " ")
	usual := m.usual[m.verb]
	if usual == 0 {
		usual = 60 * time.Millisecond
	}
	cmd := m.command(m.Context(), args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		m.Fatal(err)
	}
	after := time.Duration(m.rng.Int64N(int64(usual) * 5 / 4))
	timer := time.AfterFunc(after, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	err := cmd.Wait()
	if timer.Stop() || err == nil || cmd.ProcessState.ExitCode() >= 0 {
		m.usual[m.verb] = (usual + time.Since(begun)) / 2
		return false
	}
	m.kills[m.verb]++
	return true
}

// sound verifies everything. What no pass has published yet may be told, and nothing else.
func (m *machine) sound() {
	m.Helper()
	v := m.run([]int{0, 3}, "verify", "--deep", "--sources")
	for line := range strings.Lines(v.text) {
		var o errorObject
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			m.Fatal(err)
		}
		if o.Type == "error" && o.Code != "source-unpublished" && o.Code != "source-grown" {
			m.Fatalf("after a kill of %q: %s", m.verb, line)
		}
	}
}

// plan is the application of a directory's plan: the one that is still applying, or a new
// one; nil when there is nothing to do.
func (m *machine) plan(side string) []string {
	m.Helper()
	if plan := m.run([]int{0}, "dirsync", "status", side).applying; plan != "" {
		return []string{"dirsync", "apply", plan}
	}
	p := m.run([]int{0}, "dirsync", "preview", side)
	if p.ToProject+p.ToDataset == 0 {
		return nil
	}
	return []string{"dirsync", "apply", p.Plan}
}

func (m *machine) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, m.exe, append([]string{"--config", m.path("config.yaml"), "--state", m.path("state"),
		"--store", m.path("store"), "--json"}, args...)...)
	cmd.Env = []string{"HOME=" + m.path("home"), "PATH=" + os.Getenv("PATH")}
	return cmd
}

// answer is the last line of a pass, and what else is looked for in its output.
type answer struct {
	Plan      string
	ToProject int `json:"to_project"`
	ToDataset int `json:"to_dataset"`
	Pending   int
	Left      int
	Documents int
	Failed    int
	Differs   int
	Same      int
	Files     int
	applying  string // a plan
	text      string
}

// run runs a pass that must end with one of the codes.
func (m *machine) run(codes []int, args ...string) answer {
	m.Helper()
	var stdout, stderr bytes.Buffer
	cmd := m.command(m.Context(), args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		m.Fatal(err)
	}
	ended := cmd.ProcessState.ExitCode()
	for _, code := range codes {
		if code == ended {
			return m.answer(stdout.String())
		}
	}
	out := strings.TrimSpace(stdout.String())
	m.Fatalf("%v, after a kill of %q: exit %d, want %v\n%s\n%s", args, m.verb, ended, codes, out[max(0, len(out)-3000):], stderr.Bytes())
	return answer{}
}

func (m *machine) answer(text string) answer {
	m.Helper()
	a := answer{text: text}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &a); err != nil {
		m.Fatalf("%v in %s", err, lines[len(lines)-1])
	}
	for _, line := range lines {
		var binding struct{ Plan, Phase string }
		if err := json.Unmarshal([]byte(line), &binding); err == nil && binding.Phase == "applying" {
			a.applying = binding.Plan
		}
	}
	return a
}

// settle does what timers do until nothing is left to do, and looks at everything.
func (m *machine) settle() {
	m.Helper()
	for range 2 { // the second binding may bring something for the first
		for _, side := range []string{"here", "there"} {
			// A plan that was killed is rejected when the other side published since (75), and
			// leaves what was edited since (3); the next preview makes another.
			for args := m.plan(side); args != nil; args = m.plan(side) {
				m.run([]int{0, 3, 75}, args...)
			}
		}
	}
	for name, content := range m.contents {
		for _, side := range []string{"here", "there"} {
			if got, err := os.ReadFile(m.path(side + "/" + name)); err != nil || string(got) != content {
				m.Errorf("%s/%s is not what was written last: %d bytes, %v", side, name, len(got), err)
			}
		}
	}
	m.run([]int{0}, "drain")
	m.run([]int{0, 3}, "reconcile") // what an agent did and nobody saw may stay unknown
	if d := m.run([]int{0, 3}, "drain"); d.Pending != 0 || d.Left != 0 {
		m.Errorf("a drain at rest: %s", d.text)
	}
	m.eachPromptOnce()
	m.run([]int{0}, "publish")
	if p := m.run([]int{0}, "publish"); p.Documents != 0 {
		m.Errorf("a publish at rest writes: %s", p.text)
	}
	m.run([]int{0}, "verify", "--deep", "--sources")
	m.run([]int{0}, "restore", "--all", "--force", "--to", m.path("restored"))
	sameFiles(m.T, m.path("claude/projects"), m.path("restored/claude/projects"))
	if m.Failed() {
		m.FailNow()
	}
}

// eachPromptOnce counts in the agent's own log.
func (m *machine) eachPromptOnce() {
	m.Helper()
	log, err := os.ReadFile(m.path("agent.log"))
	if err != nil {
		m.Fatal(err)
	}
	receipts := m.run([]int{0}, "receipts").text
	for _, status := range []string{"pending", "in-flight"} {
		if strings.Contains(receipts, fmt.Sprintf(`"status":%q`, status)) {
			m.Errorf("a command at rest is %s: %s", status, receipts)
		}
	}
	for _, text := range m.sent {
		if n := bytes.Count(log, []byte(text)); n > 1 {
			m.Errorf("the agent was asked %d times: %s", n, text)
		}
	}
}
