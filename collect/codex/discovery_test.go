package codex

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/fixtures/plainuser"
)

func TestWhatAHomeHolds(t *testing.T) {
	x, y := madeID(1), madeID(2)
	for _, row := range []struct {
		name  string
		files []string
		ids   []string
		notes []string
	}{
		{"a rollout", []string{madeName(1)}, []string{x}, nil},
		{"an archived rollout", []string{"archived_sessions/rollout-2026-01-02T03-01-00-" + x + ".jsonl"}, nil, nil},
		{"a compressed rollout", []string{madeName(1) + ".zst"}, []string{x}, nil},
		{"the plain copy wins", []string{madeName(1), madeName(1) + ".zst"}, []string{x}, []string{codeShadowed}},
		{"newest first", []string{madeName(1), madeName(2)}, []string{y, x}, nil},
		{"an upper-case id is kept as it is", []string{"sessions/rollout-2026-01-02T03-01-00-" + strings.ToUpper(x) + ".jsonl"},
			[]string{strings.ToUpper(x)}, nil},
		{"two files of one id: the newest name has it", []string{
			"sessions/2026/01/02/rollout-2026-01-02T03-01-00-" + x + ".jsonl", "sessions/2026/01/03/rollout-2026-01-03T00-00-00-" + x + ".jsonl"},
			[]string{x, x + "@sessions/2026/01/02/rollout-2026-01-02T03-01-00-" + x}, nil},
		{"one name in both folders: the live one has the id", []string{madeName(1), "archived_sessions/" + filepath.Base(madeName(1))},
			[]string{x, x + "@archived_sessions/" + strings.TrimSuffix(filepath.Base(madeName(1)), ".jsonl")}, nil},
		{"a rollout without an id", []string{"sessions/rollout-2026-01-02.jsonl"}, []string{"sessions/rollout-2026-01-02.jsonl"}, nil},
		{"one base name in two folders is two sessions", []string{"sessions/a/session.jsonl", "sessions/b/session.jsonl"},
			[]string{"sessions/a/session.jsonl", "sessions/b/session.jsonl"}, nil},
		{"a UUID alone is no rollout's name", []string{"sessions/" + x + ".jsonl"}, []string{"sessions/" + x + ".jsonl"}, nil},
		{"an odd file compressed keeps its id", []string{"sessions/odd.jsonl.zst"}, []string{"sessions/odd.jsonl"}, nil},
		{"other plain files", []string{"sessions/2026/notes.txt", "sessions/old.json"}, []string{"sessions/old.json", "sessions/2026/notes.txt"}, nil},
		{"a name that no id can hold", []string{"sessions/a\nb%.jsonl "}, []string{"sessions/a%0Ab%25.jsonl%20"}, nil},
		{"hidden files are left out", []string{madeName(1), "sessions/.DS_Store"}, []string{x}, []string{codeHidden}},
		{"files beside the folders are no sessions", []string{madeName(1), "history.jsonl", "config.toml"}, []string{x}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			for _, f := range row.files {
				write(t, dir, f, "")
			}
			page := list(t, driverOf(t, dir))
			if row.ids == nil { // archived only: the folder of the live ones is missing
				if !slices.Equal(idsOf(page), []string{x}) || !slices.Equal(codesOf(page.Problems), []string{collect.CodeFolderMissing}) {
					t.Errorf("ids %q, problems %v", idsOf(page), page.Problems)
				}
				return
			}
			if !slices.Equal(idsOf(page), row.ids) || !slices.Equal(codesOf(page.Notes), row.notes) || len(page.Problems) != 0 || page.Absent {
				t.Errorf("ids %q, notes %v, problems %v, absent %v", idsOf(page), page.Notes, page.Problems, page.Absent)
			}
		})
	}
}

