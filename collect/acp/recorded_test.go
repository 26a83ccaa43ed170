package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentsync/collect"
	fake "agentsync/fixtures/fakeagent/acp"
)

// recordings is where the captures of real agents lie.
const recordings = "../../fixtures/sessions/acp"

// playing starts a driver against an agent that answers as the recorded one did.
func playing(t *testing.T, capture string) *stage {
	t.Helper()
	s := newStage(t, "record")
	file, err := filepath.Abs(filepath.Join(recordings, capture+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	s.cfg.Env[fake.Capture] = file
	s.cfg.Cwd, s.env.Home = "", t.TempDir()
	return s.begin()
}

// clientSaid returns the parameters of the recorded client's n-th message of a method.
func clientSaid(t *testing.T, capture, method string, n int) (p struct {
	SessionID, Cwd, ModeID, ConfigID string
	Value                            json.RawMessage
	Prompt                           []struct{ Text string }
}) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(recordings, capture+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var r struct {
			Dir string
			Msg struct {
				Method string
				Params json.RawMessage
			}
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatal(err)
		}
		if r.Dir != ">" || r.Msg.Method != method {
			continue
		}
		if n--; n < 0 {
			if err := json.Unmarshal(r.Msg.Params, &p); err != nil {
				t.Fatal(err)
			}
			return p
		}
	}
	t.Fatalf("%s has no such %s", capture, method)
	return p
}

func TestRecordedHistories(t *testing.T) {
	const user, thought, agent, call, result = "user_message_chunk", "agent_thought_chunk", "agent_message_chunk", "tool_call", "tool_call_update"
	for capture, want := range map[string][]string{
		"opencode":         {user, thought, agent, call, result, agent, user, agent},
		"claude-agent-acp": {user, thought, agent, call, result, agent, user, agent, user},
		"codex-acp":        {user, thought, agent, call, result, agent, user},
		"zed-codex-acp":    {user, thought, agent, call, result, agent, user},
	} {
		t.Run(capture, func(t *testing.T) {
			s := playing(t, capture+"-2-list-load")
			list, tally := inventory(t, s.Driver)
			if !tally.Complete {
				t.Fatalf("tally %+v", tally)
			}
			session := clientSaid(t, capture+"-2-list-load", methodLoad, 0).SessionID
			i := slices.IndexFunc(list, func(l collect.Listing) bool { return l.NativeSessionID == session })
			if i < 0 || *list[i].Summary.Cwd != "/home/dev/proj" || list[i].Summary.Title == nil || list[i].Summary.UpdatedAt == nil {
				t.Fatalf("listed %+v", list)
			}
			first, second := mustRead(t, s.Driver, session), mustRead(t, s.Driver, session)
			var kinds []string
			for _, m := range first.messages {
				kinds = append(kinds, m.Kind)
			}
			if !slices.Equal(kinds, want) {
				t.Errorf("the history is %q", kinds)
			}
			if first.raw != second.raw {
				t.Error("loaded twice, it is not the same")
			}
			wantRecorded(t, capture+"-2-list-load", first.raw)
		})
	}
}

// wantRecorded checks that each line stands in the capture byte for byte.
func wantRecorded(t *testing.T, capture, raw string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(recordings, capture+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(raw) {
		if !bytes.Contains(text, []byte(`"update": `+strings.TrimSuffix(line, "\n")+`}}}`)) {
			t.Errorf("the agent never wrote %s", line)
		}
	}
}

func TestRecordedResumes(t *testing.T) {
	for _, capture := range []string{"opencode-3-resume", "claude-agent-acp-3-resume", "codex-acp-3-resume", "zed-codex-acp-3-resume"} {
		t.Run(capture, func(t *testing.T) {
			s := playing(t, capture)
			said := clientSaid(t, capture, methodResume, 0)
			s.catalog.rows = map[string]row{said.SessionID: {id: said.SessionID, native: said.SessionID, cwd: said.Cwd}}
			o, err := s.Prompt(t.Context(), said.SessionID, collect.PromptInput{Text: clientSaid(t, capture, methodPrompt, 0).Prompt[0].Text}, &milestones{})
			wantOutcome(t, o, err, collect.Succeeded, "")
			if resultText(o, "stopReason") != "end_turn" {
				t.Errorf("stop reason %q", resultText(o, "stopReason"))
			}
		})
	}
}

func TestRecordedStartsSettingsAndCancellations(t *testing.T) {
	for _, capture := range []string{"opencode-1-new", "claude-agent-acp-1-new", "codex-acp-1-new", "zed-codex-acp-1-new"} {
		t.Run(capture, func(t *testing.T) {
			s := playing(t, capture)
			if _, err := s.ListSessions(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			o, err := s.StartSession(t.Context(), "asked-for", collect.StartInput{Cwd: "/home/dev/proj",
				PromptInput: collect.PromptInput{Text: clientSaid(t, capture, methodPrompt, 0).Prompt[0].Text}}, &milestones{})
			wantOutcome(t, o, err, collect.Succeeded, "")
			a, err := s.live(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := a.acquire(t.Context(), o.Session); err != nil {
				t.Fatal(err)
			}
			r := &ready{driver: s.Driver, agent: a, native: o.Session, controls: s.controls.sessions[o.Session]}
			setRecorded(t, r, capture)
			cancelRecorded(t, r, clientSaid(t, capture, methodPrompt, 1).Prompt[0].Text)
		})
	}
}

// setRecorded sets the mode and the option that the recorded client set.
func setRecorded(t *testing.T, r *ready, capture string) {
	t.Helper()
	if len(r.controls.modes) > 0 {
		mode := clientSaid(t, capture, methodSetMode, 0).ModeID
		if !slices.Contains(r.controls.modes, mode) {
			t.Errorf("%s is not offered", mode)
		}
		if _, err := r.setMode(t.Context(), mode); err != nil || r.mode() != mode {
			t.Errorf("mode %q, %v", r.mode(), err)
		}
	}
	said := clientSaid(t, capture, methodSetOption, 0)
	o, _ := r.controls.option(said.ConfigID)
	if !o.takes(said.Value) {
		t.Errorf("option %+v does not take %s", o, said.Value)
	}
	if err := r.setOption(t.Context(), o, said.Value); err != nil {
		t.Error(err)
	}
	if o, _ := r.controls.option(said.ConfigID); !o.has(said.Value) {
		t.Errorf("option %+v", o)
	}
}

func cancelRecorded(t *testing.T, r *ready, text string) {
	t.Helper()
	turn := r.driver.admit(r.native)
	if turn == nil {
		t.Fatal("a prompt is still running")
	}
	defer r.driver.dismiss(turn)
	ctx, interrupt := context.WithCancel(t.Context())
	o := r.perform(ctx, turn, text, &milestones{onActive: interrupt})
	wantOutcome(t, o, nil, collect.Failed, codeCancelled)
}

func TestRecordedPermissionsAreRefused(t *testing.T) {
	for _, capture := range []string{"claude-agent-acp-4-permission", "codex-acp-4-permission"} {
		t.Run(capture, func(t *testing.T) {
			s := playing(t, capture)
			o, err := s.StartSession(t.Context(), "asked-for", collect.StartInput{
				Cwd: "/home/dev/proj", Mode: clientSaid(t, capture, methodSetMode, 0).ModeID,
				PromptInput: collect.PromptInput{Text: clientSaid(t, capture, methodPrompt, 0).Prompt[0].Text}}, &milestones{})
			wantOutcome(t, o, err, collect.Succeeded, "")
		})
	}
}

func TestARecordedBooleanOption(t *testing.T) {
	s := playing(t, "claude-agent-acp-5-boolean")
	a, err := s.live(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Driver.begin(t.Context(), a, "/home/dev/proj")
	if err != nil {
		t.Fatal(err)
	}
	o, _ := r.controls.option("fast")
	if !o.boolean || !o.takes(json.RawMessage("true")) || o.takes(json.RawMessage(`"on"`)) {
		t.Fatalf("option %+v", o)
	}
	if err := r.setOption(t.Context(), o, json.RawMessage("true")); err != nil {
		t.Fatal(err)
	}
	if o, _ := r.controls.option("fast"); !o.has(json.RawMessage("true")) {
		t.Errorf("option %+v", o)
	}
}

func TestRecordedIntroductions(t *testing.T) {
	for capture, version := range map[string]string{"opencode-init": "1.18.33", "claude-agent-acp-init": "0.101.0", "codex-acp-init": "2.6.0", "zed-codex-acp-init": "0.16.0"} {
		if s := playing(t, capture); s.Source().Version != version {
			t.Errorf("%s: version %q", capture, s.Source().Version)
		}
	}
	t.Run("of an agent that cannot list", func(t *testing.T) {
		s := newStage(t, "record")
		s.cfg.Env[fake.Capture], _ = filepath.Abs(filepath.Join(recordings, "gemini-init.jsonl"))
		d, err := New(s.cfg, s.env)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot list its sessions") {
			t.Errorf("error %v", err)
		}
	})
}
