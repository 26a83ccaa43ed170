package worker_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/fixtures/crashfs"
	"agentsync/fixtures/fakedriver"
	"agentsync/ledger"
	"agentsync/ledger/worker"
)

// pair is two installations, each with a ledger of its own, that share a store and an
// agent.
func pair(t *testing.T) [2]*world {
	disk := crashfs.New(3)
	for _, dir := range []string{"/store", "/one", "/two"} {
		if err := disk.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	both := [2]*world{newWorldOn(t, disk, "/store", "/one", here), newWorldOn(t, disk, "/store", "/two", there)}
	both[1].shelf.mu = both[0].shelf.mu
	both[1].agent = both[0].agent
	both[1].options.Operators = both[0].options.Operators
	return both
}

func TestTwoInstallationsRunEachCommandOnceBetweenThem(t *testing.T) {
	n := 1000
	if testing.Short() {
		n = 200
	}
	both := pair(t)
	var commands []worker.Queued
	for i := range n {
		commands = append(commands, commandIn(fmt.Sprint(i%50), fmt.Sprint(i), ledger.Prompt, "text", fmt.Sprint(i)))
	}
	for i, w := range both {
		w.disturb(uint64(i))
		w.options.ListEvery = 20 * time.Millisecond
	}
	for pass := range 3 {
		var running sync.WaitGroup
		for i, w := range both {
			running.Go(func() {
				mine := slices.Clone(commands)
				rand.New(rand.NewPCG(uint64(pass), uint64(i))).Shuffle(n, func(a, b int) { mine[a], mine[b] = mine[b], mine[a] })
				if _, err := w.run(mine...); err != nil && (pass > 0 || !errors.Is(err, errAway)) {
					t.Error(err)
				}
			})
		}
		running.Wait()
		for _, w := range both {
			w.faults.fail = nil // the store is sound after the first pass
		}
	}
	ran := map[string]int{}
	for _, c := range both[0].agent.Calls() {
		ran[c.Text]++
	}
	undone := 0
	for i := range n {
		id := fmt.Sprint(i)
		switch r := both[0].receipt(id); {
		case ran[id] == 1 && r.Status == ledger.Succeeded:
		case ran[id] == 0 && r.Status == ledger.Failed && r.Problem.Code == "claim-publish-failed":
			undone++ // the claim's answer was lost, and so was that of looking for it
		default:
			t.Errorf("%s ran %d times and is %s", id, ran[id], r.Status)
		}
		if !both[0].shelf.same(both[0].receipt(id), both[1].receipt(id)) {
			t.Errorf("%s: the ledgers differ", id)
		}
	}
	for _, w := range both {
		w.quiet()
	}
	t.Logf("ran %d and %d, undone %d", both[0].began, both[1].began, undone)
	if both[0].began == 0 || both[1].began == 0 || undone > n/100 {
		t.Error("too few ran")
	}
}

var errAway = errors.New("the store is away")

// disturb lets some calls fail, and some answers be lost.
func (w *world) disturb(seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	w.faults.fail = func(method string, _ ledger.CommandID) (error, bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if random.IntN(12) > 0 {
			return nil, false
		}
		return errAway, random.IntN(2) == 0
	}
}

func TestOverlappingCallsAdmitEachCommandOnce(t *testing.T) {
	w := newWorld(t)
	one := w.worker()
	var commands []worker.Queued
	for i := range 100 {
		commands = append(commands, commandIn(fmt.Sprint(i%9), fmt.Sprint(i), ledger.Rename, "title", fmt.Sprint(i)))
	}
	var handing sync.WaitGroup
	for range 8 {
		handing.Go(func() {
			if err := errors.Join(one.Handle(context.Background(), commands), one.Drain(context.Background())); err != nil {
				t.Error(err)
			}
		})
	}
	handing.Wait()
	stats := one.Stats()
	if w.calls(100); stats.Admitted != 100 || stats.Known != 700 || stats.Ran[ledger.Succeeded] != 100 {
		t.Errorf("stats %+v", stats)
	}
	w.quiet()
}

func TestTenThousandCommandsTakeLittleMemory(t *testing.T) {
	const n = 10_000
	w := newWorld(t)
	begun := make(chan struct{}, 100)
	w.agent.Act(func(ctx context.Context, _ fakedriver.Call, _ collect.Milestones) (collect.Outcome, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return collect.Outcome{Status: collect.Failed}, nil
	})
	var commands []worker.Queued
	for i := range n {
		commands = append(commands, commandIn(fmt.Sprint(i%3000), fmt.Sprint(i), ledger.Prompt, "text", "a short prompt"))
	}
	one := w.worker()
	before := heap()
	handle(t, one, commands...)
	for range 16 {
		<-begun
	}
	used := int64(heap()) - int64(before)
	goroutines := runtime.NumGoroutine()
	one.Interrupt()
	drain(t, one)
	runtime.KeepAlive(commands)
	t.Logf("%d bytes a command, %d goroutines", used/n, goroutines)
	if stats := one.Stats(); stats.Left != n-16 || used/n > 2<<10 || goroutines > 100 {
		t.Errorf("%d bytes a command, %d goroutines, stats %+v", used/n, goroutines, stats)
	}
}

func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
