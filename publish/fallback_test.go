package publish

import (
	"slices"
	"testing"

	"agentsync/collect"
	"agentsync/fixtures/fakedriver"
)

func TestPublishedModesStayUntilTheAgentIsAskedAgain(t *testing.T) {
	d := fakedriver.New("codex").Session("one", lines(3, 0)...)
	b := newBed(t, d)
	ask := func(unknown bool, modes ...string) []string {
		t.Helper()
		d.Offers(collect.Capabilities{Read: true, ModesUnknown: unknown, Modes: modes})
		b.publish()
		return b.view().Root().Sources[0].Capabilities
	}
	both := []string{"read", "mode:act", "mode:ask"}
	if got := ask(false, "act", "ask"); !slices.Equal(got, both) {
		t.Errorf("told: %v", got)
	}
	b.target.State = t.TempDir() // which is all that is lost
	if got := ask(true); !slices.Equal(got, both) {
		t.Errorf("not asked: %v", got)
	}
	if got := ask(false, "ask"); !slices.Equal(got, []string{"read", "mode:ask"}) {
		t.Errorf("told of one: %v", got)
	}
	if got := ask(false); !slices.Equal(got, []string{"read"}) {
		t.Errorf("asked, and none is offered: %v", got)
	}
	if got := ask(true); !slices.Equal(got, []string{"read"}) {
		t.Errorf("not asked again: %v", got)
	}
}

func TestThePairingOfADesktopStartOutlivesTheState(t *testing.T) {
	d := fakedriver.New("codex").Session("one", lines(3, 0)...).Summarized("one", collect.Summary{StartedAs: "asked-for"})
	b := newBed(t, d)
	b.publish()
	first := b.row("codex/one")
	if first.StartedAs != "asked-for" {
		t.Fatalf("published as %q", first.StartedAs)
	}
	b.target.State = t.TempDir()
	d.Summarized("one", collect.Summary{})
	for _, full := range []bool{true, false} {
		b.pass.Full = full
		d.Append("one", lines(1, 10)...)
		b.publish()
		if got := b.row("codex/one"); got.StartedAs != "asked-for" || got.Events == first.Events {
			t.Errorf("full %v: %d events, started as %q", full, got.Events, got.StartedAs)
		}
	}
	b.sound()
}
