package publish

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/collect/claude"
	"agentsync/collect/codex"
	"agentsync/fixtures/fakedriver"
	"agentsync/fixtures/plainuser"
	"agentsync/ledger"
	"agentsync/ledger/durable"
	"agentsync/publish/document"
)

// goneID is the n-th made-up session id.
func goneID(n int) string { return fmt.Sprintf("%08d-2222-4333-8444-555555555555", n) }

// goneClaude is a folder of Claude's with sessions in two projects, and its source.
func goneClaude(t *testing.T, cfg collect.SourceConfig) (dir string, d collect.Driver) {
	t.Helper()
	dir = t.TempDir()
	for i := range 8 {
		writeFile(t, filepath.Join(dir, "projects", fmt.Sprintf("-p%d", i%2), goneID(i)+".jsonl"),
			`{"type":"user","uuid":"u1","message":{"role":"user","content":"hi"}}`+"\n")
	}
	cfg.ID, cfg.Driver, cfg.ConfigDir = "claude", claude.Kind, dir
	d, err := claude.New(cfg, collect.Env{Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	return dir, d
}

// statuses counts the rows of the newest generation by status.
func (b *bed) statuses() string {
	b.Helper()
	count := map[string]int{}
	if err := b.view().Rows(func(row *document.Row) error {
		count[row.Status]++
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	return strings.TrimSuffix(strings.TrimPrefix(fmt.Sprint(count), "map["), "]")
}

func codes(r Report) (list []string) {
	for _, s := range r.Sources {
		for _, p := range s.Problems {
			list = append(list, p.Code)
		}
	}
	slices.Sort(list)
	return list
}

func (b *bed) want(r Report, statuses string, problems ...string) {
	b.Helper()
	if got := codes(r); !slices.Equal(got, problems) || r.Incomplete() != (len(problems) > 0) {
		b.Errorf("problems %q, want %q; incomplete %v", got, problems, r.Incomplete())
	}
	if got := b.statuses(); got != statuses {
		b.Errorf("sessions %s, want %s", got, statuses)
	}
	if source := b.view().Root().Sources[0]; len(source.Errors) != len(problems) || source.Complete != (len(problems) == 0) {
		b.Errorf("source row %+v, want errors %q", source, problems)
	}
}

func mustRename(t *testing.T, from, to string) {
	t.Helper()
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}

func mustLink(t *testing.T, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Skip("no symbolic links here:", err)
	}
}

func TestALinkWhereSessionsWereDeletesNothing(t *testing.T) {
	for name, at := range map[string]string{"a project folder": "-p0", "a transcript": "-p0/" + goneID(0) + ".jsonl", "side files": "-p0/memory"} {
		for _, dangling := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " dangling ", dangling), func(t *testing.T) {
				dir, d := goneClaude(t, collect.SourceConfig{})
				writeFile(t, filepath.Join(dir, "projects", "-p0", "memory", "note.md"), "remember")
				b := newBed(t, d)
				b.publish()
				path := filepath.Join(dir, "projects", filepath.FromSlash(at))
				away := filepath.Join(t.TempDir(), "away")
				mustRename(t, path, away)
				if mustLink(t, away, path); dangling {
					mustRename(t, away, away+"2")
				}
				n := 5
				if strings.Contains(at, "/") {
					n = 1
				}
				for range 2 {
					r := b.publish()
					b.want(r, fmt.Sprintf("complete:%d stale:%d", 9-n, n), collect.CodeLink)
					if r.Unseen != n || len(r.Sources[0].Notes) != 0 || r.Sources[0].Problems[0].Path != path {
						t.Errorf("unseen %d, source %+v", r.Unseen, r.Sources[0])
					}
				}
				// A session elsewhere is gone all the same: its folder was listed whole.
				if err := os.Remove(filepath.Join(dir, "projects", "-p1", goneID(1)+".jsonl")); err != nil {
					t.Fatal(err)
				}
				b.want(b.publish(), fmt.Sprintf("complete:%d deleted:1 stale:%d", 8-n, n), collect.CodeLink)
				b.pass.Gone = func(id string) bool { return id == "claude" }
				b.want(b.publish(), fmt.Sprintf("complete:%d deleted:%d", 8-n, 1+n))
				b.pass.Gone = nil
				if r := b.publish(); r.Incomplete() || len(r.Sources[0].Notes) != 1 {
					t.Errorf("a link behind which nothing is missing: %+v", r.Sources[0])
				}
			})
		}
	}
}

