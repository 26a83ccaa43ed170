package collect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// MaxListings is how many listings one source's inventory may have, repeats included,
// counted before a page is kept (spec 5.6). It bounds what a provider gone wrong can
// make a pass hold in memory; a person's sessions stay far below it.
const MaxListings = 100_000

// Codes of the problems of a collection: those that it records itself, and those that
// mean the same in every driver.
const (
	CodeInventory      = "inventory-failed" // a page could not be listed
	CodeRepeatedCursor = "repeated-cursor"
	CodeDuplicate      = "duplicate-session"
	CodeCeiling        = "too-many-sessions"
	CodeInvalidID      = "invalid-session-id"
	CodeUnreadable     = "unreadable"
	CodeVanished       = "vanished" // listed, and gone when it was to be read
	CodeChanged        = "changed-while-read"
	CodeCancelled      = "cancelled"
	CodeFolderMissing  = "folder-missing"  // a folder that the configuration names is not there
	CodeLink           = "link-skipped"    // left out: a link that is not followed, or leads to what was taken
	CodeAside          = "not-listed"      // the configuration leaves it aside
	CodeLinkToNothing  = "link-to-nothing" // left out: a link that is followed and leads nowhere
)

// inventory applies the rules of an enumeration to its pages. It calls no provider.
type inventory struct {
	cursor   string
	cursors  map[string]struct{} // of the pages asked for so far
	sessions map[string]bool     // by canonical id; true once a repeat was reported
	listed   int                 // listings of kept pages, repeats included
	ended    bool
	whole    bool // the enumeration came to its end
	absent   bool
	problems []Problem
	notes    []Problem
	aside    []Problem
}

func newInventory() *inventory {
	return &inventory{cursors: map[string]struct{}{"": {}}, sessions: map[string]bool{}}
}

// take keeps the page at the current cursor and returns those of its listings that are
// new. It moves to the next cursor, or ends the inventory.
func (v *inventory) take(page Page) []Listing {
	v.problems = append(v.problems, page.Problems...)
	v.notes = append(v.notes, page.Notes...)
	v.aside = append(v.aside, page.Aside...)
	v.absent = v.absent || page.Absent
	if len(page.Sessions) > MaxListings-v.listed {
		v.fail(CodeCeiling, fmt.Sprintf("inventory lists more than %d sessions", MaxListings))
		return nil
	}
	v.listed += len(page.Sessions)
	fresh := page.Sessions[:0:0]
	for _, l := range page.Sessions {
		if v.admit(l.NativeSessionID) {
			fresh = append(fresh, l)
		}
	}
	v.advance(page.NextCursor)
	return fresh
}

// admit reports whether a session is listed for the first time. Two ids that make the
// same session key are one session.
func (v *inventory) admit(nativeSessionID string) bool {
	id, err := SessionID(nativeSessionID)
	if err != nil {
		v.problems = append(v.problems, Problem{Code: CodeInvalidID, Message: err.Error()})
		return false
	}
	reported, known := v.sessions[id]
	v.sessions[id] = known
	if known && !reported {
		v.problems = append(v.problems, Problem{Code: CodeDuplicate, Session: id,
			Message: "duplicate session in inventory: " + id})
	}
	return !known
}

func (v *inventory) advance(next string) {
	if next == "" {
		v.ended, v.whole = true, true
		return
	}
	if _, repeated := v.cursors[next]; repeated {
		v.fail(CodeRepeatedCursor, fmt.Sprintf("inventory repeats the cursor %.200q", next))
		return
	}
	v.cursors[next] = struct{}{}
	v.cursor = next
}

// fail ends the inventory before its end.
func (v *inventory) fail(code, message string) {
	v.ended = true
	v.problems = append(v.problems, Problem{Code: code, Message: message})
}

// readProblem describes a session that could not be read.
func readProblem(l Listing, err error) Problem {
	p := Problem{Code: CodeUnreadable, Message: err.Error(), Session: l.NativeSessionID}
	var changed *ChangedError
	var path *fs.PathError
	switch {
	case errors.As(err, &changed):
		p.Code, p.Path = CodeChanged, changed.Path
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		p.Code = CodeCancelled
	case errors.Is(err, fs.ErrNotExist):
		p.Code = CodeVanished
	}
	if errors.As(err, &path) {
		p.Path = path.Path
	}
	return p
}

// FillLifecycle gives a session's summary what only the inventory says of it: archived
// and active are taken from the listed summary where the session's own are nil.
func FillLifecycle(session *Summary, listed *Summary) {
	if listed == nil {
		return
	}
	if session.Archived == nil {
		session.Archived = listed.Archived
	}
	if session.Active == nil {
		session.Active = listed.Active
	}
}
