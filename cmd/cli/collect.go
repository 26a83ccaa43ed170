package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"agentsync/collect"
	"agentsync/collect/value"
	"agentsync/publish"
)

func (v *invocation) collectVerb() *urfave.Command {
	return &urfave.Command{
		Name:     "collect",
		Category: groupPublish,
		Usage:    "list the sessions that the agents keep on this machine, by source",
		Description: "Reads the agents' own files and writes nothing. A source that is absent and one that cannot be read are " +
			"different: the first is noted, the second makes the pass partial.",
		UsageText: "agentsync collect\nagentsync collect --source claude --json",
		Flags:     []urfave.Flag{sourceFlag(), nonEmptyFlag()},
		Action:    action(0, 0, v.collect),
	}
}

func sourceFlag() urfave.Flag {
	return &urfave.StringSliceFlag{Name: "source", Usage: "only the source `ID` (may be repeated)"}
}

func nonEmptyFlag() urfave.Flag {
	return &urfave.BoolFlag{Name: "require-nonempty", Usage: "fail when no conversation was found, not one message"}
}

// sessionObject is one session in JSON, as far as an inventory or an index knows it.
type sessionObject struct {
	Type      string  `json:"message_type"`
	Key       string  `json:"key"`
	Source    string  `json:"source"`
	Driver    string  `json:"driver"`
	Session   string  `json:"session"`
	Parent    string  `json:"parent,omitempty"`
	Title     *string `json:"title"`
	Cwd       *string `json:"cwd"`
	CreatedAt *string `json:"created_at"`
	UpdatedAt *string `json:"updated_at"`
	Archived  *bool   `json:"archived,omitempty"`
	Hidden    bool    `json:"hidden,omitempty"`
	Size      int64   `json:"size"`

	modified time.Time // of the session's file, zero when unknown
}

// sourceObject is one source's inventory in JSON.
type sourceObject struct {
	Type     string `json:"message_type"`
	Source   string `json:"source"`
	Driver   string `json:"driver"`
	Absent   bool   `json:"absent"`
	Complete bool   `json:"complete"`
	Found    int    `json:"found"`
	Failed   int    `json:"failed"`
	Size     int64  `json:"size"`
}

// collectSummary ends the pass.
type collectSummary struct {
	Type     string `json:"message_type"`
	Sources  int    `json:"sources"`
	Found    int    `json:"found"`
	Failed   int    `json:"failed"`
	Size     int64  `json:"size"`
	Complete bool   `json:"complete"`
}

