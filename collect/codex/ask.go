package codex

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"agentsync/collect"
)

// maxPages bounds how far a list of threads is followed.
const maxPages = 50

// askTurn investigates a turn through the server that runs already.
func (d *Driver) askTurn(ctx context.Context, id string, t collect.Trace) (collect.Outcome, error) {
	s, err := d.live.reach(ctx)
	if err != nil {
		return unproven(fromServer, "the session has no file here, and the app server was not reached"), nil
	}
	thread, err := s.readThread(ctx, id)
	if err != nil {
		return unread(id, err)
	}
	return judgeThread(t, thread), nil
}

// unread is the outcome when the server did not give a thread.
func unread(id string, err error) (collect.Outcome, error) {
	if isAnswer(err) {
		return unproven(fromServer, "the session has no file here, and the app server does not know it"), nil
	}
	return collect.Outcome{}, fmt.Errorf("read session %s through the app server: %w", id, err)
}

// judgeThread says what a thread's turns prove, as the server told them.
func judgeThread(t collect.Trace, thread wireThread) collect.Outcome {
	if len(thread.Turns) == 0 && thread.Preview != "" {
		return unproven(fromServer, "the app server has lost the thread's turns")
	}
	s := soughtOf(t)
	for i, turn := range thread.Turns {
		byText := s.turn == "" && int64(turn.StartedAt) >= t.ClaimedAt.Unix() && turn.began(s.text)
		if byText || s.turn != "" && turn.ID == s.turn {
			s.matches++
			s.found = seenTurn{turn.ID, turn.ending()}
			if s.found.end.status == "" && i < len(thread.Turns)-1 {
				s.found.end.status = endedCut
			}
		}
	}
	return verdict(t, s, fromServer)
}

// ending is how the server says that a turn ended. A turn that runs, and one that broke
// off with its program, can both read interrupted: only one that is timed has an end.
func (t wireTurn) ending() ending {
	if t.Status == "inProgress" || t.CompletedAt == 0 {
		return ending{}
	}
	return ending{t.Status, t.reason()}
}

// began reports that a turn was begun, or joined, by a prompt.
func (t wireTurn) began(prompt []byte) bool {
	for _, item := range t.Items {
		var parts []string
		for _, part := range item.Content {
			parts = append(parts, part.Text)
		}
		if item.Type == "userMessage" && bytes.Equal(bytes.TrimSpace([]byte(strings.Join(parts, "\n"))), prompt) {
			return true
		}
	}
	return false
}

// askStart looks for the thread that a start made among those that the server lists.
func (d *Driver) askStart(ctx context.Context, id string, t collect.Trace) (collect.Outcome, error) {
	s, err := d.live.reach(ctx)
	if err != nil {
		return unproven(fromServer, "no file has this prompt, and the app server was not reached"), nil
	}
	var found []collect.Outcome
	cursor := ""
	for range maxPages {
		page, next, err := s.inventory(ctx, cursor)
		if err != nil {
			return collect.Outcome{}, fmt.Errorf("list the app server's threads: %w", err)
		}
		for _, listed := range page {
			if int64(listed.CreatedAt) < t.ClaimedAt.Unix() || t.Cwd != "" && listed.Cwd != t.Cwd {
				continue
			}
			thread, err := s.readThread(ctx, listed.ID)
			if err != nil {
				return unread(listed.ID, err)
			}
			if o := judgeThread(t, thread); o.ProviderOperationID != "" {
				o.Session = otherThan(id, listed.ID)
				found = append(found, o)
			}
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	switch {
	case len(found) == 1 && cursor == "":
		return found[0], nil
	case len(found) > 1:
		return unproven(fromServer, "several threads since the claim have this prompt"), nil
	}
	return unproven(fromServer, "no thread since the claim has this prompt"), nil
}

// errCursor reports a cursor that inventory did not give out.
var errCursor = errors.New("not a cursor of the inventory")

// inventory returns the page at a cursor of all threads, those in use first and the
// archived ones after them. Cursors are "active:" and "archived:" with the server's own
// behind; "" is the first.
func (s *server) inventory(ctx context.Context, cursor string) (page []wireThread, next string, err error) {
	if cursor == "" {
		cursor = "active:"
	}
	own, archived := strings.CutPrefix(cursor, "archived:")
	if !archived {
		var active bool
		if own, active = strings.CutPrefix(cursor, "active:"); !active {
			return nil, "", errCursor
		}
	}
	page, next, err = s.listThreads(ctx, archived, own)
	switch {
	case err != nil:
		return nil, "", err
	case next == own && next != "":
		return nil, "", fmt.Errorf("the app server repeats a cursor: %w", errCursor)
	case next != "" && archived:
		next = "archived:" + next
	case next != "":
		next = "active:" + next
	case !archived:
		next = "archived:"
	}
	return page, next, nil
}