// TestALinkToNothingIsToldOnce has links that a person wants followed and that lead
// nowhere: something may be missing, until it is known that nothing of it is published.
func TestALinkToNothingIsToldOnce(t *testing.T) {
	dir, d := goneClaude(t, collect.SourceConfig{Symlinks: "follow"})
	away := filepath.Join(t.TempDir(), "away")
	mustRename(t, filepath.Join(dir, "projects", "-p0"), away)
	mustLink(t, away, filepath.Join(dir, "projects", "-p0"))
	mustLink(t, away+"-never", filepath.Join(dir, "projects", "-never"))
	b := newBed(t, d)
	b.want(b.publish(), "complete:8", collect.CodeLinkToNothing)
	for range 2 {
		r := b.publish()
		if b.want(r, "complete:8"); len(r.Sources[0].Notes) != 1 {
			t.Errorf("notes %+v", r.Sources[0].Notes)
		}
	}
	mustRename(t, away, away+"2")
	for range 2 {
		b.want(b.publish(), "complete:4 stale:4", collect.CodeLinkToNothing)
	}
	mustRename(t, away+"2", away)
	b.want(b.publish(), "complete:8")
}

func TestALinkWhereCodexKeptADayDeletesNothing(t *testing.T) {
	dir := t.TempDir()
	day := func(n int) string { return filepath.Join(dir, "sessions", "2026", "01", fmt.Sprintf("%02d", n)) }
	for i := range 4 {
		name := fmt.Sprintf("rollout-2026-01-%02dT03-01-00-%s.jsonl", 1+i%2, goneID(i))
		writeFile(t, filepath.Join(day(1+i%2), name), `{"timestamp":"2026-01-02T03:01:00.000Z","type":"session_meta","payload":{"id":"x"}}`+"\n")
	}
	for _, symlinks := range []string{"skip", "follow"} {
		d, err := codex.New(collect.SourceConfig{ID: "codex", Driver: codex.Kind, CodexHome: dir, Symlinks: symlinks}, collect.Env{Now: noon})
		if err != nil {
			t.Fatal(err)
		}
		b := newBed(t, d)
		b.publish()
		away := filepath.Join(t.TempDir(), "away")
		mustRename(t, day(1), away)
		mustLink(t, away, day(1))
		r := b.publish()
		if symlinks == "follow" {
			b.want(r, "complete:4")
		} else {
			b.want(r, "complete:2 stale:2", collect.CodeLink)
		}
		if err := os.Remove(day(1)); err != nil {
			t.Fatal(err)
		}
		mustRename(t, away, day(1))
	}
}

