package collect_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"sync"
	"testing"

	"agentsync/collect"
	"agentsync/fixtures/fakedriver"
)

// started starts a fake source for a test.
func started(t testing.TB, d *fakedriver.Driver) *fakedriver.Driver {
	t.Helper()
	if err := d.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return d
}

// drain reads every session that the stream hands out, and returns their ids.
func drain(t testing.TB, s *collect.Stream) []string {
	t.Helper()
	var ids []string
	for {
		l, err := s.Next(t.Context())
		if errors.Is(err, io.EOF) {
			return ids
		}
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, l.NativeSessionID)
		s.Read(l, true)
	}
}

func codes(problems []collect.Problem) []string {
	var list []string
	for _, p := range problems {
		list = append(list, p.Code)
	}
	return list
}

func TestTheStreamKeepsTheRulesOfAnInventory(t *testing.T) {
	for _, row := range []struct {
		name     string
		driver   *fakedriver.Driver
		ids      []string
		problems []string
		complete bool
	}{
		{"no session", fakedriver.New("s"), nil, nil, true},
		{"pages follow each other", fakedriver.New("s").Page("a", "b").Page("c"), []string{"a", "b", "c"}, nil, true},
		{"an empty page is no end", fakedriver.New("s").Page("a").Page().Page("b"), []string{"a", "b"}, nil, true},
		{"a repeated cursor ends it", fakedriver.New("s").Page("a").Page("b").RepeatCursor(),
			[]string{"a", "b"}, []string{collect.CodeRepeatedCursor}, false},
		{"a session listed again is one problem and kept once", fakedriver.New("s").Page("a", "b").Page("b", "b").Page("b", "c"),
			[]string{"a", "b", "c"}, []string{collect.CodeDuplicate}, false},
		{"each repeated session has its problem", fakedriver.New("s").Page("a", "b").Page("b", "a"),
			[]string{"a", "b"}, []string{collect.CodeDuplicate, collect.CodeDuplicate}, false},
		{"ids of one key are one session", fakedriver.New("s").Page("a", " a\ufeff"),
			[]string{"a"}, []string{collect.CodeDuplicate}, false},
		{"letter case tells sessions apart", fakedriver.New("s").Page("a", "A"), []string{"a", "A"}, nil, true},
		{"an id that no key can hold", fakedriver.New("s").Page("a", "b\x00", "\xed\xa0\x80", ""),
			[]string{"a"}, []string{collect.CodeInvalidID, collect.CodeInvalidID, collect.CodeInvalidID}, false},
		{"a page that cannot be listed", fakedriver.New("s").Page("a").Page("b").FailList(1, errors.New("gone")),
			[]string{"a"}, []string{collect.CodeInventory}, false},
		{"a folder that cannot be listed", fakedriver.New("s").Page("a").Problem(collect.Problem{Code: "unreadable"}),
			[]string{"a"}, []string{"unreadable"}, false},
		{"a note is no problem", fakedriver.New("s").Page("a").Note(collect.Problem{Code: "link"}), []string{"a"}, nil, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := collect.NewStream(started(t, row.driver), nil)
			ids := drain(t, s)
			out := s.Outcome()
			if !slices.Equal(ids, row.ids) || !slices.Equal(codes(out.Problems), row.problems) || out.Complete != row.complete {
				t.Errorf("ids %q, problems %v, complete %v", ids, out.Problems, out.Complete)
			}
			if out.Found != len(row.ids) || out.Read != len(row.ids) || out.Failed != 0 {
				t.Errorf("tally %+v", out)
			}
		})
	}
}

func TestADuplicateIsNamed(t *testing.T) {
	s := collect.NewStream(started(t, fakedriver.New("s").Page("one", "one")), nil)
	drain(t, s)
	if p := s.Outcome().Problems[0]; p.Message != "duplicate session in inventory: one" || p.Session != "one" {
		t.Errorf("problem %+v", p)
	}
}

// numbered names n sessions, the same ones for the same first number.
func numbered(first, n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = fmt.Sprintf("session-%06d", first+i)
	}
	return ids
}

