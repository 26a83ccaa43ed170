package durable_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"agentsync/fixtures/crashfs"
	"agentsync/ledger/durable"
)

var disk = durable.OS()

func TestReplace(t *testing.T) {
	for _, sync := range []bool{true, false} {
		t.Run(fmt.Sprintf("a new and an old file get the content, synced %t", sync), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.json")
			for _, content := range []string{"one", "", "three"} {
				if err := durable.Replace(disk, path, []byte(content), 0o600, sync); err != nil {
					t.Fatal(err)
				}
				wantFile(t, path, content)
			}
			wantNames(t, filepath.Dir(path), "a.json")
		})
	}
	t.Run("a failure leaves the old content and no temporary file", func(t *testing.T) {
		for _, step := range []string{"create", "write", "sync", "rename"} {
			d, path := memory(t), filepath.FromSlash("/d/a")
			if err := durable.Replace(d, path, []byte("old"), 0o600, true); err != nil {
				t.Fatal(err)
			}
			d.OnStep(failAt(step))
			if err := durable.Replace(d, path, []byte("new"), 0o600, true); !errors.Is(err, syscall.EIO) {
				t.Errorf("%s fails: %v", step, err)
			}
			if got, err := durable.ReadFile(d, path, 10); string(got) != "old" || err != nil || len(d.Files()) != 1 {
				t.Errorf("%s fails: %q, %v, files %q", step, got, err, d.Files())
			}
		}
	})
	t.Run("a full disk is told apart", func(t *testing.T) {
		d := memory(t)
		d.SetRoom(2)
		if err := durable.Replace(d, filepath.FromSlash("/d/a"), []byte("new"), 0o600, true); !durable.IsFull(err) || durable.IsReadOnly(err) {
			t.Fatal(err)
		}
	})
}

func TestCreate(t *testing.T) {
	t.Run("one of sixteen wins and nobody sees a part", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "a")
		var won atomic.Int32
		var all sync.WaitGroup
		for i := range 16 {
			all.Go(func() {
				content := strings.Repeat(string(rune('a'+i)), 1000)
				err := durable.Create(disk, path, []byte(content), 0o600)
				if err == nil {
					won.Add(1)
				} else if !errors.Is(err, fs.ErrExist) {
					t.Error(err)
				}
				got, err := durable.ReadFile(disk, path, 1000)
				if err != nil || string(got) != strings.Repeat(string(got[:1]), 1000) {
					t.Errorf("%d bytes of more than one writer, %v", len(got), err)
				}
			})
		}
		all.Wait()
		if won.Load() != 1 {
			t.Fatalf("%d won", won.Load())
		}
		wantNames(t, filepath.Dir(path), "a")
	})
	t.Run("it survives the loss of power", func(t *testing.T) {
		d := memory(t)
		d.SetSurvival(0)
		if err := durable.Create(d, filepath.FromSlash("/d/a"), []byte("new"), 0o600); err != nil {
			t.Fatal(err)
		}
		d.Crash()
		if got, err := durable.ReadFile(d, filepath.FromSlash("/d/a"), 10); string(got) != "new" || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
	})
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a")
	if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := durable.ReadFile(disk, path, 5); string(got) != "12345" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := durable.ReadFile(disk, path, 4); err == nil {
		t.Error("a file over the limit was read")
	}
	if _, err := durable.ReadFile(disk, filepath.Join(dir, "b"), 4); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if _, err := durable.ReadFile(disk, dir, 4); err == nil {
		t.Error("a folder was read")
	}
	if os.Symlink(path, filepath.Join(dir, "link")) == nil {
		if _, err := durable.ReadFile(disk, filepath.Join(dir, "link"), 5); err == nil {
			t.Error("a link was followed")
		}
	}
}

func TestFoldersAreDurable(t *testing.T) {
	d := crashfs.New(1)
	d.SetSurvival(0)
	path := filepath.FromSlash("/a/b/c")
	if err := durable.MkdirPrivate(d, path); err != nil {
		t.Fatal(err)
	}
	d.Crash()
	info, err := d.Lstat(path)
	if err != nil || info.Mode() != fs.ModeDir|0o700 {
		t.Fatalf("%v, %v", info, err)
	}
}

