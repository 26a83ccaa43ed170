package codex

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
)

// forkTime is when the forks of these tests begin: the time in madeID(30).
var forkTime = time.Date(2026, 1, 2, 3, 30, 0, 0, time.UTC)

func stamp(t time.Time) string { return t.Format(isoMillis) }

// turnOf is the id of a turn that began at a time.
func turnOf(t time.Time) string {
	ms := t.UnixMilli()
	return fmt.Sprintf("%08x-%04x-7123-8000-000000000000", ms>>16, ms&0xffff)
}

// conversationText is turns of one question and answer each, stamped as told. With ids,
// each turn is named by the time at which it began.
func conversationText(label string, turns int, began, stamped time.Time, gap time.Duration, ids bool) string {
	var b strings.Builder
	for n := range turns {
		if ids {
			b.WriteString(turnLine(stamp(stamped), turnOf(began.Add(time.Duration(n)*time.Minute))))
		}
		b.WriteString(userText(stamp(stamped), fmt.Sprintf("%s question %d", label, n)))
		b.WriteString(agentText(stamp(stamped), fmt.Sprintf("%s answer %d", label, n)))
		stamped = stamped.Add(gap)
	}
	return b.String()
}

// randomID is an id that tells no time.
const randomID = "0f0e0d0c-1111-4222-8333-444455556666"

func TestOnlyAForksOwnTurnsAreItsMessages(t *testing.T) {
	began := forkTime.Add(-20 * time.Minute)
	parent, fork := madeID(1), madeID(30)
	header := func(id, more string) string { return metaLine(stamp(forkTime), id, more) }
	forked := `,"forked_from_id":"` + parent + `"`
	replayed := conversationText("old", 10, began, forkTime, 5*time.Millisecond, true)
	bare := conversationText("old", 10, began, forkTime, 5*time.Millisecond, false)
	own := conversationText("new", 2, forkTime.Add(time.Minute), forkTime.Add(time.Minute), time.Minute, true)
	ownBare := conversationText("new", 2, forkTime.Add(time.Minute), forkTime.Add(time.Minute), time.Minute, false)
	for _, row := range []struct {
		name, id, text string
		messages       int
		from           string
	}{
		{"the parent's header and turns, then two own turns", fork, header(fork, forked) + header(parent, "") + replayed + own, 4, parent},
		{"a parent's header that the own one does not name", fork, header(fork, "") + header(parent, "") + replayed + own, 4, parent},
		{"a fork of a fork replays two headers", fork, header(fork, forked) + header(parent, "") + header(madeID(0), "") + replayed + own, 4, parent},
		{"turns without the parent's header", fork, header(fork, forked) + replayed + own, 4, parent},
		{"no turn ids: the burst ends", fork, header(fork, forked) + header(parent, "") + bare + ownBare, 4, parent},
		{"ids that tell no time", randomID, header(randomID, forked) + header(parent, "") +
			strings.ReplaceAll(replayed, "-7123-", "-4123-") + own, 4, parent},
		{"a replay that pauses is still one with turn ids", fork, header(fork, forked) + header(parent, "") +
			conversationText("old", 10, began, forkTime, 3*time.Second, true) + own, 4, parent},
		{"an own turn that begins at once", fork, header(fork, forked) + header(parent, "") + replayed +
			conversationText("new", 2, forkTime, forkTime.Add(50*time.Millisecond), time.Millisecond, true), 4, parent},
		{"a fork that was never used", fork, header(fork, forked) + header(parent, "") + replayed, 0, parent},
		{"a history that is not copied", fork, header(fork, forked+`,"history_base":{"thread_id":"`+parent+`"}`) + own, 4, parent},
		{"the own header again, as at a resume", fork, header(fork, "") + own + header(fork, "") + own + header(fork, ""), 8, ""},
		{"the own header ends a replay", fork, header(fork, forked) + header(parent, "") + replayed + header(fork, forked) + bare, 20, parent},
		{"another header after own turns replays nothing", fork, header(fork, "") + own + header(parent, "") + own, 8, ""},
		{"no fork at all", fork, header(fork, "") + own, 4, ""},
		{"no header at all", fork, own, 4, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "sessions/rollout-2026-01-02T03-30-00-"+row.id+".jsonl", row.text)
			got := read(t, driverOf(t, dir), row.id, nil)
			if len(got.messages) != row.messages || got.raw != row.text {
				t.Errorf("%d messages, want %d: %q", len(got.messages), row.messages, said(got.messages))
			}
			raw := got.trailer.Summary.Raw
			if raw.Path("forkedFromId").Str() != row.from || raw.Path("id").Str() != row.id || got.trailer.Summary.Parent != "" {
				t.Errorf("summary %+v", got.trailer.Summary)
			}
			for _, m := range got.messages {
				if row.messages == 4 && !strings.HasPrefix(m.Preview, "new ") {
					t.Errorf("message %+v", m)
				}
			}
		})
	}
}