func TestTheCeilingCountsRepeatsBeforeAPageIsKept(t *testing.T) {
	half := collect.MaxListings / 2
	t.Run("exactly at the ceiling", func(t *testing.T) {
		s := collect.NewStream(started(t, fakedriver.New("s").Page(numbered(0, half)...).Page(numbered(half, half)...)), nil)
		if n := len(drain(t, s)); n != collect.MaxListings || !s.Outcome().Complete {
			t.Errorf("%d sessions, %v", n, s.Outcome().Problems)
		}
	})
	t.Run("one above it, of repeats alone", func(t *testing.T) {
		d := fakedriver.New("s").Page(numbered(0, half)...).Page(numbered(0, half)...).Page("session-000000")
		s := collect.NewStream(started(t, d), nil)
		n := len(drain(t, s))
		out := s.Outcome()
		last := out.Problems[len(out.Problems)-1]
		if n != half || last.Code != collect.CodeCeiling || out.Complete {
			t.Errorf("%d sessions, last problem %+v, complete %v", n, last, out.Complete)
		}
	})
	t.Run("the page that would pass it is not kept at all", func(t *testing.T) {
		d := fakedriver.New("s").Page("a").Page(numbered(0, collect.MaxListings)...)
		s := collect.NewStream(started(t, d), nil)
		if ids := drain(t, s); len(ids) != 1 {
			t.Errorf("%d sessions kept", len(ids))
		}
	})
}

func TestRetainedSessionsAreNotRead(t *testing.T) {
	d := started(t, fakedriver.New("s").Page("a", "b").Page("b", "c"))
	var asked []string
	s := collect.NewStream(d, func(l collect.Listing) bool {
		asked = append(asked, l.NativeSessionID)
		return l.NativeSessionID == "b"
	})
	ids := drain(t, s)
	out := s.Outcome()
	if !slices.Equal(ids, []string{"a", "c"}) || len(out.Retained) != 1 || out.Retained[0].NativeSessionID != "b" {
		t.Errorf("ids %q, retained %v", ids, out.Retained)
	}
	if !slices.Equal(asked, []string{"a", "b", "c"}) || out.Found != 3 {
		t.Errorf("asked for %q, found %d", asked, out.Found)
	}
}

func TestNoPageIsListedBeforeTheFormerOneWasHandedOut(t *testing.T) {
	d := started(t, fakedriver.New("s").Page("a", "b").Page("c"))
	s := collect.NewStream(d, nil)
	if d.Lists() != 0 {
		t.Error("listed before anybody asked")
	}
	for i, want := range []int{1, 1, 2} {
		if _, err := s.Next(t.Context()); err != nil || d.Lists() != want {
			t.Errorf("after session %d: %d pages listed, %v", i, d.Lists(), err)
		}
	}
}

func TestFailedReadsAreProblemsWithACode(t *testing.T) {
	for _, row := range []struct {
		name string
		err  error
		code string
	}{
		{"unreadable", fmt.Errorf("open: %w", &fs.PathError{Op: "open", Path: "/p", Err: fs.ErrPermission}), collect.CodeUnreadable},
		{"vanished", fmt.Errorf("open: %w", fs.ErrNotExist), collect.CodeVanished},
		{"changed while it was read", fmt.Errorf("read: %w", &collect.ChangedError{Path: "/p"}), collect.CodeChanged},
		{"cancelled", context.Canceled, collect.CodeCancelled},
		{"anything else", errors.New("?"), collect.CodeUnreadable},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := collect.NewStream(started(t, fakedriver.New("s").Page("a", "b")), nil)
			l, _ := s.Next(t.Context())
			s.Failed(l, row.err)
			drain(t, s)
			out := s.Outcome()
			if len(out.Problems) != 1 || out.Problems[0].Code != row.code || out.Problems[0].Session != "a" {
				t.Errorf("problems %+v", out.Problems)
			}
			if out.Complete || out.Failed != 1 || out.Read != 1 {
				t.Errorf("tally %+v", out)
			}
		})
	}
}