func TestSweepTemps(t *testing.T) {
	d := memory(t)
	dir := filepath.FromSlash("/d")
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	d.SetTime(now.Add(-48 * time.Hour))
	for _, name := range []string{"a.json", ".hidden", "a.tmp"} {
		if err := durable.Create(d, filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	leave := func() string {
		_, path, err := durable.CreateTemp(d, dir, "a.json", 0o600)
		if err != nil || !durable.IsTemp(filepath.Base(path)) {
			t.Fatalf("%s, %v", path, err)
		}
		return path
	}
	old := leave()
	d.SetTime(now)
	young := leave()
	if n, err := durable.SweepTemps(d, dir, now.Add(-24*time.Hour)); n != 1 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	left := strings.Join(d.Files(), " ")
	if len(d.Files()) != 4 || strings.Contains(left, old) || !strings.Contains(left, young) {
		t.Fatalf("left %s", left)
	}
	if n, err := durable.SweepTemps(d, filepath.FromSlash("/absent"), now); n != 0 || err != nil {
		t.Fatalf("an absent folder: %d, %v", n, err)
	}
}

func TestCheckPrivate(t *testing.T) {
	dir := t.TempDir()
	var refused *durable.NotPrivateError
	private := filepath.Join(dir, "private")
	for range 2 {
		if err := durable.MkdirPrivate(disk, private); err != nil {
			t.Fatal(err)
		}
	}
	if err := durable.CheckPrivate(disk, private); err != nil {
		t.Error(err)
	}
	if err := durable.CheckPrivate(disk, filepath.Join(dir, "absent")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	link := filepath.Join(dir, "link")
	if os.Symlink(private, link) == nil {
		if err := durable.MkdirPrivate(disk, link); !errors.As(err, &refused) {
			t.Errorf("a link: %v", err)
		}
	}
	if runtime.GOOS == "windows" {
		return
	}
	for _, mode := range []fs.FileMode{0o755, 0o770, 0o701, 0o704} {
		if err := os.Chmod(private, mode); err != nil {
			t.Fatal(err)
		}
		if err := durable.CheckPrivate(disk, private); !errors.As(err, &refused) || refused.Hint != "chmod go= "+private {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
	if err := os.Chmod(private, 0o700); err != nil {
		t.Fatal(err)
	}
	if os.Chown(private, 4321, -1) == nil {
		if err := durable.MkdirPrivate(disk, private); !errors.As(err, &refused) {
			t.Errorf("another user's folder: %v", err)
		}
	}
}

// A process that is killed before any of its steps leaves the old or the new content.
func TestKilledAtEveryStep(t *testing.T) {
	for _, job := range []string{"replace", "create"} {
		path := filepath.Join(t.TempDir(), "a")
		for k, killed := 0, true; killed; k++ {
			if k > 20 {
				t.Fatal("the child never ends")
			}
			_ = os.Remove(path)
			if job == "replace" {
				if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			out, err := child(t, job, path, fmt.Sprint(k)).CombinedOutput()
			killed = err != nil
			if len(out) != 0 {
				t.Fatalf("%s, step %d: %s", job, k, out)
			}
			got, err := os.ReadFile(path)
			absent := errors.Is(err, fs.ErrNotExist)
			if whole := string(got) == "new" || string(got) == "old" && job == "replace" || absent && job == "create"; !whole {
				t.Fatalf("%s, killed before step %d: %q, %v", job, k, got, err)
			}
			if !killed && (string(got) != "new" || k < 4) {
				t.Fatalf("%s ended after %d steps with %q", job, k, got)
			}
		}
		if _, err := durable.SweepTemps(disk, filepath.Dir(path), time.Now().Add(time.Hour)); err != nil {
			t.Fatal(err)
		}
		wantNames(t, filepath.Dir(path), "a")
	}
}

// childJob names the variable that makes the test binary a child with a job to do.
const childJob = "DURABLE_TEST_JOB"

func child(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childJob+"="+strings.Join(args, "|"))
	return cmd
}

func TestMain(m *testing.M) {
	job := strings.Split(os.Getenv(childJob), "|")
	switch job[0] {
	case "replace", "create":
		killBefore(job[2])
		write(job[0], job[1])
	case "hold":
		hold(job[1])
	default:
		os.Exit(m.Run())
	}
}

func killBefore(step string) {
	n := 0
	durable.SetStepHook(func(string) {
		if fmt.Sprint(n) == step {
			killSelf()
		}
		n++
	})
}

func killSelf() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		os.Exit(9)
	}
	select {}
}

func write(job, path string) {
	var err error
	if job == "replace" {
		err = durable.Replace(disk, path, []byte("new"), 0o600, true)
	} else {
		err = durable.Create(disk, path, []byte("new"), 0o600)
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func BenchmarkReplace(b *testing.B) {
	path := filepath.Join(b.TempDir(), "a")
	content := make([]byte, 4096)
	for _, sync := range []bool{true, false} {
		b.Run(fmt.Sprintf("sync=%t", sync), func(b *testing.B) {
			b.SetBytes(int64(len(content)))
			b.ReportAllocs()
			for b.Loop() {
				if err := durable.Replace(disk, path, content, 0o600, sync); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// memory returns a file system with the folder /d.
func memory(t *testing.T) *crashfs.FS {
	t.Helper()
	d := crashfs.New(1)
	if err := durable.MakeDirs(d, filepath.FromSlash("/d"), 0o700); err != nil {
		t.Fatal(err)
	}
	return d
}

func failAt(step string) func(crashfs.Step) error {
	return func(at crashfs.Step) error {
		if at.Name == step {
			return syscall.EIO
		}
		return nil
	}
}

func wantFile(t *testing.T, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); string(got) != want || err != nil {
		t.Fatalf("%s: %q, %v; want %q", path, got, err, want)
	}
}

func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if err != nil || strings.Join(got, " ") != strings.Join(want, " ") {
		t.Fatalf("%s holds %q, %v; want %q", dir, got, err, want)
	}
}