// noteObject is something seen and deliberately left out, in JSON.
type noteObject struct {
	Type    string `json:"message_type"`
	Source  string `json:"source,omitempty"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Path    string `json:"path,omitempty"`
}

// inventory is what one source keeps.
type inventory struct {
	source   sourceObject
	sessions []sessionObject
	problems []collect.Problem
	notes    []collect.Problem
}

func (v *invocation) collect(ctx context.Context, c *urfave.Context) error {
	s, err := v.settings()
	if err != nil {
		return err
	}
	drivers, err := v.drivers(s, c.StringSlice("source"))
	if err != nil {
		return err
	}
	meter := v.meter("collect", "sessions", -1)
	summary := collectSummary{Type: "summary", Complete: true}
	lacking := c.Bool("require-nonempty")
	for _, driver := range drivers {
		found, err := takeInventory(ctx, driver, meter)
		if err != nil {
			return err
		}
		meter.hide()
		if err := v.showInventory(found); err != nil {
			return err
		}
		summary.add(found.source)
		if lacking {
			talk, err := talks(ctx, driver, found.sessions)
			if err != nil {
				return err
			}
			lacking = !talk
		}
	}
	return v.endCollect(s, summary, lacking)
}

// talks reports that one of a source's sessions has a message. What cannot be read was
// told by the inventory.
func talks(ctx context.Context, driver collect.Driver, sessions []sessionObject) (found bool, err error) {
	if len(sessions) == 0 {
		return false, nil
	}
	if err := driver.Start(ctx); err != nil {
		return false, ctx.Err()
	}
	defer func() { err = errors.Join(err, driver.Stop()) }()
	for _, session := range sessions {
		if hasMessage(ctx, driver, session.Session) {
			return true, nil
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
	}
	return false, nil
}

func hasMessage(ctx context.Context, driver collect.Driver, nativeSessionID string) bool {
	snap, err := driver.ReadSession(ctx, nativeSessionID, nil)
	if err != nil {
		return false
	}
	defer snap.Close()
	var tape value.Tape
	for ctx.Err() == nil {
		tape.Reset()
		event, err := snap.Next(&tape)
		if err != nil || event.Message != nil {
			return err == nil
		}
	}
	return false
}

func (s *collectSummary) add(source sourceObject) {
	s.Sources++
	s.Found += source.Found
	s.Failed += source.Failed
	s.Size += source.Size
	s.Complete = s.Complete && (source.Complete || source.Absent)
}

func (v *invocation) endCollect(s *settings, summary collectSummary, lacking bool) error {
	if v.out.asJSON {
		if err := v.out.object(summary); err != nil {
			return err
		}
	} else if err := v.out.note("%s in %s, %s", counted(summary.Found, "session", "sessions"),
		counted(summary.Sources, "source", "sources"), bytesText(summary.Size)); err != nil {
		return err
	}
	if summary.Found == 0 || lacking {
		if err := v.nothingFound(s, summary.Found, lacking); err != nil {
			return err
		}
	}
	return v.out.partial()
}

// takeInventory lists a source's sessions and reads their summaries. What cannot be
// read is a problem of the inventory; only the end of ctx is an error.
func takeInventory(ctx context.Context, driver collect.Driver, meter *meter) (inventory, error) {
	source := driver.Source()
	got := inventory{source: sourceObject{Type: "source", Source: source.ID, Driver: source.Driver}}
	if err := driver.Start(ctx); err != nil {
		if ctx.Err() != nil {
			return got, ctx.Err()
		}
		got.problems = append(got.problems, collect.Problem{Code: "source-unavailable", Message: err.Error()})
		return got, nil
	}
	stream := collect.NewStream(driver, nil)
	err := readSummaries(ctx, driver, stream, &got, meter)
	if stopped := driver.Stop(); err == nil && stopped != nil {
		got.problems = append(got.problems, collect.Problem{Code: "source-unavailable", Message: "stop: " + stopped.Error()})
	}
	tally := stream.Outcome()
	got.problems = append(got.problems, tally.Problems...)
	got.notes = tally.Notes
	got.source.Found, got.source.Failed = tally.Found, tally.Failed
	got.source.Absent, got.source.Complete = tally.Absent, tally.Complete && !tally.Absent
	slices.SortStableFunc(got.sessions, newestFirst)
	return got, err
}

func readSummaries(ctx context.Context, driver collect.Driver, stream *collect.Stream, got *inventory, meter *meter) error {
	for {
		listing, err := stream.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		session, err := summarize(ctx, driver, listing)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		meter.add(1)
		if err != nil {
			stream.Failed(listing, err)
			continue
		}
		stream.Read(listing, true)
		got.sessions = append(got.sessions, session)
		got.source.Size += session.Size
	}
}

func summarize(ctx context.Context, driver collect.Driver, listing collect.Listing) (sessionObject, error) {
	source := driver.Source()
	key, err := collect.SessionKey(source.ID, listing.NativeSessionID)
	if err != nil {
		return sessionObject{}, err
	}
	summary := listing.Summary
	if summary == nil {
		read, err := driver.Summarize(ctx, listing.NativeSessionID)
		if err != nil {
			return sessionObject{}, err
		}
		summary = &read
	}
	return sessionObject{
		Type: "session", Key: key, Source: source.ID, Driver: source.Driver,
		Session: listing.NativeSessionID, Parent: firstOf(summary.Parent, listing.Parent),
		Title: summary.Title, Cwd: summary.Cwd, CreatedAt: summary.CreatedAt, UpdatedAt: summary.UpdatedAt,
		Archived: summary.Archived, Hidden: summary.Hidden, Size: listing.Stamp.Size,
		modified: modified(listing.Stamp),
	}, nil
}

func modified(stamp collect.Stamp) time.Time {
	if stamp.ModTime == 0 {
		return time.Time{}
	}
	return time.Unix(0, stamp.ModTime)
}

func newestFirst(a, b sessionObject) int {
	if order := strings.Compare(text(b.UpdatedAt), text(a.UpdatedAt)); order != 0 {
		return order
	}
	return strings.Compare(a.Key, b.Key)
}

// showInventory prints one source.
func (v *invocation) showInventory(got inventory) error {
	show := v.inventoryTable
	if v.out.asJSON {
		show = v.inventoryObjects
	}
	if err := show(got); err != nil {
		return err
	}
	for _, p := range got.problems {
		v.out.problem(problemFailure(got.source.Source, p))
	}
	return nil
}

func (v *invocation) inventoryObjects(got inventory) error {
	for _, session := range got.sessions {
		if err := v.out.object(session); err != nil {
			return err
		}
	}
	for _, n := range got.notes {
		if err := v.out.object(noteObject{"note", got.source.Source, n.Code, n.Message, n.Path}); err != nil {
			return err
		}
	}
	return v.out.object(got.source)
}

func (v *invocation) inventoryTable(got inventory) error {
	for _, n := range got.notes {
		v.out.warn("%s: %s", got.source.Source, withPath(n.Message, n.Path))
	}
	if got.source.Absent {
		return v.out.note("%s (%s): not on this machine", got.source.Source, got.source.Driver)
	}
	if err := v.out.line("%s (%s): %s, %s", got.source.Source, got.source.Driver,
		counted(got.source.Found, "session", "sessions"), bytesText(got.source.Size)); err != nil {
		return err
	}
	return v.out.table(v.sessionTable(got.sessions))
}

// sessionTable lays sessions out for people, a child below its parent.
func (v *invocation) sessionTable(sessions []sessionObject) *table {
	keys := make([]string, len(sessions))
	for i, s := range sessions {
		keys[i] = s.Key
	}
	short := abbreviate(keys)
	list := newTable(column{title: "KEY"}, column{title: "UPDATED"}, column{title: "SIZE", right: true},
		column{title: "TITLE", flexible: true}, column{title: "FOLDER", flexible: true, keepEnd: true})
	for _, placed := range underParents(sessions) {
		s := sessions[placed.index]
		key := short[s.Key]
		if placed.depth > 0 {
			key = childName(s)
		}
		list.row(childMark(placed.depth)+key, timeText(s.UpdatedAt), bytesText(s.Size),
			titleText(s), homePath(v.env.Home, text(s.Cwd)))
	}
	return list
}

func titleText(s sessionObject) string {
	if s.Title == nil || *s.Title == "" {
		return "(no title)"
	}
	return *s.Title
}

func childMark(depth int) string {
	if depth == 0 {
		return ""
	}
	return strings.Repeat("  ", depth-1) + "└ "
}

// childName is what tells a child from its parent's other children: the end of its id.
func childName(s sessionObject) string {
	name := s.Session[strings.LastIndexByte(s.Session, '/')+1:]
	return cut(name, childWidth)
}

const childWidth = 14 // columns

// placed is a session, by its index, and how deep it stands below its parents.
type placed struct{ index, depth int }

// underParents orders sessions so that each follows its parent, otherwise as given. A
// child whose parent is not among them stands for itself, and so does one of a circle.
func underParents(sessions []sessionObject) []placed {
	type identity struct{ source, session string }
	known := make(map[identity]bool, len(sessions))
	for _, s := range sessions {
		known[identity{s.Source, s.Session}] = true
	}
	children := make(map[identity][]int)
	var order []int // roots first, then all: those in circles are found last
	for i, s := range sessions {
		parent := identity{s.Source, s.Parent}
		if s.Parent == "" || !known[parent] {
			order = append(order, i)
			continue
		}
		children[parent] = append(children[parent], i)
	}
	result := make([]placed, 0, len(sessions))
	seen := make([]bool, len(sessions))
	var place func(i, depth int)
	place = func(i, depth int) {
		if seen[i] {
			return
		}
		seen[i] = true
		result = append(result, placed{i, depth})
		for _, child := range children[identity{sessions[i].Source, sessions[i].Session}] {
			place(child, depth+1)
		}
	}
	for _, i := range order {
		place(i, 0)
	}
	for i := range sessions {
		place(i, 0)
	}
	return result
}

// problemFailure makes a problem of a source an item that is missing.
func problemFailure(source string, p collect.Problem) *failure {
	message := p.Message
	if p.Line > 0 {
		message = fmt.Sprintf("line %d: %s", p.Line, message)
	}
	message = withPath(message, p.Path)
	if p.Session != "" && !strings.Contains(message, p.Session) {
		message = p.Session + ": " + message
	}
	exit := exitPartial
	if p.Code == publish.CodeSessionsGone {
		exit = exitStopped
	}
	return &failure{
		exit: exit, code: p.Code, message: source + ": " + message, hint: firstOf(absenceHint(p.Code, source), problemHints[p.Code]),
		retryable: retryableProblems[p.Code], source: source, session: p.Session, path: p.Path,
	}
}

func withPath(message, path string) string {
	if path == "" || strings.Contains(message, path) {
		return message
	}
	return message + ": " + path
}

// problemHints say what can be done about a problem of a collection.
var problemHints = map[string]string{
	collect.CodeUnreadable: "make it readable for this user; nothing is marked deleted meanwhile",
	collect.CodeInventory:  "nothing of this source is marked deleted until it can be listed whole",
	collect.CodeChanged:    "the agent was writing; the next pass reads it again",
	collect.CodeVanished:   "the agent removed it meanwhile; what was published of it is kept",
	collect.CodeCeiling:    "split the source: give parts of it as sources of their own with roots; with the driver acp, let its agent remove old sessions",
	"source-unavailable":   "agentsync doctor",
}

// retryableProblems may be gone in the next pass without anybody's doing.
var retryableProblems = map[string]bool{
	collect.CodeChanged: true, collect.CodeVanished: true, collect.CodeCancelled: true, "source-unavailable": true,
}
