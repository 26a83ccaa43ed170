//go:build unix

package apply

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentsync/dirsync"
	"agentsync/dirsync/tree"
	"agentsync/hashgraph/digest"
	"agentsync/ledger/durable"
)

// files is a directory by path: the content, with "*" before that of an executable one;
// "/" for a directory.
type files map[string]string

func (f files) make(t testing.TB, root string) {
	t.Helper()
	for _, path := range slices.Sorted(maps.Keys(f)) {
		full := filepath.Join(root, path)
		if f[path] == "/" {
			must(t, os.Mkdir(full, 0o755))
			continue
		}
		content, program := strings.CutPrefix(f[path], "*")
		mode := fs.FileMode(0o644)
		if program {
			mode = 0o755
		}
		must(t, os.WriteFile(full, []byte(content), mode))
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// read is a directory as it stands, our own folder left out.
func read(t testing.TB, root string) files {
	t.Helper()
	f := files{}
	must(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		if d.IsDir() {
			if d.Name() == dirsync.ControlFolder {
				return fs.SkipDir
			}
			f[rel] = "/"
			return nil
		}
		if d.Type()&fs.ModeSymlink != 0 {
			target, err := os.Readlink(path)
			f[rel] = "-> " + target
			return err
		}
		content, err := os.ReadFile(path)
		info, statErr := d.Info()
		if statErr == nil && info.Mode()&0o100 != 0 {
			content = append([]byte("*"), content...)
		}
		f[rel] = string(content)
		return errors.Join(err, statErr)
	}))
	return f
}

// tree is the same as a dataset has it.
func (f files) tree() dirsync.Tree {
	var nodes []dirsync.Node
	for path, content := range f {
		n := dirsync.Node{Path: path, Entry: dirsync.Entry{Kind: dirsync.Directory}}
		if content != "/" {
			plain, program := strings.CutPrefix(content, "*")
			n.Entry = dirsync.Entry{Kind: dirsync.File, Digest: digest.Sum([]byte(plain)), Size: int64(len(plain)), Executable: program}
		}
		nodes = append(nodes, n)
	}
	return dirsync.NewTree(nodes)
}

// bench is one directory, its plan and what is remembered of it.
type bench struct {
	root, keep string
	job        Job
	recorded   []Result
}

// memoryDir is a folder in memory where there is one: these tests ask for many syncs, and
// not for what they are worth.
func memoryDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "agentsync-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	return dir
}

func newBench(t testing.TB, before, dataset, ancestor files) *bench {
	t.Helper()
	base := memoryDir(t)
	b := &bench{root: filepath.Join(base, "project"), keep: filepath.Join(base, "keep")}
	must(t, os.Mkdir(b.root, 0o755))
	must(t, os.Mkdir(b.keep, 0o700))
	before.make(t, b.root)
	scanned, err := tree.Read(context.Background(), tree.Options{Root: b.root, Now: time.Now()})
	must(t, err)
	out := dirsync.Reconcile(ancestor.tree(), scanned.Tree, dataset.tree(), dirsync.Rules{Direction: dirsync.Both}, nil)
	b.job = Job{
		Plan: "sha256:plan", Root: b.root, Actions: out.Actions, Keep: b.keep, Disk: durable.OS(), Workers: 1,
		Content: func(_ context.Context, sum digest.Digest, _ int64) io.Reader {
			for _, content := range dataset {
				plain := strings.TrimPrefix(content, "*")
				if digest.Sum([]byte(plain)) == sum {
					return strings.NewReader(plain)
				}
			}
			return errorReader{errors.New("no such content")}
		},
		Record: func(results []Result) error {
			b.recorded = append(b.recorded, results...)
			return nil
		},
	}
	return b
}

type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }

// run carries the job on from what is recorded.
func (b *bench) run() ([]Result, error) {
	b.job.Done = map[string]bool{}
	for _, r := range b.recorded {
		b.job.Done[r.Path] = true
	}
	return Run(context.Background(), b.job)
}

var errCrash = errors.New("crash")

// runUntil runs the job and lets it die before its n-th effect; died is false when there
// were fewer.
func (b *bench) runUntil(t testing.TB, n int) (died bool) {
	t.Helper()
	defer func() {
		testOnlyStep = nil
		if what := recover(); what != nil {
			if what != any(errCrash) {
				panic(what)
			}
			died = true
		}
	}()
	testOnlyStep = func(string) {
		if n--; n < 0 {
			panic(errCrash)
		}
	}
	_, err := b.run()
	must(t, err)
	return false
}

