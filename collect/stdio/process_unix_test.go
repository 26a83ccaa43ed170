//go:build unix

package stdio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// alive reports whether a process runs. One that nobody has waited for is dead.
func alive(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return false
	}
	state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return runtime.GOOS != "linux"
	}
	_, after, _ := bytes.Cut(state, []byte(") "))
	return !bytes.HasPrefix(after, []byte("Z"))
}

// dies reports whether a process ends within two seconds.
func dies(pid int) bool {
	for range 400 {
		if !alive(pid) {
			return true
		}
		time.Sleep(5 * time.Millisecond)
	}
	return false
}

func readNumber(t *testing.T, p *Process) int {
	t.Helper()
	line, err := p.Read()
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(string(line))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if alive(n) {
			_ = syscall.Kill(n, syscall.SIGKILL)
		}
	})
	return n
}

func TestStopEndsWhatTheChildStarted(t *testing.T) {
	p := start(t, child(t, "wrapper"))
	inner := readNumber(t, p)
	if !alive(inner) || !alive(p.cmd.Process.Pid) {
		t.Fatal("it does not run")
	}
	p.Stop(50 * time.Millisecond)
	if alive(inner) || alive(p.cmd.Process.Pid) {
		t.Error("something of the group is left")
	}
}

func TestStopEndsTheToolsOfAnAgent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells who descends from whom")
	}
	p := start(t, child(t, "tool"))
	tool := readNumber(t, p)
	p.Stop(5 * time.Second)
	if code, signaled := p.Exit(); code != 0 || signaled {
		t.Errorf("the agent was not let end by itself: exit %d, signaled %v", code, signaled)
	}
	if alive(tool) {
		t.Error("its tool runs on")
	}
}

func TestStopAsksBeforeItKills(t *testing.T) {
	p := start(t, child(t, "politely"))
	if _, err := p.Read(); err != nil {
		t.Fatal(err)
	}
	p.Stop(5 * time.Second / 10)
	if code, signaled := p.Exit(); code != 7 || signaled {
		t.Errorf("exit %d, signaled %v", code, signaled)
	}
}

func TestALeaderThatEndsTakesItsGroupAlong(t *testing.T) {
	p := start(t, child(t, "leaves"))
	inner := readNumber(t, p)
	if lines, err := readAll(p); err != io.EOF {
		t.Errorf("%q, %v", lines, err)
	}
	<-p.Done()
	if alive(inner) {
		t.Error("what the child left behind runs on")
	}
}

func TestAnOutsiderThatKeepsStdoutDoesNotHoldUsUp(t *testing.T) {
	p := start(t, child(t, "daemon"))
	outsider := readNumber(t, p)
	if lines, err := readAll(p); err != io.EOF || len(lines) != 0 {
		t.Errorf("%q, %v", lines, err)
	}
	<-p.Done()
	if !alive(outsider) {
		t.Error("a process of another session was ended")
	}
}

func TestAKilledParentLeavesNoChild(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux ties a child to its parent's life")
	}
	for _, role := range []string{"deaf", "wrapper", "echo"} {
		t.Run(role, func(t *testing.T) {
			c := child(t, "parent", role)
			cmd := &exec.Cmd{Path: c.Path, Args: []string{c.Path}, Env: c.Env}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer cmd.Wait()
			defer cmd.Process.Kill()
			var pid int
			if _, err := fmt.Fscanln(out, &pid); err != nil || !alive(pid) {
				t.Fatalf("no child %d: %v", pid, err)
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if !dies(pid) {
				t.Error("the child outlived its parent")
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		})
	}
}

// TestAChildOutlivesTheThreadsThatDoNotOwnIt is the trap of a signal that comes when a
// thread ends: threads come and go while the child runs.
func TestAChildOutlivesTheThreadsThatDoNotOwnIt(t *testing.T) {
	p := make(chan *Process)
	go func() {
		runtime.LockOSThread() // and ends locked: its thread ends with it
		started, err := Start(child(t, "echo"))
		if err != nil {
			t.Error(err)
		}
		p <- started
	}()
	echo := <-p
	if echo == nil {
		t.FailNow()
	}
	defer echo.Stop(0)
	for range 20 {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			runtime.LockOSThread()
		}()
		<-ended
		if err := echo.Write([]byte("still here")); err != nil {
			t.Fatal(err)
		}
		if line, err := echo.Read(); err != nil || string(line) != "still here" {
			t.Fatalf("%q, %v", line, err)
		}
	}
}
