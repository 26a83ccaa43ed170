package publish

import (
	"fmt"

	"agentsync/collect/value"
	"agentsync/publish/document"
)

// recentTexts are the texts of a session's last messages, of which a manifest holds some:
// whoever lists sessions reads no chunk for a look at each. They stand there and not in
// the index, where an append to one session would write those of a whole page anew.
type recentTexts struct {
	texts [document.RecentMost][]byte
	count int // messages seen
}

func (r *recentTexts) add(text []byte) {
	at := r.count % len(r.texts)
	r.texts[at] = append(r.texts[at][:0], text...)
	r.count++
}

// goOn begins with what the prior copy's manifest holds of its first n messages.
func (r *recentTexts) goOn(m *document.Manifest, n int) {
	first := m.Messages - len(m.Recent)
	for i, v := range m.Recent {
		if first+i < n {
			r.add(value.AppendText(nil, v))
		}
	}
}

// values are the messages, oldest first.
func (r *recentTexts) values() ([]value.Value, error) {
	var out []value.Value
	for i := max(0, r.count-len(r.texts)); i < r.count; i++ {
		c, err := new(value.Tape).Capture(r.texts[i%len(r.texts)])
		if err != nil {
			return nil, fmt.Errorf("recent message: %w", err)
		}
		out = append(out, c.Value)
	}
	return out, nil
}

// sameRecent reports that a manifest's recent messages are the last ones of its session.
func sameRecent(m *document.Manifest, seen *recentTexts) bool {
	want, err := seen.values()
	if err != nil || len(want) != len(m.Recent) {
		return false
	}
	for i := range want {
		if string(value.AppendText(nil, want[i])) != string(value.AppendText(nil, m.Recent[i])) {
			return false
		}
	}
	return true
}

// Recent returns the previews of a session's last messages, at most document.RecentMost,
// oldest first. It reads the session's manifest and no chunk.
func (v *View) Recent(row *document.Row) ([]value.Value, error) {
	m, _, err := v.lib.manifest(row)
	if err != nil {
		return nil, err
	}
	return m.Recent, nil
}
