package cli

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"unicode/utf8"

	urfave "github.com/urfave/cli/v2"

	"agentsync/collect/drivers"
	"agentsync/collect/value"
	"agentsync/publish"
	"agentsync/publish/document"
)

func (v *invocation) showVerb() *urfave.Command {
	return &urfave.Command{
		Name:      "show",
		Category:  groupRead,
		Usage:     "show one published session: what it is, and its conversation",
		ArgsUsage: "KEY",
		Description: "KEY is a session's key or native id, or the beginning of one. Of a Claude session the conversation is what " +
			"its client would show; a line before it tells how much was compacted away, and --full shows that too.",
		UsageText: "agentsync show 3f2a\nagentsync show claude/3f2a --full\nagentsync show 3f2a --limit 10 --json",
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "full", Usage: "also messages that were compacted away, and every text whole"},
			&urfave.IntFlag{Name: "limit", Usage: "the last `N` messages only"},
			&urfave.BoolFlag{Name: "system", Usage: "also system messages"},
			generationFlag(),
		},
		Action: action(1, 1, v.show),
	}
}

// shownObject is a session in JSON, with what its manifest says.
type shownObject struct {
	rowObject
	Path       string  `json:"path,omitempty"`
	ObservedAt string  `json:"observed_at"`
	Complete   bool    `json:"complete"`
	Revision   *string `json:"provider_revision"`
	Parts      int     `json:"parts"`
}

// messageObject is one message in JSON.
type messageObject struct {
	Type      string  `json:"message_type"`
	Session   string  `json:"session"`
	Index     int     `json:"index"` // of its event
	ID        string  `json:"id"`
	Parent    *string `json:"parent,omitempty"`
	Role      string  `json:"role"`
	Kind      string  `json:"kind"`
	CreatedAt *string `json:"created_at"`
	Text      string  `json:"text"`
	Cut       bool    `json:"cut"` // the text goes on; --full shows it
	Compacted bool    `json:"compacted,omitempty"`
	// Holds are the parts of a message, by type and name.
	Holds []string `json:"holds,omitempty"`
}

// showSummary ends the conversation. Messages counts all of the session.
type showSummary struct {
	Type      string `json:"message_type"`
	Shown     int    `json:"shown"`
	Compacted int    `json:"compacted"`
	Messages  int    `json:"messages"`
	Events    int    `json:"events"`
}

// conversation is the order in which events are shown.
type conversation struct {
	events    []int
	compacted int // of events, how many stand before what the client shows
	hidden    int // compacted away and not among events
}

func (v *invocation) show(ctx context.Context, c *urfave.Context) error {
	if c.Int("limit") < 0 {
		return usageError("for example: --limit 10", "a negative --limit")
	}
	_, target, done, err := v.reading(ctx)
	if err != nil {
		return err
	}
	defer done()
	view, err := v.view(ctx, target, c)
	if err != nil {
		return err
	}
	row, err := oneRow(view, c.Args().First())
	if err != nil {
		return err
	}
	session, err := view.Session(row)
	if err != nil {
		return err
	}
	if err := v.showHeader(view, session); err != nil {
		return err
	}
	if files, ok, err := session.SideFiles(); ok || err != nil {
		if err != nil {
			return err
		}
		return v.showSideFiles(row, files)
	}
	order, err := conversationOf(session, c.Bool("full"), c.Bool("system"))
	if err != nil {
		return err
	}
	order.last(c.Int("limit"))
	shown, err := v.showMessages(session, order, c.Bool("full"))
	if err != nil || !v.out.asJSON {
		return err
	}
	return v.out.object(showSummary{"summary", shown, order.compacted + order.hidden, row.Messages, row.Events})
}

// sideFileObject is one file of a set of side files, in JSON.
type sideFileObject struct {
	Type    string `json:"message_type"`
	Session string `json:"session"`
	Path    string `json:"path"`
	Size    int64  `json:"size"`
}

// showSideFiles lists the files of a set: it holds no conversation.
func (v *invocation) showSideFiles(row *document.Row, files []publish.SideFile) error {
	list := newTable(column{title: "SIZE", right: true}, column{title: "FILE", flexible: true, keepEnd: true})
	for _, file := range files {
		list.row(bytesText(file.Size), file.Path)
		if v.out.asJSON {
			if err := v.out.object(sideFileObject{"side_file", row.Key, file.Path, file.Size}); err != nil {
				return err
			}
		}
	}
	if v.out.asJSON {
		return v.out.object(showSummary{Type: "summary", Events: row.Events})
	}
	if err := v.out.line(""); err != nil {
		return err
	}
	return v.out.table(list)
}

// last keeps the last n events, all for 0.
func (o *conversation) last(n int) {
	drop := len(o.events) - n
	if n == 0 || drop <= 0 {
		return
	}
	o.events = o.events[drop:]
	gone := min(drop, o.compacted)
	o.compacted -= gone
	o.hidden += gone
}

