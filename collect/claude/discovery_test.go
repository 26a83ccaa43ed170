package claude

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/fixtures/plainuser"
)

func TestEveryFileIsPartOfSomeSession(t *testing.T) {
	c := newConfig(t)
	c.put("-p/"+u(1)+".jsonl", talk("hi"))
	c.put("-p/"+u(1)+"/subagents/agent-1.jsonl", talk("one"))
	c.put("-p/"+u(1)+"/subagents/agent-1.meta.json", `{"agentType":"x"}`)
	c.put("-p/"+u(1)+"/subagents/agent-1/subagents/agent-2.jsonl", talk("two"))
	c.put("-p/"+u(1)+"/tool-results/r.txt", "result")
	c.put("-p/"+u(1)+"/custom-title.json", "{}")
	c.put("-p/"+u(2)+"/subagents/agent-9.jsonl", talk("its session is gone"))
	c.put("-p/agent-flat.jsonl", talk("flat"))
	c.put("-p/history.jsonl.bak", "old")
	c.put("-p/memory/notes.md", "# Notes")
	c.put("-q/"+strings.ToUpper("aaaaaaaa")+u(3)[8:]+".jsonl", talk("upper"))
	c.put("-q/empty.jsonl", "")
	c.put("-q/files.jsonl", talk("called like a set of files"))
	c.put("-q/notes.txt", "x")
	c.put(u(1)+"/odd.txt", "in a project folder called like a session")
	page := inventory(t, c.driver())
	wantIDs(t, page, u(1), u(1)+"/subagents/agent-1", u(1)+"/subagents/agent-1/subagents/agent-2", u(1)+"/files",
		u(2)+"/subagents/agent-9", "-p/agent-flat", "-p/files", "AAAAAAAA"+u(3)[8:],
		"-q/empty", "-q/files.jsonl", "-q/files", "projects/"+u(1)+"/files")
	if len(page.Problems)+len(page.Notes) != 0 || page.Absent {
		t.Errorf("problems %v, notes %v, absent %t", page.Problems, page.Notes, page.Absent)
	}
	for id, parent := range map[string]string{
		u(1): "", u(1) + "/subagents/agent-1": u(1), u(1) + "/files": u(1), u(2) + "/subagents/agent-9": u(2), "-p/files": "",
	} {
		if got := listing(t, page, id).Parent; got != parent {
			t.Errorf("%s belongs to %q, want %q", id, got, parent)
		}
	}
	var bytes int64
	for _, s := range page.Sessions {
		bytes += s.Stamp.Size
	}
	if want := c.size(); bytes != want {
		t.Errorf("sessions hold %d bytes, the folder %d", bytes, want)
	}
}

