package acp

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"agentsync/collect"
)

// inventory lists everything as a collection does.
func inventory(t *testing.T, d *Driver) ([]collect.Listing, collect.Tally) {
	t.Helper()
	var all []collect.Listing
	stream := collect.NewStream(d, func(l collect.Listing) bool { all = append(all, l); return true })
	if _, err := stream.Next(t.Context()); !errors.Is(err, io.EOF) {
		t.Fatal(err)
	}
	return all, stream.Outcome()
}

func TestTheInventoryHasAllPages(t *testing.T) {
	s := newStage(t, "pages=2")
	for i := range 5 {
		s.seed(fmt.Sprintf("s%d", i), "Hello.")
	}
	list, tally := inventory(t, s.begin().Driver)
	if len(list) != 5 || !tally.Complete || len(s.received(methodList)) != 3 {
		t.Fatalf("%d sessions on %d pages, tally %+v", len(list), len(s.received(methodList)), tally)
	}
	if list[4].NativeSessionID != "s4" || *list[4].Summary.Title != "Title of s4" || list[4].Summary.Active != nil {
		t.Errorf("listed %+v", list[4])
	}
}

func TestAnInventoryThatCannotBeTrustedIsNoShortOne(t *testing.T) {
	for _, row := range []struct{ words, code string }{
		{"repeat-cursor", collect.CodeRepeatedCursor},
		{"list-garbage", collect.CodeInventory},
	} {
		s := newStage(t, row.words)
		s.seed("one", "Hello.")
		_, tally := inventory(t, s.begin().Driver)
		if tally.Complete || !slices.ContainsFunc(tally.Problems, func(p collect.Problem) bool { return p.Code == row.code }) {
			t.Errorf("%s: %+v", row.words, tally)
		}
	}
}

func TestATimeOfChangeIsAClaimOnceItIsOld(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 1, 0, 0, time.UTC) // of a seeded session
	for _, row := range []struct {
		name  string
		now   time.Time
		claim bool
	}{
		{"a turn may still be at work", at.Add(23 * time.Hour), false},
		{"a day later", at.Add(24 * time.Hour), true},
		{"a clock that goes wrong", at.Add(-time.Hour), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := newStage(t, "")
			s.env.Now = row.now
			s.seed("one", "Hello.")
			list, _ := inventory(t, s.begin().Driver)
			want := collect.Stamp{}
			if row.claim {
				want.ModTime = at.UnixNano()
			}
			if list[0].Stamp != want {
				t.Errorf("listed with %+v", list[0].Stamp)
			}
			if h := mustRead(t, s.Driver, "one"); h.trailer.Resume.Stamp != want {
				t.Errorf("read with %+v", h.trailer.Resume.Stamp)
			}
		})
	}
}

func TestTimesOfEveryZoneArePublishedAlike(t *testing.T) {
	for text, want := range map[string]string{
		"2026-11-30T09:04:06.657+00:00": "2026-11-30T09:04:06.657Z",
		"2026-11-30T10:04:06+01:00":     "2026-11-30T09:04:06.000Z",
		"yesterday":                     "",
		"":                              "",
	} {
		s := (&Driver{}).summary(row{native: "one", updated: text, text: []byte(`{}`)})
		if got := s.UpdatedAt; want == "" && got != nil || want != "" && (got == nil || *got != want) {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestAnIDMakesAFileName(t *testing.T) {
	for id, want := range map[string]string{"ses_1-a.B": "ses_1-a.B.jsonl", "../x y/é": "..%2Fx%20y%2F%C3%A9.jsonl", "..": "...jsonl"} {
		if got := fileName(id); got != want {
			t.Errorf("%q: %q", id, got)
		}
	}
}

func TestTheSourceTellsWhatItsSessionsOffer(t *testing.T) {
	s := newStage(t, "modes,options")
	s.seed("one", "Hello.")
	s.seed("two", "Hello.")
	s.begin()
	if caps := s.Source().Capabilities; len(caps.Modes) > 0 || !caps.ModesUnknown || !caps.Prompt || !caps.Cancel || !caps.StartSession || caps.Rename {
		t.Errorf("before any session was read: %+v", caps)
	}
	mustRead(t, s.Driver, "one")
	caps := s.Source().Capabilities
	if !slices.Equal(caps.Modes, []string{"act", "ask"}) || caps.ModesUnknown || caps.Options.Path("model", "name").Str() != "Model" || caps.Options.Len() != 2 {
		t.Errorf("capabilities %+v", caps)
	}
	if s.Source().Version != "1.2.3" {
		t.Errorf("version %q", s.Source().Version)
	}
	t.Run("a pass that reads nothing does not know the modes", func(t *testing.T) {
		s.begin()
		if caps := s.Source().Capabilities; len(caps.Modes) > 0 || !caps.ModesUnknown {
			t.Errorf("capabilities %+v", caps)
		}
	})
	t.Run("an agent that offers none any more is known to", func(t *testing.T) {
		plain := newStage(t, "")
		plain.seed("one", "Hello.")
		plain.begin()
		mustRead(t, plain.Driver, "one")
		if caps := plain.Source().Capabilities; len(caps.Modes) > 0 || caps.ModesUnknown {
			t.Errorf("capabilities %+v", caps)
		}
	})
	t.Run("controls of a session that is gone are dropped by a whole inventory", func(t *testing.T) {
		mustRead(t, s.Driver, "two")
		s.remove("two")
		inventory(t, s.Driver)
		if caps := s.Source().Capabilities; caps.Options.Len() != 0 {
			t.Errorf("capabilities %+v", caps)
		}
	})
}