func TestSeveralForksDoNotCountTheParentsTurnsAgain(t *testing.T) {
	dir := t.TempDir()
	began := forkTime.Add(-20 * time.Minute)
	write(t, dir, madeName(1), metaLine(stamp(began), madeID(1), "")+conversationText("old", 2, began, began, time.Minute, true))
	for n := 30; n < 33; n++ {
		at := forkTime.Add(time.Duration(n-30) * time.Minute)
		write(t, dir, "archived_sessions/"+strings.TrimPrefix(madeName(n), "sessions/2026/01/02/"),
			metaLine(stamp(at), madeID(n), `,"forked_from_id":"`+madeID(1)+`"`)+metaLine(stamp(at), madeID(1), "")+
				conversationText("old", 2, began, at, time.Millisecond, true)+
				conversationText("new", 1, at.Add(time.Second), at.Add(time.Second), 0, true))
	}
	d := driverOf(t, dir)
	total := 0
	for _, l := range list(t, d).Sessions {
		total += len(read(t, d, l.NativeSessionID, nil).messages)
	}
	if total != 4+3*2 {
		t.Errorf("%d messages in all", total)
	}
}

func TestASubAgentBelongsToItsParent(t *testing.T) {
	for _, row := range []struct{ name, more, parent, nickname string }{
		{"named by the header", `,"parent_thread_id":"P","agent_nickname":"Ada"`, "P", "Ada"},
		{"named by the source alone", `,"source":{"subagent":{"thread_spawn":{"parent_thread_id":"P","agent_nickname":"Ada","agent_role":"explorer"}}}`, "P", "Ada"},
		{"a source without a parent", `,"source":{"subagent":"review"}`, "", ""},
		{"itself is no parent", `,"parent_thread_id":"` + madeID(1) + `"`, "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, madeName(1), metaLine("2026-01-02T03:01:00.000Z", madeID(1), row.more))
			got := read(t, driverOf(t, dir), madeID(1), nil).trailer.Summary
			if got.Parent != row.parent || got.Raw.Path("agentNickname").Str() != row.nickname {
				t.Errorf("summary %+v", got)
			}
		})
	}
}

func TestAPreviewBeginsWhereTheHistoryBegins(t *testing.T) {
	dir := t.TempDir()
	at := "2026-01-02T03:01:00.000Z"
	based := func(on string) string {
		return `,"forked_from_id":"` + on + `","history_base":{"thread_id":"` + on + `"}`
	}
	write(t, dir, madeName(1), metaLine(at, madeID(1), "")+userText(at, "first"))
	write(t, dir, madeName(2), metaLine(at, madeID(2), based(madeID(1)))+userText(at, "second"))
	write(t, dir, madeName(3), metaLine(at, madeID(3), based(madeID(2)))+userText(at, "third"))
	write(t, dir, madeName(4), metaLine(at, madeID(4), based("missing"))+userText(at, "fourth"))
	write(t, dir, madeName(5), metaLine(at, madeID(5), based(madeID(5)))+userText(at, "fifth"))
	d := driverOf(t, dir)
	for n, want := range map[int]string{1: "first", 2: "first", 3: "first", 4: "fourth", 5: "fifth"} {
		if got, err := d.Summarize(t.Context(), madeID(n)); err != nil || text(got.Title) != want {
			t.Errorf("%d: title %s, %v; want %s", n, text(got.Title), err, want)
		}
		var problems []string
		if n == 4 {
			problems = []string{codeMissingBase}
		}
		if got := read(t, d, madeID(n), nil).trailer; !slices.Equal(codesOf(got.Problems), problems) || !got.Complete {
			t.Errorf("%d: problems %v, complete %v", n, got.Problems, got.Complete)
		}
	}
}

// everything is a file with all that a resume must remember: a replay, an own turn, both
// families, and a record without a time at its end.
func everything() string {
	began := forkTime.Add(-20 * time.Minute)
	return metaLine(stamp(forkTime), madeID(30), `,"forked_from_id":"`+madeID(1)+`"`) + metaLine(stamp(forkTime), madeID(1), "") +
		conversationText("old", 3, began, forkTime, time.Millisecond, true) +
		conversationText("new", 3, forkTime.Add(time.Minute), forkTime.Add(time.Minute), time.Minute, true) +
		`{"type":"event_msg","payload":{"type":"token_count"}}` + "\n"
}

