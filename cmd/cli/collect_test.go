package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/collect/value"
	"agentsync/fixtures/fakedriver"
)

func updated(at string) collect.Summary { return collect.Summary{UpdatedAt: &at} }

// unsummarized is a source of which one session's summary cannot be read.
type unsummarized struct {
	*fakedriver.Driver
	broken string
}

func (d unsummarized) Summarize(ctx context.Context, id string) (collect.Summary, error) {
	if id == d.broken {
		return collect.Summary{}, fs.ErrPermission
	}
	return d.Driver.Summarize(ctx, id)
}

func TestAnInventoryCountsWhatItCouldNotRead(t *testing.T) {
	driver := unsummarized{broken: "broken", Driver: fakedriver.New("codex")}
	driver.PageSize(2).
		Session("old", `{}`).Listed("old", updated("2026-01-01T00:00:00.000Z")).
		Session("broken", `{}`).
		Session("new", `{}`).Listed("new", updated("2026-02-01T00:00:00.000Z")).
		Note(collect.Problem{Code: "link-skipped", Message: "a link is not followed"})
	got, err := takeInventory(context.Background(), driver, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.source.Found != 3 || got.source.Failed != 1 || got.source.Complete || got.source.Absent {
		t.Errorf("source %+v", got.source)
	}
	if len(got.sessions) != 2 || got.sessions[0].Session != "new" || got.sessions[1].Session != "old" {
		t.Errorf("sessions %+v", got.sessions)
	}
	if len(got.problems) != 1 || got.problems[0].Session != "broken" || len(got.notes) != 1 {
		t.Errorf("problems %+v, notes %+v", got.problems, got.notes)
	}
	if err := driver.Start(context.Background()); err != nil {
		t.Errorf("the driver was not stopped: %v", err)
	}
}

func TestAListingThatFailsMakesAnInventoryIncomplete(t *testing.T) {
	driver := fakedriver.New("codex").PageSize(1).Session("a", `{}`).Session("b", `{}`).FailList(1, errors.New("gone"))
	got, err := takeInventory(context.Background(), driver, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.source.Found != 1 || got.source.Complete || len(got.problems) != 1 || got.problems[0].Code != collect.CodeInventory {
		t.Errorf("source %+v, problems %+v", got.source, got.problems)
	}
}

func TestAnAbsentSourceIsNoProblem(t *testing.T) {
	got, err := takeInventory(context.Background(), fakedriver.New("codex").Absent(), nil)
	if err != nil || !got.source.Absent || got.source.Complete || len(got.problems) != 0 {
		t.Errorf("source %+v, problems %+v, error %v", got.source, got.problems, err)
	}
}

func TestAnInventoryEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	driver := fakedriver.New("codex").PageSize(1).Session("a", `{}`).Session("b", `{}`)
	driver.OnList(func(cursor string) {
		if cursor != "" {
			cancel()
		}
	})
	if _, err := takeInventory(ctx, driver, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := driver.Start(context.Background()); err != nil {
		t.Errorf("the driver was not stopped: %v", err)
	}
}

func family(ids ...[2]string) []sessionObject {
	sessions := make([]sessionObject, len(ids))
	for i, id := range ids {
		sessions[i] = sessionObject{Source: "s", Session: id[0], Parent: id[1]}
	}
	return sessions
}

func TestChildrenStandBelowTheirParents(t *testing.T) {
	for _, test := range []struct {
		name     string
		sessions []sessionObject
		want     string
	}{
		{"children follow, in their order", family([2]string{"a", ""}, [2]string{"b", ""}, [2]string{"a2", "a"}, [2]string{"a1", "a"}), "a a2+ a1+ b"},
		{"children of children are deeper", family([2]string{"x", "a1"}, [2]string{"a1", "a"}, [2]string{"a", ""}), "a a1+ x++"},
		{"a child without its parent stands for itself", family([2]string{"x", "gone"}, [2]string{"a", ""}), "x a"},
		{"a circle is broken", family([2]string{"a", "b"}, [2]string{"b", "a"}), "a b+"},
		{"its own parent", family([2]string{"a", "a"}), "a"},
		{"none", nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, p := range underParents(test.sessions) {
				got = append(got, test.sessions[p.index].Session+strings.Repeat("+", p.depth))
			}
			if line := strings.Join(got, " "); line != test.want {
				t.Errorf("got %q, want %q", line, test.want)
			}
		})
	}
}

func TestTheParentOfAnotherSourceIsNoParent(t *testing.T) {
	sessions := []sessionObject{{Source: "s", Session: "a"}, {Source: "t", Session: "x", Parent: "a"}}
	for _, p := range underParents(sessions) {
		if p.depth != 0 {
			t.Errorf("%+v stands below another source's session", sessions[p.index])
		}
	}
}

func TestADoctorJudgesASource(t *testing.T) {
	many := make([]collect.Problem, mostProblems+3)
	for i := range many {
		many[i] = collect.Problem{Code: collect.CodeUnreadable, Message: fmt.Sprintf("file %d", i)}
	}
	for _, test := range []struct {
		name     string
		got      inventory
		detected bool
		want     []string
	}{
		{"a good one", inventory{source: sourceObject{Found: 2}}, false, []string{verdictOK}},
		{"an absent one that was configured", inventory{source: sourceObject{Absent: true}}, false, []string{verdictWarn}},
		{"an absent one that was looked for", inventory{source: sourceObject{Absent: true}}, true, []string{verdictOK}},
		{"an absent one with a problem", inventory{source: sourceObject{Absent: true}, problems: many[:1]}, true, []string{verdictFail}},
		{"many problems", inventory{problems: many}, false, slices.Repeat([]string{verdictFail}, mostProblems+1)},
	} {
		t.Run(test.name, func(t *testing.T) {
			var verdicts []string
			for _, c := range checkInventory(test.got, test.detected) {
				verdicts = append(verdicts, c.Verdict)
			}
			if !slices.Equal(verdicts, test.want) {
				t.Errorf("got %q, want %q", verdicts, test.want)
			}
		})
	}
}

func TestADoctorWarnsBeforeTheAgentCleansUp(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	sessions := []sessionObject{
		{Key: "claude/old", modified: now.Add(-26 * 24 * time.Hour)},
		{Key: "claude/new", modified: now.Add(-24 * time.Hour)},
		{Key: "claude/unknown"},
	}
	const month = 30 * 24 * time.Hour
	claude := sourceObject{Driver: "claude-agent-sdk", Source: "claude"}
	for _, test := range []struct {
		name      string
		source    sourceObject
		keeps     time.Duration
		published map[string]bool
		want      string
	}{
		{"an old one that is published", claude, month, map[string]bool{"claude/old": true}, verdictOK},
		{"an old one that is not", claude, month, map[string]bool{"claude/new": true}, verdictWarn},
		{"a store that cannot be read", claude, month, nil, verdictWarn},
		{"an agent that cleans nothing", sourceObject{Driver: "codex-app-server"}, 0, nil, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			verdict := ""
			for _, c := range checkExpiring(inventory{source: test.source, sessions: sessions}, test.keeps, test.published, now) {
				verdict += c.Verdict
			}
			if verdict != test.want {
				t.Errorf("got %q, want %q", verdict, test.want)
			}
		})
	}
}