func TestAbsentAndUnreadableDiffer(t *testing.T) {
	t.Run("no home", func(t *testing.T) {
		page := list(t, driverOf(t, filepath.Join(t.TempDir(), "none")))
		if !page.Absent || !slices.Equal(codesOf(page.Problems), []string{collect.CodeFolderMissing}) {
			t.Errorf("page %+v", page)
		}
		standard, err := New(collect.SourceConfig{ID: "codex"}, collect.Env{Home: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		if page := list(t, standard); !page.Absent || len(page.Problems) != 0 {
			t.Errorf("the standard home: page %+v", page)
		}
	})
	t.Run("a home without sessions", func(t *testing.T) {
		dir := t.TempDir()
		write(t, dir, "config.toml", "")
		if page := list(t, driverOf(t, dir)); !page.Absent || len(page.Problems) != 0 {
			t.Errorf("page %+v", page)
		}
	})
	t.Run("an empty folder of sessions is there", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, sessionsDir), 0o755); err != nil {
			t.Fatal(err)
		}
		if page := list(t, driverOf(t, dir)); page.Absent || len(page.Problems) != 0 {
			t.Errorf("page %+v", page)
		}
	})
	t.Run("a file where the folder should be", func(t *testing.T) {
		dir := t.TempDir()
		write(t, dir, sessionsDir, "")
		write(t, dir, "archived_sessions/"+filepath.Base(madeName(1)), "")
		page := list(t, driverOf(t, dir))
		if page.Absent || !slices.Equal(codesOf(page.Problems), []string{collect.CodeUnreadable}) || len(page.Sessions) != 1 {
			t.Errorf("page %+v", page)
		}
	})
	t.Run("a folder that may not be listed, the rest is", func(t *testing.T) {
		if plainuser.Runs(t) {
			return
		}
		dir := t.TempDir()
		write(t, dir, madeName(1), "")
		locked := filepath.Dir(write(t, dir, "sessions/2025/01/01/rollout-2025-01-01T00-00-00-"+madeID(3)+".jsonl", ""))
		if err := os.Chmod(locked, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(locked, 0o755) })
		page := list(t, driverOf(t, dir))
		if !slices.Equal(codesOf(page.Problems), []string{collect.CodeUnreadable}) || page.Problems[0].Path != locked || len(page.Sessions) != 1 {
			t.Errorf("page %+v", page)
		}
	})
	t.Run("one root of two is missing", func(t *testing.T) {
		dir := t.TempDir()
		write(t, dir, madeName(1), "")
		page := list(t, newDriver(t, collect.SourceConfig{Roots: []string{dir, filepath.Join(dir, "none")}}))
		if page.Absent || !slices.Equal(codesOf(page.Problems), []string{collect.CodeFolderMissing}) || len(page.Sessions) != 1 {
			t.Errorf("page %+v", page)
		}
	})
	t.Run("all roots are missing", func(t *testing.T) {
		none := filepath.Join(t.TempDir(), "none")
		if page := list(t, newDriver(t, collect.SourceConfig{Roots: []string{none, none + "2"}})); !page.Absent || len(page.Problems) != 2 {
			t.Errorf("page %+v", page)
		}
	})
}

func TestWhereTheHomeIs(t *testing.T) {
	environment := func(dir string) func(string) string {
		return func(name string) string { return map[string]string{"CODEX_HOME": dir}[name] }
	}
	for _, row := range []struct {
		name string
		cfg  collect.SourceConfig
		env  collect.Env
		want []string
	}{
		{"roots come first", collect.SourceConfig{Roots: []string{"/r1", "/r2"}, CodexHome: "/c"}, collect.Env{Home: "/h"}, []string{"/r1", "/r2"}},
		{"the configured home", collect.SourceConfig{CodexHome: "/c", Env: map[string]string{"CODEX_HOME": "/e"}}, collect.Env{Home: "/h"}, []string{"/c"}},
		{"the source's environment", collect.SourceConfig{Env: map[string]string{"CODEX_HOME": "/e"}}, collect.Env{Home: "/h", Getenv: environment("/p")}, []string{"/e"}},
		{"the process's environment", collect.SourceConfig{}, collect.Env{Home: "/h", Getenv: environment("/p")}, []string{"/p"}},
		{"the person's home", collect.SourceConfig{}, collect.Env{Home: "/h", Getenv: environment("")}, []string{"/h/.codex"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.cfg.ID = "codex"
			d, err := New(row.cfg, row.env)
			if err != nil {
				t.Fatal(err)
			}
			for i, dir := range d.Folders() {
				if filepath.ToSlash(dir) != row.want[i] || len(d.Folders()) != len(row.want) {
					t.Errorf("folders %q", d.Folders())
				}
			}
		})
	}
	if _, err := New(collect.SourceConfig{ID: "codex"}, collect.Env{}); err == nil {
		t.Error("a home was found without any hint")
	}
	if _, err := New(collect.SourceConfig{ID: "codex", CodexHome: "/c", Symlinks: "maybe"}, collect.Env{}); err == nil {
		t.Error("symlinks: maybe")
	}
}

