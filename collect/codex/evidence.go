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

// search looks for a turn by its id, or for turns by what began them: the mark of its
// prompt, or its text since a time.
//
// Versions of the agent that keep marks keep every one, so a prompt that had a mark is
// not in a thread with marks unless its own is there. Only where no message has any, as
// in the files of older versions, is the text evidence.
type search struct {
	turn  string // "" when the id is not known
	mark  string // of the prompt, "" when it had none
	text  []byte // of the prompt, without blanks around it
	since int64  // of the text, milliseconds since 1970 UTC

	now    string // id of the turn that the next record belongs to
	exact  sighting
	alike  sighting // by text
	marked bool     // a mark is looked for, and some message has one
}

// sighting is the last turn that matched in one way, and how many did.
type sighting struct {
	turns int
	last  seenTurn
	open  bool // last has not ended
}

// seenTurn is a turn as its records tell.
type seenTurn struct {
	id  string // "" in the files of old versions
	end ending // status "" while it has none
}

// result is what was found by the best evidence that there can be.
func (s *search) result() sighting {
	if s.turn != "" || s.marked {
		return s.exact
	}
	return s.alike
}

// observe takes the next record of a thread's own history.
func (s *search) observe(r record) {
	switch r.sub {
	case "task_started":
		s.close(ending{status: endedCut})
		s.begin(string(r.turnID()))
	case "task_complete":
		s.close(completion(r))
	case "turn_aborted":
		s.close(ending{status: "interrupted"})
	default:
		mark := promptMark(r)
		s.hear(string(mark.Text()), mark.Kind() == value.String, promptText(r), r.timed && r.at >= s.since)
	}
}

// begin goes on to a turn.
func (s *search) begin(id string) {
	s.now = id
	if s.turn != "" && id == s.turn {
		s.exact.note(id)
	}
}

// hear takes a message of the turn at hand: its mark, if it is marked, and its text.
// Timely says that it was not sent before the prompt that is looked for.
func (s *search) hear(mark string, marked bool, text []byte, timely bool) {
	if s.turn != "" {
		return
	}
	if s.mark != "" && marked {
		s.marked = true
		if mark == s.mark {
			s.exact.note(s.now)
		}
	}
	if timely && len(s.text) > 0 && bytes.Equal(bytes.TrimSpace(text), s.text) {
		s.alike.note(s.now)
	}
}

// close ends the turn at hand.
func (s *search) close(e ending) {
	s.exact.close(e)
	s.alike.close(e)
}

// note counts the turn at hand, once.
func (s *sighting) note(id string) {
	if s.open {
		return
	}
	s.open = true
	s.turns++
	s.last = seenTurn{id: id}
}

func (s *sighting) close(e ending) {
	if s.open {
		s.last.end = e
	}
	s.open = false
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

// promptMark is the name that a client gave a message of its person, the zero Value where
// there is none: codex-cli 0.171.0 writes it into the event of the message, whose form the
// thread's history mode decides, and never into the response_item beside it.
func promptMark(r record) value.Value {
	switch {
	case r.kind != "event_msg":
	case r.sub == "user_message":
		return r.payload.Path("client_id")
	case r.sub == "item_completed" && r.itemType() == "UserMessage":
		return r.payload.Path("item", "client_id")
	}
	return value.Value{}
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
