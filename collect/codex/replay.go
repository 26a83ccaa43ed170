package codex

import (
	"strconv"
	"strings"
	"time"
)

// phase says whether the records at hand are a thread's own. A forked thread's file may
// begin with its parent's header and turns, replayed. They are events of the file, but
// not messages of this thread.
//
// Replay begins at a header of another thread, or with the own header when that names
// a parent and no base. It ends with the first turn whose time-ordered id is not older
// than the thread itself. Where replayed records carry no such turn ids, it ends with
// the first record stamped later than burstGap after the one before it: a replay is
// written in one go. The own header, written again, ends it in any case.
type phase byte

const (
	phaseOwn    phase = 'o' // no replay seen, and none excluded yet
	phaseBurst  phase = 'b' // replayed, no time-ordered turn id seen
	phaseTurns  phase = 't' // replayed, with turn ids to go by
	phaseSettle phase = 's' // an own turn was seen: all that follows is the thread's own
)

// burstGap is more than a replay waits between two records, and less than a person
// needs to send a prompt.
const burstGap = 1000 // milliseconds

func (p phase) replayed() bool { return p == phaseBurst || p == phaseTurns }

// next returns the phase of a record, given the phase of the one before it and when
// that was written. Own is the thread's header, nil when it is not known.
func (p phase) next(r record, own *header, last int64, lastKnown bool) phase {
	if p == phaseSettle || own == nil {
		return p
	}
	if r.kind == "session_meta" {
		return p.header(r, own)
	}
	if p == phaseOwn {
		if r.kind == "turn_context" || r.sub == "task_started" || r.sub == "user_message" {
			return phaseSettle
		}
		return p
	}
	if began, ok := own.began(); ok {
		if turn, timed := uuidMillis(r.turnID()); timed && turn >= began {
			return phaseSettle
		} else if timed {
			return phaseTurns
		}
	}
	if p == phaseBurst && r.timed && lastKnown && r.at-last > burstGap {
		return phaseSettle
	}
	return p
}

func (p phase) header(r record, own *header) phase {
	switch {
	case string(r.payload.Path("id").Text()) != own.id:
		if p == phaseOwn {
			return phaseBurst
		}
		return p
	case p.replayed():
		return phaseSettle
	case own.copiesItsHistory:
		return phaseBurst
	}
	return p
}

// track is what reading a rollout remembers from record to record.
type track struct {
	phase  phase
	family family
	last   int64 // when the last timed record was written, milliseconds since 1970 UTC
	timed  bool  // last is known
}

func newTrack() track { return track{phase: phaseOwn, family: familyNone} }

// observe moves on to a record.
func (t *track) observe(r record, own *header) {
	t.phase = t.phase.next(r, own, t.last, t.timed)
	if t.family == familyNone {
		t.family = familyOf(r)
	}
	if r.timed {
		t.last, t.timed = r.at, true
	}
}

// stateVersion changes with the meaning of anything that a state holds.
const stateVersion = "codex1"

// state writes the track as the opaque part of a position.
func (t track) state() string {
	b := make([]byte, 0, 32)
	b = append(b, stateVersion...)
	b = append(b, ' ', byte(t.phase), byte(t.family))
	if t.timed {
		b = append(b, ' ')
		b = strconv.AppendInt(b, t.last, 10)
	}
	return string(b)
}

// parseTrack reads a state; ok is false for one that another version wrote.
func parseTrack(state string) (t track, ok bool) {
	fields := strings.Split(state, " ")
	if len(fields) < 2 || len(fields) > 3 || fields[0] != stateVersion || len(fields[1]) != 2 {
		return track{}, false
	}
	t.phase, t.family = phase(fields[1][0]), family(fields[1][1])
	if !strings.ContainsRune("obts", rune(t.phase)) || !strings.ContainsRune("nre", rune(t.family)) {
		return track{}, false
	}
	if len(fields) == 3 {
		ms, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			return track{}, false
		}
		t.last, t.timed = ms, true
	}
	return t, true
}

// updatedAt is when the last record was written, or else the file.
func (t track) updatedAt(modTime int64) string {
	if t.timed {
		return formatMillis(t.last)
	}
	return formatMillis(modTime / int64(time.Millisecond))
}