// conversationOf decides which events are shown, by the rules of the session's client
// or else all messages as they stand.
func conversationOf(s *publish.Session, full, system bool) (conversation, error) {
	var o conversation
	var failed error
	agent := strings.Contains(s.Row.NativeSessionID, "/agent-")
	visible, ok := drivers.VisibleOf(s.Row.Driver, eventLines(s, &failed), drivers.Transcript{Size: s.Manifest.Size, Agent: agent, System: system})
	if failed != nil {
		return o, failed
	}
	if ok {
		o.events, o.hidden = visible.Events, len(visible.Compacted)
		if full {
			o.events = append(append([]int{}, visible.Compacted...), visible.Events...)
			o.compacted, o.hidden = o.hidden, 0
		}
		return o, nil
	}
	err := s.Messages(0, func(_ int, m value.Value) error {
		if index, ok := m.Path("rawIndex").Integer(); ok && (system || m.Path("role").Str() != "system") {
			o.events = append(o.events, int(index))
		}
		return nil
	})
	return o, err
}

// eventLines gives a session's own lines; what ends them early goes to failed.
func eventLines(s *publish.Session, failed *error) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		err := s.Events(func(i int, e *document.ChunkEvent) error {
			line := e.Text
			if !e.Plain {
				line = e.Raw
			}
			if !yield(i, line) {
				return errEnough
			}
			return nil
		})
		if !errors.Is(err, errEnough) {
			*failed = err
		}
	}
}

// showMessages prints the messages of the chosen events, and returns how many.
func (v *invocation) showMessages(s *publish.Session, o conversation, full bool) (int, error) {
	wanted := make(map[int]*messageObject, len(o.events))
	for _, event := range o.events {
		wanted[event] = nil
	}
	err := s.Messages(0, func(_ int, m value.Value) error {
		index, _ := m.Path("rawIndex").Integer()
		if _, ok := wanted[int(index)]; ok {
			wanted[int(index)] = messageOf(s.Row.Key, int(index), m)
		}
		return nil
	})
	if err == nil {
		err = enrich(s, wanted, full)
	}
	if err != nil {
		return 0, err
	}
	if o.hidden > 0 {
		if err := v.out.note("%s before this not shown: agentsync show --full %s", counted(o.hidden, "message", "messages"), s.Row.Key); err != nil {
			return 0, err
		}
	}
	shown := 0
	for i, event := range o.events {
		m := wanted[event]
		if m == nil {
			continue
		}
		shown++
		m.Compacted = i < o.compacted
		if err := v.showMessage(m); err != nil {
			return shown, err
		}
	}
	return shown, nil
}

// previewUnits is the length at which a normalized message's preview ends, in UTF-16
// units.
const previewUnits = 500

func messageOf(key string, index int, m value.Value) *messageObject {
	o := &messageObject{Type: "message", Session: key, Index: index, ID: m.Path("id").Str(), Role: m.Path("role").Str(),
		Kind: m.Path("kind").Str(), Text: m.Path("textPreview").Str()}
	for _, field := range []struct {
		name string
		to   **string
	}{{"parentId", &o.Parent}, {"createdAt", &o.CreatedAt}} {
		if found, ok := m.Get(field.name); ok && found.Kind() == value.String {
			text := found.Str()
			*field.to = &text
		}
	}
	units := 0
	for _, r := range o.Text {
		units++
		if r > 0xffff {
			units++
		}
	}
	o.Cut = units >= previewUnits-1 // a pair of units is not cut apart
	return o
}

