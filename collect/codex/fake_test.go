package codex

import (
	"os"
	"testing"
	"time"

	"agentsync/collect"
	fake "agentsync/fixtures/fakeagent/codex"
)

// asAgent tells this test binary to be the stand-in for Codex.
const asAgent = "AGENTSYNC_TEST_IS_CODEX"

func TestMain(m *testing.M) {
	if os.Getenv(asAgent) != "" {
		fake.Main()
	}
	os.Exit(m.Run())
}

// quick are limits for an agent that answers at once or never.
var quick = limits{prepare: 20 * time.Second, request: 20 * time.Second, interrupt: 1500 * time.Millisecond, stop: 200 * time.Millisecond}

// fakeConfig configures a source whose agent is the stand-in, with faults.
func fakeConfig(t *testing.T, words string) collect.SourceConfig {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return collect.SourceConfig{ID: "codex", CodexBin: program, CodexHome: t.TempDir(), Cwd: t.TempDir(),
		Env: map[string]string{asAgent: "1", "FAKE_AGENT": words}}
}

// fakeDriver is a driver of the stand-in. It is stopped with the test.
func fakeDriver(t *testing.T, cfg collect.SourceConfig) *Driver {
	t.Helper()
	d, err := New(cfg, collect.Env{Now: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	d.live.limits = quick
	t.Cleanup(func() { stopped(t, d) })
	return d
}

// faulty is a driver of the stand-in with faults, and one thread of its home.
func faulty(t *testing.T, words string) (d *Driver, thread string) {
	t.Helper()
	cfg := fakeConfig(t, words)
	writeThread(t, cfg.CodexHome)
	return fakeDriver(t, cfg), madeID(1)
}

// writeThread puts a thread with one finished turn, begun by "Begin.", into a home.
func writeThread(t *testing.T, home string) {
	t.Helper()
	const at = "2026-01-02T03:01:00.000Z"
	write(t, home, madeName(1), metaLine(at, madeID(1), "")+line(at, "event_msg", `{"type":"task_started","turn_id":"`+madeID(2)+`"}`)+
		userText(at, "Begin.")+agentText(at, "ok")+line(at, "event_msg", `{"type":"task_complete","turn_id":"`+madeID(2)+`"}`))
}