func TestTheSameFileInTwoRootsIsTwoSessions(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	for _, dir := range []string{a, b} {
		write(t, dir, madeName(1), metaLine("2026-01-02T03:01:00.000Z", madeID(1), ""))
		write(t, dir, "sessions/odd.jsonl", "")
	}
	d := newDriver(t, collect.SourceConfig{Roots: []string{a, b}})
	ids := idsOf(list(t, d))
	want := []string{madeID(1), madeID(1) + "@root2/" + strings.TrimSuffix(madeName(1), ".jsonl"), "sessions/odd.jsonl", "root2/sessions/odd.jsonl"}
	if !slices.Equal(ids, want) {
		t.Errorf("ids %q", ids)
	}
	if got := read(t, d, ids[1], nil).trailer.Summary.Placement; got != (collect.Placement{Root: b, Path: madeName(1)}) {
		t.Errorf("placement %+v", got)
	}
}

func TestACompressedRolloutIsTheSameSession(t *testing.T) {
	dir := t.TempDir()
	short := metaLine("2026-01-02T03:01:00.000Z", madeID(1), "") + userText("2026-01-02T03:01:01.000Z", "hello")
	long := short + agentText("2026-01-02T03:01:02.000Z", "hi")
	d := driverOf(t, dir)
	plain := filepath.Join(dir, filepath.FromSlash(madeName(1)))
	check := func(step, raw, container string) {
		t.Helper()
		page := list(t, d)
		if !slices.Equal(idsOf(page), []string{madeID(1)}) {
			t.Fatalf("%s: ids %q", step, idsOf(page))
		}
		got := read(t, d, madeID(1), nil)
		if got.raw != raw || got.trailer.Summary.Placement != (collect.Placement{Path: madeName(1), Container: container}) {
			t.Errorf("%s: raw %q, placement %+v", step, got.raw, got.trailer.Summary.Placement)
		}
		if text(got.trailer.Summary.Title) != "hello" || !got.trailer.Complete {
			t.Errorf("%s: %+v", step, got.trailer)
		}
		if alone, err := d.Summarize(t.Context(), madeID(1)); err != nil || text(alone.UpdatedAt) != text(got.trailer.Summary.UpdatedAt) {
			t.Errorf("%s: summarized %s, %v; read %s", step, text(alone.UpdatedAt), err, text(got.trailer.Summary.UpdatedAt))
		}
	}
	write(t, dir, madeName(1)+".zst", compressed(t, short))
	check("compressed alone", short, "zstd")
	write(t, dir, madeName(1), long)
	check("both", long, "")
	write(t, dir, madeName(1)+".zst", compressed(t, long))
	if err := os.Remove(plain); err != nil {
		t.Fatal(err)
	}
	check("compressed again", long, "zstd")
}

func TestARolloutThatMovesIsFoundAgain(t *testing.T) {
	dir := t.TempDir()
	content := metaLine("2026-01-02T03:01:00.000Z", madeID(1), "")
	from := write(t, dir, madeName(1), content)
	write(t, dir, "archived_sessions/.keep", "")
	d := driverOf(t, dir)
	before := list(t, d).Sessions[0]
	if err := os.Rename(from, filepath.Join(dir, archivedDir, filepath.Base(from))); err != nil {
		t.Fatal(err)
	}
	got := read(t, d, madeID(1), nil)
	if got.raw != content || !*got.trailer.Summary.Archived {
		t.Errorf("raw %q, %+v", got.raw, got.trailer.Summary)
	}
	after := list(t, d).Sessions[0]
	if after.Stamp.Side == before.Stamp.Side || after.Stamp.Inode != before.Stamp.Inode {
		t.Errorf("stamps %+v and %+v", before.Stamp, after.Stamp)
	}
}

