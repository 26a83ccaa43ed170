package codex

import (
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
	return verdict(t, thread.seek(soughtOf(t)), fromServer)
}

// seek looks through a thread's turns for what is looked for.
func (w wireThread) seek(s search) search {
	for i, turn := range w.Turns {
		s.begin(turn.ID)
		for _, item := range turn.Items {
			if item.Type == "userMessage" {
				mark, marked := item.mark()
				s.hear(mark, marked, item.text(), int64(turn.StartedAt) >= s.since/1000)
			}
		}
		end := turn.ending()
		if end.status == "" && i < len(w.Turns)-1 {
			end.status = endedCut
		}
		s.close(end)
	}
	return s
}

// ending is how the server says that a turn ended. A turn that runs, and one that broke
// off with its program, can both read interrupted: only one that is timed has an end.
func (t wireTurn) ending() ending {
	if t.Status == "inProgress" || t.CompletedAt == 0 {
		return ending{}
	}
	return ending{t.Status, t.reason()}
}

// mark is the name that a client gave a message.
func (i wireItem) mark() (mark string, marked bool) {
	if i.ClientID == nil {
		return "", false
	}
	return *i.ClientID, true
}

// text is all of an item's text.
func (i wireItem) text() []byte {
	var parts []string
	for _, part := range i.Content {
		parts = append(parts, part.Text)
	}
	return []byte(strings.Join(parts, "\n"))
}

// askStart looks for the thread that a start made among those that the server lists.
func (d *Driver) askStart(ctx context.Context, id string, t collect.Trace) (collect.Outcome, error) {
	s, err := d.live.reach(ctx)
	if err != nil {
		return unproven(fromServer, "no file has this prompt, and the app server was not reached"), nil
	}
	var c candidates
	cwd := folderOf(t)
	cursor := ""
	for range maxPages {
		page, next, err := s.inventory(ctx, cursor)
		if err != nil {
			return collect.Outcome{}, fmt.Errorf("list the app server's threads: %w", err)
		}
		for _, listed := range page {
			if int64(listed.CreatedAt) < t.ClaimedAt.Unix() || cwd != "" && listed.Cwd != cwd {
				continue
			}
			thread, err := s.readThread(ctx, listed.ID)
			if err != nil {
				return unread(listed.ID, err)
			}
			c.add(listed.ID, thread.seek(soughtOf(t)))
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	if len(c.found()) == 1 && cursor != "" {
		return unproven(fromServer, "the app server lists more threads than are looked at"), nil
	}
	return c.verdict(t, id, fromServer), nil
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
