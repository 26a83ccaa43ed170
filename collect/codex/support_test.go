package codex

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"agentsync/collect"
	"agentsync/collect/value"
)

// recorded is the folder of the recorded Codex sessions.
const recorded = "../../fixtures/sessions/codex"

// noon is a time at which no file of a test is still being written.
var noon = time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)

func newDriver(t testing.TB, cfg collect.SourceConfig) *Driver {
	t.Helper()
	if cfg.ID == "" {
		cfg.ID = "codex"
	}
	d, err := New(cfg, collect.Env{Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// driverOf reads one home.
func driverOf(t testing.TB, dir string) *Driver {
	return newDriver(t, collect.SourceConfig{CodexHome: dir})
}

func list(t testing.TB, d *Driver) collect.Page {
	t.Helper()
	page, err := d.ListSessions(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func idsOf(page collect.Page) []string {
	var ids []string
	for _, l := range page.Sessions {
		ids = append(ids, l.NativeSessionID)
	}
	return ids
}

func codesOf(problems []collect.Problem) []string {
	var codes []string
	for _, p := range problems {
		codes = append(codes, p.Code)
	}
	return codes
}

// reading is a session that was read to its end.
type reading struct {
	raw      string
	events   []string // canonical text of each
	messages []collect.Message
	places   []collect.Position // before each event
	trailer  collect.Trailer
}

func read(t testing.TB, d *Driver, id string, from *collect.Resume) reading {
	t.Helper()
	snap, err := d.ReadSession(t.Context(), id, from)
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	var r reading
	for tape := new(value.Tape); ; tape.Reset() {
		at := snap.At()
		e, err := snap.Next(tape)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		r.places = append(r.places, at)
		r.raw += string(e.Raw)
		r.events = append(r.events, string(value.AppendText(nil, e.Captured.Value)))
		if e.Message != nil {
			r.messages = append(r.messages, *e.Message)
		}
	}
	if r.trailer, err = snap.Finish(); err != nil {
		t.Fatal(err)
	}
	return r
}

// said shows messages as role/kind: preview.
func said(messages []collect.Message) []string {
	var lines []string
	for _, m := range messages {
		lines = append(lines, m.Role+"/"+m.Kind+": "+m.Preview)
	}
	return lines
}

// write puts a file below a home and returns its path.
func write(t testing.TB, dir, rel, text string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(rel))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, noon.Add(-time.Hour), noon.Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	return path
}

func compressed(t testing.TB, text string) string {
	t.Helper()
	e, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(e.EncodeAll([]byte(text), nil))
}

// Ids of made threads: time-ordered, a minute apart.
func madeID(n int) string {
	ms := time.Date(2026, 1, 2, 3, n, 0, 0, time.UTC).UnixMilli()
	return fmt.Sprintf("%08x-%04x-7000-8000-%012d", ms>>16, ms&0xffff, n)
}

func madeName(n int) string {
	return fmt.Sprintf("sessions/2026/01/02/rollout-2026-01-02T03-%02d-00-%s.jsonl", n, madeID(n))
}

// line makes a rollout line; the payload is an object's text.
func line(at, kind, payload string) string {
	return `{"timestamp":"` + at + `","type":"` + kind + `","payload":` + payload + "}\n"
}

func metaLine(at, id, more string) string {
	return line(at, "session_meta", `{"id":"`+id+`","timestamp":"`+at+`","cwd":"/home/dev/proj","originator":"codex_cli_rs","cli_version":"0.118.0","source":"cli"`+more+`}`)
}

func turnLine(at, turn string) string {
	return line(at, "turn_context", `{"turn_id":"`+turn+`","cwd":"/home/dev/proj"}`)
}

func said2(at, role, text string) string {
	part := map[string]string{"user": "input_text", "assistant": "output_text"}[role]
	quoted, _ := json.Marshal(text)
	event := map[string]string{"user": "user_message", "assistant": "agent_message"}[role]
	return line(at, "response_item", `{"type":"message","role":"`+role+`","content":[{"type":"`+part+`","text":`+string(quoted)+`}]}`) +
		line(at, "event_msg", `{"type":"`+event+`","message":`+string(quoted)+`}`)
}

func userText(at, text string) string { return said2(at, "user", text) }

func agentText(at, text string) string { return said2(at, "assistant", text) }

func text(p *string) string {
	if p == nil {
		return "(nil)"
	}
	return strings.Clone(*p)
}
