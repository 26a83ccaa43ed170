package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"agentsync/collect"
	"agentsync/collect/value"
)

// row is a session as the agent lists it.
type row struct {
	id      string // canonical
	native  string // as the agent spells it
	cwd     string
	title   string
	updated string          // as the agent spells it, "" when it does not say
	text    json.RawMessage // the agent's own record
}

// catalog is what the listings so far gave.
type catalog struct {
	rows    map[string]row // by canonical id, of the last whole listing and the pages since
	listing map[string]row // of the listing that is going on
	cursor  string         // of its next page, "" when none is going on
}

// page takes a page of a listing. It reports that the listing came to its end.
func (c *catalog) page(cursor string, rows []row, next string) (whole bool) {
	if cursor == "" {
		c.listing = map[string]row{}
	} else if c.listing == nil || cursor != c.cursor {
		c.listing, c.cursor = nil, "" // another listing came between
	}
	if c.rows == nil {
		c.rows = map[string]row{}
	}
	for _, r := range rows {
		c.rows[r.id] = r
		if c.listing != nil {
			c.listing[r.id] = r
		}
	}
	c.cursor = next
	if c.listing == nil || next != "" {
		return false
	}
	c.rows, c.listing = c.listing, nil
	return true
}

// ListSessions returns the agent's page at cursor, with the summaries that it lists.
func (d *Driver) ListSessions(ctx context.Context, cursor string) (collect.Page, error) {
	rows, next, err := d.list(ctx, cursor)
	if err != nil {
		return collect.Page{}, fmt.Errorf("list sessions of %s: %w", d.id, err)
	}
	page := collect.Page{NextCursor: next, Sessions: make([]collect.Listing, len(rows))}
	for i, r := range rows {
		summary := d.summary(r)
		page.Sessions[i] = collect.Listing{NativeSessionID: r.native, Stamp: r.stamp(d.env.Now), Placement: r.place(), Summary: &summary}
	}
	return page, nil
}

// list asks for one page and keeps it.
func (d *Driver) list(ctx context.Context, cursor string) (rows []row, next string, err error) {
	a, err := d.live(ctx)
	if err != nil {
		return nil, "", err
	}
	result, err := a.call(ctx, methodList, struct {
		Cursor string `json:"cursor,omitempty"`
	}{cursor})
	if err != nil {
		return nil, "", err
	}
	var answer struct {
		Sessions   []json.RawMessage `json:"sessions"`
		NextCursor string            `json:"nextCursor"`
	}
	if json.Unmarshal(result, &answer) != nil || answer.Sessions == nil {
		return nil, "", errors.New("the agent's answer to session/list cannot be read")
	}
	for _, text := range answer.Sessions {
		r, err := rowOf(text)
		if err != nil {
			return nil, "", err
		}
		rows = append(rows, r)
	}
	d.mu.Lock()
	whole := d.catalog.page(cursor, rows, answer.NextCursor)
	d.mu.Unlock()
	if whole {
		d.controls.keep(func(session string) bool { _, ok := d.known(canonical(session)); return ok })
	}
	return rows, answer.NextCursor, nil
}

// rowOf reads one listed session. One without an id makes the page worthless.
func rowOf(text json.RawMessage) (row, error) {
	var listed struct {
		ID      string  `json:"sessionId"`
		Cwd     string  `json:"cwd"`
		Title   *string `json:"title"`
		Updated *string `json:"updatedAt"`
	}
	if json.Unmarshal(text, &listed) != nil || listed.ID == "" {
		return row{}, errors.New("the agent lists a session without an id")
	}
	r := row{id: canonical(listed.ID), native: listed.ID, cwd: listed.Cwd, text: text}
	if listed.Title != nil {
		r.title = *listed.Title
	}
	if listed.Updated != nil {
		r.updated = *listed.Updated
	}
	return r, nil
}

// canonical is a session's id as keys spell it. One that no key can hold, which the
// inventory refuses, stays as it is.
func canonical(session string) string {
	if id, err := collect.SessionID(session); err == nil {
		return id
	}
	return session
}

