package ledger

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"agentsync/ledger/durable"
)

// filled returns a folder with a ledger of n receipts, published or not.
func filled(b *testing.B, n int, published bool) string {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "ledger")
	c := openOnDisk(b, dir)
	all := make([]Receipt, n)
	for i := range all {
		all[i] = outcome(fmt.Sprintf("0190b3c4-%08d-7e4f", i))
	}
	put(b, c, all...)
	if published {
		publish(b, c, all...)
	}
	return dir
}

func openOnDisk(b *testing.B, dir string) *Commands {
	b.Helper()
	c, err := OpenCommands(context.Background(), durable.OS(), dir)
	if err != nil {
		b.Fatal(err)
	}
	return c
}

var benchSizes = []struct {
	n         int
	published bool
}{{0, true}, {10_000, true}, {100_000, true}, {10_000, false}}

func (c *Commands) describe() string {
	return fmt.Sprintf("%d in the file, %d archived", len(c.kept.entries), len(c.archive.index))
}

func BenchmarkPut(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprintf("%d receipts, published %t", size.n, size.published), func(b *testing.B) {
			c := openOnDisk(b, filled(b, size.n, size.published))
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; b.Loop(); i++ {
				r := claim(fmt.Sprint("new-", i))
				put(b, c, r)
				b.StopTimer() // a ledger that stays as it is
				if err := c.Forget(context.Background(), r.CommandID); err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			b.Log(c.describe())
		})
	}
}

// BenchmarkCommand is what one command costs the ledger: claim, outcome, and the marks
// of both; moves into the archive included.
func BenchmarkCommand(b *testing.B) {
	c := openOnDisk(b, filled(b, 10_000, true))
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		id := fmt.Sprint("new-", i)
		put(b, c, claim(id))
		publish(b, c, claim(id))
		put(b, c, outcome(id))
		publish(b, c, outcome(id))
	}
}

func BenchmarkPutByFifty(b *testing.B) {
	c := openOnDisk(b, filled(b, 10_000, true))
	var next atomic.Int64
	b.ReportAllocs()
	for b.Loop() {
		var all sync.WaitGroup
		for range 50 {
			all.Go(func() { put(b, c, claim(fmt.Sprint("new-", next.Add(1)))) })
		}
		all.Wait()
		b.StopTimer()
		for _, r := range c.InFlight() {
			_ = c.Forget(context.Background(), r.CommandID)
		}
		b.StartTimer()
	}
}

func BenchmarkOpen(b *testing.B) {
	for _, size := range benchSizes[1:] {
		b.Run(fmt.Sprintf("%d receipts, published %t", size.n, size.published), func(b *testing.B) {
			dir := filled(b, size.n, size.published)
			b.ReportAllocs()
			for b.Loop() {
				openOnDisk(b, dir)
			}
		})
	}
}