func TestAVanishedSessionIsNotFound(t *testing.T) {
	dir := t.TempDir()
	path := write(t, dir, madeName(1), "")
	d := driverOf(t, dir)
	list(t, d)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{madeID(1), "never"} {
		if _, err := d.ReadSession(t.Context(), id, nil); !os.IsNotExist(unwrapped(err)) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

func TestNamesComeFromTheIndexAndChangeTheStamp(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, madeName(1), metaLine("2026-01-02T03:01:00.000Z", madeID(1), "")+userText("2026-01-02T03:01:01.000Z", "hello"))
	d := driverOf(t, dir)
	title := func() (string, collect.Stamp) {
		t.Helper()
		page := list(t, d)
		if len(page.Problems) != 0 {
			t.Fatal(page.Problems)
		}
		i := slices.IndexFunc(page.Sessions, func(l collect.Listing) bool { return l.NativeSessionID == madeID(1) })
		return text(read(t, d, madeID(1), nil).trailer.Summary.Title), page.Sessions[i].Stamp
	}
	named := func(name string) string {
		return `{"id":"` + madeID(1) + `","thread_name":"` + name + `","updated_at":"2026-01-02T03:02:00Z"}` + "\n"
	}
	unnamed, first := title()
	write(t, dir, indexFile, named("One")+"{\"id\":\n"+named("Two")+`{"id":"`+madeID(1)+`","thread_na`)
	two, second := title()
	write(t, dir, indexFile, named("One")+named("Two")+named("Three"))
	three, third := title()
	if unnamed != "hello" || two != "Two" || three != "Three" {
		t.Errorf("titles %q, %q, %q", unnamed, two, three)
	}
	if first.Side == second.Side || second.Side == third.Side || first.ModTime != third.ModTime {
		t.Errorf("stamps %+v, %+v, %+v", first, second, third)
	}
	if got := read(t, d, madeID(1), nil).trailer.Resume.Stamp; got != third {
		t.Errorf("read %+v, listed %+v", got, third)
	}
	if err := os.Remove(filepath.Join(dir, indexFile)); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, indexFile), 0o755); err != nil {
		t.Fatal(err)
	}
	if page := list(t, d); !slices.Equal(codesOf(page.Problems), []string{collect.CodeUnreadable}) || len(page.Sessions) != 1 {
		t.Errorf("an index that cannot be read: %+v", page)
	}
}

func TestListingOpensNoRollout(t *testing.T) {
	if plainuser.Runs(t) {
		return
	}
	dir := t.TempDir()
	if err := os.Chmod(write(t, dir, madeName(1), "content"), 0); err != nil {
		t.Fatal(err)
	}
	d := driverOf(t, dir)
	page := list(t, d)
	if len(page.Sessions) != 1 || page.Sessions[0].Stamp.Size != 7 || len(page.Problems) != 0 {
		t.Errorf("page %+v", page)
	}
	if _, err := d.ListSessions(t.Context(), "2"); err == nil {
		t.Error("a cursor that was never given")
	}
}

func TestManySessionsThroughTheStream(t *testing.T) {
	dir := t.TempDir()
	for n := range 40 {
		write(t, dir, madeName(n), metaLine("2026-01-02T03:01:00.000Z", madeID(n), ""))
	}
	d := driverOf(t, dir)
	s := collect.NewStream(d, func(l collect.Listing) bool { return l.NativeSessionID == madeID(7) })
	for {
		l, err := s.Next(t.Context())
		if err != nil {
			break
		}
		s.Read(l, read(t, d, l.NativeSessionID, nil).trailer.Complete)
	}
	if out := s.Outcome(); !out.Complete || out.Found != 40 || out.Read != 39 || len(out.Retained) != 1 {
		t.Errorf("tally %+v", out)
	}
}

func unwrapped(err error) error {
	for {
		inner, ok := err.(interface{ Unwrap() error })
		if !ok || inner.Unwrap() == nil {
			return err
		}
		err = inner.Unwrap()
	}
}

func BenchmarkListing10000Rollouts(b *testing.B) {
	dir := b.TempDir()
	for n := range 10_000 {
		day := time.Date(2026, 1, 1+n/100, 0, 0, 0, 0, time.UTC)
		name := fmt.Sprintf("rollout-%s-00000000-0000-7000-8000-%012d.jsonl", day.Format("2006-01-02T15-04-05"), n)
		path := filepath.Join(dir, "sessions", day.Format("2006/01/02"), name)
		if n%100 == 0 {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(path, nil, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	d := driverOf(b, dir)
	b.ReportAllocs()
	for b.Loop() {
		if n := len(list(b, d).Sessions); n != 10_000 {
			b.Fatal(n)
		}
	}
}