// size sums up all files below projects.
func (c config) size() (sum int64) {
	err := filepath.WalkDir(c.path(""), func(_ string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			info, _ := e.Info()
			sum += info.Size()
		}
		return err
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return sum
}

func TestWorkflowJournalsAreAttachments(t *testing.T) {
	c := newConfig(t)
	c.put("-p/"+u(1)+".jsonl", talk("hi"))
	for _, flow := range []string{"wf_1", "wf_2"} {
		for _, name := range []string{"agent-1.jsonl", "agent-1.meta.json", "journal.jsonl"} {
			c.put("-p/"+u(1)+"/subagents/workflows/"+flow+"/"+name, "{}\n")
		}
	}
	wantIDs(t, inventory(t, c.driver()), u(1), u(1)+"/files",
		u(1)+"/subagents/workflows/wf_1/agent-1", u(1)+"/subagents/workflows/wf_2/agent-1")
}

func TestARepeatedIDGoesToTheNewestCopy(t *testing.T) {
	c := newConfig(t)
	c.putAt("-a/"+u(1)+".jsonl", talk("older"), noon.Add(-2*time.Hour))
	c.putAt("-b/"+u(1)+".jsonl", talk("newer copy"), noon.Add(-time.Hour))
	c.put("-a/"+u(1)+"/subagents/agent-7.jsonl", talk("of the older"))
	c.put("-b/"+u(1)+"/subagents/agent-7.jsonl", talk("of the newer"))
	c.put("-c/"+u(1)+"/subagents/agent-7.jsonl", talk("without a session beside it"))
	page := inventory(t, c.driver())
	wantIDs(t, page, u(1), "-a/"+u(1), u(1)+"/subagents/agent-7", "-a/"+u(1)+"/subagents/agent-7", "-c/"+u(1)+"/subagents/agent-7")
	if parent := listing(t, page, "-a/"+u(1)+"/subagents/agent-7").Parent; parent != "-a/"+u(1) {
		t.Errorf("the older agent belongs to %q", parent)
	}
	if parent := listing(t, page, "-c/"+u(1)+"/subagents/agent-7").Parent; parent != u(1) {
		t.Errorf("the agent without a session belongs to %q", parent)
	}
	if h := read(t, c.driver(), u(1), nil); !strings.Contains(h.raw, "newer copy") {
		t.Error("the bare id is not the newer copy")
	}
}

func TestEqualNamesInDifferentSessionsAreDifferentSessions(t *testing.T) {
	c := newConfig(t)
	c.put("p/"+u(1)+"/subagents/agent-7.jsonl", talk(strings.Repeat("x", 13_000)))
	c.put("p-wt/"+u(2)+"/subagents/agent-7.jsonl", talk("small"))
	first, second := inventory(t, c.driver()), inventory(t, c.driver())
	wantIDs(t, first, u(1)+"/subagents/agent-7", u(2)+"/subagents/agent-7")
	if fmt.Sprint(first) != fmt.Sprint(second) {
		t.Error("two listings of unchanged files differ")
	}
}

func TestLinksAreSkippedWithANoteOrFollowed(t *testing.T) {
	c := newConfig(t)
	for i := range 9 {
		c.put(fmt.Sprintf("-p%d/%s.jsonl", i%3, u(i)), talk("hi"))
	}
	elsewhere := newConfig(t)
	elsewhere.put("-x/"+u(50)+".jsonl", talk("elsewhere"))
	c.link(elsewhere.path("-x"), "-linked")
	c.link(elsewhere.path("-x"), "-p0/memory")
	c.link(elsewhere.path("-x/"+u(50)+".jsonl"), "-p0/"+u(51)+".jsonl")
	page := inventory(t, c.driver())
	if len(page.Sessions) != 9 || len(page.Notes) != 3 || len(page.Problems) != 0 {
		t.Errorf("%d sessions, notes %v, problems %v", len(page.Sessions), page.Notes, page.Problems)
	}
	places := []string{"projects/-linked", "projects/-p0/memory", "projects/-p0/" + u(51) + ".jsonl"}
	slices.Sort(places)
	if got := placesOf(page.Notes); !slices.Equal(got, places) {
		t.Errorf("left out %q, want %q", got, places)
	}
	// Each target is taken once, whatever leads to it.
	c.link("-p1", "-again")
	c.link(".", "-loop")
	c.link("..", "-above")
	c.link(elsewhere.path("-x"), "-twice")
	c.link(c.path("unmounted"), "-nothing")
	following := newDriver(t, collect.SourceConfig{ID: "claude", ConfigDir: c.dir, Symlinks: "follow"})
	page = inventory(t, following)
	if len(page.Sessions) != 10 || len(page.Problems) != 0 {
		t.Errorf("following: %v, problems %v", ids(page), page.Problems)
	}
	places = append(places[1:], "projects/-again", "projects/-loop", "projects/-above", "projects/-twice", "projects/-nothing")
	slices.Sort(places)
	if got := placesOf(page.Notes); !slices.Equal(got, places) {
		t.Errorf("left out %q, want %q", got, places)
	}
	root := filepath.Join(t.TempDir(), "root")
	if err := os.Symlink(c.dir, root); err != nil {
		t.Fatal(err)
	}
	if page := inventory(t, newDriver(t, collect.SourceConfig{ID: "claude", ConfigDir: root})); len(page.Sessions) != 9 || page.Absent {
		t.Errorf("a linked root: %v", ids(page))
	}
	linked := t.TempDir()
	if err := os.Symlink(c.path(""), filepath.Join(linked, "projects")); err != nil {
		t.Fatal(err)
	}
	if page := inventory(t, newDriver(t, collect.SourceConfig{ID: "claude", ConfigDir: linked})); len(page.Sessions) != 9 || page.Absent {
		t.Errorf("linked projects: %v", ids(page))
	}
	unmounted := filepath.Join(linked, "unmounted")
	if err := os.Symlink(unmounted+"-disk", unmounted); err != nil {
		t.Fatal(err)
	}
	if page := inventory(t, newDriver(t, collect.SourceConfig{ID: "claude", ConfigDir: unmounted})); page.Absent || len(page.Problems) != 1 {
		t.Errorf("a root behind a link to nothing: %+v", page)
	}
}

// placesOf are the places of notes, sorted.
func placesOf(notes []collect.Problem) []string {
	list := []string{}
	for _, n := range notes {
		list = append(list, n.Place.Path)
	}
	slices.Sort(list)
	return list
}

func TestAbsentIsNotUnreadable(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	standard, err := New(collect.SourceConfig{ID: "claude"}, collect.Env{Home: t.TempDir(), Getenv: func(string) string { return none }})
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		driver  *Driver
		missing []string
	}{
		"the standard folder":        {standard, nil},
		"a named folder":             {newDriver(t, collect.SourceConfig{ID: "claude", ConfigDir: none}), []string{none}},
		"both of two":                {newDriver(t, collect.SourceConfig{ID: "claude", Roots: []string{none, none + "2"}}), []string{none, none + "2"}},
		"a folder without projects":  {newDriver(t, collect.SourceConfig{ID: "claude", ConfigDir: t.TempDir()}), nil},
		"a folder that a source set": {newDriver(t, collect.SourceConfig{ID: "claude", Env: map[string]string{"CLAUDE_CONFIG_DIR": none}}), []string{none}},
	} {
		page := inventory(t, row.driver)
		var paths []string
		for _, p := range page.Problems {
			if p.Code == collect.CodeFolderMissing {
				paths = append(paths, p.Path)
			}
		}
		if !page.Absent || len(page.Sessions) != 0 || !slices.Equal(paths, row.missing) || len(paths) != len(page.Problems) {
			t.Errorf("%s: %+v", name, page)
		}
	}
	c := newConfig(t)
	if err := os.WriteFile(filepath.Join(c.dir, "projects"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if page := inventory(t, c.driver()); page.Absent || len(page.Problems) != 1 {
		t.Errorf("a file instead of the folder: %+v", page)
	}
	c = newConfig(t)
	c.put("-p/"+u(1)+".jsonl", talk("hi"))
	two := newDriver(t, collect.SourceConfig{ID: "claude", Roots: []string{c.dir, filepath.Join(c.dir, "none")}})
	if page := inventory(t, two); page.Absent || len(page.Problems) != 1 || len(page.Sessions) != 1 {
		t.Errorf("one of two roots is missing: %+v", page)
	}
}

func TestAnUnreadableFolderIsAProblemAndTheRestIsListed(t *testing.T) {
	if plainuser.Runs(t) {
		return
	}
	c := newConfig(t)
	c.put("-p/"+u(1)+".jsonl", talk("hi"))
	c.put("-p/"+u(1)+"/subagents/agent-1.jsonl", talk("hidden"))
	c.put("-q/"+u(2)+".jsonl", talk("hidden"))
	for _, name := range []string{"-q", "-p/" + u(1)} {
		if err := os.Chmod(c.path(name), 0); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(c.path(name), 0o700)
	}
	page := inventory(t, c.driver())
	wantIDs(t, page, u(1))
	if len(page.Problems) != 2 || page.Problems[0].Code != "unreadable" || page.Problems[0].Path == "" {
		t.Errorf("problems %+v", page.Problems)
	}
}

func TestRootsAndTheirPrecedence(t *testing.T) {
	one, other := newConfig(t), newConfig(t)
	one.put("-p/"+u(1)+".jsonl", talk("hi"))
	one.put("-p/agent-x.jsonl", talk("hi"))
	other.put("-p/"+u(2)+".jsonl", talk("hi"))
	other.put("-p/agent-x.jsonl", talk("hi"))
	other.put("-p/"+u(1)+".jsonl", talk("older copy"))
	if err := os.Chtimes(other.path("-p/"+u(1)+".jsonl"), noon, noon.Add(-5*time.Hour)); err != nil {
		t.Fatal(err)
	}
	home := newConfig(t)
	if err := os.Rename(one.dir, filepath.Join(home.dir, ".claude")); err != nil {
		t.Fatal(err)
	}
	inHome := filepath.Join(home.dir, ".claude")
	env := func(dir string) collect.Env {
		return collect.Env{Now: noon, Home: home.dir, Getenv: func(string) string { return dir }}
	}
	for _, c := range []struct {
		name string
		cfg  collect.SourceConfig
		env  collect.Env
		want string
	}{
		{"the home folder", collect.SourceConfig{ID: "claude"}, env(""), inHome},
		{"the process's variable", collect.SourceConfig{ID: "claude"}, env(other.dir), other.dir},
		{"the source's variable", collect.SourceConfig{ID: "claude", Env: map[string]string{"CLAUDE_CONFIG_DIR": other.dir}}, env("/nowhere"), other.dir},
		{"the configured folder", collect.SourceConfig{ID: "claude", ConfigDir: other.dir, Env: map[string]string{"CLAUDE_CONFIG_DIR": "/nowhere"}}, env("/nowhere"), other.dir},
		{"configured roots", collect.SourceConfig{ID: "claude", ConfigDir: "/nowhere", Roots: []string{inHome}}, env(""), inHome},
	} {
		d, err := New(c.cfg, c.env)
		if err != nil || len(d.roots) != 1 || d.roots[0].dir != c.want {
			t.Errorf("%s: %v, %+v", c.name, err, d)
		}
	}
	if _, err := New(collect.SourceConfig{ID: "claude"}, collect.Env{}); err == nil {
		t.Error("no folder at all was accepted")
	}
	both := newDriver(t, collect.SourceConfig{ID: "claude", Roots: []string{inHome, other.dir}})
	wantIDs(t, inventory(t, both), u(1), "root2/-p/"+u(1), u(2), "-p/agent-x", "root2/-p/agent-x")
	summary, err := both.Summarize(context.Background(), u(2))
	if root := summary.Placement.Root; err != nil || root != other.dir {
		t.Errorf("%v, the session's root is %q", err, root)
	}
}

func TestACwdNarrowsTheInventory(t *testing.T) {
	c := newConfig(t)
	repository := t.TempDir()
	linked := t.TempDir()
	for path, content := range map[string]string{
		filepath.Join(repository, ".git/worktrees/w/gitdir"):    filepath.Join(linked, ".git") + "\n",
		filepath.Join(repository, ".git/worktrees/w/commondir"): "../..\n",
		filepath.Join(linked, ".git"):                           "gitdir: " + filepath.Join(repository, ".git/worktrees/w") + "\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c.put(collect.ProjectKey(repository)+"/"+u(1)+".jsonl", talk("hi"))
	c.put(collect.ProjectKey(linked)+"/"+u(2)+".jsonl", talk("hi"))
	c.put("-somewhere-else/"+u(3)+".jsonl", talk("hi"))
	for _, cwd := range []string{repository, linked} {
		d := newDriver(t, collect.SourceConfig{ID: "claude", ConfigDir: c.dir, Cwd: cwd})
		wantIDs(t, inventory(t, d), u(1), u(2))
	}
}

func TestPagesAreHandedOutByOffset(t *testing.T) {
	c := newConfig(t)
	for i := range 13 {
		c.put(fmt.Sprintf("-p/%s.jsonl", u(i)), "")
	}
	d := c.driver()
	d.pageSize = 10
	ctx := context.Background()
	if _, err := d.ListSessions(ctx, "3"); err == nil {
		t.Error("a cursor without a listing was accepted")
	}
	first, err := d.ListSessions(ctx, "")
	if err != nil || len(first.Sessions) != 10 || first.NextCursor != "10" {
		t.Fatalf("%v, %d sessions, next %q", err, len(first.Sessions), first.NextCursor)
	}
	second, err := d.ListSessions(ctx, first.NextCursor)
	if err != nil || len(second.Sessions) != 3 || second.NextCursor != "" {
		t.Errorf("%v, %d sessions, next %q", err, len(second.Sessions), second.NextCursor)
	}
	for _, cursor := range []string{"x", "-1", "999999"} {
		if _, err := d.ListSessions(ctx, cursor); err == nil {
			t.Errorf("cursor %q was accepted", cursor)
		}
	}
	if _, err := d.ReadSession(ctx, u(99_999), nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an unknown session: %v", err)
	}
}

func TestStampsSeeEveryChange(t *testing.T) {
	c := newConfig(t)
	c.put("-p/"+u(1)+".jsonl", talk("hi"))
	c.put("-p/"+u(1)+"/custom-title.json", `{"customTitle":"A"}`)
	c.put("-p/"+u(1)+"/subagents/agent-1.jsonl", talk("hi"))
	c.put("-p/"+u(1)+"/subagents/agent-1.meta.json", `{}`)
	c.put("-p/"+u(1)+"/tool-results/a.txt", "a")
	agent, files := u(1)+"/subagents/agent-1", u(1)+"/files"
	for _, step := range []struct {
		name    string
		change  func()
		changed []string
	}{
		{"nothing", func() {}, nil},
		{"an appended line", func() { c.put("-p/"+u(1)+".jsonl", talk("hi")+"{}\n") }, []string{u(1)}},
		{"a new title", func() { c.put("-p/"+u(1)+"/custom-title.json", `{"customTitle":"Other"}`) }, []string{u(1), files}},
		{"archiving", func() { c.put("-p/"+u(1)+"/archived.json", `{}`) }, []string{u(1), files}},
		{"a meta file", func() { c.put("-p/"+u(1)+"/subagents/agent-1.meta.json", `{"a":1}`) }, []string{agent, files}},
		{"a file of another name", func() {
			if err := os.Rename(c.path("-p/"+u(1)+"/tool-results/a.txt"), c.path("-p/"+u(1)+"/tool-results/b.txt")); err != nil {
				t.Fatal(err)
			}
		}, []string{files}},
	} {
		before := inventory(t, c.driver())
		step.change()
		after := inventory(t, c.driver())
		changed := []string{}
		for _, id := range []string{u(1), agent, files} {
			if listing(t, before, id).Stamp != listing(t, after, id).Stamp {
				changed = append(changed, id)
			}
		}
		if fmt.Sprint(changed) != fmt.Sprint(append([]string{}, step.changed...)) {
			t.Errorf("%s changed the stamps of %v, want %v", step.name, changed, step.changed)
		}
	}
}

func BenchmarkDiscovery(b *testing.B) {
	c := newConfig(b)
	const files = 20_000
	for i := range files {
		path := c.path(fmt.Sprintf("-home-dev-p%d/%s.jsonl", i/200, u(i)))
		if i%200 == 0 {
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	d := c.driver()
	b.ReportAllocs()
	for b.Loop() {
		if got := len(d.list().sessions); got != files {
			b.Fatal(got)
		}
	}
	b.ReportMetric(float64(files*b.N)/b.Elapsed().Seconds(), "files/s")
}
