package codex

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/collect/stdio"
)

// serve runs an app server of the home on a socket, as another program's, and returns
// the socket.
func (c *realCodex) serve(t *testing.T) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	l := c.driver(t).live.launch
	p, err := stdio.Start(l.command(l.program, []string{"app-server", "--listen", "unix://" + socket}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Stop(time.Second) })
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(socket); err == nil {
			return socket
		}
	}
	t.Fatal("the server made no socket")
	return ""
}

func TestLiveProxy(t *testing.T) {
	c := newRealCodex(t)
	absent := c.cfg
	absent.CodexTransport, absent.CodexSocket = transportProxy, filepath.Join(t.TempDir(), "none")
	lone, err := New(absent, c.env)
	if err != nil {
		t.Fatal(err)
	}
	defer stopped(t, lone)
	wantOutcome(t, prompt(t, lone, madeID(1), "Hello.", newMilestones()), collect.Failed, codeUnavailable)

	c.cfg.CodexTransport, c.cfg.CodexSocket = transportProxy, c.serve(t)
	d := c.driver(t)
	id := start(t, d, "Begin. [[mock: text:Begun.]]")
	wantOutcome(t, prompt(t, d, id, "Go on. [[mock: text:Gone on.]]", newMilestones()), collect.Succeeded, "")
	other := c.driver(t)
	o := inFlight(t.Context(), t, d, id, func() {
		wantOutcome(t, prompt(t, other, id, "Join?", newMilestones()), collect.NeedsConfirmation, codeActive)
		o, _ := other.Cancel(t.Context(), id)
		wantOutcome(t, o, collect.Failed, codeNoTurn)
		o, _ = d.Cancel(t.Context(), id)
		wantOutcome(t, o, collect.Succeeded, "")
	})
	wantOutcome(t, o, collect.Failed, codeCancelled)
	if o, _ := other.Rename(t.Context(), id, "By the other"); o.Status != collect.Succeeded {
		t.Errorf("rename: %+v", o.Problem)
	}
	wantOutcome(t, inFlight(t.Context(), t, d, id, func() { stopped(t, d) }), collect.Failed, codeCancelled)
	wantOutcome(t, prompt(t, other, id, "Still there. [[mock: text:Yes.]]", newMilestones()), collect.Succeeded, "")
}

func TestLiveServerIsAskedWhatNoFileTells(t *testing.T) {
	c := newRealCodex(t)
	c.cfg.CodexTransport, c.cfg.CodexSocket = transportProxy, c.serve(t)
	maker := c.driver(t)
	claimed := time.Now()
	const words = "Begin. [[mock: text:Begun.]]"
	id := start(t, maker, words)
	failure := prompt(t, maker, id, "Fail. [[mock: error:400]]", newMilestones())
	o := inFlight(t.Context(), t, maker, id, func() { stopped(t, maker) })
	wantOutcome(t, o, collect.Failed, codeCancelled)

	c.cfg.Roots, c.cfg.CodexHome = []string{t.TempDir()}, "" // the files are elsewhere
	d := c.driver(t)
	for _, one := range []struct {
		name   string
		trace  collect.Trace
		status collect.Status
		code   string
	}{
		{"a start", collect.Trace{Operation: "start", Text: words, Cwd: c.project, ClaimedAt: claimed}, collect.Succeeded, ""},
		{"a start by its turn", collect.Trace{Operation: "start", ProviderOperationID: failure.ProviderOperationID, ClaimedAt: claimed}, collect.Failed, codeTurnFailed},
		{"a prompt", collect.Trace{Operation: "prompt", Text: words, ClaimedAt: claimed}, collect.Succeeded, ""},
		{"an interrupted one", collect.Trace{Operation: "prompt", ProviderOperationID: o.ProviderOperationID}, collect.Failed, codeCancelled},
		{"one that never was", collect.Trace{Operation: "prompt", Text: "Never.", ClaimedAt: claimed}, collect.Unknown, codeNoEvidence},
	} {
		found, err := d.Investigate(t.Context(), id, one.trace)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(one.name, func(t *testing.T) {
			wantOutcome(t, found, one.status, one.code)
			if found.Result.Path("history").Str() != fromServer {
				t.Errorf("the history was read from %q", found.Result.Path("history").Str())
			}
		})
	}
}

func TestLiveManaged(t *testing.T) {
	c := newRealCodex(t)
	c.cfg.CodexTransport = transportManaged
	t.Cleanup(func() { c.endDaemon(t) })
	d := c.driver(t)
	id := start(t, d, "Begin. [[mock: text:Begun.]]")
	stopped(t, d)
	again := c.driver(t)
	wantOutcome(t, prompt(t, again, id, "Go on. [[mock: text:Gone on.]]", newMilestones()), collect.Succeeded, "")
}

// endDaemon stops the daemon of the home, and the updater that stopping leaves behind.
func (c *realCodex) endDaemon(t *testing.T) {
	l := c.driver(t).live.launch
	if err := runToEnd(context.Background(), l.command(l.program, []string{"app-server", "daemon", "stop"}), standardLimits); err != nil {
		t.Logf("daemon stop: %v", err)
	}
	for _, name := range []string{"daemon-updater.pid", "daemon.pid"} {
		var file struct {
			PID int `json:"pid"`
		}
		content, err := os.ReadFile(filepath.Join(c.home, "app-server-daemon", name))
		if err != nil || json.Unmarshal(content, &file) != nil || file.PID < 2 {
			continue
		}
		environ, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(file.PID), "environ"))
		if err == nil && strings.Contains(string(environ), c.home) {
			end(file.PID)
		}
	}
	noneLeft(t, c.home)
}
