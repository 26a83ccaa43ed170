package acp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"agentsync/collect"
)

func TestASessionIsTheUpdatesOfItsLoadOneALine(t *testing.T) {
	s := newStage(t, "")
	s.seed("one", "Hello.", "Hi, <you> & all. \u2028")
	s.begin()
	h := mustRead(t, s.Driver, "one")
	if lines := strings.Split(h.raw, "\n"); len(lines) != 3 || !strings.Contains(lines[0], `"Hello."`) || lines[2] != "" {
		t.Errorf("raw %q", h.raw)
	}
	if !h.trailer.Complete || h.trailer.Revision != "2026-01-01T00:01:00.000Z" || *h.trailer.Summary.UpdatedAt != h.trailer.Revision {
		t.Errorf("trailer %+v", h.trailer)
	}
	want := []collect.Message{
		{ID: "update-0", Role: "user", Kind: "user_message_chunk", Preview: "Hello."},
		{ID: "update-1", Role: "assistant", Kind: "agent_message_chunk", Preview: "Hi, <you> & all. \u2028", RawIndex: 1},
	}
	if len(h.messages) != 2 || h.messages[0] != want[0] || h.messages[1] != want[1] {
		t.Errorf("messages %+v", h.messages)
	}
	if *h.trailer.Summary.Title != "Title of one" || *h.trailer.Summary.Cwd != s.cfg.Cwd || h.trailer.Summary.Placement.Path != "one.jsonl" {
		t.Errorf("summary %+v", h.trailer.Summary)
	}
}

func TestStatesAreNoHistory(t *testing.T) {
	s := newStage(t, "")
	s.seed("one", "Hello.", "Hi.")
	plain := mustRead(t, s.begin().Driver, "one")
	s.words("state")
	s.begin()
	for range 3 {
		if h := mustRead(t, s.Driver, "one"); h.raw != plain.raw {
			t.Fatalf("with states around it the history is\n%s\nand without\n%s", h.raw, plain.raw)
		}
	}
}

func TestALoadedSessionIsClosedWhereTheAgentCan(t *testing.T) {
	s := newStage(t, "")
	s.seed("one", "Hello.")
	mustRead(t, s.begin().Driver, "one")
	if got := len(s.received(methodClose)); got != 1 {
		t.Errorf("closed %d times", got)
	}
	s.words("no-close")
	mustRead(t, s.begin().Driver, "one")
	if got := len(s.received(methodClose)); got != 1 {
		t.Errorf("an agent that cannot close was asked to")
	}
}

func TestAMissingSessionIsNotAnUnreadableOne(t *testing.T) {
	for _, row := range []struct {
		name, words, session string
		missing              bool
	}{
		{"never listed", "", "other", true},
		{"refused as missing", "gone", "one", true},
		{"refused for any reason, and still listed", "broken", "one", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newStage(t, row.words)
			s.seed("one", "Hello.")
			s.begin()
			if _, err := read(t, s.Driver, row.session); err == nil || errors.Is(err, fs.ErrNotExist) != row.missing {
				t.Errorf("error %v", err)
			}
		})
	}
	t.Run("refused for any reason, and listed no more", func(t *testing.T) {
		s := newStage(t, "broken")
		s.seed("one", "Hello.")
		s.begin()
		if _, err := s.Summarize(t.Context(), "one"); err != nil {
			t.Fatal(err)
		}
		s.remove("one")
		if _, err := read(t, s.Driver, "one"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error %v", err)
		}
	})
}

func TestBytesThatAreNoJSONAreKeptAndLocated(t *testing.T) {
	s := newStage(t, "invalid-utf8")
	s.seed("one", "Hello.")
	h := mustRead(t, s.begin().Driver, "one")
	if !strings.HasSuffix(h.raw, "\"entries\":[\"\xff\"]}\n") || h.events[1].Damage != collect.Unparsed ||
		h.trailer.Damaged[collect.Unparsed] != 1 || len(h.trailer.Problems) != 1 || h.trailer.Problems[0].Line != 2 {
		t.Errorf("raw %q, trailer %+v", h.raw, h.trailer)
	}
}

func TestLoadsOfManySessionsOverlapAndDoNotMix(t *testing.T) {
	s := newStage(t, "updates=400")
	for i := range 8 {
		s.seed(fmt.Sprintf("s%d", i), "Hello.")
	}
	s.begin()
	var group sync.WaitGroup
	for i := range 32 {
		session := fmt.Sprintf("s%d", i%8)
		group.Go(func() {
			h, err := read(t, s.Driver, session)
			if err != nil {
				t.Error(err)
			} else if len(h.events) != 401 || strings.Count(h.raw, "of "+session+`"`) != 400 {
				t.Errorf("%s has %d events, %d of its own", session, len(h.events), strings.Count(h.raw, "of "+session+`"`))
			}
		})
	}
	group.Wait()
}

func TestMemoryDoesNotGrowWithASession(t *testing.T) {
	for _, row := range []struct {
		updates int
		slow    bool
	}{{5_000, false}, {100_000, true}} {
		t.Run(fmt.Sprint(row.updates), func(t *testing.T) {
			if row.slow && testing.Short() {
				t.Skip("a long replay")
			}
			s := newStage(t, fmt.Sprintf("updates=%d", row.updates))
			s.seed("one", "Hello.")
			s.begin()
			before := heap()
			began := time.Now()
			snap, err := s.ReadSession(t.Context(), "one", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer snap.Close()
			grown := heap() - before
			h := drain(t, snap)
			if len(h.events) != row.updates+1 || grown > 4<<20 {
				t.Errorf("%d events, %d bytes of memory between load and reading", len(h.events), grown)
			}
			t.Logf("%d updates, %d bytes in %s; %d bytes kept in memory", row.updates, len(h.raw), time.Since(began), grown)
			if left, _ := os.ReadDir(s.env.Temp); len(left) > 0 && runtime.GOOS != "windows" {
				t.Errorf("%d files have a name", len(left))
			}
		})
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestAnUpdateOf50MB(t *testing.T) {
	if testing.Short() {
		t.Skip("a long line")
	}
	s := newStage(t, "long-line")
	s.seed("one", "Hello.")
	h := mustRead(t, s.begin().Driver, "one")
	if len(h.events) != 2 || len(h.raw) < 50_000_000 || h.messages[1].ID != "long" {
		t.Errorf("%d events of %d bytes", len(h.events), len(h.raw))
	}
}

func TestWithoutAFolderForItAHistoryStaysInMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("a long replay")
	}
	s := newStage(t, "updates=12000")
	s.env.Temp = ""
	s.seed("one", "Hello.")
	if h := mustRead(t, s.begin().Driver, "one"); len(h.events) != 12_001 {
		t.Errorf("%d events", len(h.events))
	}
}

func TestAHistoryThatCannotBeKeptIsAnError(t *testing.T) {
	if testing.Short() {
		t.Skip("a long replay")
	}
	s := newStage(t, "updates=12000")
	s.env.Temp += "/none"
	s.seed("one", "Hello.")
	if _, err := read(t, s.begin().Driver, "one"); err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "keep a history") {
		t.Errorf("error %v", err)
	}
}
