package acp

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"agentsync/collect"
)

// wantEnded checks that a process whose pid the agent noted has ended: itself, or its
// child. Killed, a child may still wait a moment for the system to clear it away.
func (s *stage) wantEnded(note string) {
	s.t.Helper()
	text, err := os.ReadFile(filepath.Join(s.home, note))
	if err != nil {
		s.t.Fatal(err)
	}
	pid, err := strconv.Atoi(string(text))
	if err != nil {
		s.t.Fatal(err)
	}
	for limit := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		child, err := os.FindProcess(pid)
		if err != nil || errors.Is(child.Signal(syscall.Signal(0)), os.ErrProcessDone) {
			return
		}
		if time.Now().After(limit) {
			s.t.Fatalf("%s: %d runs on", note, pid)
		}
	}
}

func TestNothingOfAnAgentIsLeft(t *testing.T) {
	s := newStage(t, "fork-child")
	s.limits.grace = 50 * time.Millisecond
	s.begin()
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}
	s.wantEnded("agent.pid")
	s.wantEnded("child.pid")
}

func TestAnAgentThatIsNotUsableIsNotLeftRunning(t *testing.T) {
	for _, row := range []struct {
		words, says string
		patience    time.Duration
	}{
		{"no-list", "cannot list its sessions", 20 * time.Second},
		{"no-load", "cannot load a session", 20 * time.Second},
		{"version-2", "speaks version 2", 20 * time.Second},
		{"slow-start", "did not answer initialize", 2 * time.Second},
	} {
		t.Run(row.words, func(t *testing.T) {
			s := newStage(t, row.words)
			d, err := New(s.cfg, s.env)
			if err != nil {
				t.Fatal(err)
			}
			d.limits = limits{request: row.patience, idle: time.Second, grace: 50 * time.Millisecond}
			if err := d.Start(t.Context()); err == nil || !strings.Contains(err.Error(), row.says) {
				t.Errorf("error %v", err)
			}
			s.wantEnded("agent.pid")
			if err := d.Stop(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAMissingProgramIsNoMissingSession(t *testing.T) {
	s := newStage(t, "")
	for _, command := range []string{"no-such-agent", filepath.Join(s.home, "none")} {
		s.cfg.Command = []string{command}
		d, err := New(s.cfg, s.env)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Start(t.Context()); err == nil || errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %v", command, err)
		}
		o, err := d.Prompt(t.Context(), "one", collect.PromptInput{Text: secret}, &milestones{})
		wantOutcome(t, o, err, collect.Failed, codeUnavailable)
	}
}

func TestAnAgentGetsNoStrangersVariables(t *testing.T) {
	s := newStage(t, "")
	s.env.Getenv = func(name string) string {
		return map[string]string{"HOME": "/home/dev", "PATH": "/usr/bin", "ANTHROPIC_API_KEY": secret, "LANG": "C"}[name]
	}
	s.cfg.Env = map[string]string{"LANG": "en", "KEY": "given"}
	c, err := commandOf(s.cfg, s.env)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"HOME=/home/dev", "KEY=given", "LANG=en", "PATH=/usr/bin"}; !slices.Equal(c.Env, want) || c.Dir != s.cfg.Cwd {
		t.Errorf("environment %q in %s", c.Env, c.Dir)
	}
}
