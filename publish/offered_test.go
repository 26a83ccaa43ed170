package publish

import (
	"strings"
	"testing"

	"agentsync/collect"
	"agentsync/collect/value"
	"agentsync/fixtures/fakedriver"
)

// described is a record of one option, whose name is a text of a length.
func described(name string) value.Value {
	return value.NewBuilder().Record().Key("model").Record().Key("id").String("model").Key("name").String(name).End().End().Finish()
}

func TestASourcesRowTellsWhatItsSessionsCanBeSetTo(t *testing.T) {
	d := fakedriver.New("codex").Session("one", lines(3, 0)...)
	b := newBed(t, d)
	offered := func(c collect.Capabilities) (capabilities []string, name string) {
		t.Helper()
		d.Offers(c)
		b.publish()
		s := b.view().Root().Sources[0]
		return s.Capabilities, s.Options.Path("model", "name").Str()
	}
	all := collect.Capabilities{Read: true, SetMode: true, SetOption: true, Options: described("Model")}
	if capabilities, name := offered(all); strings.Join(capabilities, " ") != "read set-config-option set-mode" || name != "Model" {
		t.Errorf("%v, option %q", capabilities, name)
	}
	all.ModesUnknown, all.Options = true, value.Value{}
	if _, name := offered(all); name != "Model" {
		t.Errorf("a pass that asked nobody takes the options away: %q", name)
	}
	all.ModesUnknown, all.Options = false, described("Another")
	if _, name := offered(all); name != "Another" {
		t.Errorf("a changed description is not published: %q", name)
	}
	all.Options = described(strings.Repeat("x", maxOptions))
	if _, name := offered(all); name != "" {
		t.Errorf("a description of %d bytes is published", len(name))
	}
	b.sound()
}