// kept are the contents that were replaced, each checked against its name.
func (b *bench) kept(t testing.TB) map[string]bool {
	t.Helper()
	entries, err := os.ReadDir(b.keep)
	must(t, err)
	found := map[string]bool{}
	for _, e := range entries {
		if durable.IsTemp(e.Name()) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(b.keep, e.Name()))
		must(t, err)
		if digest.Sum(content).Hex() != e.Name() {
			t.Errorf("kept %s is something else", e.Name())
		}
		found[string(content)] = true
	}
	return found
}

func randomFiles(r *rand.Rand) files {
	f := files{}
	contents := []string{"A", "B", "*A", "C long content", ""}
	for _, dir := range []string{"", "d/", "d/e/", "d-f/"} {
		if dir != "" {
			if r.IntN(3) == 0 || dir == "d/e/" && f["d"] == "" {
				continue
			}
			f[strings.TrimSuffix(dir, "/")] = "/"
		}
		for _, name := range []string{"x", "y", "z"} {
			if r.IntN(2) == 0 {
				f[dir+name] = contents[r.IntN(len(contents))]
			}
		}
	}
	return f
}

func TestACrashAnywhereAndAResumeEqualAStraightRun(t *testing.T) {
	plans := uint64(400)
	if testing.Short() {
		plans = 20
	}
	points := 0
	for seed := range plans {
		r := rand.New(rand.NewPCG(seed, 1))
		ancestor := randomFiles(r)
		before, dataset := maps.Clone(ancestor), randomFiles(r)
		straight := newBench(t, before, dataset, ancestor)
		_, err := straight.run()
		must(t, err)
		want := read(t, straight.root)
		for n := 0; ; n++ {
			b := newBench(t, before, dataset, ancestor)
			died := b.runUntil(t, n)
			edited := ""
			if died && n%3 == 1 {
				edited = editOne(t, r, b)
			}
			_, err := b.run()
			must(t, err)
			must(t, Clean(b.root, dirsync.Identity{}, b.job.Plan))
			checkEnd(t, fmt.Sprintf("seed %d step %d edited %q", seed, n, edited), b, want, before, edited)
			points++
			if !died {
				break
			}
		}
	}
	t.Logf("%d plans, %d crash points", plans, points)
}

const edit = "an edit that nobody has seen"

// editOne changes a random file, and returns its path, "" when there is none.
func editOne(t *testing.T, r *rand.Rand, b *bench) string {
	t.Helper()
	var paths []string
	for path, content := range read(t, b.root) {
		if content != "/" {
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		return ""
	}
	slices.Sort(paths)
	path := paths[r.IntN(len(paths))]
	must(t, os.WriteFile(filepath.Join(b.root, path), []byte(edit), 0o644))
	return path
}

func checkEnd(t *testing.T, at string, b *bench, want, before files, edited string) {
	t.Helper()
	got := read(t, b.root)
	if edited != "" {
		if strings.TrimPrefix(got[edited], "*") != edit {
			t.Fatalf("%s: the edit is lost: %q", at, got[edited])
		}
		got[edited] = want[edited]
	}
	if !maps.Equal(got, want) {
		t.Fatalf("%s:\n got %q\nwant %q", at, got, want)
	}
	if _, err := os.Lstat(filepath.Join(b.root, dirsync.ControlFolder)); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("%s: staged contents are left: %v", at, err)
	}
	kept := b.kept(t)
	for path, content := range before {
		now := got[path]
		if content != "/" && path != edited && strings.TrimPrefix(now, "*") != strings.TrimPrefix(content, "*") && !kept[strings.TrimPrefix(content, "*")] {
			t.Fatalf("%s: the content of %s, %q, is nowhere", at, path, content)
		}
	}
}

func TestAnEditInTheLastInstantGoesBackToItsPlace(t *testing.T) {
	b := newBench(t, files{"x": "old"}, files{"x": "new"}, files{"x": "old"})
	path := filepath.Join(b.root, "x")
	testOnlyStep = func(name string) {
		if name == "replace" {
			must(t, os.WriteFile(path, []byte(edit), 0o644))
		}
	}
	defer func() { testOnlyStep = nil }()
	results, err := b.run()
	must(t, err)
	if got := read(t, b.root)["x"]; got != edit || results[0].State != Drifted {
		t.Errorf("%q, %+v", got, results)
	}
}