// enrich looks into the events of messages whose preview does not tell enough: one that
// is empty gets the names of what it holds, such as calls; with full, one that was cut
// gets its whole text. An event whose text is not found where its preview came from
// keeps the preview. A shown event that is no message is a prompt that was queued.
func enrich(s *publish.Session, wanted map[int]*messageObject, full bool) error {
	left := 0
	needs := func(m *messageObject) bool { return m == nil || m.Text == "" || full && m.Cut }
	for _, m := range wanted {
		if needs(m) {
			left++
		}
	}
	if left == 0 {
		return nil
	}
	err := s.Events(func(i int, e *document.ChunkEvent) error {
		m, ok := wanted[i]
		if !ok || !needs(m) {
			return nil
		}
		switch {
		case m == nil:
			wanted[i] = queuedPrompt(s.Row.Key, i, e.Value)
		case m.Text == "":
			m.Holds = holds(e.Value)
		default:
			m.wholeText(e.Value)
		}
		if left--; left == 0 {
			return errEnough
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// queuedPrompt is what was typed while a turn was running.
func queuedPrompt(key string, index int, event value.Value) *messageObject {
	m := &messageObject{Type: "message", Session: key, Index: index, ID: event.Path("uuid").Str(), Role: "user", Kind: "queued",
		Text: contentText(event.Path("attachment", "prompt"))}
	if at := event.Path("timestamp").Str(); at != "" {
		m.CreatedAt = &at
	}
	return m
}

// textPlaces are where the events of the known agents keep their text.
var textPlaces = [][]string{{"message", "content"}, {"payload", "content"}, {"payload", "message"}, {"payload", "text"}, {"payload", "output"}}

func (m *messageObject) wholeText(event value.Value) {
	for _, place := range textPlaces {
		whole := contentText(event.Path(place...))
		if strings.HasPrefix(whole, strings.TrimRight(m.Text, string(utf8.RuneError))) {
			m.Text, m.Cut = whole, false
			return
		}
	}
}

// holds names the parts of an event's content: their types, and what they call.
func holds(event value.Value) []string {
	var names []string
	add := func(part value.Value) {
		if name := strings.TrimSpace(part.Path("type").Str() + " " + part.Path("name").Str()); name != "" {
			names = append(names, name)
		}
	}
	content := event.Path("message", "content")
	if content.Kind() != value.Array {
		add(event.Path("payload"))
		return names
	}
	for part := range content.Elements() {
		add(part)
	}
	return names
}

// contentText is what a message's content says: a string, a list's items joined by line
// ends, a record's text, or else its content.
func contentText(v value.Value) string {
	switch v.Kind() {
	case value.String:
		return v.Str()
	case value.Array:
		var items []string
		for item := range v.Elements() {
			items = append(items, contentText(item))
		}
		return strings.Join(items, "\n")
	case value.Record:
		if text, ok := v.Get("text"); ok && text.Kind() == value.String {
			return text.Str()
		}
		if content, ok := v.Get("content"); ok {
			return contentText(content)
		}
	}
	return ""
}

func (v *invocation) showMessage(m *messageObject) error {
	if v.out.asJSON {
		return v.out.object(m)
	}
	head := "── " + m.Role
	if m.CreatedAt != nil {
		head += "  " + timeText(m.CreatedAt)
	}
	if m.Compacted {
		head += "  (compacted away)"
	}
	if err := v.out.line("\n%s", clean(head)); err != nil {
		return err
	}
	text := m.Text
	switch {
	case m.Cut:
		text += ellipsis
	case text == "":
		text = "[" + firstOf(joined(m.Holds), m.Kind) + "]"
	}
	for _, line := range folded(text, v.out.width) {
		if err := v.out.line("%s", line); err != nil {
			return err
		}
	}
	return nil
}

// folded makes transcript text fit for a terminal: its own lines, wrapped at blanks, no
// control characters, and no word wider than the terminal.
func folded(text string, width int) []string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\t", "    ")
	var lines []string
	for _, line := range wrap(printable(strings.ToValidUTF8(text, string(utf8.RuneError))), width) {
		for textWidth(line) > width && width > 1 {
			piece := strings.TrimSuffix(cut(line+ellipsis+ellipsis, width+1), ellipsis)
			if piece == "" {
				break // a character wider than the terminal
			}
			lines = append(lines, piece)
			line = line[len(piece):]
		}
		lines = append(lines, line)
	}
	return lines
}

func (v *invocation) showHeader(view *publish.View, s *publish.Session) error {
	m := s.Manifest
	o := shownObject{rowObject: objectOf(view, s.Row), Path: s.Row.Placement.Path,
		ObservedAt: m.ObservedAt, Complete: m.Complete, Revision: m.Revision, Parts: s.Parts()}
	if v.out.asJSON {
		return v.out.object(o)
	}
	if err := v.out.line("%s", clean(titleText(o.sessionObject))); err != nil {
		return err
	}
	status := o.Status
	if o.DeletedAt != nil {
		status += " (gone from its agent since " + timeText(o.DeletedAt) + ")"
	}
	damage := ""
	if o.Damaged > 0 {
		damage = fmt.Sprintf("%s not one sound line; every byte is kept", counted(o.Damaged, "event", "events"))
	}
	for _, fact := range [][2]string{
		{"key", o.Key}, {"source", o.Source + " (" + o.Driver + ")"}, {"parent", o.Parent},
		{"folder", homePath(v.env.Home, text(o.Cwd))}, {"git", gitText(s.Row.Git)},
		{"created", timeText(o.CreatedAt)}, {"updated", timeText(o.UpdatedAt)}, {"observed", timeText(&o.ObservedAt)},
		{"status", status}, {"path", o.Path},
		{"size", fmt.Sprintf("%s, %s, %s, %s", bytesText(o.Size), counted(o.Events, "event", "events"),
			counted(o.Messages, "message", "messages"), counted(o.Parts, "part", "parts"))},
		{"damage", damage}, {"content", o.ContentHash}, {"manifest", o.ManifestHash},
	} {
		if fact[1] == "" {
			continue
		}
		if err := v.out.line("%-9s %s", fact[0], clean(fact[1])); err != nil {
			return err
		}
	}
	return nil
}

func gitText(g document.Git) string {
	var parts []string
	for _, part := range []*string{g.Repo, g.Branch, g.HeadSHA} {
		if s := text(part); s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, " ")
}
