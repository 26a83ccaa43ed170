//go:build linux

package stdio_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentsync/collect/stdio"
	"agentsync/fixtures/realagents"
)

// running returns what runs with a word in its environment or its arguments, by number.
func running(word string) map[string]string {
	found := map[string]string{}
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		environment, _ := os.ReadFile(folder + "/environ")
		arguments, _ := os.ReadFile(folder + "/cmdline")
		if bytes.Contains(environment, []byte(word)) || bytes.Contains(arguments, []byte(word)) {
			found[filepath.Base(folder)] = string(bytes.ReplaceAll(arguments[:min(len(arguments), 60)], []byte{0}, []byte{' '}))
		}
	}
	return found
}

// awaitSleep waits until the agent's tool sleeps for that long.
func awaitSleep(t *testing.T, seconds string) {
	t.Helper()
	for range 400 {
		for _, arguments := range running("sleep\x00" + seconds) {
			if strings.HasPrefix(arguments, "sleep ") {
				return
			}
		}
		time.Sleep(250 * time.Millisecond)
	}
	t.Fatalf("the agent's tool did not come to sleep %s", seconds)
}

// live is a real agent in the middle of a turn whose tool sleeps.
type live struct {
	command stdio.Command
	begin   func(t *testing.T, p *stdio.Process, say string) (wait func())
	tool    string // how the model calls the tool that sleeps, with the command as %s
}

func claude(t *testing.T, m *realagents.ModelServer, path string) live {
	return live{
		command: stdio.Command{Path: path, Env: realagents.ClaudeEnv(m, t.TempDir()),
			Args: []string{"-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"}},
		tool: `Bash {"command":"%s","description":"Sleep"}`,
		begin: func(t *testing.T, p *stdio.Process, say string) func() {
			message, _ := json.Marshal(map[string]any{"type": "user", "message": map[string]any{"role": "user", "content": say}})
			if err := p.Write(message); err != nil {
				t.Fatal(err)
			}
			read := make(chan struct{})
			go func() {
				defer close(read)
				for {
					if _, err := p.Read(); err != nil {
						return
					}
				}
			}()
			return func() { <-read }
		},
	}
}

func codex(t *testing.T, m *realagents.ModelServer, path string) live {
	_, env := realagents.CodexHome(t, m)
	return live{
		command: stdio.Command{Path: path, Env: env, Args: []string{"app-server", "--listen", "stdio://"}},
		tool:    `exec_command {"cmd":"%s"}`,
		begin: func(t *testing.T, p *stdio.Process, say string) func() {
			return converse(t, p, false, func(call func(method string, params any) json.RawMessage) {
				call("initialize", map[string]any{"clientInfo": map[string]any{"name": "agentsync", "version": "0"}})
				var answer struct{ Thread struct{ ID string } }
				_ = json.Unmarshal(call("thread/start", map[string]any{"cwd": t.TempDir()}), &answer)
				call("turn/start", map[string]any{"threadId": answer.Thread.ID, "input": []any{map[string]any{"type": "text", "text": say}}})
			})
		},
	}
}

func opencode(t *testing.T, m *realagents.ModelServer, path string) live {
	return live{
		command: stdio.Command{Path: path, Env: realagents.OpencodeEnv(t, m), Args: []string{"acp"}},
		tool:    `bash {"command":"%s","description":"Sleep"}`,
		begin: func(t *testing.T, p *stdio.Process, say string) func() {
			return converse(t, p, true, func(call func(method string, params any) json.RawMessage) {
				call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}})
				var answer struct{ SessionID string }
				_ = json.Unmarshal(call("session/new", map[string]any{"cwd": t.TempDir(), "mcpServers": []any{}}), &answer)
				go call("session/prompt", map[string]any{"sessionId": answer.SessionID, "prompt": []any{map[string]any{"type": "text", "text": say}}})
			})
		},
	}
}

// converse speaks JSON-RPC with the agent. A call may still be without an answer when it
// is over.
func converse(t *testing.T, p *stdio.Process, jsonrpc bool, talk func(call func(string, any) json.RawMessage)) func() {
	peer := stdio.NewPeer(p, jsonrpc, stdio.Handler{})
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
	talk(func(method string, params any) json.RawMessage {
		result, err := peer.Call(ctx, method, params)
		if err != nil && method != "session/prompt" {
			t.Errorf("%s: %v", method, err)
		}
		return result
	})
	return func() {
		cancel()
		<-peer.Done()
	}
}

func TestLiveClaudeLeavesNoProcess(t *testing.T) {
	path := realagents.Require(t, realagents.Claude)
	leavesNoProcess(t, func(t *testing.T, m *realagents.ModelServer) live { return claude(t, m, path) }, 5*time.Second, 0)
}

func TestLiveCodexLeavesNoProcess(t *testing.T) {
	path := realagents.Require(t, realagents.Codex)
	leavesNoProcess(t, func(t *testing.T, m *realagents.ModelServer) live { return codex(t, m, path) }, 5*time.Second, 0)
}

func TestLiveCodexWrapperLeavesNoProcess(t *testing.T) {
	path := realagents.RequireWrapper(t, realagents.Codex)
	leavesNoProcess(t, func(t *testing.T, m *realagents.ModelServer) live { return codex(t, m, path) }, 5*time.Second, 0)
}

func TestLiveOpencodeLeavesNoProcess(t *testing.T) {
	path := realagents.Require(t, realagents.Opencode)
	leavesNoProcess(t, func(t *testing.T, m *realagents.ModelServer) live { return opencode(t, m, path) }, 5*time.Second)
}

// leavesNoProcess stops a real agent in the middle of a tool's work, once with each time
// to end by itself.
func leavesNoProcess(t *testing.T, agent func(*testing.T, *realagents.ModelServer) live, graces ...time.Duration) {
	for i, grace := range graces {
		t.Run(fmt.Sprintf("%s of grace", grace), func(t *testing.T) {
			l := agent(t, realagents.Model(t))
			mark := fmt.Sprintf("AGENTSYNC_TEST_MARK=%d.%d", os.Getpid(), time.Now().UnixNano())
			seconds := fmt.Sprintf("30%d.%d", i, time.Now().UnixNano()%1e6)
			l.command.Dir, l.command.Env = t.TempDir(), append(l.command.Env, mark)
			p, err := stdio.Start(l.command)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Stop(0)
			wait := l.begin(t, p, "Sleep. [[mock: tool:"+fmt.Sprintf(l.tool, "env sleep "+seconds)+" ;; text:Done.]]")
			awaitSleep(t, seconds)
			before := running(mark)
			began := time.Now()
			p.Stop(grace)
			took := time.Since(began)
			wait()
			code, signaled := p.Exit()
			t.Logf("%d processes before; stopped in %s, exit %d, signaled %v", len(before), took.Round(time.Millisecond), code, signaled)
			if left := running(mark); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			if left := running("sleep\x00" + seconds); len(left) > 0 {
				t.Errorf("the tool still runs: %v", left)
			}
		})
	}
}
