package publish

import (
	"fmt"
	"strings"
	"testing"

	"agentsync/collect/value"
	"agentsync/fixtures/fakedriver"
	"agentsync/publish/document"
)

func TestAManifestHoldsTheLastMessagesHoweverItGrew(t *testing.T) {
	d := fakedriver.New("codex").Session("a")
	b := newBed(t, d)
	written := 0
	for _, step := range []int{0, 1, 3, 9, 1, 400, 1, 2, 30} { // the 400 fill several parts
		var more []string
		for range step {
			written++
			more = append(more, fmt.Sprintf(`{"type":"user","role":"user","id":"m%d","text":%q}`, written, strings.Repeat("x", 5000)+fmt.Sprint(written)),
				`{"type":"quiet"}`)
		}
		d.Append("a", more...)
		b.publish()
		var all, recent []string
		view := b.view()
		row := b.row("codex/a")
		s, err := view.Session(row)
		if err != nil {
			t.Fatal(err)
		}
		err = s.Messages(0, func(_ int, v value.Value) error {
			all = append(all, string(value.AppendText(nil, v)))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		messages, err := view.Recent(row)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range messages {
			recent = append(recent, string(value.AppendText(nil, v)))
		}
		want := all[max(0, len(all)-document.RecentMost):]
		if len(all) != written || strings.Join(recent, "\n") != strings.Join(want, "\n") {
			t.Errorf("after %d messages: %d of them are recent, want the last %d", written, len(recent), len(want))
		}
	}
	b.sound()
}
