//go:build unix

package life_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"agentsync/dirsync"
	"agentsync/publish/store"
	"agentsync/publish/store/mem"
)

// manyFiles is an end whose project has many small files, an hour old.
func manyFiles(b *testing.B, s store.Store, files int) *end {
	b.Helper()
	e := newEnd(b, s, "here").bind(dirsync.Both)
	e.Workers = 2
	for i := range files {
		e.write(fmt.Sprintf("p%03d/s%02d/f%05d", i/200, i/20%10, i), fmt.Sprintf("%0512d", i))
	}
	return e
}

func BenchmarkPreview20000(b *testing.B) {
	e := manyFiles(b, mem.New(), 20_000)
	e.sync()
	e.preview(dirsync.Accepts{})
	b.Run("unchanged", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if p := e.preview(dirsync.Accepts{}); len(p.Plan.Actions) > 0 {
				b.Fatal(p.Plan.Actions)
			}
		}
	})
}

func BenchmarkFirstCopy20000(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		s := mem.New()
		here, there := manyFiles(b, s, 20_000), newEnd(b, s, "there").bind(dirsync.Both)
		there.Workers = 2
		b.StartTimer()
		began := time.Now()
		here.sync()
		up := time.Since(began)
		there.sync()
		b.ReportMetric(up.Seconds(), "s-up")
		b.ReportMetric((time.Since(began) - up).Seconds(), "s-down")
		b.StopTimer()
		must(b, os.RemoveAll(there.root))
		b.StartTimer()
	}
}
