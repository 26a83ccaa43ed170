package durable_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"agentsync/ledger/durable"
)

var publishing = durable.Holder{PID: 4711, Verb: "publish", Since: time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC)}

func lock(t *testing.T, path string, wait time.Duration, who durable.Holder) func() error {
	t.Helper()
	release, err := durable.Lock(t.Context(), disk, path, wait, who)
	if err != nil {
		t.Fatal(err)
	}
	return release
}

func wantHeld(t *testing.T, path string, want durable.Holder) {
	t.Helper()
	_, err := durable.Lock(t.Context(), disk, path, 0, durable.Holder{})
	var held *durable.HeldError
	if !errors.As(err, &held) || held.Path != path || held.Holder != want {
		t.Fatalf("%v; want a *HeldError that names %v", err, want)
	}
}

func TestLock(t *testing.T) {
	t.Run("a held lock names its holder, a free one is taken again", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "publish.lock")
		release := lock(t, path, 0, publishing)
		wantHeld(t, path, publishing)
		for range 2 {
			if err := release(); err != nil {
				t.Fatal(err)
			}
		}
		release = lock(t, path, 0, durable.Holder{})
		wantHeld(t, path, durable.Holder{})
		if err := release(); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Lstat(path); err != nil || runtime.GOOS != "windows" && info.Mode() != 0o600 {
			t.Fatalf("the lock file: %v, %v", info, err)
		}
	})
	t.Run("a waiter gets the lock when it is released", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "a.lock")
		release := lock(t, path, 0, publishing)
		got := make(chan error)
		go func() {
			next, err := durable.Lock(context.Background(), disk, path, time.Minute, publishing)
			if err == nil {
				err = next()
			}
			got <- err
		}()
		if err := release(); err != nil {
			t.Fatal(err)
		}
		if err := <-got; err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a wait ends", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "a.lock")
		defer lock(t, path, 0, publishing)()
		var held *durable.HeldError
		if _, err := durable.Lock(t.Context(), disk, path, time.Millisecond, publishing); !errors.As(err, &held) {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := durable.Lock(ctx, disk, path, -1, publishing); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	})
	t.Run("goroutines exclude each other", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "a.lock")
		inside := 0
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 5 {
					release, err := durable.Lock(t.Context(), disk, path, time.Minute, durable.Holder{})
					if err != nil {
						t.Error(err)
						return
					}
					inside++
					if err := release(); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		if inside != 40 {
			t.Fatalf("%d of 40", inside)
		}
	})
}

// C129: what the lock file or the holder's file contains never keeps anybody out.
func TestLockIgnoresWhatFilesSay(t *testing.T) {
	for name, content := range map[string]string{
		"a dead process": `{"pid":1,"verb":"publish"}`, "nothing": "", "garbage": "\x00\xff{", "a number": "999999",
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.lock")
			for _, file := range []string{path, path + ".holder"} {
				if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			release := lock(t, path, 0, durable.Holder{})
			if name == "garbage" {
				wantHeld(t, path, durable.Holder{})
			}
			if err := release(); err != nil {
				t.Fatal(err)
			}
			wantFile(t, path, content)
		})
	}
	t.Run("a lock that cannot be opened is its own error", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "a.lock")
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		_, err := durable.Lock(t.Context(), disk, path, time.Minute, publishing)
		var held *durable.HeldError
		if err == nil || errors.As(err, &held) || !strings.Contains(err.Error(), path) {
			t.Fatal(err)
		}
	})
	t.Run("a link is no lock file", func(t *testing.T) {
		dir := t.TempDir()
		path := filepath.Join(dir, "a.lock")
		if err := os.Symlink(filepath.Join(dir, "elsewhere"), path); err != nil || runtime.GOOS == "windows" {
			t.Skip("no refusal of links here")
		}
		if _, err := durable.Lock(t.Context(), disk, path, 0, publishing); err == nil {
			t.Fatal("taken")
		}
		if _, err := os.Lstat(filepath.Join(dir, "elsewhere")); !errors.Is(err, fs.ErrNotExist) {
			t.Fatal("a file was made at the link's end")
		}
	})
}

// C127, C128: a live holder is never robbed, a killed one leaves nothing to clean up.
func TestLockOfAKilledProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "publish.lock")
	holder := child(t, "hold", path)
	stdin, err := holder.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := holder.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := holder.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "held\n" {
		t.Fatalf("the child says %q, %v", line, err)
	}
	long := time.Unix(0, 0)
	if err := os.Chtimes(path, long, long); err != nil {
		t.Fatal(err)
	}
	want := publishing
	want.PID = holder.Process.Pid
	wantHeld(t, path, want)
	if err := holder.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = holder.Wait() // it was killed: an error is what is expected
	if err := lock(t, path, 0, publishing)(); err != nil {
		t.Fatal(err)
	}
}

// hold is the child: it takes the lock and keeps it until it is killed.
func hold(path string) {
	who := publishing
	who.PID = os.Getpid()
	if _, err := durable.Lock(context.Background(), disk, path, 0, who); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("held")
	_, _ = io.Copy(io.Discard, os.Stdin) // until the parent goes away
}

func BenchmarkLock(b *testing.B) {
	path := filepath.Join(b.TempDir(), "a.lock")
	b.ReportAllocs()
	for b.Loop() {
		release, err := durable.Lock(b.Context(), disk, path, 0, durable.Holder{})
		if err != nil {
			b.Fatal(err)
		}
		if err := release(); err != nil {
			b.Fatal(err)
		}
	}
}
