package publish

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/collect/claude"
	"agentsync/collect/codex"
	"agentsync/collect/drivers"
	"agentsync/fixtures/fakedriver"
	"agentsync/ledger"
	"agentsync/ledger/durable"
	"agentsync/publish/document"
	"agentsync/publish/store/mem"
)

// claudeTree writes files below projects and returns a driver of them.
func claudeTree(t testing.TB, files map[string]string) (string, collect.Driver) {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		writeFile(t, filepath.Join(dir, "projects", filepath.FromSlash(name)), content)
	}
	d, err := claude.New(collect.SourceConfig{ID: "claude", Driver: "claude-agent-sdk", ConfigDir: dir},
		collect.Env{Now: noon, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	return dir, d
}

func writeFile(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	old := noon.Add(-48 * time.Hour)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
}

const oddID = "11111111-2222-4333-8444-555555555555"

// oddFiles are a family and its neighbours with everything that a file can hold.
func oddFiles() map[string]string {
	line := func(cwd string) string {
		return `{"type":"user","uuid":"u1","cwd":"` + cwd + `","sessionId":"` + oddID + `","message":{"role":"user","content":"hi"}}`
	}
	return map[string]string{
		"-home-dev-app/" + oddID + ".jsonl":                            line("/home/dev/app") + "\r\n\x00\x00\x00" + line("/home/dev/app") + "\n\n \t\nnot json\xff\n{\"a\":1}{\"b\":2}\n{\"torn\":",
		"-home-dev-app/" + oddID + "/subagents/agent-a1.jsonl":         line("/home/dev/app/deep/below") + "\n",
		"-home-dev-app/" + oddID + "/subagents/agent-a1.meta.json":     "{\"description\":\"look\"}",
		"-home-dev-app/" + oddID + "/tool-results/big.txt":             strings.Repeat("0123456789abcdef", 60<<10),
		"-home-dev-app/" + oddID + "/tool-results/empty.txt":           "",
		"-home-dev-app/22222222-2222-4333-8444-555555555555.jsonl":     "",
		"-home-dev-app/33333333-2222-4333-8444-555555555555.jsonl":     "\xef\xbb\xbf" + line("/home/dev/app") + "\n",
		"-home-dev-app/44444444-2222-4333-8444-555555555555.jsonl":     `{"agentsync":"file","path":"../../../escaped","mode":511}` + "\n",
		"-home-dev-app-two/55555555-2222-4333-8444-555555555555.jsonl": line("/home/dev/app/two") + "\n",
	}
}

// restoreAll restores everything of the newest generation into a folder.
func (b *bed) restoreAll(into string, change func(*RestoreOptions)) map[string]RestoredFile {
	b.Helper()
	o := RestoreOptions{Folder: func(string, string) (Place, error) { return Place{Base: into}, nil }, Allows: drivers.Restores, Workers: 2}
	if err := b.view().Rows(func(row *document.Row) error { o.Rows = append(o.Rows, row); return nil }); err != nil {
		b.Fatal(err)
	}
	if change != nil {
		change(&o)
	}
	files, err := b.target.Restore(b.Context(), o)
	if err != nil {
		b.Fatal(err)
	}
	byPath := map[string]RestoredFile{}
	for _, f := range files {
		relative, _ := filepath.Rel(into, f.Path)
		byPath[filepath.ToSlash(relative)] = f
	}
	return byPath
}

// tree reads every file below a folder.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		relative, _ := filepath.Rel(dir, path)
		found[filepath.ToSlash(relative)] = string(content)
		return err
	})
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return found
}

func sameTree(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name, content := range want {
		if back, ok := got[name]; !ok || back != content {
			t.Errorf("%s: %d bytes came back, want %d (there: %v)", name, len(back), len(content), ok)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s is new", name)
		}
	}
}

