package worker_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"agentsync/ledger"
	"agentsync/ledger/durable"
	"agentsync/ledger/worker"
)

// BenchmarkDrain runs 1,000 commands (100 one after another) of 50 sessions with an
// agent that answers at once: the ledger and the store are folders on the disk, and each
// claim and each outcome is written, synced, linked and synced in its folder. creates/s
// is what one goroutine alone gets of the latter, for comparison.
func BenchmarkDrain(b *testing.B) {
	for _, c := range []struct{ sessions, commands int }{{1, 100}, {16, 1000}, {50, 1000}} {
		b.Run(fmt.Sprintf("%d at once", c.sessions), func(b *testing.B) { benchmarkDrain(b, c.sessions, c.commands) })
	}
}

func benchmarkDrain(b *testing.B, sessions, n int) {
	disk := durable.OS()
	for b.Loop() {
		b.StopTimer()
		dir := b.TempDir()
		w := newWorldOn(b, disk, filepath.Join(dir, "store"), filepath.Join(dir, "state"), here)
		if err := disk.Mkdir(w.shelf.dir, 0o700); err != nil {
			b.Fatal(err)
		}
		w.options.Sessions = sessions
		w.options.ListEvery = 0
		var commands []worker.Queued
		for i := range n {
			commands = append(commands, commandIn(fmt.Sprint(i%50), fmt.Sprint(i), ledger.Prompt, "text", "say it"))
		}
		one := w.worker()
		b.StartTimer()
		if err := one.Handle(context.Background(), commands); err != nil {
			b.Fatal(err)
		}
		if err := one.Drain(context.Background()); err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		if stats := one.Stats(); stats.Ran[ledger.Succeeded] != n {
			b.Fatalf("stats %+v", stats)
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "commands/s")
	b.ReportMetric(creates(b, disk), "creates/s")
}

// creates measures how many small files one goroutine creates durably in a second.
func creates(b *testing.B, disk durable.FS) float64 {
	const n = 100
	dir := b.TempDir()
	began := time.Now()
	for i := range n {
		if err := durable.Create(disk, filepath.Join(dir, fmt.Sprint(i)), make([]byte, 400), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	return n / time.Since(began).Seconds()
}