func TestChosenSessionsMustAllAnswer(t *testing.T) {
	c := newChosen([]string{"codex/0f3c", "ffff"})
	filter := c.filter()
	for id, want := range map[string]bool{"0f3c9a1b": true, "11111111": false} {
		if got := filter("codex", collect.Listing{NativeSessionID: id}); got != want {
			t.Errorf("%s is chosen: %t", id, got)
		}
	}
	var f *failure
	if err := c.unanswered(); !errors.As(err, &f) || f.session != "ffff" {
		t.Errorf("got %v", err)
	}
	if newChosen(nil).filter() != nil {
		t.Error("nothing chosen is not everything")
	}
}

func TestThePublishSummaryAddsUp(t *testing.T) {
	for _, test := range []struct {
		summary publishSummary
		want    string
	}{
		{publishSummary{Found: 6, Published: 3, Unchanged: 2, Failed: 1, Deleted: 1, Documents: 7, BytesWritten: 2048, Generation: 4, Store: "file:///s"},
			"6 found = 3 published + 2 unchanged + 1 failed, 1 deleted; 7 documents, 2.0 KiB, generation 4 of file:///s"},
		{publishSummary{Found: 1, Unchanged: 1, Generation: 4, Store: "file:///s"},
			"1 found = 0 published + 1 unchanged + 0 failed; nothing written, generation 4 of file:///s stands"},
		{publishSummary{Found: 1, Published: 1, Partial: 1, DryRun: true},
			"1 found = 1 published + 0 unchanged + 0 failed, 1 partial; dry run, nothing was written"},
	} {
		if got := test.summary.text(); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestProblemsAreNamedByWhatTheyConcern(t *testing.T) {
	f := problemFailure("claude", collect.Problem{Code: collect.CodeChanged, Message: "changed while it was read", Session: "0f3c", Path: "/home/dev/x.jsonl", Line: 12})
	if want := "claude: 0f3c: line 12: changed while it was read: /home/dev/x.jsonl"; f.Error() != want || !f.retryable || f.hint == "" || f.exit != exitPartial {
		t.Errorf("got %+v", f)
	}
	f = problemFailure("claude", collect.Problem{Code: "new-code", Message: "list /home/dev: denied", Path: "/home/dev"})
	if f.Error() != "claude: list /home/dev: denied" || f.retryable {
		t.Errorf("got %+v", f)
	}
}

// typer is a source whose driver knows one type of record.
type typer struct{ *fakedriver.Driver }

func (typer) RecordType(record value.Value) (string, bool) {
	name := record.Path("type").Str()
	return name, name == "user"
}

func TestADoctorLooksIntoSessions(t *testing.T) {
	script := func() *fakedriver.Driver {
		return fakedriver.New("codex").Session("a", `{"type":"user"}`, `{"type":"new"}`, `{"type":"new"}`, `{"type":"odd"}`).
			Session("b", `{"type":"user"}`, `no json`).Session("c", `{}`).FailRead("c", fs.ErrPermission)
	}
	sessions := []sessionObject{{Session: "a", Key: "codex/a"}, {Session: "b", Key: "codex/b"}, {Session: "c", Key: "codex/c"}}
	for _, test := range []struct {
		name   string
		driver collect.Driver
		want   []string
	}{
		{"a driver that knows types", typer{script()}, []string{
			"fail codex/c: permission denied", "warn types that this version does not know: new (2, the first in codex/a line 2), odd (1, the first in codex/a line 4)", "warn 1 record is damaged of 6 read"}},
		{"a driver that does not", script(), []string{"fail codex/c: permission denied", "warn 1 record is damaged of 6 read"}},
		{"a driver without sessions", fakedriver.New("codex"), nil},
		{"a sound source", typer{fakedriver.New("codex").Session("a", `{"type":"user"}`)}, []string{"ok 1 read from 1 session, all of known types"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			asked := sessions
			if test.want == nil {
				asked = nil
			} else if len(test.want) == 1 {
				asked = sessions[:1]
			}
			looked, err := takeSample(context.Background(), test.driver, asked)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range looked.checks("codex") {
				got = append(got, c.Verdict+" "+c.Message)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestTheMostFrequentTypesAreNamed(t *testing.T) {
	types := map[string]*unknownType{}
	for name, n := range map[string]int{"a": 1, "b": 9, "": 3, "c": 2, "d": 1, "e": 1, "f": 1} {
		types[name] = &unknownType{n, "k", n}
	}
	got := typeList(types)
	want := "b (9, the first in k line 9), none (3, the first in k line 3), c (2, the first in k line 2), a (1, the first in k line 1), " +
		"d (1, the first in k line 1), and 2 more"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
