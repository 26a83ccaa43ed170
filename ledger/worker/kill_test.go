package worker_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/fixtures/fakedriver"
	"agentsync/ledger"
	"agentsync/ledger/durable"
	"agentsync/ledger/worker"
)

const (
	childDir  = "WORKER_TEST_DIR"  // where a child works; set for children alone
	childStep = "WORKER_TEST_STEP" // before which of its steps to the disk it dies
	diedAt    = 9                  // exit code of a child that did
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		os.Exit(child(dir, os.Getenv(childStep)))
	}
	os.Exit(m.Run())
}

// queue is what every child finds queued.
func queue() (commands []worker.Queued) {
	for _, session := range []string{"a", "b", "c"} {
		commands = append(commands, commandIn(session, session+"1", ledger.Prompt, "text", session+"1"),
			commandIn(session, session+"2", ledger.Rename, "title", session+"2"), commandIn(session, session+"3", ledger.Cancel))
	}
	return commands
}

// child is one pass on the real disk. Its agent writes down what it was asked for.
func child(dir, step string) int {
	n, err := strconv.Atoi(step)
	if err != nil {
		return 2
	}
	var steps atomic.Int64
	durable.SetStepHook(func(string) {
		if steps.Add(1) > int64(n) {
			os.Exit(diedAt)
		}
	})
	disk := durable.OS()
	commands, err := ledger.OpenCommands(context.Background(), disk, filepath.Join(dir, "state"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	agent := fakedriver.NewOperator().Act(func(_ context.Context, c fakedriver.Call, m collect.Milestones) (collect.Outcome, error) {
		log, err := os.OpenFile(filepath.Join(dir, "calls"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = fmt.Fprintln(log, c.Session+" "+c.Operation)
			err = errors.Join(err, log.Close())
		}
		if m != nil {
			m.CancelReady()
		}
		return collect.Outcome{Status: collect.Succeeded}, err
	})
	one := worker.New(worker.Options{OwnerDID: owner, Installation: here, Ledger: commands, Now: time.Now,
		Target: newShelf(disk, filepath.Join(dir, "store"), here), Operators: map[string]collect.Operator{"codex": agent}})
	ctx := context.Background()
	if err := errors.Join(one.Recover(ctx), one.Handle(ctx, queue()), one.Drain(ctx)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// runChild runs one pass and reports whether it came through.
func runChild(t *testing.T, dir string, step int) bool {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.Command(self)
	command.Env = append(os.Environ(), childDir+"="+dir, childStep+"="+strconv.Itoa(step))
	out, err := command.CombinedOutput()
	if err != nil && command.ProcessState.ExitCode() != diedAt {
		t.Fatalf("step %d: %v\n%s", step, err, out)
	}
	return err == nil
}

func TestAProcessThatDiesRunsNoCommandTwice(t *testing.T) {
	stride := 29
	if testing.Short() {
		stride = 101
	}
	points := 0
	for k := 0; ; k += stride {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "store"), 0o700); err != nil {
			t.Fatal(err)
		}
		through := runChild(t, dir, k)
		if !runChild(t, dir, 1<<30) {
			t.Fatalf("step %d: the second pass died too", k)
		}
		calls, err := os.ReadFile(filepath.Join(dir, "calls"))
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		for line := range strings.Lines(string(calls)) {
			if seen[line] {
				t.Errorf("step %d: %s twice", k, line)
			}
			seen[line] = true
		}
		w := newWorldOn(t, durable.OS(), filepath.Join(dir, "store"), filepath.Join(dir, "state"), here)
		w.quiet()
		for _, q := range queue() {
			r := w.receipt(q.Command.ID)
			called := bytes.Contains(calls, []byte(q.NativeSessionID+" "+string(q.Type)+"\n"))
			if r.Status != ledger.Unknown && (r.Status != ledger.Succeeded || !called) {
				t.Errorf("step %d: %s is %s, called %v", k, q.Command.ID, r.Status, called)
			}
		}
		if through {
			break
		}
		points++
	}
	t.Logf("%d points", points)
	if points == 0 {
		t.Error("no pass was cut off")
	}
}
