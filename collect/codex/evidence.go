package codex

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"

	"agentsync/collect/value"
)

// endedCut is the status of a turn that another one followed without its end.
const endedCut = "cut"

// search looks for a turn by its id, or for turns since a time by what began them. It
// keeps the last one that matched, and how many did.
type search struct {
	turn  string // "" when the id is not known
	text  []byte // of the prompt, without blanks around it
	since int64  // milliseconds since 1970 UTC

	now     seenTurn // the turn that the next record belongs to
	matched bool     // now is one that is looked for, and has not ended
	matches int
	found   seenTurn
}

// seenTurn is a turn as its records tell.
type seenTurn struct {
	id  string // "" in the files of old versions
	end ending // status "" while it has none
}

// observe takes the next record of a thread's own history.
func (s *search) observe(r record) {
	switch r.sub {
	case "task_started":
		s.close(ending{status: endedCut})
		s.now = seenTurn{id: string(r.turnID())}
		s.match(s.turn != "" && s.now.id == s.turn)
	case "task_complete":
		s.close(completion(r))
	case "turn_aborted":
		s.close(ending{status: "interrupted"})
	default:
		if s.turn == "" && r.timed && r.at >= s.since {
			s.match(bytes.Equal(bytes.TrimSpace(promptText(r)), s.text))
		}
	}
}

// match notes that the turn at hand is looked for.
func (s *search) match(matches bool) {
	if !matches || s.matched {
		return
	}
	s.matched = true
	s.matches++
	s.found = s.now
}

// close ends the turn at hand.
func (s *search) close(e ending) {
	if s.matched {
		s.found.end = e
	}
	s.matched = false
}

// completion is how a turn ended whose last record is its completion.
func completion(r record) ending {
	switch failure, _ := r.payload.Get("error"); failure.Kind() {
	case value.Invalid, value.Null:
		return ending{status: "completed"}
	case value.Record:
		info := failure.Path("codex_error_info")
		if info.Kind() == value.Record {
			for key := range info.Members() {
				return ending{"failed", camel(wordOf(string(key)))}
			}
		}
		return ending{"failed", camel(wordOf(info.Str()))}
	}
	return ending{status: "failed"}
}

// camel writes a word of the files as the server's answers have it.
func camel(word string) string {
	first, rest, _ := strings.Cut(word, "_")
	for part := range strings.SplitSeq(rest, "_") {
		if part != "" {
			first += strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return first
}

// promptText is everything that a person said in a record, nil for every other record.
func promptText(r record) []byte {
	switch {
	case r.kind == "response_item" && r.sub == "message":
		if string(r.payload.Path("role").Text()) == "user" && contextKind(r.payload) == "" {
			return fullText(r.payload.Path("content"))
		}
	case r.kind == "event_msg" && r.sub == "user_message":
		return fullText(r.payload.Path("message"))
	case r.kind == "event_msg" && r.sub == "item_completed" && r.itemType() == "UserMessage":
		return fullText(r.payload.Path("item"))
	}
	return nil
}

// seek reads a thread's file through for what is looked for.
func (d *Driver) seek(ctx context.Context, id string, s search) (search, error) {
	_, f, r, err := d.open(id, nil)
	if err != nil {
		return s, err
	}
	defer r.Close()
	h, err := d.readHead(f)
	if err != nil {
		return s, err
	}
	track := newTrack()
	for tape := new(value.Tape); ; tape.Reset() {
		e, err := r.Next(tape)
		if errors.Is(err, io.EOF) {
			return s, ctx.Err()
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return s, err
		}
		one := recordOf(e.Captured.Value)
		track.observe(one, h.own)
		if !track.phase.replayed() {
			s.observe(one)
		}
	}
}
