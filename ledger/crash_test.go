package ledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"agentsync/fixtures/crashfs"
)

// history is what was asked of a ledger, and what of it was promised.
type history struct {
	t     testing.TB
	known map[string]Receipt // acknowledged; what a later loss must not take
	tried map[string]Receipt // asked for and not acknowledged: it may be there or not
	marks map[string]bool    // awaits publication, as acknowledged
}

func newHistory(t testing.TB) *history {
	return &history{t, map[string]Receipt{}, map[string]Receipt{}, map[string]bool{}}
}

// put stores receipts and remembers what was promised; false when the power went off.
func (h *history) put(c *Commands, receipts ...Receipt) bool {
	err := c.Put(context.Background(), receipts...)
	for _, r := range receipts {
		if err != nil {
			h.tried[r.CommandID.Key()] = r
			continue
		}
		h.known[r.CommandID.Key()], h.marks[r.CommandID.Key()] = r, true
	}
	return err == nil
}

func (h *history) publish(c *Commands, receipts ...Receipt) bool {
	if c.MarkPublished(context.Background(), receipts...) != nil {
		for _, r := range receipts {
			delete(h.marks, r.CommandID.Key()) // nobody knows
		}
		return false
	}
	for _, r := range receipts {
		h.marks[r.CommandID.Key()] = false
	}
	return true
}

// check compares what a ledger has with what was promised.
func (h *history) check(c *Commands) {
	h.t.Helper()
	found := map[string]bool{}
	for r, err := range c.All() {
		if err != nil {
			h.t.Errorf("all: %v", err)
			continue
		}
		key := r.CommandID.Key()
		if found[key] {
			h.t.Errorf("%q is there twice", key)
		}
		found[key] = true
		got, known, tried := written(r), written(h.known[key]), written(h.tried[key])
		if got != known && got != tried {
			h.t.Errorf("invented: %s", got)
		}
		if one, ok, err := c.Get(r.CommandID); !ok || err != nil || written(one) != got {
			h.t.Errorf("get %q: %s, %t, %v; all says %s", key, written(one), ok, err, got)
		}
	}
	for key := range h.known {
		if !found[key] {
			h.t.Errorf("lost: %q", key)
		}
	}
	pending := map[string]bool{}
	for _, r := range c.Pending() {
		pending[r.CommandID.Key()] = true
	}
	for key, marked := range h.marks {
		if _, tried := h.tried[key]; !tried && pending[key] != marked {
			h.t.Errorf("%q awaits publication: %t, want %t", key, pending[key], marked)
		}
	}
}

// openAll opens the ledger as a machine of one kind does.
type openAll func(*crashfs.FS) (*Commands, error)

var machines = map[string]openAll{
	"one file": func(d *crashfs.FS) (*Commands, error) {
		return small(openCommands(context.Background(), d, commandsDir, false))
	},
	"two slots": func(d *crashfs.FS) (*Commands, error) {
		return small(openCommands(context.Background(), unreplacing{d}, commandsDir, true))
	},
}

const (
	smallHigh = 6
	smallLow  = 3
)

// small makes the ledger archive early.
func small(c *Commands, err error) (*Commands, error) {
	if err == nil {
		c.high, c.low = smallHigh, smallLow
	}
	return c, err
}

// eachLoss loses the power before the k-th step of work, for every k until it runs
// through, with three shares of what survives, and checks the ledger thereafter, which
// goes on to work.
func eachLoss(t *testing.T, prepare, work func(*history, *Commands)) {
	for name, open := range machines {
		for _, survival := range []float64{0, 0.5, 1} {
			t.Run(fmt.Sprintf("%s, survival %v", name, survival), func(t *testing.T) {
				for k, done := 0, false; !done; k++ {
					disk := crashfs.New(uint64(k))
					disk.SetSurvival(survival)
					h := newHistory(t)
					reopened := func() *Commands {
						c, err := open(disk)
						if err != nil {
							t.Fatalf("step %d: open: %v", k, err)
						}
						return c
					}
					prepare(h, reopened())
					disk.StopBefore(k)
					if c, err := open(disk); err == nil {
						work(h, c)
					}
					done = !disk.Stopped()
					disk.Crash()
					c := reopened()
					h.check(c)
					h.marks = map[string]bool{} // from here on what was tried is as it was found
					for r := range c.All() {
						h.known[r.CommandID.Key()] = r
					}
					h.put(c, claim("after"))
					disk.Crash()
					h.check(reopened())
					if t.Failed() {
						t.Fatalf("after step %d", k)
					}
				}
			})
		}
	}
}

func TestLossOfPowerWhilePutting(t *testing.T) {
	eachLoss(t, func(h *history, c *Commands) {
		h.put(c, claim("kept"), claim("replaced"))
		h.publish(c, claim("kept"))
	}, func(h *history, c *Commands) {
		_ = h.put(c, outcome("replaced"), claim("new")) && h.put(c, failure("new")) && h.publish(c, outcome("replaced"))
	})
}

func TestLossOfPowerInANewFolder(t *testing.T) {
	eachLoss(t, func(*history, *Commands) {}, func(h *history, c *Commands) {
		_ = h.put(c, claim("first")) && h.put(c, outcome("first"))
	})
}

func TestLossOfPowerWhileArchiving(t *testing.T) {
	var first, second []Receipt
	for i := range smallHigh + 1 {
		first = append(first, outcome(fmt.Sprint("f", i)))
	}
	for i := range smallLow + 1 {
		second = append(second, outcome(fmt.Sprint("s", i)))
	}
	t.Run("for the first time", func(t *testing.T) {
		eachLoss(t, func(h *history, c *Commands) { h.put(c, first...) }, func(h *history, c *Commands) {
			h.publish(c, first...)
		})
	})
	t.Run("once more, with a receipt that supersedes an archived one", func(t *testing.T) {
		eachLoss(t, func(h *history, c *Commands) {
			h.put(c, first...)
			h.publish(c, first...)
			h.put(c, second...)
			h.put(c, failure("f0"))
		}, func(h *history, c *Commands) {
			_ = h.publish(c, second...) && h.publish(c, failure("f0"))
		})
	})
}