func TestWhatTheConfigurationLeavesAsideIsNotGone(t *testing.T) {
	dir, d := goneClaude(t, collect.SourceConfig{})
	b := newBed(t, d)
	b.publish()
	mustRename(t, filepath.Join(dir, "projects", "-p0"), filepath.Join(dir, "projects", "-home-dev-app"))
	b.want(b.publish(), "complete:8")
	narrow, err := claude.New(collect.SourceConfig{ID: "claude", Driver: claude.Kind, ConfigDir: dir, Cwd: "/home/dev/app"}, collect.Env{Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	b.pass.Sources = []collect.Driver{narrow}
	for range 2 {
		b.want(b.publish(), "complete:4 stale:4", collect.CodeAside)
	}
	if err := os.Remove(filepath.Join(dir, "projects", "-home-dev-app", goneID(0)+".jsonl")); err != nil {
		t.Fatal(err)
	}
	b.want(b.publish(), "complete:3 deleted:1 stale:4", collect.CodeAside)
	b.pass.Gone = func(string) bool { return true }
	b.want(b.publish(), "complete:3 deleted:5")
	b.pass.Gone = nil
	if r := b.publish(); r.Incomplete() || len(r.Sources[0].Notes) != 0 {
		t.Errorf("source %+v", r.Sources[0])
	}
}

func TestAnEmptyFolderIsAGuard(t *testing.T) {
	dir, d := goneClaude(t, collect.SourceConfig{})
	b := newBed(t, d)
	b.publish()
	projects := filepath.Join(dir, "projects")
	mustRename(t, projects, projects+"-away")
	if err := os.Mkdir(projects, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		b.want(b.publish(), "stale:8", CodeSessionsGone)
	}
	if err := os.Remove(projects); err != nil {
		t.Fatal(err)
	}
	b.want(b.publish(), "stale:8", CodeSourceAbsent)
	mustRename(t, projects+"-away", projects)
	b.want(b.publish(), "complete:8")
	if err := os.RemoveAll(filepath.Join(projects, "-p1")); err != nil {
		t.Fatal(err)
	}
	r := b.publish()
	b.want(r, "complete:4 stale:4", CodeSessionsGone)
	if r.Sources[0].Problems[0].Path != "projects/-p1" || r.Deleted != 0 {
		t.Errorf("problem %+v", r.Sources[0].Problems[0])
	}
	b.pass.Gone = func(string) bool { return true }
	if r := b.publish(); r.Deleted != 4 {
		t.Errorf("deleted %d", r.Deleted)
	}
	b.pass.Gone = nil
	b.want(b.publish(), "complete:4 deleted:4")
	b.sound()
}

func TestASourceThatIsNotLookedAtIsAbsent(t *testing.T) {
	one, two := fakedriver.New("one").Session("a", lines(2, 0)...), fakedriver.New("two").Session("b", lines(2, 0)...)
	b := newBed(t, one, two)
	b.publish()
	b.pass.Sources = []collect.Driver{two}
	for range 2 {
		r := b.publish()
		b.want(r, "complete:1 stale:1", CodeSourceAbsent)
		if r.Unseen != 1 || len(r.Sources) != 2 || r.Sources[1].Complete {
			t.Errorf("unseen %d, sources %+v", r.Unseen, r.Sources)
		}
	}
	b.pass.LeftOut = func(id string) bool { return id == "one" }
	if r := b.publish(); r.Incomplete() || len(r.Sources) != 1 {
		t.Errorf("left out by a person: %+v", r.Sources)
	}
	b.pass.LeftOut = nil
	b.pass.Gone = func(id string) bool { return id == "one" }
	b.want(b.publish(), "complete:1 deleted:1")
	b.pass.Gone = nil
	if r := b.publish(); r.Incomplete() || len(r.Sources) != 1 {
		t.Errorf("after a person's word: %+v", r.Sources)
	}
	b.pass.Sources = []collect.Driver{one, two}
	b.want(b.publish(), "complete:2")
	b.pass.Sources = []collect.Driver{two}
	b.target = b.open("other", b.target.Signer.(*ledger.Identity))
	b.pass.TakeOver = true
	if r := b.publish(); r.Incomplete() {
		t.Errorf("another installation's source: %+v", r.Sources)
	}
}

func TestJudge(t *testing.T) {
	row := func(path, age string) *document.Row {
		return &document.Row{Key: path, UpdatedAt: &age, Placement: document.Placement{Path: path}}
	}
	recent, old := stamp(noon.Add(-time.Hour)), stamp(noon.Add(-40*24*time.Hour))
	many := func(folder, age string, n int) (rows []*document.Row) {
		for i := range n {
			rows = append(rows, row(fmt.Sprintf("%s/%d.jsonl", folder, i), age))
		}
		return rows
	}
	talked := func(rows []*document.Row) []*document.Row {
		for _, row := range rows {
			row.Messages = 1
		}
		return rows
	}
	children := many("projects/-p/x/subagents", recent, 9)
	for _, c := range children {
		c.Parent = "x"
	}
	other := []document.Placement{{Path: "projects/-other/1.jsonl"}}
	sees := func(s sight) sight {
		s.complete, s.now, s.keeps, s.talk = true, noon, 30*24*time.Hour, !s.complete
		s.seen = func() []document.Placement { return other }
		return s
	}
	for _, c := range []struct {
		name    string
		sight   sight
		unseen  []*document.Row
		deleted int
		codes   []string
	}{
		{"nothing is missing", sees(sight{}), nil, 0, nil},
		{"a few of a folder", sees(sight{}), many("projects/-p", recent, few), few, nil},
		{"a folder with more", sees(sight{}), many("projects/-p", recent, few+1), 0, []string{CodeSessionsGone}},
		{"a folder that the agent cleaned up", sees(sight{}), many("projects/-p", old, 20), 20, nil},
		{"a session with many children", sees(sight{}), append(children, row("projects/-p/x.jsonl", recent)), 10, nil},
		{"children go with their folder", sees(sight{}), append(children, many("projects/-p", recent, 4)...), 0, []string{CodeSessionsGone}},
		{"a guarded folder and another session", sees(sight{}), append(many("projects/-p", recent, 4), row("projects/-other/2.jsonl", recent)), 1,
			[]string{CodeSessionsGone}},
		{"every conversation, and not what lies beside them", sees(sight{complete: true}), talked(many("projects/-p", recent, 1)), 0,
			[]string{CodeSessionsGone}},
		{"a file beside conversations that never were", sees(sight{complete: true}), many("projects/-p", recent, 1), 1, nil},
		{"what could not be listed", sight{}, many("projects/-p", recent, 1), 0, nil},
		{"a word does not settle what could not be listed", sight{accepted: true, problems: []collect.Problem{{Code: collect.CodeUnreadable}}},
			many("projects/-p", recent, 1), 0, nil},
		{"a word settles a folder that is missing", sight{accepted: true, problems: []collect.Problem{{Code: collect.CodeFolderMissing}}},
			many("projects/-p", recent, 1), 1, nil},
	} {
		v := judge(c.sight, c.unseen)
		var got []string
		for _, p := range v.problems {
			got = append(got, p.Code)
		}
		if len(v.deleted) != c.deleted || !slices.Equal(got, c.codes) {
			t.Errorf("%s: deleted %d, want %d; problems %q, want %q", c.name, len(v.deleted), c.deleted, got, c.codes)
		}
	}
}

// TestANewerCompletePassCounts lets a newer pass, which changes nothing, see all while an
// older one is still reading.
func TestANewerCompletePassCounts(t *testing.T) {
	make := func() *fakedriver.Driver {
		return fakedriver.New("codex").Session("x", lines(2, 0)...).Session("y", lines(2, 10)...)
	}
	slow, fast := make(), make()
	b := newBed(t, slow)
	state, err := ledger.OpenState(durable.OS(), filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	b.target.Observations = state.Observations()
	b.publish()
	slow.Remove("y").Append("x", lines(1, 2)...).Session("z", lines(2, 20)...)
	newer := b.open("one", b.target.Signer.(*ledger.Identity))
	newer.Observations = state.Observations()
	slow.OnRead(func(string) {
		r, err := newer.Publish(context.Background(), Pass{Sources: []collect.Driver{fast}, Now: noon})
		if err != nil || r.Generation != 1 {
			t.Error(r, err)
		}
		slow.OnRead(nil)
	})
	b.target.Workers = 1
	b.publish()
	for key, want := range map[string]string{"codex/x": document.StatusComplete, "codex/y": document.StatusComplete, "codex/z": document.StatusDeleted} {
		if row := b.row(key); row == nil || row.Status != want {
			t.Errorf("%s: %+v, want %s", key, row, want)
		}
	}
	if b.stored("codex/z") != strings.Join(lines(2, 20), "\n")+"\n" {
		t.Error("what the older pass read is not kept")
	}
	b.want(b.publish(), "complete:2 deleted:1")

	// A pass for another store says nothing of this one.
	fast.Session("v", lines(2, 50)...)
	slow.Append("x", lines(1, 3)...).Session("v", lines(2, 50)...)
	other := newBed(t, fast)
	other.target.Observations = state.Observations()
	slow.OnRead(func(string) {
		other.publish()
		slow.OnRead(nil)
	})
	b.publish()
	if row := b.row("codex/v"); row == nil || row.Status != document.StatusComplete {
		t.Errorf("after a newer pass for another store: %+v", row)
	}
}

func TestAPartOfASourceLeavesWhatSessionsNameOfACheckout(t *testing.T) {
	row := func(discovered bool) document.Checkout {
		return document.Checkout{Root: "/home/dev/app", Installation: "one", Discovered: discovered}
	}
	for _, c := range []struct{ before, now, whole, want bool }{
		{false, true, false, false}, // the session that names it was not looked at
		{false, true, true, true},
		{true, false, false, false},
		{true, true, false, true},
	} {
		got := mergeCheckouts([]document.Checkout{row(c.before)}, []document.Checkout{row(c.now)}, "one", c.whole)
		if len(got) != 1 || got[0].Discovered != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// sideSet is Claude's folder with a session and its side files, published once.
func sideSet(t *testing.T) (b *bed, folder, key string, contents map[string]string) {
	t.Helper()
	dir, d := goneClaude(t, collect.SourceConfig{})
	folder = filepath.Join(dir, "projects", "-p0", goneID(0))
	contents = map[string]string{"a.txt": "first", "empty": "", "plans/one.md": "one", "plans/two.md": strings.Repeat("long ", 70_000), "z.txt": "last"}
	for name, text := range contents {
		writeFile(t, filepath.Join(folder, filepath.FromSlash(name)), text)
	}
	b = newBed(t, d)
	b.publish()
	key, err := collect.SessionKey("claude", goneID(0)+"/files")
	if err != nil {
		t.Fatal(err)
	}
	return b, folder, key, contents
}

// setOf reads the published copy of a set.
func (b *bed) setOf(key string) map[string]string {
	b.Helper()
	v := b.view()
	row, err := v.Find(key)
	if err != nil || row == nil {
		b.Fatalf("find %s: %v, %v", key, row, err)
	}
	s, err := v.Session(row)
	if err != nil {
		b.Fatal(err)
	}
	out := map[string]string{}
	if err := s.Events(func(_ int, e *document.ChunkEvent) error {
		out[piecePath(e.Value)] += string(e.Raw)
		return nil
	}); err != nil {
		b.Fatal(err)
	}
	return out
}

// TestWhatASetCannotReadStaysAsItWasPublished puts something else where side files were:
// a socket's place, a link and a folder are none that can be read, for any user.
func TestWhatASetCannotReadStaysAsItWasPublished(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, folder string){
		"a link for a file": func(t *testing.T, folder string) {
			mustRename(t, filepath.Join(folder, "a.txt"), folder+"-a")
			mustLink(t, folder+"-a", filepath.Join(folder, "a.txt"))
		},
		"a link for an empty file": func(t *testing.T, folder string) {
			mustRename(t, filepath.Join(folder, "empty"), folder+"-a")
			mustLink(t, "nowhere", filepath.Join(folder, "empty"))
		},
		"a link for a folder": func(t *testing.T, folder string) {
			mustRename(t, filepath.Join(folder, "plans"), folder+"-plans")
			mustLink(t, folder+"-plans", filepath.Join(folder, "plans"))
		},
		"a file that may not be read": func(t *testing.T, folder string) {
			lockOut(t, filepath.Join(folder, "plans", "two.md"))
		},
		"a folder that may not be listed": func(t *testing.T, folder string) {
			lockOut(t, filepath.Join(folder, "plans"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(name, "may not be") && plainuser.Runs(t) {
				return
			}
			b, folder, key, want := sideSet(t)
			change(t, folder)
			writeFile(t, filepath.Join(folder, "z.txt"), "last, and more")
			want["z.txt"] = "last, and more"
			for range 2 {
				r := b.publish()
				if !r.Incomplete() || r.Partial != 1 {
					t.Errorf("partial %d, problems %+v", r.Partial, r.Sources[0].Problems)
				}
				if p := r.Sources[0].Problems; len(p) == 0 || !strings.HasPrefix(p[0].Path, folder+string(filepath.Separator)) ||
					!strings.Contains(p[len(p)-1].Message, "as it was published") && !strings.Contains(p[len(p)-1].Message, "as they were published") {
					t.Errorf("problems %+v", p)
				}
				if got := b.setOf(key); fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("published %d files, want %d", len(got), len(want))
				}
			}
			b.sound()
			if row := b.row(key); row.Status != document.StatusPartial {
				t.Errorf("status %s", row.Status)
			}
		})
	}
}

// lockOut takes every permission from a path.
func lockOut(t *testing.T, path string) {
	t.Helper()
	if err := os.Chmod(path, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(path, 0o700) })
}