func TestNothingOutsideTheRootIsTouched(t *testing.T) {
	for _, name := range []string{"a link in the place of a file", "a link in the place of a directory", "a link to a file inside"} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, files{"d": "/", "d/x": "old", "y": "old", "z": "z"}, files{"d": "/", "d/x": "new", "d/n": "n", "y": "new", "z": "z"},
				files{"d": "/", "d/x": "old", "y": "old", "z": "z"})
			outside := t.TempDir()
			files{"canary": "alive", "x": "old"}.make(t, outside)
			switch name {
			case "a link in the place of a file":
				must(t, os.Remove(filepath.Join(b.root, "y")))
				must(t, os.Symlink(filepath.Join(outside, "canary"), filepath.Join(b.root, "y")))
			case "a link in the place of a directory":
				must(t, os.RemoveAll(filepath.Join(b.root, "d")))
				must(t, os.Symlink(outside, filepath.Join(b.root, "d")))
			case "a link to a file inside":
				must(t, os.Remove(filepath.Join(b.root, "y")))
				must(t, os.Symlink("z", filepath.Join(b.root, "y")))
			}
			results, err := b.run()
			must(t, err)
			if got := read(t, outside); !maps.Equal(got, files{"canary": "alive", "x": "old"}) {
				t.Errorf("outside: %q", got)
			}
			if got := read(t, b.root)["z"]; got != "z" {
				t.Errorf("z is %q", got)
			}
			if !slices.ContainsFunc(results, func(r Result) bool { return r.State == Drifted }) {
				t.Errorf("nothing drifted: %+v", results)
			}
		})
	}
}

func TestModesOtherThanTheBitSurviveAReplacement(t *testing.T) {
	b := newBench(t, files{"x": "old", "y": "old"}, files{"x": "new", "y": "*new"}, files{"x": "old", "y": "old"})
	must(t, os.Chmod(filepath.Join(b.root, "x"), 0o440))
	must(t, os.Chmod(filepath.Join(b.root, "y"), 0o640))
	_, err := b.run()
	must(t, err)
	for name, want := range map[string]fs.FileMode{"x": 0o440, "y": 0o750} {
		info, err := os.Stat(filepath.Join(b.root, name))
		must(t, err)
		if info.Mode().Perm() != want {
			t.Errorf("%s: %o, want %o", name, info.Mode().Perm(), want)
		}
	}
}

func TestAContentThatIsDamagedTouchesNothing(t *testing.T) {
	b := newBench(t, files{"x": "old"}, files{"x": "new", "y": "fresh"}, files{"x": "old"})
	b.job.Content = func(context.Context, digest.Digest, int64) io.Reader {
		return io.MultiReader(bytes.NewReader([]byte("ne")), errorReader{errors.New("damaged")})
	}
	results, err := b.run()
	must(t, err)
	if got := read(t, b.root); !maps.Equal(got, files{"x": "old"}) || len(results) != 2 || results[0].State != Failed {
		t.Errorf("%q, %+v", got, results)
	}
}

func TestWhatIsDamagedOrRefusedEndsItselfOnly(t *testing.T) {
	damage := errors.New("damaged")
	b := newBench(t, files{"x": "old"}, files{"x": "new", "y": "fresh", "z": "last"}, files{"x": "old"})
	content := b.job.Content
	b.job.Judge = func(err error) State {
		if errors.Is(err, damage) {
			return Damaged
		}
		return Failed
	}
	b.job.Content = func(ctx context.Context, sum digest.Digest, size int64) io.Reader {
		if sum == digest.Sum([]byte("new")) {
			return io.MultiReader(strings.NewReader("ne"), errorReader{damage})
		}
		return content(ctx, sum, size)
	}
	long := strings.Repeat("n", 256) // no file system here takes such a name
	for i := range b.job.Actions {
		if b.job.Actions[i].Path == "y" {
			b.job.Actions[i].Path = long
		}
	}
	results, err := b.run()
	must(t, err)
	if got := read(t, b.root); !maps.Equal(got, files{"x": "old", "z": "last"}) {
		t.Errorf("%q", got)
	}
	states := map[string]State{}
	for _, r := range b.recorded {
		states[r.Path] = r.State
	}
	if want := map[string]State{"x": Damaged, long: Refused, "z": Done}; !maps.Equal(states, want) {
		t.Errorf("%+v", results)
	}
}

func TestManyActionsShareTheirSyncs(t *testing.T) {
	dataset := files{}
	for i := range 3000 {
		dataset[fmt.Sprintf("f%04d", i)] = fmt.Sprint(i)
	}
	b := newBench(t, files{}, dataset, files{})
	syncs := 0
	testOnlyStep = func(name string) {
		if strings.HasPrefix(name, "sync") {
			syncs++
		}
	}
	defer func() { testOnlyStep = nil }()
	results, err := b.run()
	must(t, err)
	if got := read(t, b.root); !maps.Equal(got, dataset) || len(results) != 3000 || syncs > 6 {
		t.Errorf("%d files, %d results, %d syncs", len(got), len(results), syncs)
	}
}
