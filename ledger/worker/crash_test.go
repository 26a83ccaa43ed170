package worker_test

import (
	"context"
	"fmt"
	"testing"

	"agentsync/collect"
	"agentsync/fixtures/crashfs"
	"agentsync/fixtures/fakedriver"
	"agentsync/ledger"
	"agentsync/ledger/worker"
)

// fleet is three sessions' commands, and an agent that outlives every crash of ours.
type fleet struct {
	t        *testing.T
	disk     *crashfs.FS
	agent    *fakedriver.Operator
	commands []worker.Queued
}

func newFleet(t *testing.T, survival float64) *fleet {
	f := &fleet{t: t, disk: crashfs.New(7), agent: fakedriver.NewOperator()}
	f.disk.SetSurvival(survival)
	for _, dir := range []string{"/store", "/state"} {
		if err := f.disk.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.disk.SyncDir("/"); err != nil {
		t.Fatal(err)
	}
	f.agent.Act(func(_ context.Context, c fakedriver.Call, m collect.Milestones) (collect.Outcome, error) {
		if m != nil {
			m.CancelReady()
		}
		return collect.Outcome{Status: collect.Succeeded}, nil
	})
	for _, session := range []string{"a", "b", "c"} {
		f.commands = append(f.commands,
			commandIn(session, session+"1", ledger.Prompt, "text", session+"1"),
			commandIn(session, session+"2", ledger.Rename, "title", session+"2"),
			commandIn(session, session+"3", ledger.SetMode, "mode", session+"3"))
	}
	f.commands = append(f.commands, commandIn("a", "a4", ledger.Cancel))
	return f
}

// pass is one run of the program, before whose n-th step towards the disk the power
// fails; -1 is never. The error of a run without a power failure is reported.
func (f *fleet) pass(n int) (through bool, w *world) {
	f.t.Helper()
	if n < 0 {
		n = 1 << 30
	}
	f.disk.StopBefore(n)
	defer func() {
		if f.disk.Stopped() {
			f.disk.Crash()
		}
	}()
	commands, err := ledger.OpenCommands(context.Background(), f.disk, "/state")
	if err != nil {
		if !f.disk.Stopped() {
			f.t.Error(err)
		}
		return false, nil
	}
	w = &world{t: f.t, disk: f.disk, ledger: commands, agent: f.agent}
	w.shelf = newShelf(f.disk, "/store", here)
	w.options = worker.Options{OwnerDID: owner, Installation: here, Target: w.shelf, Ledger: commands,
		Operators: map[string]collect.Operator{"codex": f.agent}, Now: w.now}
	_, err = w.run(f.commands...)
	if f.disk.Stopped() {
		return false, w
	}
	if err != nil {
		f.t.Error(err)
	}
	return true, w
}

// check looks at what all passes together left.
func (f *fleet) check(name string, w *world) (unknown int) {
	f.t.Helper()
	calls := map[string]int{}
	for _, c := range f.agent.Calls() {
		calls[c.Session+c.Operation]++
	}
	for _, q := range f.commands {
		n, r := calls[q.NativeSessionID+string(q.Type)], w.receipt(q.Command.ID)
		switch {
		case n > 1:
			f.t.Errorf("%s: %s ran %d times", name, q.Command.ID, n)
		case r.Status == ledger.Unknown:
			unknown++
		case r.Status != ledger.Succeeded || n != 1:
			f.t.Errorf("%s: %s is %s after %d calls", name, q.Command.ID, r.Status, n)
		}
	}
	w.quiet()
	return unknown
}

func TestNoCrashRunsACommandTwiceOrLosesItsReceipt(t *testing.T) {
	stride := 1
	if testing.Short() {
		stride = 7
	}
	for _, survival := range []float64{0, 0.5, 1} {
		points, most := 0, 0
		for k := 0; ; k += stride {
			name := fmt.Sprintf("survival %v, step %d", survival, k)
			f := newFleet(t, survival)
			through, _ := f.pass(k)
			f.pass(k % 29) // the recovery is cut off too
			_, last := f.pass(-1)
			if last == nil {
				t.Fatalf("%s: the ledger does not open", name)
			}
			most = max(most, f.check(name, last))
			if through || t.Failed() {
				break
			}
			points++
		}
		// Each session has one command at work, and a cancellation one beside.
		if points < 20/stride || most > 4 {
			t.Errorf("survival %v: %d points, up to %d commands unknown", survival, points, most)
		}
		t.Logf("survival %v: %d points, up to %d commands unknown", survival, points, most)
	}
}
