package cli

import (
	"context"
	"crypto/rand"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/collect/value"
	"agentsync/fixtures/fakedriver"
	"agentsync/ledger"
	"agentsync/ledger/durable"
	"agentsync/ledger/worker"
	"agentsync/publish"
	folder "agentsync/publish/store/fs"
)

var _ worker.Target = (*publish.Target)(nil)

// shop is one store of one owner, and the machines that work on its queue.
type shop struct {
	t     testing.TB
	dir   string
	owner *ledger.Identity
	agent *fakedriver.Operator
}

func newShop(t testing.TB) *shop {
	return &shop{t: t, dir: t.TempDir(), agent: fakedriver.NewOperator()}
}

// open makes a machine of a name: its state folder, its ledger and the store, opened.
func (s *shop) open(name string) (*publish.Target, *ledger.Commands, *worker.Worker) {
	s.t.Helper()
	ctx, disk := context.Background(), durable.OS()
	must := func(err error) {
		if err != nil {
			s.t.Helper()
			s.t.Fatal(err)
		}
	}
	state, err := ledger.OpenState(disk, filepath.Join(s.dir, name))
	must(err)
	if s.owner == nil {
		s.owner, err = ledger.OpenIdentity(state, rand.Reader)
		must(err)
	}
	installation, err := ledger.OpenInstallation(state, "", "", rand.Reader)
	must(err)
	place, err := folder.Open(filepath.Join(s.dir, "store"), true)
	must(err)
	s.t.Cleanup(func() { _ = place.Close() })
	local := state.Path("stores")
	must(durable.MkdirPrivate(disk, local))
	options := publish.Options{Store: place, FS: disk, State: local, Signer: s.owner, Installation: installation, Rand: rand.Reader, Workers: 2}
	target, err := publish.Open(ctx, options)
	if err != nil {
		target, err = publish.Create(ctx, options, time.Now())
	}
	must(err)
	book, err := ledger.OpenCommands(ctx, disk, local)
	must(err)
	return target, book, worker.New(worker.Options{OwnerDID: s.owner.DID(), Installation: installation, Target: target, Ledger: book,
		Operators: map[string]collect.Operator{"codex": s.agent}, Now: time.Now})
}

// send queues n prompts, in turn to each of the sessions, and returns them as they are
// read from the store.
func (s *shop) send(target *publish.Target, n, sessions int) []worker.Queued {
	s.t.Helper()
	ctx := context.Background()
	for i := range n {
		c := ledger.Command{OwnerDID: s.owner.DID(), ID: fmt.Sprintf("c%04d", i), CreatedAt: fmt.Sprintf("2026-01-01T00:00:00.%03dZ", i%1000),
			SourceID: "codex", NativeSessionID: fmt.Sprintf("s%02d", i%sessions), Type: ledger.Prompt,
			Payload: value.NewBuilder().Record().Key("text").String(fmt.Sprintf("c%04d", i)).End().Finish()}
		if _, err := target.Send(ctx, "", s.owner, c); err != nil {
			s.t.Fatal(err)
		}
	}
	queue, err := target.Queued(ctx, func(ledger.CommandID) bool { return false })
	if err != nil || len(queue.Commands) != n || len(queue.Refused) > 0 {
		s.t.Fatalf("%d commands, %v, %v", len(queue.Commands), queue.Refused, err)
	}
	list := make([]worker.Queued, n)
	for i, q := range queue.Commands {
		list[i] = worker.Queued{Command: q.Command, Producer: q.Producer}
	}
	return list
}

func (s *shop) drain(w *worker.Worker, commands []worker.Queued) {
	s.t.Helper()
	if err := w.Handle(context.Background(), commands); err != nil {
		s.t.Error(err)
	}
	if err := w.Drain(context.Background()); err != nil {
		s.t.Error(err)
	}
}

func TestTwoMachinesOnOneQueueRunEachCommandOnce(t *testing.T) {
	n := 200
	if testing.Short() {
		n = 30
	}
	s := newShop(t)
	target, here, one := s.open("here")
	_, there, other := s.open("there")
	commands := s.send(target, n, 10)
	var both sync.WaitGroup
	for _, w := range []*worker.Worker{one, other} {
		both.Go(func() { s.drain(w, commands) })
	}
	both.Wait()
	ran := map[string]int{}
	for _, call := range s.agent.Calls() {
		ran[call.Text]++
	}
	for _, c := range commands {
		if ran[c.Command.ID] != 1 {
			t.Errorf("%s ran %d times", c.Command.ID, ran[c.Command.ID])
		}
		shared, err := target.ReadReceipt(context.Background(), c.ID())
		if err != nil || shared == nil || shared.Status != ledger.Succeeded {
			t.Errorf("%s: %+v, %v", c.Command.ID, shared, err)
		}
	}
	for name, book := range map[string]*ledger.Commands{"here": here, "there": there} {
		if len(book.Pending())+len(book.InFlight()) > 0 {
			t.Errorf("%s: %d receipts to be published, %d commands in flight", name, len(book.Pending()), len(book.InFlight()))
		}
	}
}

func BenchmarkDrain1000(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		s := newShop(b)
		target, _, w := s.open("here")
		commands := s.send(target, 1000, 50)
		b.StartTimer()
		s.drain(w, commands)
	}
	b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "commands/s")
}