func TestRestore(t *testing.T) {
	setUp := func(t *testing.T) (string, *bed) {
		dir, d := claudeTree(t, oddFiles())
		b := newBed(t, d)
		if r := b.publish(); r.Failed > 0 {
			t.Fatalf("publish: %+v", r)
		}
		return dir, b
	}
	t.Run("gives every byte and every time back, below a folder that is not there", func(t *testing.T) {
		dir, b := setUp(t)
		into := filepath.Join(t.TempDir(), "new", "folder")
		b.restoreAll(into, nil)
		sameTree(t, tree(t, into), tree(t, dir))
		info, err := os.Stat(filepath.Join(into, "projects", "-home-dev-app", oddID+".jsonl"))
		if err != nil || !info.ModTime().Equal(noon.Add(-48*time.Hour)) || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("restored as %v, %v", info, err)
		}
		for name, f := range b.restoreAll(into, nil) {
			if f.Status != FileSame {
				t.Errorf("again: %s is %s, %v", name, f.Status, f.Err)
			}
		}
	})
	t.Run("a dry run tells all and changes nothing", func(t *testing.T) {
		dir, b := setUp(t)
		dry := func(o *RestoreOptions) { o.DryRun = true }
		into := filepath.Join(t.TempDir(), "new")
		if files := b.restoreAll(into, dry); len(files) != len(oddFiles()) {
			t.Errorf("%d files would be written, want %d", len(files), len(oddFiles()))
		}
		if _, err := os.Lstat(into); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the folder was made: %v", err)
		}
		grown := "projects/-home-dev-app/" + oddID + ".jsonl"
		writeFile(t, filepath.Join(dir, filepath.FromSlash(grown)), oddFiles()["-home-dev-app/"+oddID+".jsonl"]+"x")
		for name, f := range b.restoreAll(dir, dry) {
			if want := map[bool]string{true: FileDiffers, false: FileSame}[name == grown]; f.Status != want {
				t.Errorf("%s: %s, want %s", name, f.Status, want)
			}
		}
		files := b.restoreAll(dir, func(o *RestoreOptions) { o.DryRun, o.Force = true, true })
		if files[grown].Status != FileWouldHide {
			t.Errorf("with force: %+v", files[grown])
		}
	})
	t.Run("a file that differs stays, unless it may be replaced", func(t *testing.T) {
		dir, b := setUp(t)
		name := "projects/-home-dev-app/33333333-2222-4333-8444-555555555555.jsonl"
		path := filepath.Join(dir, filepath.FromSlash(name))
		writeFile(t, path, "mine")
		before := tree(t, dir)
		if f := b.restoreAll(dir, nil)[name]; f.Status != FileDiffers {
			t.Errorf("%+v", f)
		}
		sameTree(t, tree(t, dir), before)
		if f := b.restoreAll(dir, func(o *RestoreOptions) { o.Force = true })[name]; f.Status != FileReplaced {
			t.Errorf("with force: %+v", f)
		}
		if content, _ := os.ReadFile(path); string(content) == "mine" {
			t.Error("not replaced")
		}
	})
	t.Run("nothing is written through a link", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("links need a privilege here")
		}
		for _, row := range []struct {
			name string
			at   string // where the link stands
			to   func(into, outside string) string
		}{
			{"a folder that leads outside", "projects/-home-dev-app", func(_, outside string) string { return outside }},
			{"a folder that stays inside", "projects/-home-dev-app", func(into, _ string) string { return filepath.Join(into, "projects", "real") }},
			{"the file itself", "projects/-home-dev-app/" + oddID + ".jsonl", func(_, outside string) string { return filepath.Join(outside, "victim") }},
			{"the unfinished file of a restore that died", "projects/-home-dev-app/" + collect.Unfinished + "1", func(_, outside string) string { return filepath.Join(outside, "victim") }},
		} {
			t.Run(row.name, func(t *testing.T) {
				_, b := setUp(t)
				into, outside := t.TempDir(), t.TempDir()
				writeFile(t, filepath.Join(outside, "victim"), "untouched")
				writeFile(t, filepath.Join(into, "projects", "real", "kept"), "untouched")
				at := filepath.Join(into, filepath.FromSlash(row.at))
				if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.Symlink(row.to(into, outside), at); err != nil {
					t.Fatal(err)
				}
				b.restoreAll(into, func(o *RestoreOptions) { o.Force = true })
				sameTree(t, tree(t, outside), map[string]string{"victim": "untouched"})
				sameTree(t, tree(t, filepath.Join(into, "projects", "real")), map[string]string{"kept": "untouched"})
			})
		}
	})
	t.Run("two sessions never share a file", func(t *testing.T) {
		_, one := claudeTree(t, map[string]string{"-a/" + oddID + ".jsonl": "{\"n\":1}\n"})
		dir := t.TempDir()
		writeFile(t, filepath.Join(dir, "projects", "-a", oddID+".jsonl"), "{\"n\":2}\n")
		two, err := claude.New(collect.SourceConfig{ID: "other", Driver: "claude-agent-sdk", ConfigDir: dir}, collect.Env{Now: noon})
		if err != nil {
			t.Fatal(err)
		}
		b := newBed(t, one, two)
		b.publish()
		place := Place{Base: t.TempDir()}
		failed := 0
		for range 2 {
			files, err := b.target.Restore(t.Context(), RestoreOptions{Force: true, Allows: drivers.Restores,
				Rows:   []*document.Row{b.row("claude/" + oddID), b.row("other/" + oddID)},
				Folder: func(string, string) (Place, error) { return place, nil }})
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				if f.Status == FileFailed {
					failed++
				}
			}
		}
		if failed != 2 {
			t.Errorf("%d sessions failed in two restores, want one in each", failed)
		}
	})
}

