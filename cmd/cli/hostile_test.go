//go:build unix

package cli

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What a pass over a hostile store may take.
const (
	hostileTime   = 20 * time.Second
	hostileMemory = 256 << 10 // KiB
	hostileLines  = 200       // of both outputs together
)

// siege is a machine whose store somebody else can write into.
type siege struct {
	*machine
	pristine string
}

// readers and writers are what is typed into a besieged machine. KEY stands for a session.
var (
	hostileReaders = []string{"ls --all", "show KEY", "log", "cat KEY", "restore --all --to OUT", "verify", "verify --deep", "status", "doctor",
		"prune", "command ls", "receipts", "dirsync ls", "dirsync preview here", "dirsync preview there"}
	hostileWriters = []string{"publish", "publish --full", "drain", "prune --keep 1 --grace 0s --apply"}
)

func newSiege(t *testing.T) *siege {
	t.Helper()
	s := &siege{machine: newMachine(t, 1), pristine: filepath.Join(t.TempDir(), "pristine")}
	for range 3 {
		s.append(0)
		s.run([]int{0}, "publish")
	}
	for _, side := range []string{"here", "there"} {
		for args := s.plan(side); args != nil; args = s.plan(side) {
			s.run([]int{0}, args...)
		}
	}
	s.run([]int{0}, "command", "send", "prompt", "claude/"+started, "look here")
	if err := os.Mkdir(s.pristine, 0o700); err != nil {
		t.Fatal(err)
	}
	copyAll(t, s.pristine, s.path("store"), s.path("state"))
	return s
}

