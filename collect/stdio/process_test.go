package stdio

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// readAll reads a process to the end, and returns its lines and the error of the end.
func readAll(p *Process) (lines []string, err error) {
	for {
		line, err := p.Read()
		if err != nil {
			return lines, err
		}
		lines = append(lines, string(line))
	}
}

// noneLeft checks that no more goroutines run than before. One that has done its last work
// counts until it is gone.
func noneLeft(t *testing.T, before int) {
	t.Helper()
	for i := 0; runtime.NumGoroutine() > before && i < 1000; i++ {
		time.Sleep(5 * time.Millisecond)
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines before, %d after", before, after)
	}
}

func TestLinesComeBackAsTheyWereSent(t *testing.T) {
	p := start(t, child(t, "echo"))
	for _, line := range []string{"one", "", strings.Repeat("x", 300_000), "last"} {
		written := make(chan error, 1)
		go func() { written <- p.Write([]byte(line)) }() // an echo wants to be read meanwhile
		if got, err := p.Read(); err != nil || string(got) != line {
			t.Errorf("got %d bytes, %v", len(got), err)
		}
		if err := <-written; err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Write([]byte("two\nlines")); err == nil {
		t.Error("a line end within a line was sent")
	}
	if err := p.CloseInput(); err != nil {
		t.Error(err)
	}
	if lines, err := readAll(p); err != io.EOF || len(lines) != 0 {
		t.Errorf("ends with %q, %v", lines, err)
	}
	<-p.Done()
	if code, signaled := p.Exit(); code != 0 || signaled {
		t.Errorf("exit %d, signaled %v", code, signaled)
	}
	if err := p.Write([]byte("more")); !errors.Is(err, ErrNotSent) {
		t.Errorf("after the end: %v", err)
	}
}

func TestALineThatIsBrokenOffIsNotHandedOut(t *testing.T) {
	lines, err := readAll(start(t, child(t, "torn")))
	if len(lines) != 1 || lines[0] != "whole" || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %q, %v", lines, err)
	}
}

func TestAnExitCodeIsKept(t *testing.T) {
	p := start(t, child(t, "exit", "3"))
	_, err := readAll(p)
	<-p.Done()
	if code, signaled := p.Exit(); err != io.EOF || code != 3 || signaled {
		t.Errorf("exit %d, signaled %v, %v", code, signaled, err)
	}
}

func TestNothingIsInherited(t *testing.T) {
	t.Setenv("STDIO_TEST_SECRET", "1")
	c := child(t, "environment")
	c.Args = []string{"a", "b"}
	lines, err := readAll(start(t, c))
	want := map[bool]string{true: "1 3"}[len(c.Env) == 1]
	if err != io.EOF || len(lines) != 1 || want != "" && lines[0] != want {
		t.Errorf("the child has %q, %v", lines, err)
	}
}

func TestAProgramThatIsNotThereIsAnError(t *testing.T) {
	before := runtime.NumGoroutine()
	missing := filepath.Join(t.TempDir(), "agent")
	for name, c := range map[string]Command{
		"no path":   {},
		"no file":   {Path: missing},
		"no folder": {Path: child(t, "exit").Path, Dir: missing, Args: []string{"secret"}},
	} {
		p, err := Start(c)
		if err == nil {
			p.Stop(0)
			t.Errorf("%s: it started", name)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error quotes the arguments: %v", name, err)
		}
	}
	noneLeft(t, before)
}

func TestALongLineIsReadWholeAndATooLongOneIsSkipped(t *testing.T) {
	if testing.Short() {
		t.Skip("moves 120 MB; not with -short")
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p := start(t, child(t, "long", "52428800"))
	line, err := p.Read()
	if err != nil || len(line) != 50<<20 || bytes.Count(line, []byte("x")) != len(line) {
		t.Errorf("a line of 50 MiB: %d bytes, %v", len(line), err)
	}
	runtime.ReadMemStats(&after)
	t.Logf("a line of 50 MiB: %d MiB allocated, %d MiB of heap held", (after.TotalAlloc-before.TotalAlloc)>>20, (after.HeapAlloc-before.HeapAlloc)>>20)
	if line, err = p.Read(); err != nil || string(line) != "after" {
		t.Errorf("after it: %q, %v", line, err)
	}
	if kept := cap(p.lines.buffer); kept > keptBuffer {
		t.Errorf("a buffer of %d bytes was kept", kept)
	}

	p = start(t, child(t, "long", "73400320"))
	var long *LineError
	if line, err := p.Read(); !errors.As(err, &long) || long.Max != 64<<20 {
		t.Errorf("a line of 70 MiB: %d bytes, %v", len(line), err)
	}
	if line, err := p.Read(); err != nil || string(line) != "after" {
		t.Errorf("after it: %q, %v", line, err)
	}
}

func TestTheLimitOfALineIsExact(t *testing.T) {
	for _, size := range []string{"100000", "100001"} {
		c := child(t, "long", size)
		c.MaxLine = 100000
		line, err := start(t, c).Read()
		if size == "100000" && len(line) != 100000 {
			t.Errorf("the longest line: %d bytes, %v", len(line), err)
		}
		if size == "100001" && !errors.As(err, new(*LineError)) {
			t.Errorf("a line one byte longer: %d bytes, %v", len(line), err)
		}
	}
}

func TestTheEndOfStandardErrorIsKept(t *testing.T) {
	p := start(t, child(t, "stderr", "1000000"))
	if _, err := readAll(p); err != io.EOF {
		t.Error(err)
	}
	<-p.Done()
	if kept := p.Stderr(); len(kept) != 8<<10 || !bytes.HasSuffix(kept, []byte("...the last words\n")) {
		t.Errorf("kept %d bytes", len(kept))
	}
}

func TestWritingToADeafChildEnds(t *testing.T) {
	large := bytes.Repeat([]byte("x"), 1<<20)
	t.Run("by itself", func(t *testing.T) {
		p := start(t, child(t, "deaf"))
		p.stall = 100 * time.Millisecond
		err := p.Write(large)
		if runtime.GOOS != "windows" && !errors.Is(err, os.ErrDeadlineExceeded) || err == nil || errors.Is(err, ErrNotSent) {
			t.Errorf("%v", err)
		}
		if err := p.Write([]byte("x")); !errors.Is(err, ErrNotSent) {
			t.Errorf("after half a line: %v", err)
		}
	})
	t.Run("when it is stopped", func(t *testing.T) {
		p := start(t, child(t, "deaf"))
		if _, err := p.Read(); err != nil {
			t.Fatal(err)
		}
		written := make(chan error, 1)
		go func() { written <- p.Write(large) }()
		p.Stop(0)
		if err := <-written; err == nil {
			t.Error("a line that nobody read counts as written")
		}
	})
}

func TestStopEndsAReadThatWaits(t *testing.T) {
	before := runtime.NumGoroutine()
	p := start(t, child(t, "deaf"))
	if _, err := p.Read(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := p.Read()
		ended <- err
	}()
	p.Stop(20 * time.Millisecond)
	p.Stop(time.Hour) // at once: it is over
	if err := <-ended; err == nil {
		t.Error("a read after the end brought a line")
	}
	<-p.Done()
	if _, signaled := p.Exit(); !signaled && runtime.GOOS != "windows" {
		t.Error("a deaf child ended by itself")
	}
	noneLeft(t, before)
}
