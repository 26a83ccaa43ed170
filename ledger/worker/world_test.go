package worker_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/collect/value"
	"agentsync/fixtures/crashfs"
	"agentsync/fixtures/fakedriver"
	"agentsync/ledger"
	"agentsync/ledger/durable"
	"agentsync/ledger/worker"
)

const (
	owner = "did:key:z6MkOwner"
	here  = "here"
	there = "there"
)

// world is one installation with a store, an agent and a clock.
type world struct {
	t        testing.TB
	disk     durable.FS
	shelf    *shelf
	agent    *fakedriver.Operator
	ledger   *ledger.Commands
	options  worker.Options
	mu       sync.Mutex
	ticks    time.Duration
	faults   faults
	lists    [][]ledger.Receipt // calls of ListReceipts that came through
	observed []ledger.Receipt
	failures []worker.Failure
	began    int // providers called
}

// newWorld makes one whose ledger and store are in memory.
func newWorld(t testing.TB) *world {
	disk := crashfs.New(1)
	for _, dir := range []string{"/store", "/state"} {
		if err := disk.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return newWorldOn(t, disk, "/store", "/state", here)
}

func newWorldOn(t testing.TB, disk durable.FS, store, state, installation string) *world {
	w := &world{t: t, disk: disk, agent: fakedriver.NewOperator(),
		shelf: newShelf(disk, store, installation)}
	commands, err := ledger.OpenCommands(context.Background(), disk, state)
	if err != nil {
		t.Fatal(err)
	}
	w.ledger = commands
	w.options = worker.Options{OwnerDID: owner, Installation: installation, Target: &target{w}, Ledger: commands,
		Operators: map[string]collect.Operator{"codex": w.agent},
		Owner:     func(string) worker.Owner { return worker.Nobody },
		Now:       w.now, Grace: 20 * time.Millisecond, ListEvery: time.Hour,
		Observe: func(r ledger.Receipt) { w.locked(func() { w.observed = append(w.observed, r) }) },
		Failed:  func(f worker.Failure) { w.locked(func() { w.failures = append(w.failures, f) }) },
		Running: func(_ worker.Queued, begun bool) {
			if begun {
				w.locked(func() { w.began++ })
			}
		},
	}
	return w
}

func (w *world) locked(act func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	act()
}

// now is a millisecond later at each call.
func (w *world) now() (at time.Time) {
	w.locked(func() {
		w.ticks += time.Millisecond
		at = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).Add(w.ticks)
	})
	return at
}

func (w *world) worker() *worker.Worker { return worker.New(w.options) }

// run does what one pass does.
func (w *world) run(commands ...worker.Queued) (*worker.Worker, error) {
	one := w.worker()
	err := one.Recover(context.Background())
	return one, errors.Join(err, one.Handle(context.Background(), commands), one.Drain(context.Background()))
}

// mustRun is run without trouble.
func (w *world) mustRun(commands ...worker.Queued) worker.Stats {
	w.t.Helper()
	one, err := w.run(commands...)
	if err != nil {
		w.t.Fatal(err)
	}
	return one.Stats()
}

// receipt is a command's receipt, which the ledger and the store agree on.
func (w *world) receipt(id string) ledger.Receipt {
	w.t.Helper()
	kept, found, err := w.ledger.Get(ledger.CommandID{ID: id})
	if err != nil || !found {
		w.t.Fatalf("the ledger has no receipt of %s: %v", id, err)
	}
	shared, err := w.shelf.ReadReceipt(context.Background(), kept.CommandID)
	if err != nil || shared == nil || !w.shelf.same(shared.Receipt, kept) {
		w.t.Fatalf("ledger %+v, store %+v, %v", kept, shared, err)
	}
	return kept
}

// wants checks a command's receipt: the status and the code of its problem.
func (w *world) wants(id string, status ledger.ReceiptStatus, code string) {
	w.t.Helper()
	r := w.receipt(id)
	got := ""
	if r.Problem != nil {
		got = r.Problem.Code
	}
	if r.Status != status || got != code {
		w.t.Errorf("%s is %s %q, want %s %q", id, r.Status, got, status, code)
	}
	if r.Status.Terminal() != (r.CompletedAt != "") {
		w.t.Errorf("%s is %s and completed %q", id, r.Status, r.CompletedAt)
	}
}

// quiet checks that nothing awaits publication.
func (w *world) quiet() {
	w.t.Helper()
	if pending, inFlight := w.ledger.Pending(), w.ledger.InFlight(); len(pending)+len(inFlight) > 0 {
		w.t.Errorf("pending %+v, in flight %+v", pending, inFlight)
	}
}

