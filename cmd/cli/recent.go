package cli

import (
	"strings"

	"agentsync/publish"
	"agentsync/publish/document"
)

// recentObject is the beginning of a message in JSON.
type recentObject struct {
	ID        string  `json:"id"`
	Index     int     `json:"index"` // of its event
	Role      string  `json:"role"`
	Kind      string  `json:"kind"`
	CreatedAt *string `json:"created_at"`
	Text      string  `json:"text"`
}

// recentOf reads the beginnings of a session's last messages.
func recentOf(view *publish.View, row *document.Row) ([]recentObject, error) {
	messages, err := view.Recent(row)
	if err != nil {
		return nil, err
	}
	list := make([]recentObject, 0, len(messages))
	for _, one := range messages {
		index, _ := one.Path("rawIndex").Integer()
		m := messageOf(row.Key, int(index), one)
		list = append(list, recentObject{m.ID, m.Index, m.Role, m.Kind, m.CreatedAt, m.Text})
	}
	return list, nil
}

// lastText is the last message, on one line.
func lastText(recent []recentObject) string {
	if len(recent) == 0 {
		return ""
	}
	last := recent[len(recent)-1]
	return last.Role + ": " + strings.Join(strings.Fields(last.Text), " ")
}
