package codex

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"agentsync/collect"
	fake "agentsync/fixtures/fakeagent/codex"
)

var recordAnew = flag.Bool("record", false, "record the conversations of operations with the real agent")

// operations is the folder of recorded conversations between this driver and the agent.
const operations = recorded + "/operations"

// conversations are what is recorded, and played again: operations of one driver. They
// return what they did, one line each, which must be the same both times.
var conversations = map[string]func(t *testing.T, d *Driver) []string{
	"start-prompt-rename": func(t *testing.T, d *Driver) []string {
		o, _ := d.StartSession(t.Context(), "asked", collect.StartInput{Title: "First title",
			PromptInput: collect.PromptInput{Text: "Begin. [[mock: text:Begun.]]", Mark: "the start"}}, newMilestones())
		second, _ := d.Prompt(t.Context(), o.Session, collect.PromptInput{Text: "Go on. [[mock: text:Gone on.]]", Mark: "the prompt"}, newMilestones())
		renamed, _ := d.Rename(t.Context(), o.Session, "Second title")
		blank, _ := d.Rename(t.Context(), o.Session, " ")
		return brief(o, second, renamed, blank)
	},
	"cancel": func(t *testing.T, d *Driver) []string {
		id := start(t, d, "Begin. [[mock: text:Begun.]]")
		var cancelled collect.Outcome
		o := inFlight(t.Context(), t, d, id, func() { cancelled, _ = d.Cancel(t.Context(), id) })
		return brief(cancelled, o)
	},
	"fail": func(t *testing.T, d *Driver) []string {
		id := start(t, d, "Begin. [[mock: text:Begun.]]")
		failure := prompt(t, d, id, "Fail. [[mock: error:400]]", newMilestones())
		return brief(failure, prompt(t, d, id, "Go on. [[mock: text:Gone on.]]", newMilestones()))
	},
	"approval": func(t *testing.T, d *Driver) []string {
		id := start(t, d, "Begin. [[mock: text:Begun.]]")
		o := prompt(t, d, id, `Touch. [[mock: tool:exec_command {"cmd":"touch made.txt","sandbox_permissions":"require_escalated","justification":"test"} ;; text:Declined.]]`, newMilestones())
		if o.Result.Path("declined").Float() != 1 {
			t.Error("nothing was declined")
		}
		return brief(o)
	},
	"unknown-thread": func(t *testing.T, d *Driver) []string {
		return brief(prompt(t, d, madeID(1), "Hello.", newMilestones()))
	},
}

// brief tells outcomes in a line each.
func brief(outcomes ...collect.Outcome) []string {
	var lines []string
	for _, o := range outcomes {
		text := string(o.Status) + " " + o.Session
		if o.Problem != nil {
			text += " " + o.Problem.Error()
		}
		lines = append(lines, text)
	}
	return lines
}

func TestRecordedConversations(t *testing.T) {
	for name, converse := range conversations {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(operations, name)
			if *recordAnew {
				recordConversation(t, file, converse)
			}
			cfg := fakeConfig(t, "")
			cfg.Env["FAKE_AGENT_REPLAY"] = absolute(t, file+".jsonl")
			cfg.Env["FAKE_AGENT_PROJECT"] = cfg.Cwd
			d := fakeDriver(t, cfg)
			got := strings.Join(converse(t, d), "\n") + "\n"
			if want, err := os.ReadFile(file + ".txt"); err != nil || got != string(want) {
				t.Errorf("outcomes:\n%swant:\n%s%v", got, want, err)
			}
			if d.live.server.ended() {
				t.Errorf("the conversation broke off: %s", d.live.server.process.Stderr())
			}
		})
	}
}

// recordConversation converses with the real agent and writes both files of a recording.
func recordConversation(t *testing.T, file string, converse func(*testing.T, *Driver) []string) {
	t.Helper()
	c := newRealCodex(t)
	c.config(t, "on-request", "read-only")
	tape := filepath.Join(t.TempDir(), "tape")
	for name, text := range map[string]string{asAgent: "1", "FAKE_AGENT_RECORD": tape, "FAKE_AGENT_PROGRAM": c.cfg.CodexBin} {
		c.cfg.Env[name] = text
	}
	c.cfg.CodexBin, _ = os.Executable()
	d := c.driver(t)
	outcomes := strings.Join(converse(t, d), "\n") + "\n"
	stopped(t, d)
	conversation, err := os.ReadFile(tape)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string][]byte{".txt": []byte(outcomes), ".jsonl": scrubbed(conversation, c)} {
		if err := os.WriteFile(file+name, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// scrubbed leaves out of a conversation what belongs to the machine it was recorded on.
func scrubbed(conversation []byte, c *realCodex) []byte {
	for old, replacement := range map[string]string{c.project: fake.RecordedProject, c.home: "/home/dev/.codex"} {
		conversation = bytes.ReplaceAll(conversation, []byte(old), []byte(replacement))
	}
	for pattern, replacement := range map[string]string{
		`"serverName":"[^"]*"`:               `"serverName":"devbox"`,
		`"installationId":"[^"]*"`:           `"installationId":"00000000-0000-4000-8000-000000000000"`,
		`"userAgent":"([^ ]*) [^"]*"`:        `"userAgent":"$1 (Debian 12.0.0; x86_64) unknown"`,
		`"(developer_instructions)":"[^"]*"`: `"$1":"(elided)"`,
	} {
		conversation = regexp.MustCompile(pattern).ReplaceAll(conversation, []byte(replacement))
	}
	return conversation
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	full, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return full
}
