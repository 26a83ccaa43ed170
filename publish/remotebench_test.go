package publish

import (
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"agentsync/ledger"
	"agentsync/publish/store"
	"agentsync/publish/store/mem"
)

// BenchmarkClaimAndOutcome claims a command and publishes its outcome in a folder.
func BenchmarkClaimAndOutcome(b *testing.B) {
	for _, workers := range []int{1, 16} {
		b.Run(fmt.Sprintf("%d at once", workers), func(b *testing.B) {
			target := benchFolder(b)
			var next atomic.Int64
			var all sync.WaitGroup
			b.ResetTimer()
			for range workers {
				all.Go(func() {
					for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
						r := claimed(target, own(fmt.Sprint(i)), 1)
						won, _, err := target.Claim(b.Context(), r)
						if err == nil && !won {
							err = errors.New("lost")
						}
						if err == nil {
							err = target.PublishReceipt(b.Context(), ended(r, ledger.Succeeded))
						}
						if err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commands/s")
		})
	}
}

func benchFolder(b *testing.B) *Target {
	b.Helper()
	target, err := openHome(filepath.Join(b.TempDir(), "store"), filepath.Join(b.TempDir(), "state"), "bench")
	if err != nil {
		b.Fatal(err)
	}
	return target
}

// BenchmarkListReceipts writes a full list with one row more.
func BenchmarkListReceipts(b *testing.B) {
	target := benchFolder(b)
	receipt := func(i int) ledger.Receipt {
		return ended(claimed(target, own(fmt.Sprintf("%036d", i)), 1), ledger.Succeeded)
	}
	var full []ledger.Receipt
	for i := range 200 {
		full = append(full, receipt(i))
	}
	if err := target.ListReceipts(b.Context(), full); err != nil {
		b.Fatal(err)
	}
	size, err := target.Store.Stat(b.Context(), store.HeadName(receiptsHead, 1))
	if err != nil {
		b.Fatal(err)
	}
	for i := 200; b.Loop(); i++ {
		if err := target.ListReceipts(b.Context(), []ledger.Receipt{receipt(i)}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(size), "bytes/list")
}

// BenchmarkQueuedKnown reads a queue of 10,000 commands of which all are known.
func BenchmarkQueuedKnown(b *testing.B) {
	b.Run("folder", func(b *testing.B) { benchKnown(b, benchFolder(b)) })
	b.Run("memory", func(b *testing.B) {
		owner := benchFolder(b).Signer.(*ledger.Identity)
		benchKnown(b, openFor(b, mem.New(), owner, "bench"))
	})
}

func benchKnown(b *testing.B, target *Target) {
	const commands = 10_000
	for i := range commands {
		// The content is never read, so no time is spent on making it durable.
		if err := target.Store.Hint(b.Context(), store.CommandName("", fmt.Sprintf("%036d", i)), []byte("{}")); err != nil {
			b.Fatal(err)
		}
	}
	known := func(ledger.CommandID) bool { return true }
	b.ReportAllocs()
	for b.Loop() {
		q, err := target.Queued(b.Context(), known)
		if err != nil || len(q.Commands)+len(q.Refused) != 0 {
			b.Fatal(err, len(q.Refused))
		}
	}
}