// TestLossAfterTheEndOfAProcess kills a process at each step, so that what it wrote is
// there and is not durable, and loses the power at each step of the next one.
func TestLossAfterTheEndOfAProcess(t *testing.T) {
	var all []Receipt
	for i := range smallHigh + 1 {
		all = append(all, outcome(fmt.Sprint("f", i)))
	}
	seeds := uint64(4)
	if testing.Short() {
		seeds = 2
	}
	for name, row := range map[string]struct{ prepare, work func(*history, *Commands) }{
		"in a new folder": {func(*history, *Commands) {}, func(h *history, c *Commands) { h.put(c, claim("a")) }},
		"in the archive":  {func(h *history, c *Commands) { h.put(c, all...) }, func(h *history, c *Commands) { h.publish(c, all...) }},
	} {
		t.Run(name, func(t *testing.T) {
			for j, ended := 0, false; !ended; j++ {
				ended = true
				for k, done := 0, false; !done; k++ {
					done = true
					for seed := range seeds {
						open := machines[[]string{"one file", "two slots"}[seed%2]]
						e, d := killThenLose(t, seed, open, j, k, row.prepare, row.work)
						ended, done = ended && e, done && d
					}
				}
			}
		})
	}
}

// killThenLose does work that is killed before step j, and again until the power is lost
// before step k. It reports whether either ran through.
func killThenLose(t *testing.T, seed uint64, open openAll, j, k int, prepare, work func(*history, *Commands)) (ended, done bool) {
	t.Helper()
	disk := crashfs.New(seed)
	h := newHistory(t)
	try := func(what func(*history, *Commands)) {
		if c, err := open(disk); err == nil {
			what(h, c)
		}
	}
	if try(prepare); len(h.known) == 0 {
		disk = crashfs.New(seed) // the folder was made: do without
	}
	disk.StopBefore(j)
	try(work)
	ended = !disk.Stopped()
	disk.Kill()
	disk.StopBefore(k)
	try(work)
	done = !disk.Stopped()
	disk.Crash()
	c, err := open(disk)
	if err != nil {
		t.Fatalf("seed %d, steps %d and %d: %v", seed, j, k, err)
	}
	if h.check(c); t.Failed() {
		t.Fatalf("seed %d, after steps %d and %d", seed, j, k)
	}
	return ended, done
}

// TestAFailedWriteChangesNothing fails each step of a Put in turn, while the process
// goes on.
func TestAFailedWriteChangesNothing(t *testing.T) {
	for name, open := range machines {
		for _, survival := range []float64{0, 1} {
			k := 0
			for failStep(t, open, k, survival) {
				k++
			}
			if k < 4 {
				t.Errorf("%s: a write took %d steps", name, k)
			}
		}
	}
}

// failStep fails step k of a Put, and reports whether there was one.
func failStep(t *testing.T, open openAll, k int, survival float64) bool {
	t.Helper()
	disk := crashfs.New(uint64(k))
	c, err := open(disk)
	if err != nil {
		t.Fatal(err)
	}
	put(t, c, claim("a"))
	at := 0
	disk.OnStep(func(crashfs.Step) error {
		if at++; at == k+1 {
			return syscall.ENOSPC
		}
		return nil
	})
	if err = c.Put(context.Background(), outcome("a"), claim("b")); err == nil {
		return false
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("step %d: %v", k, err)
	}
	wantReceipt(t, c, claim("a"))
	if c.Known(CommandID{ID: "b"}) {
		t.Errorf("step %d: known though the call failed", k)
	}
	put(t, c, claim("a")) // no change, and written all the same: the disk may have more than was promised
	disk.SetSurvival(survival)
	disk.Crash()
	again, err := open(disk)
	if err != nil {
		t.Fatal(err)
	}
	wantReceipt(t, again, claim("a"))
	if again.Known(CommandID{ID: "b"}) {
		t.Errorf("step %d: what failed came back", k)
	}
	return true
}

func TestAFullDiskLosesNothing(t *testing.T) {
	for room := int64(0); ; room += 150 {
		disk := crashfs.New(1)
		c := openLedger(t, disk)
		put(t, c, claim("a"))
		disk.SetRoom(room)
		err := c.Put(context.Background(), outcome("a"))
		disk.SetRoom(-1)
		if err == nil {
			return
		}
		for _, path := range disk.Files() {
			if filepath.Base(path) != commandsFile {
				t.Errorf("%s is left", path)
			}
		}
		wantReceipt(t, openLedger(t, disk), claim("a"))
	}
}

func TestWhatACutOffWriteLeftIsRemoved(t *testing.T) {
	disk := crashfs.New(1)
	put(t, openLedger(t, disk), claim("a"))
	lay(t, disk, ".other.0123456789abcdef.tmp", "of another room")
	for k := range 4 {
		c := openLedger(t, disk)
		disk.StopBefore(k)
		_ = c.Put(context.Background(), outcome("a"))
		disk.Kill()
	}
	openLedger(t, disk)
	left := map[string]bool{}
	for _, path := range disk.Files() {
		if strings.HasSuffix(path, ".tmp") {
			left[filepath.Base(path)] = true
		}
	}
	if !maps.Equal(left, map[string]bool{".other.0123456789abcdef.tmp": true}) {
		t.Errorf("left %v", left)
	}
}
