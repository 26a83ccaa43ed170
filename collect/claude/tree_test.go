package claude

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/collect/value"
)

// u is a session's id, made of one digit.
func u(n int) string { return fmt.Sprintf("%08d-0000-4000-8000-000000000000", n) }

// turn is a line of a conversation.
func turn(kind, id, parent, text string) string {
	p := "null"
	if parent != "" {
		p = `"` + parent + `"`
	}
	return fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"type":%q,"message":{"role":%q,"content":%q},"uuid":%q,"timestamp":"2026-11-30T08:00:00.000Z","cwd":"/home/dev/proj","sessionId":"s"}`+"\n", p, kind, kind, text, id)
}

func talk(text string) string {
	return turn("user", "u1", "", text) + turn("assistant", "u2", "u1", "Yes.")
}

// config is a made-up configuration folder.
type config struct {
	t   testing.TB
	dir string
}

func newConfig(t testing.TB) config { return config{t, t.TempDir()} }

func (c config) path(name string) string {
	return filepath.Join(c.dir, "projects", filepath.FromSlash(name))
}

// put writes a file below projects, an hour before the tests' clock.
func (c config) put(name, content string) { c.putAt(name, content, noon.Add(-time.Hour)) }

func (c config) putAt(name, content string, at time.Time) {
	c.t.Helper()
	path := c.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		c.t.Fatal(err)
	}
	if err := os.Chtimes(path, at, at); err != nil {
		c.t.Fatal(err)
	}
}

func (c config) link(target, name string) {
	c.t.Helper()
	if err := os.MkdirAll(filepath.Dir(c.path(name)), 0o700); err != nil {
		c.t.Fatal(err)
	}
	if err := os.Symlink(target, c.path(name)); err != nil {
		c.t.Skip("no symbolic links here:", err)
	}
}

func (c config) driver() *Driver {
	return newDriver(c.t, collect.SourceConfig{ID: "claude", ConfigDir: c.dir})
}

// inventory is all pages of a source together.
func inventory(t testing.TB, d *Driver) collect.Page {
	t.Helper()
	var all collect.Page
	cursor := ""
	for {
		page, err := d.ListSessions(context.Background(), cursor)
		if err != nil {
			t.Fatal(err)
		}
		all.Sessions = append(all.Sessions, page.Sessions...)
		all.Problems = append(all.Problems, page.Problems...)
		all.Notes = append(all.Notes, page.Notes...)
		all.Absent = all.Absent || page.Absent
		if cursor = page.NextCursor; cursor == "" {
			return all
		}
	}
}

func ids(page collect.Page) []string {
	list := []string{}
	for _, s := range page.Sessions {
		list = append(list, s.NativeSessionID)
	}
	sort.Strings(list)
	return list
}

func wantIDs(t testing.TB, page collect.Page, want ...string) {
	t.Helper()
	sort.Strings(want)
	if got := ids(page); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("sessions\n got %v\nwant %v", got, want)
	}
}

func listing(t testing.TB, page collect.Page, id string) collect.Listing {
	t.Helper()
	for _, s := range page.Sessions {
		if s.NativeSessionID == id {
			return s
		}
	}
	t.Fatalf("no session %s in %v", id, ids(page))
	return collect.Listing{}
}

// history is all that reading a session gave.
type history struct {
	texts    []string
	raw      string
	starts   []collect.Position
	damage   []collect.Damage
	messages []collect.Message
	files    []collect.FileText
	offsets  []int64
	trailer  collect.Trailer
}

func read(t testing.TB, d *Driver, id string, from *collect.Resume) history {
	t.Helper()
	h, err := tryRead(d, id, from)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func tryRead(d *Driver, id string, from *collect.Resume) (h history, err error) {
	s, err := d.ReadSession(context.Background(), id, from)
	if err != nil {
		return h, err
	}
	defer s.Close()
	var raw strings.Builder
	for {
		var tape value.Tape
		h.starts = append(h.starts, s.At())
		e, err := s.Next(&tape)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return h, err
		}
		raw.Write(e.Raw)
		h.texts = append(h.texts, string(e.Captured.Text))
		h.damage = append(h.damage, e.Damage)
		h.offsets = append(h.offsets, e.Offset)
		if e.Message != nil {
			h.messages = append(h.messages, *e.Message)
		}
		if e.Text != nil {
			h.files = append(h.files, *e.Text)
		}
	}
	h.raw = raw.String()
	h.trailer, err = s.Finish()
	return h, err
}