func TestAMappedFamilyStaysTogether(t *testing.T) {
	_, d := claudeTree(t, oddFiles())
	b := newBed(t, d)
	b.publish()
	into := t.TempDir()
	b.restoreAll(into, func(o *RestoreOptions) {
		o.Map = []PathMap{{"/home/dev", "/srv"}, {"/home/dev/app/two", "/elsewhere"}}
		o.Directory = func(row *document.Row) string {
			switch {
			case strings.Contains(row.NativeSessionID, oddID):
				return "/home/dev/app"
			case row.Cwd != nil:
				return *row.Cwd
			}
			return ""
		}
	})
	got := tree(t, into)
	for name, content := range oddFiles() {
		name = strings.Replace(name, "-home-dev-app-two/", "-elsewhere/", 1)
		if strings.Contains(name, oddID) || strings.Contains(name, "33333333") {
			name = strings.Replace(name, "-home-dev-app/", "-srv-app/", 1)
		}
		if got["projects/"+name] != content {
			t.Errorf("%s is not where it should be", name)
		}
	}
}

func TestMapped(t *testing.T) {
	maps := []PathMap{{"/home/a", "/Users/b"}, {"/home/a/jobs/", "/w/"}, {`C:\Users\a`, "/home/win"}, {"/", "/mnt"}}
	for _, row := range []struct {
		name, at, directory string
		maps                []PathMap
		want                string
	}{
		{"no map", "projects/-home-a-x/f.jsonl", "/home/a/x", nil, "projects/-home-a-x/f.jsonl"},
		{"a directory below", "projects/-home-a-x/f.jsonl", "/home/a/x", maps, "projects/-Users-b-x/f.jsonl"},
		{"the directory itself", "projects/-home-a/f.jsonl", "/home/a", maps, "projects/-Users-b/f.jsonl"},
		{"the longest one wins", "projects/-home-a-jobs-x/f.jsonl", "/home/a/jobs/x", maps, "projects/-w-x/f.jsonl"},
		{"a name that only begins alike is below the root alone", "projects/-home-ab/f.jsonl", "/home/ab", maps, "projects/-mnt-home-ab/f.jsonl"},
		{"one that begins alike, and nothing fits", "projects/-home-ab/f.jsonl", "/home/ab", maps[:1], "projects/-home-ab/f.jsonl"},
		{"a directory of another system", "projects/C--Users-a-x/f.jsonl", `C:\Users\a\x`, maps, "projects/-home-win-x/f.jsonl"},
		{"a session that works below its project", "projects/-home-a-x/f.jsonl", "/home/a/x/deep/er", maps, "projects/-Users-b-x/f.jsonl"},
		{"loose files of a project", "projects/-home-a", "", maps, "projects/-Users-b"},
		{"loose files of another project", "projects/-home-c", "", maps, "projects/-home-c"},
		{"what lies elsewhere", "history.jsonl", "/home/a", maps, "history.jsonl"},
		{"a path that climbs is not made harmless", "projects/-home-a/../../x", "/home/a", maps, "projects/-Users-b/../../x"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := (&RestoreOptions{Map: row.maps}).mapped(row.at, claudeDriver, row.directory); got != row.want {
				t.Errorf("%s, want %s", got, row.want)
			}
		})
	}
	if got := (&RestoreOptions{Map: maps}).mapped("projects/-home-a/x", "codex-app-server", "/home/a"); got != "projects/-home-a/x" {
		t.Errorf("another agent's file went to %s", got)
	}
}