// find returns a session by its id. One that is not known yet is looked for in a new
// listing; fs.ErrNotExist says that the agent does not list it.
func (d *Driver) find(ctx context.Context, session string) (row, error) {
	session = canonical(session)
	if r, ok := d.known(session); ok {
		return r, nil
	}
	if err := d.relist(ctx); err != nil {
		return row{}, fmt.Errorf("find session %s: %w", session, err)
	}
	if r, ok := d.known(session); ok {
		return r, nil
	}
	return row{}, fmt.Errorf("find session %s: %w", session, fs.ErrNotExist)
}

func (d *Driver) known(session string) (row, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	r, ok := d.catalog.rows[session]
	return r, ok
}

// relist reads the whole list anew.
func (d *Driver) relist(ctx context.Context) error {
	seen := map[string]bool{"": true}
	listed := 0
	for cursor := ""; ; {
		rows, next, err := d.list(ctx, cursor)
		if err != nil {
			return err
		}
		listed += len(rows)
		if next == "" {
			return nil
		}
		if seen[next] || listed > collect.MaxListings {
			return errors.New("the agent's list does not end")
		}
		seen[next] = true
		cursor = next
	}
}

// settled is how long a session must have been left alone before its time of change
// counts as a claim that nothing changed. Agents move that time at the end of a step, not
// with each update: a step that works longer than this is not to be expected.
const settled = 24 * time.Hour

// stamp is the claim that a listed session's time makes. A session that changed lately, or
// in the future, makes none, and is always read.
func (r row) stamp(now time.Time) collect.Stamp {
	at, ok := r.at()
	if !ok || now.Sub(at) < settled {
		return collect.Stamp{}
	}
	return collect.Stamp{ModTime: at.UnixNano()}
}

// at is when the session was changed last.
func (r row) at() (time.Time, bool) {
	at, err := time.Parse(time.RFC3339, r.updated)
	if year := at.UTC().Year(); err != nil || year < 1 || year > 9999 {
		return time.Time{}, false
	}
	return at, true
}

// isoMillis is how all times are published: ISO 8601, milliseconds, UTC.
const isoMillis = "2006-01-02T15:04:05.000Z"

// summary is what a listing says of a session, and whether a prompt of ours runs in it.
func (d *Driver) summary(r row) collect.Summary {
	s := collect.Summary{NativeSessionID: r.native, Raw: r.raw(), Placement: r.place()}
	if r.title != "" {
		s.Title = &r.title
	}
	if r.cwd != "" {
		s.Cwd = &r.cwd
	}
	if at, ok := r.at(); ok {
		text := at.UTC().Format(isoMillis)
		s.UpdatedAt = &text
	}
	s.StartedAs = collect.StartOf(d.env.Memory, d.id, r.native)
	if d.runs(r.native) {
		active := true
		s.Active = &active
	}
	return s
}

// raw is the agent's own record.
func (r row) raw() value.Value {
	if listed, err := new(value.Tape).Capture(r.text); err == nil {
		return listed.Value
	}
	// What is no strict JSON is published nowhere.
	return value.NewBuilder().Record().Key("sessionId").String(r.native).End().Finish()
}

// place is the file that the session is restored to.
func (r row) place() collect.Placement { return collect.Placement{Path: fileName(r.id)} }

// fileName makes a file's name of a session's id: letters, digits and three marks stand
// for themselves.
func fileName(id string) string {
	var b strings.Builder
	for _, c := range []byte(id) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_.", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String() + fileSuffix
}

const fileSuffix = ".jsonl"

// Restores reports a path that a session's file may have: a name that fileName makes.
func Restores(path string) bool {
	id, ok := strings.CutSuffix(path, fileSuffix)
	id, known := collect.DecodeComponent(id)
	return ok && known && fileName(id) == path
}

// Summarize returns what the agent lists of a session.
func (d *Driver) Summarize(ctx context.Context, nativeSessionID string) (collect.Summary, error) {
	r, err := d.find(ctx, nativeSessionID)
	if err != nil {
		return collect.Summary{}, err
	}
	return d.summary(r), nil
}
