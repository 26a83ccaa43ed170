package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	urfave "github.com/urfave/cli/v2"

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
			"its client would show. A line before it tells how many messages are not shown, and why: compacted away, before a break " +
			"in the chain, on other branches. With --full every message is shown, in the order in which they were written.",
		UsageText: "agentsync show 3f2a\nagentsync show claude/3f2a --full\nagentsync show 3f2a --limit 10 --json",
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "full", Usage: "every message, and every text whole"},
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
	// Place is why the agent does not show the message, "" when it does.
	Place string `json:"place,omitempty"`
	// Holds are the parts of a message, by type and name.
	Holds []string `json:"holds,omitempty"`
}

// showSummary ends the conversation. Messages are those of the session, and Messages +
// Queued is Shown and everything that follows Queued up to Messages.
type showSummary struct {
	Type        string `json:"message_type"`
	Shown       int    `json:"shown"`
	Queued      int    `json:"queued"`
	Compacted   int    `json:"compacted"`
	BeforeBreak int    `json:"before_break"`
	Branches    int    `json:"branches"`
	Notes       int    `json:"notes"`
	System      int    `json:"system"`
	Limited     int    `json:"limited"`
	Messages    int    `json:"messages"`
	Events      int    `json:"events"`
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
	rows, err := thread(view, row)
	if err != nil {
		return err
	}
	want := choiceOfMessages{full: c.Bool("full"), system: c.Bool("system") || c.Bool("full")}
	var all []*conversation
	for i, part := range rows {
		if i > 0 {
			if session, err = view.Session(part); err != nil {
				return err
			}
		}
		one, err := conversationOf(session, want)
		if err != nil {
			return err
		}
		all = append(all, one)
	}
	keepLast(all, c.Int("limit"))
	return v.showConversation(all, want.full)
}

// showConversation prints what is shown of a thread's sessions, after what is not.
func (v *invocation) showConversation(all []*conversation, full bool) error {
	if left, unasked := leftText(all); left != "" {
		if unasked {
			left += "; agentsync show --full " + all[0].session.Row.Key
		}
		if err := v.out.note("\nmessages not shown: %s", left); err != nil {
			return err
		}
	}
	summary := showSummary{Type: "summary"}
	for i, o := range all {
		if i > 0 {
			if err := v.out.note("\n── goes on in %s", o.session.Row.Key); err != nil {
				return err
			}
		}
		if err := v.showMessages(o, full); err != nil {
			return err
		}
		summary.add(o)
	}
	if !v.out.asJSON {
		return nil
	}
	return v.out.object(summary)
}

func (s *showSummary) add(o *conversation) {
	s.Shown += len(o.events)
	s.Queued += len(o.queued)
	for at, to := range map[place]*int{compacted: &s.Compacted, beforeBreak: &s.BeforeBreak, aside: &s.Branches,
		noted: &s.Notes, ofSystem: &s.System, limited: &s.Limited} {
		*to += o.left[at]
	}
	s.Messages += o.session.Row.Messages
	s.Events += o.session.Row.Events
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

// showMessages prints the messages of a conversation.
func (v *invocation) showMessages(o *conversation, full bool) error {
	s := o.session
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
		return err
	}
	for _, event := range o.events {
		m, at := wanted[event], o.places[event]
		if o.summaries[event] {
			m.Role = roleSummary
		}
		m.Place = at.String()
		if err := v.showMessage(m, at.text()); err != nil {
			return err
		}
	}
	return nil
}

// roleSummary is the role of a message that the agent wrote in place of what it compacted
// away: nobody said it.
const roleSummary = "summary"

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

func (v *invocation) showMessage(m *messageObject, why string) error {
	if v.out.asJSON {
		return v.out.object(m)
	}
	head := "── " + m.Role
	if m.CreatedAt != nil {
		head += "  " + timeText(m.CreatedAt)
	}
	if why != "" {
		head += "  (" + why + ")"
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