func TestAResumedReadingIsTheRestOfAWholeOne(t *testing.T) {
	dir := t.TempDir()
	whole := everything()
	path := write(t, dir, madeName(30), whole)
	d := driverOf(t, dir)
	full := read(t, d, madeID(30), nil)
	half := strings.Join(strings.SplitAfter(whole, "\n")[:20], "")
	if err := os.WriteFile(path, []byte(half), 0o644); err != nil {
		t.Fatal(err)
	}
	before := read(t, d, madeID(30), nil)
	grow(t, path, whole[len(half):])
	for i, at := range before.places {
		resume := before.trailer.Resume
		resume.At = at
		got := read(t, d, madeID(30), &resume)
		if got.raw != whole[at.Offset:] || got.places[0] != at {
			t.Fatalf("event %d: starts at %+v, not %+v", i, got.places[0], at)
		}
		rest := slices.Clone(full.messages)
		rest = slices.DeleteFunc(rest, func(m collect.Message) bool { return m.RawIndex < at.Event })
		if !slices.Equal(got.messages, rest) {
			t.Errorf("event %d: %q, want %q", i, said(got.messages), said(rest))
		}
		if got.trailer.Resume.At != full.trailer.Resume.At || got.trailer.Revision != full.trailer.Revision ||
			text(got.trailer.Summary.Title) != text(full.trailer.Summary.Title) {
			t.Errorf("event %d: trailer %+v, want %+v", i, got.trailer, full.trailer)
		}
	}
}

func grow(t *testing.T, path, more string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(more); err != nil {
		t.Fatal(err)
	}
}

func TestAStateOfAnotherVersionIsReadFromTheStart(t *testing.T) {
	dir := t.TempDir()
	whole := everything()
	path := write(t, dir, madeName(30), whole)
	d := driverOf(t, dir)
	resume := read(t, d, madeID(30), nil).trailer.Resume
	grow(t, path, userText(stamp(noon), "more"))
	for _, state := range []string{"", "codex0 or", "codex1", "codex1 o", "codex1 xr", "codex1 ox", "codex1 or ten", "codex1 or 1 2"} {
		other := resume
		other.At.State = state
		if got := read(t, d, madeID(30), &other); !strings.HasPrefix(got.raw, whole) {
			t.Errorf("state %q was used", state)
		}
	}
	if got := read(t, d, madeID(30), &resume); strings.HasPrefix(got.raw, whole) || len(got.messages) != 1 {
		t.Errorf("the own state was not used: %d bytes", len(got.raw))
	}
}

func TestTheRevisionIsTheTimeOfTheLastRecord(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, madeName(1), metaLine("2026-01-02T03:01:00.000Z", madeID(1), "")+`{"no":"time"}`+"\n"+`{"timestamp":"?"}`+"\n")
	write(t, dir, madeName(2), "not json\n")
	write(t, dir, madeName(3), "")
	write(t, dir, madeName(4), line("2026-01-02T03:01:00.000Z", "event_msg", `{"long":"`+strings.Repeat("x", 3*tailWindow)+`"}`)+"{}\n")
	d := driverOf(t, dir)
	file := stamp(noon.Add(-time.Hour))
	for n, want := range map[int]string{1: "2026-01-02T03:01:00.000Z", 2: file, 3: file, 4: "2026-01-02T03:01:00.000Z"} {
		got := read(t, d, madeID(n), nil).trailer
		alone, err := d.Summarize(t.Context(), madeID(n))
		if got.Revision != want || err != nil || text(alone.UpdatedAt) != want {
			t.Errorf("%d: revision %s, summarized %s, %v; want %s", n, got.Revision, text(alone.UpdatedAt), err, want)
		}
	}
}

func TestDamageIsLocatedInItsSession(t *testing.T) {
	dir := t.TempDir()
	content := metaLine("2026-01-02T03:01:00.000Z", madeID(1), "") + "{\"type\":\n" + userText("2026-01-02T03:01:01.000Z", "kept")
	write(t, dir, madeName(1), content)
	got := read(t, driverOf(t, dir), madeID(1), nil)
	if len(got.trailer.Problems) == 0 || got.trailer.Problems[0].Session != madeID(1) || got.trailer.Problems[0].Line != 2 {
		t.Errorf("problems %+v", got.trailer.Problems)
	}
	if got.raw != content || len(got.messages) != 1 || got.messages[0].RawIndex != 2 {
		t.Errorf("messages %+v", got.messages)
	}
}