// texts are the texts of the calls that the agent got.
func (w *world) texts() (texts []string) {
	for _, c := range w.agent.Calls() {
		texts = append(texts, c.Operation+" "+c.Text)
	}
	return texts
}

// shared puts a receipt of another installation, or a lost run, into the store.
func (w *world) shared(installation string, r ledger.Receipt) {
	w.t.Helper()
	s := *w.shelf
	s.installation = installation
	claim := r
	claim.Status, claim.CompletedAt, claim.Problem = ledger.InFlight, "", nil
	if _, _, err := s.Claim(context.Background(), claim); err != nil {
		w.t.Fatal(err)
	}
	if !r.Status.Terminal() {
		return
	}
	if err := s.PublishReceipt(context.Background(), r); err != nil {
		w.t.Fatal(err)
	}
}

func claimed(id string) ledger.Receipt {
	return ledger.Receipt{OwnerDID: owner, CommandID: ledger.CommandID{ID: id}, SourceID: "codex",
		NativeSessionID: "s", Status: ledger.InFlight, ClaimedAt: "2026-01-01T11:00:00.000Z"}
}

func ended(id string, status ledger.ReceiptStatus) ledger.Receipt {
	r := claimed(id)
	r.Status, r.CompletedAt = status, "2026-01-01T11:00:01.000Z"
	return r
}

// command makes a command for session s of codex; fields are the payload's.
func command(id string, kind ledger.CommandType, fields ...string) worker.Queued {
	return commandIn("s", id, kind, fields...)
}

func commandIn(session, id string, kind ledger.CommandType, fields ...string) worker.Queued {
	payload := value.NewBuilder().Record()
	for i := 0; i+1 < len(fields); i += 2 {
		payload.Key(fields[i]).String(fields[i+1])
	}
	return worker.Queued{Command: ledger.Command{OwnerDID: owner, ID: id, CreatedAt: "now", SourceID: "codex",
		NativeSessionID: session, Type: kind, Payload: payload.End().Finish()}}
}

func prompt(id string) worker.Queued { return command(id, ledger.Prompt, "text", "say "+id) }

func cancel(id string) worker.Queued { return command(id, ledger.Cancel) }

// target lets faults at the calls of the shelf.
type target struct{ w *world }

// faults are errors by the method's name; after says that the call comes through all
// the same and only its answer is lost. Nil functions let everything pass.
type faults struct {
	fail func(method string, id ledger.CommandID) (err error, after bool)
}

func (f *target) fault(method string, id ledger.CommandID) (err error, after bool) {
	if f.w.faults.fail == nil {
		return nil, false
	}
	return f.w.faults.fail(method, id)
}

func (f *target) ReadReceipt(ctx context.Context, id ledger.CommandID) (*ledger.SharedReceipt, error) {
	if err, _ := f.fault("read", id); err != nil {
		return nil, err
	}
	return f.w.shelf.ReadReceipt(ctx, id)
}

func (f *target) Claim(ctx context.Context, r ledger.Receipt) (bool, *ledger.SharedReceipt, error) {
	err, after := f.fault("claim", r.CommandID)
	if err != nil && !after {
		return false, nil, err
	}
	won, taken, claimErr := f.w.shelf.Claim(ctx, r)
	if err != nil {
		return false, nil, err
	}
	return won, taken, claimErr
}

func (f *target) PublishReceipt(ctx context.Context, r ledger.Receipt) error {
	err, after := f.fault("publish", r.CommandID)
	if err != nil && !after {
		return err
	}
	return errors.Join(err, f.w.shelf.PublishReceipt(ctx, r))
}

func (f *target) ListReceipts(ctx context.Context, receipts []ledger.Receipt) error {
	err, after := f.fault("list", ledger.CommandID{})
	if err != nil && !after {
		return err
	}
	if err = errors.Join(err, f.w.shelf.ListReceipts(ctx, receipts)); err != nil {
		return err
	}
	f.w.locked(func() { f.w.lists = append(f.w.lists, receipts) })
	return nil
}

// once fails the first call of a method.
func (w *world) once(method string, after bool) error {
	fault := fmt.Errorf("no answer to %s", method)
	done := false
	w.faults.fail = func(called string, _ ledger.CommandID) (error, bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if called != method || done {
			return nil, false
		}
		done = true
		return fault, after
	}
	return fault
}