func TestCompareSources(t *testing.T) {
	dir, d := claudeTree(t, oddFiles())
	b := newBed(t, d)
	b.publish()
	compare := func(t *testing.T) map[string]Difference {
		t.Helper()
		r, err := b.target.CompareSources(t.Context(), []collect.Driver{d}, CompareOptions{Workers: 2})
		if err != nil || len(r.Problems) > 0 {
			t.Fatal(err, r.Problems)
		}
		found := map[string]Difference{}
		for _, one := range r.Differing {
			found[strings.TrimPrefix(one.Key, "claude/")[:8]] = one
		}
		return found
	}
	t.Run("nothing differs right after a publish", func(t *testing.T) {
		if found := compare(t); len(found) > 0 {
			t.Errorf("%+v", found)
		}
	})
	t.Run("every way to differ has its name", func(t *testing.T) {
		project := filepath.Join(dir, "projects", "-home-dev-app")
		main, err := os.ReadFile(filepath.Join(project, oddID+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		changed := bytes.Clone(main)
		changed[40] ^= 1
		writeFile(t, filepath.Join(project, oddID+".jsonl"), string(changed))
		writeFile(t, filepath.Join(project, "22222222-2222-4333-8444-555555555555.jsonl"), "{}\n")
		writeFile(t, filepath.Join(project, "33333333-2222-4333-8444-555555555555.jsonl"), "")
		writeFile(t, filepath.Join(project, "66666666-2222-4333-8444-555555555555.jsonl"), "{}\n")
		if err := os.Remove(filepath.Join(project, "44444444-2222-4333-8444-555555555555.jsonl")); err != nil {
			t.Fatal(err)
		}
		found := compare(t)
		for id, want := range map[string]string{"11111111": SourceChanged, "22222222": SourceGrown, "33333333": SourceShrunk,
			"44444444": SourceMissing, "66666666": SourceUnpublished} {
			if found[id].Status != want {
				t.Errorf("%s: %+v, want %s", id, found[id], want)
			}
		}
		if found["11111111"].Offset != 40 || len(found) != 5 {
			t.Errorf("%+v", found)
		}
	})
	t.Run("a torn tail that was completed has grown", func(t *testing.T) {
		writeFile(t, filepath.Join(dir, "projects", "-home-dev-app", oddID+".jsonl"), oddFiles()["-home-dev-app/"+oddID+".jsonl"]+"1}\n")
		if f := compare(t)["11111111"]; f.Status != SourceGrown {
			t.Errorf("%+v", f)
		}
	})
}

func TestAnOlderGenerationHoldsWhatANewerOneReplaced(t *testing.T) {
	d := fakedriver.New("codex").Session("one", lines(200, 0)...)
	b := newBed(t, d)
	b.publish()
	d.Session("one", lines(1, 0)...)
	b.pass.Full = true
	b.publish()
	for n, events := range map[uint64]int{0: 1, 1: 200, 2: 1} {
		v, err := b.target.ViewAt(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		if row, err := v.Find("codex/one"); err != nil || row.Events != events {
			t.Errorf("generation %d: %+v, %v, want %d events", n, row, err, events)
		}
	}
	if _, err := b.target.ViewAt(t.Context(), 3); !errors.Is(err, ErrNoGeneration) {
		t.Errorf("a generation that never was: %v", err)
	}
	if r, err := b.target.Prune(t.Context(), PruneOptions{Keep: 1, Apply: true, Now: noon.Add(1000 * time.Hour)}); err != nil || len(r.Removed) == 0 {
		t.Fatal(r, err)
	}
	if _, err := b.target.ViewAt(t.Context(), 1); !errors.Is(err, ErrNoGeneration) {
		t.Errorf("a pruned generation: %v", err)
	}
}

func TestAFileThatItsAgentHasCompressedIsThere(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "fixtures", "sessions", "codex", "legacy-home"))); err != nil {
		t.Fatal(err)
	}
	d, err := codex.New(collect.SourceConfig{ID: "codex", Driver: codex.Kind, CodexHome: dir}, collect.Env{Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	b := newBed(t, d)
	if r := b.publish(); r.Published < 2 || r.Failed > 0 {
		t.Fatalf("%+v", r)
	}
	before := tree(t, dir)
	for _, dry := range []bool{true, false} {
		for name, f := range b.restoreAll(dir, func(o *RestoreOptions) { o.DryRun = dry }) {
			if f.Status != FileSame {
				t.Errorf("dry %v: %s is %s, %v", dry, name, f.Status, f.Err)
			}
		}
		sameTree(t, tree(t, dir), before)
	}
	plain := t.TempDir()
	for name, f := range b.restoreAll(plain, nil) {
		if f.Status != FileWritten || strings.HasSuffix(name, zstdSuffix) {
			t.Errorf("elsewhere: %s is %s", name, f.Status)
		}
	}
}

// benchBed publishes one session of about 8 MB.
func benchBed(b *testing.B) (*Target, []*document.Row, collect.Driver, int64) {
	_, d := claudeTree(b, map[string]string{"-a/" + oddID + ".jsonl": strings.Join(lines(40_000, 0), "\n") + "\n"})
	o := Options{Store: mem.New(), FS: durable.OS(), State: b.TempDir(), Installation: "one", Rand: rand.Reader, Workers: 1}
	state, err := ledger.OpenState(durable.OS(), filepath.Join(b.TempDir(), "state"))
	if err != nil {
		b.Fatal(err)
	}
	if o.Signer, err = ledger.OpenIdentity(state, rand.Reader); err != nil {
		b.Fatal(err)
	}
	target, err := Create(b.Context(), o, noon)
	if err != nil {
		b.Fatal(err)
	}
	r, err := target.Publish(b.Context(), Pass{Sources: []collect.Driver{d}, Now: noon})
	if err != nil {
		b.Fatal(err)
	}
	v, err := target.View(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	row, err := v.Find("claude/" + oddID)
	if err != nil || row == nil {
		b.Fatal(row, err)
	}
	return target, []*document.Row{row}, d, r.BytesRead
}

func BenchmarkRestore(b *testing.B) {
	target, rows, _, size := benchBed(b)
	dir := b.TempDir()
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		files, err := target.Restore(b.Context(), RestoreOptions{Rows: rows, Folder: func(string, string) (Place, error) { return Place{Base: dir}, nil }, Allows: drivers.Restores, Force: true})
		if err != nil || len(files) != 1 || files[0].Status == FileFailed {
			b.Fatal(files, err)
		}
	}
}

func BenchmarkCompareSources(b *testing.B) {
	target, _, d, size := benchBed(b)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		if r, err := target.CompareSources(b.Context(), []collect.Driver{d}, CompareOptions{}); err != nil || r.Same != 1 {
			b.Fatal(r, err)
		}
	}
}

func TestAFileThatIsNoWholeZstdStreamComesBack(t *testing.T) {
	home := t.TempDir()
	folder := filepath.Join(home, "sessions", "2026", "02", "01")
	for n, content := range []string{"\x28\xb5\x2f\xfd torn", "PK\x03\x04 another program's\n\nfile", ""} {
		writeFile(t, filepath.Join(folder, fmt.Sprintf("rollout-2026-02-01T10-00-0%d-019cb6e0-000%d-7000-8000-000000000001.jsonl.zst", n, n)), content)
	}
	d, err := codex.New(collect.SourceConfig{ID: "codex", Driver: codex.Kind, CodexHome: home}, collect.Env{Now: noon, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	b := newBed(t, d)
	if r := b.publish(); r.Published != 3 || r.Incomplete() {
		t.Errorf("published %d, incomplete %t", r.Published, r.Incomplete())
	}
	if r := b.publish(); r.Retained != 3 || r.Documents != 0 {
		t.Errorf("again: %d retained, %d documents", r.Retained, r.Documents)
	}
	out := t.TempDir()
	b.restoreAll(out, nil)
	sameTree(t, tree(t, out), tree(t, home))
}