func copyAll(t *testing.T, into string, names ...string) {
	t.Helper()
	if out, err := exec.Command("cp", append(append([]string{"-a"}, names...), into)...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// lay puts the store and the machine's state back as they were.
func (s *siege) lay(t *testing.T) {
	t.Helper()
	for _, name := range []string{"store", "state", "out"} {
		if err := os.RemoveAll(s.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	copyAll(t, s.dir, filepath.Join(s.pristine, "store"), filepath.Join(s.pristine, "state"))
}

// meets types a line. It ends in time, with one of the codes, in little memory, and says
// little.
func (s *siege) meets(t *testing.T, line string, codes []int) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), hostileTime)
	defer stop()
	line = strings.NewReplacer("KEY", "claude/"+started, "OUT", s.path("out")).Replace(line)
	cmd := s.command(ctx, strings.Fields(line)...)
	var out headWriter
	cmd.Stdout, cmd.Stderr = &out, &out
	_ = cmd.Run()
	short := string(out.head)
	if ctx.Err() != nil {
		t.Errorf("%s: still at work after %s\n%s", line, hostileTime, short)
		return
	}
	if got := cmd.ProcessState.ExitCode(); !slices.Contains(codes, got) {
		t.Errorf("%s: exit %d, want %v\n%s", line, got, codes, short)
	}
	if out.lines > hostileLines {
		t.Errorf("%s: says %d lines\n%s", line, out.lines, short)
	}
	if strings.Contains(short, "goroutine ") {
		t.Errorf("%s: panics\n%s", line, short)
	}
	used := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss
	if used > hostileMemory {
		t.Errorf("%s: takes %d MiB", line, used>>10)
	}
}

// headWriter keeps the beginning of what it is given, and counts lines.
type headWriter struct {
	head  []byte
	lines int
}

func (w *headWriter) Write(p []byte) (int, error) {
	w.lines += bytes.Count(p, []byte("\n"))
	w.head = append(w.head, p[:min(len(p), 1500-len(w.head))]...)
	return len(p), nil
}

// outside is the digest of everything that no pass over this store may touch. This process
// stays small by that: a child's peak of memory counts from its parent's on.
func (s *siege) outside(t *testing.T) string {
	t.Helper()
	seen := sha256.New()
	for _, name := range []string{"claude", "here", "there", "home", "config.yaml"} {
		err := filepath.WalkDir(s.path(name), func(path string, d fs.DirEntry, err error) error {
			if os.IsNotExist(err) {
				return nil
			}
			if err != nil {
				return err
			}
			fmt.Fprintln(seen, path, d.Type())
			if d.Type().IsRegular() {
				text, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				seen.Write(text)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return string(seen.Sum(nil))
}

func (s *siege) store(name string) string { return s.path("store/" + name) }

// one is the path of the only, or the first, name that fits.
func (s *siege) one(t *testing.T, pattern string) string {
	t.Helper()
	found, err := filepath.Glob(s.store(pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("%s: %v, %v", pattern, found, err)
	}
	return found[0]
}

// newest is the newest head's path, and its number.
func (s *siege) newest(t *testing.T, head string) (string, int) {
	t.Helper()
	found, err := filepath.Glob(s.store("heads/" + head + "/*.json"))
	if err != nil || len(found) == 0 {
		t.Fatal(found, err)
	}
	last := found[len(found)-1]
	return last, atoi(t, strings.TrimLeft(strings.TrimSuffix(filepath.Base(last), ".json"), "0"))
}

func (s *siege) headPath(head string, n int) string {
	return s.store(fmt.Sprintf("heads/%s/%012d.json", head, n))
}

const huge = 40 << 30 // bytes of a file without content

// swell makes a file of 40 GB, sparse.
func swell(t *testing.T, path string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	_ = os.Chmod(path, 0o600)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(huge); err != nil {
		t.Skipf("this file system holds no sparse file of that size: %v", err)
	}
}

// pipe puts a FIFO in a name's place, link a link.
func pipe(t *testing.T, path string) {
	t.Helper()
	replace(t, path, func() error { return syscall.Mkfifo(path, 0o600) })
}

func link(t *testing.T, path, target string) {
	t.Helper()
	replace(t, path, func() error { return os.Symlink(target, path) })
}

func replace(t *testing.T, path string, put func() error) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	if err := put(); err != nil {
		t.Fatal(err)
	}
}

func overwrite(t *testing.T, path, content string) {
	t.Helper()
	replace(t, path, func() error { return os.WriteFile(path, []byte(content), 0o600) })
}

// flip changes one byte of a file.
func flip(t *testing.T, path string, at func(size int) int) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[at(len(content))] ^= 0x20
	_ = os.Chmod(path, 0o600)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// hostile is one store that is not what it was, and how passes over it may end. Verbs that
// are in no list may end with any of the codes of the table.
type hostile struct {
	name  string
	spoil func(t *testing.T, s *siege)
	any   []int            // how every line may end
	must  map[string][]int // how some lines must
}

// Codes: all is well, done in part, a guard, damage.
var (
	wellOrDamaged = []int{0, 3, 5, 12}
	damagedOnly   = []int{12}
	unharmed      = []int{0, 3, 4}
)

func hostileStores() []hostile {
	damagedHead := map[string][]int{"ls --all": {12}, "verify": {12}, "publish": {5, 12}, "restore --all --to OUT": {12}}
	return []hostile{
		{"format.json of 40 GB", func(t *testing.T, s *siege) { swell(t, s.store("format.json")) }, wellOrDamaged,
			map[string][]int{"ls --all": damagedOnly, "publish": damagedOnly, "verify": damagedOnly, "drain": damagedOnly}},
		{"format.json that is a pipe", func(t *testing.T, s *siege) { pipe(t, s.store("format.json")) }, []int{0, 1, 3, 5, 10, 12},
			map[string][]int{"ls --all": {5, 12}, "publish": {5, 12}}},
		{"no format.json", func(t *testing.T, s *siege) { replace(t, s.store("format.json"), func() error { return nil }) }, []int{0, 3, 5, 10, 12},
			map[string][]int{"publish": {5, 12}, "publish --full": {5, 12}}},
		{"a hint of 40 GB", func(t *testing.T, s *siege) { swell(t, s.store("heads/sessions/hint")) }, unharmed, nil},
		{"a hint that is a pipe", func(t *testing.T, s *siege) { pipe(t, s.store("heads/sessions/hint")) }, unharmed, nil},
		{"a hint far ahead", func(t *testing.T, s *siege) { overwrite(t, s.store("heads/sessions/hint"), "999999\n") }, unharmed, nil},
		{"a hint far behind", func(t *testing.T, s *siege) { overwrite(t, s.store("heads/sessions/hint"), "1\n") }, unharmed, nil},
		{"a newest head of 40 GB", func(t *testing.T, s *siege) {
			path, _ := s.newest(t, "sessions")
			swell(t, path)
		}, wellOrDamaged, damagedHead},
		{"a newest head that is a pipe", func(t *testing.T, s *siege) {
			path, _ := s.newest(t, "sessions")
			pipe(t, path)
		}, wellOrDamaged, map[string][]int{"ls --all": {5, 12}, "verify": {5, 12}, "publish": {5, 12}}},
		{"a newest head that is a link to another", func(t *testing.T, s *siege) {
			path, n := s.newest(t, "sessions")
			link(t, path, filepath.Base(s.headPath("sessions", n-1)))
		}, wellOrDamaged, map[string][]int{"ls --all": {5, 12}, "publish": {5, 12}}},
		{"the newest head is gone", func(t *testing.T, s *siege) {
			path, _ := s.newest(t, "sessions")
			replace(t, path, func() error { return nil })
		}, wellOrDamaged, map[string][]int{"ls --all": {5}, "publish": {5}, "restore --all --to OUT": {5}, "verify": {5}}},
		{"all heads are gone", func(t *testing.T, s *siege) {
			replace(t, s.store("heads/sessions"), func() error { return nil })
		}, []int{0, 3, 5, 10, 12}, map[string][]int{"publish": {5, 12}, "ls --all": {5, 12}}},
		{"a head in the middle is gone", func(t *testing.T, s *siege) {
			_, n := s.newest(t, "sessions")
			replace(t, s.headPath("sessions", n-1), func() error { return nil })
		}, append(unharmed, 12), map[string][]int{"ls --all": {0}, "publish": {0}, "verify": {12}}},
		{"a stray head with a number far ahead", func(t *testing.T, s *siege) {
			overwrite(t, s.store("heads/sessions/000001000000.json"), "{}\n")
		}, wellOrDamaged, map[string][]int{"verify": {12}}},
		{"an older head again, far ahead", func(t *testing.T, s *siege) {
			text, err := os.ReadFile(s.headPath("sessions", 1))
			if err != nil {
				t.Fatal(err)
			}
			overwrite(t, s.store("heads/sessions/000000000900.json"), string(text))
		}, wellOrDamaged, map[string][]int{"verify": {12}}},
		{"an older head in the newest's place", func(t *testing.T, s *siege) {
			path, n := s.newest(t, "sessions")
			text, err := os.ReadFile(s.headPath("sessions", n-1))
			if err != nil {
				t.Fatal(err)
			}
			overwrite(t, path, string(text))
		}, wellOrDamaged, map[string][]int{"ls --all": {5, 12}, "publish": {5, 12}, "verify": {5, 12}, "restore --all --to OUT": {5, 12}}},
		{"a pack that goes on for 40 GB", func(t *testing.T, s *siege) { swell(t, s.one(t, "packs/*/*.pack")) }, wellOrDamaged,
			map[string][]int{"verify": {12}}},
		{"a pack that is a pipe", func(t *testing.T, s *siege) { pipe(t, s.one(t, "packs/*/*.pack")) }, wellOrDamaged, map[string][]int{"verify": {12}}},
		{"packs that are links to themselves", func(t *testing.T, s *siege) {
			for _, path := range s.all(t, "packs/*/*.pack") {
				link(t, path, filepath.Base(path))
			}
		}, wellOrDamaged, map[string][]int{"verify": {12}, "ls --all": {12}, "restore --all --to OUT": {12}}},
		{"packs with a flipped byte in front", func(t *testing.T, s *siege) {
			for _, path := range s.all(t, "packs/*/*.pack") {
				flip(t, path, func(int) int { return 40 })
			}
		}, wellOrDamaged, map[string][]int{"verify": {12}, "restore --all --to OUT": {12}}},
		{"packs with a flipped byte at their end", func(t *testing.T, s *siege) {
			for _, path := range s.all(t, "packs/*/*.pack") {
				flip(t, path, func(size int) int { return size - 20 })
			}
		}, wellOrDamaged, map[string][]int{"verify": {12}}},
		{"a queue with a pipe, links, a folder and 40 GB", func(t *testing.T, s *siege) {
			pipe(t, s.store("queues/@owner/pipe.json"))
			link(t, s.store("queues/@owner/link.json"), "/etc/passwd")
			link(t, s.store("queues/@owner/loop.json"), "loop.json")
			replace(t, s.store("queues/@owner/folder.json"), func() error { return os.Mkdir(s.store("queues/@owner/folder.json"), 0o700) })
			swell(t, s.store("queues/@owner/huge.json"))
		}, append(unharmed, 12), map[string][]int{"ls --all": {0}, "publish": {0}, "drain": {0, 3}}},
		{"a queue that is a link", func(t *testing.T, s *siege) { link(t, s.store("queues/other"), "/etc") }, append(unharmed, 12),
			map[string][]int{"ls --all": {0}, "publish": {0}, "drain": {0, 3}}},
		{"receipts that are pipes and links", func(t *testing.T, s *siege) {
			pipe(t, s.store("receipts/one/claim.json"))
			link(t, s.store("receipts/two"), "/")
			link(t, s.store("receipts/three/claim.json"), "/dev/zero")
			swell(t, s.store("receipts/four/claim.json"))
		}, append(unharmed, 12), map[string][]int{"ls --all": {0}, "publish": {0}}},
		{"objects that are pipes, links and 40 GB", func(t *testing.T, s *siege) {
			for i, path := range s.all(t, "objects/*/*") {
				switch i % 3 {
				case 0:
					pipe(t, path)
				case 1:
					link(t, path, "/dev/zero")
				case 2:
					swell(t, path)
				}
			}
		}, append(unharmed, 5, 12), map[string][]int{"ls --all": {0}, "publish": {0}, "verify": {12}}},
		{"a dataset's head of 40 GB", func(t *testing.T, s *siege) {
			path, _ := s.newest(t, "dataset-notes")
			swell(t, path)
		}, append(unharmed, 5, 12), map[string][]int{"ls --all": {0}, "dirsync preview here": {12}, "verify": {12}}},
		{"a dataset's newest head is gone", func(t *testing.T, s *siege) {
			path, _ := s.newest(t, "dataset-notes")
			replace(t, path, func() error { return nil })
		}, append(unharmed, 5, 12), map[string][]int{"ls --all": {0}, "dirsync preview there": {5}}},
		{"heads of strange names", func(t *testing.T, s *siege) {
			for _, name := range []string{"x", "-1.json", "000000000000.json", "99999999999999999999.json", "00000000000a.json", "..json"} {
				overwrite(t, s.store("heads/sessions/"+name), "{}")
			}
			overwrite(t, s.store("heads/stray/000000000001.json"), "{}")
		}, append(unharmed, 12), map[string][]int{"ls --all": {0}, "publish": {0}}},
		{"another owner's store in its place", func(t *testing.T, s *siege) {
			replace(t, s.path("store"), func() error { return nil })
			if err := os.RemoveAll(s.path("other")); err != nil {
				t.Fatal(err)
			}
			cmd := s.command(t.Context(), "publish")
			cmd.Env = append(cmd.Env, "XDG_DATA_HOME="+s.path("other"))
			cmd.Args = slices.Concat(cmd.Args[:1], []string{"--config", s.path("config.yaml"), "--state", s.path("other/state"), "--store", s.path("store"), "publish"})
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}, []int{0, 3, 5, 10, 12}, map[string][]int{"ls --all": {5}, "restore --all --to OUT": {5}, "verify": {5}, "publish": {5}, "drain": {5},
			"prune --keep 1 --grace 0s --apply": {5}}},
	}
}

// all are the paths of every name that fits.
func (s *siege) all(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(s.store(pattern))
	if err != nil || len(found) == 0 {
		t.Fatalf("%s: %v, %v", pattern, found, err)
	}
	return found
}

// hostileVariable asks for every verb on every store, which takes minutes; else only restore
// and some of those that have a code of their own are typed.
const hostileVariable = "AGENTSYNC_HOSTILE"

// TestAHostileStore runs the verbs over stores that somebody tampered with. Each ends in
// time, with a code that says what happened, in little memory, and touches nothing outside.
func TestAHostileStore(t *testing.T) {
	s := newSiege(t)
	for _, h := range hostileStores() {
		t.Run(h.name, func(t *testing.T) {
			s.lay(t)
			before := s.outside(t)
			h.spoil(t, s)
			for _, line := range hostileReaders {
				if h.chosen(line) {
					h.typed(t, s, line)
				}
			}
			if s.outside(t) != before {
				t.Error("a pass that reads wrote outside of the store")
			}
			for _, line := range hostileWriters {
				if h.chosen(line) {
					s.lay(t)
					h.spoil(t, s)
					h.typed(t, s, line)
				}
			}
		})
	}
}

// chosen reports a line that is typed: all of them where that is asked for.
func (h hostile) chosen(line string) bool {
	if os.Getenv(hostileVariable) != "" {
		return true
	}
	_, named := h.must[line]
	return named && !strings.HasPrefix(line, "verify") && line != "drain" || strings.HasPrefix(line, "restore")
}

func (h hostile) typed(t *testing.T, s *siege, line string) {
	t.Helper()
	codes, named := h.must[line]
	if !named {
		codes = h.any
	}
	if line == "doctor" { // what failed is 1, whatever it is
		codes = append([]int{1}, codes...)
	}
	s.meets(t, line, codes)
}