func TestATallyIsCompleteOnlyWhenEverySessionIsAccountedFor(t *testing.T) {
	t.Run("a snapshot that is not whole", func(t *testing.T) {
		s := collect.NewStream(started(t, fakedriver.New("s").Page("a")), nil)
		l, _ := s.Next(t.Context())
		s.Read(l, false)
		drain(t, s)
		if out := s.Outcome(); out.Complete || !slices.Equal(out.Incomplete, []string{"a"}) || len(out.Problems) != 0 {
			t.Errorf("tally %+v", out)
		}
	})
	t.Run("a session handed out and not reported back", func(t *testing.T) {
		s := collect.NewStream(started(t, fakedriver.New("s").Page("a", "b")), nil)
		if _, err := s.Next(t.Context()); err != nil {
			t.Fatal(err)
		}
		drain(t, s)
		if s.Outcome().Complete {
			t.Error("complete")
		}
	})
	t.Run("before the end", func(t *testing.T) {
		s := collect.NewStream(started(t, fakedriver.New("s").Page("a").Page("b")), nil)
		l, _ := s.Next(t.Context())
		s.Read(l, true)
		if s.Outcome().Complete {
			t.Error("complete")
		}
	})
	t.Run("an absent source is whole and says so", func(t *testing.T) {
		s := collect.NewStream(started(t, fakedriver.New("s").Absent()), nil)
		drain(t, s)
		if out := s.Outcome(); !out.Absent || !out.Complete {
			t.Errorf("tally %+v", out)
		}
	})
}

func TestCancellationIsSeenBeforeAndAfterAListing(t *testing.T) {
	t.Run("before", func(t *testing.T) {
		d := started(t, fakedriver.New("s").Page("a"))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := collect.NewStream(d, nil).Next(ctx); !errors.Is(err, context.Canceled) || d.Lists() != 0 {
			t.Errorf("error %v, %d pages listed", err, d.Lists())
		}
	})
	t.Run("after, and nothing of the page is taken", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		d := started(t, fakedriver.New("s").Page("a").OnList(func(string) { cancel() }))
		s := collect.NewStream(d, nil)
		if _, err := s.Next(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		if out := s.Outcome(); out.Complete || out.Found != 0 || len(out.Problems) != 0 {
			t.Errorf("tally %+v", out)
		}
	})
}

func TestManyWorkersPullEverySessionOnce(t *testing.T) {
	d := started(t, fakedriver.New("s").PageSize(7))
	for _, id := range numbered(0, 500) {
		d.Session(id, `{}`)
	}
	s := collect.NewStream(d, nil)
	var mu sync.Mutex
	seen := map[string]int{}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for {
				l, err := s.Next(t.Context())
				if err != nil {
					return
				}
				mu.Lock()
				seen[l.NativeSessionID]++
				mu.Unlock()
				s.Read(l, true)
			}
		})
	}
	group.Wait()
	if len(seen) != 500 || !s.Outcome().Complete {
		t.Errorf("%d sessions seen, tally %+v", len(seen), s.Outcome())
	}
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%s handed out %d times", id, n)
		}
	}
}

func TestLifecycleOfTheInventoryFillsWhatTheSessionDoesNotSay(t *testing.T) {
	yes, no := true, false
	session := collect.Summary{Archived: &no}
	collect.FillLifecycle(&session, &collect.Summary{Archived: &yes, Active: &yes})
	if *session.Archived || !*session.Active {
		t.Errorf("archived %v, active %v", *session.Archived, *session.Active)
	}
	collect.FillLifecycle(&session, nil)
}

func TestADriverWithoutOperationsSaysSo(t *testing.T) {
	var o collect.Operator = collect.NoOperations{}
	out, err := o.Rename(t.Context(), "a", "b")
	if err != nil || out.Status != collect.Unsupported || out.Problem == nil || out.Problem.Code != "unsupported" {
		t.Errorf("outcome %+v, %v", out, err)
	}
}

// pageDriver lists one page that it made before, so that the benchmark times the stream.
type pageDriver struct {
	*fakedriver.Driver
	page collect.Page
}

func (d pageDriver) ListSessions(context.Context, string) (collect.Page, error) { return d.page, nil }

func BenchmarkStreamOf50000Listings(b *testing.B) {
	d := pageDriver{Driver: fakedriver.New("s")}
	for _, id := range numbered(0, 50_000) {
		d.page.Sessions = append(d.page.Sessions, collect.Listing{NativeSessionID: id})
	}
	b.ReportAllocs()
	for b.Loop() {
		s := collect.NewStream(d, func(collect.Listing) bool { return true })
		drain(b, s)
		if !s.Outcome().Complete {
			b.Fatal(s.Outcome().Problems)
		}
	}
}
