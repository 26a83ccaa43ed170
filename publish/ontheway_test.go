package publish

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"agentsync/fixtures/fakedriver"
)

// many is a source of n sessions.
func many(n int) *fakedriver.Driver {
	d := fakedriver.New("codex")
	for i := range n {
		d.Session(fmt.Sprintf("s%03d", i), lines(5, 10*i)...)
	}
	return d
}

func TestALongPassLeavesGenerationsOnTheWay(t *testing.T) {
	d := many(30)
	b := newBed(t, d)
	asked := 0
	b.pass.Pause = func(written int64) bool {
		if written <= 0 {
			t.Error("a generation on the way without anything in it")
		}
		asked++
		return asked%10 == 0
	}
	b.target.Workers = 1
	var ways []int64
	d.OnRead(func(id string) {
		v, err := b.target.View(t.Context())
		if errors.Is(err, ErrEmpty) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		if root := v.Root(); len(ways) == 0 || ways[len(ways)-1] != root.Generation {
			ways = append(ways, root.Generation)
			if !root.Unfinished || root.Sources[0].Complete || root.Total != 10*len(ways) {
				t.Errorf("generation %d on the way: unfinished %v, whole %v, %d sessions", root.Generation, root.Unfinished, root.Sources[0].Complete, root.Total)
			}
		}
	})
	r := b.publish()
	if len(ways) != 2 || r.Generation < 3 || r.Unfinished || r.Published != 30 {
		t.Fatalf("generations on the way %v, then %d, published %d", ways, r.Generation, r.Published)
	}
	if root := b.view().Root(); root.Unfinished || !root.Sources[0].Complete || root.Total != 30 {
		t.Errorf("the last one: %+v", root)
	}
	d.OnRead(nil)
	if again := b.publish(); again.Documents != 0 || again.Retained != 30 {
		t.Errorf("a second pass reads %d, writes %d documents", again.Published, again.Documents)
	}
	b.sound()
}

// TestAnInterruptedPassGoesOn stops a pass in the middle, in each of the ways a person
// does, and lets the next one read only the rest.
func TestAnInterruptedPassGoesOn(t *testing.T) {
	d := many(30).Session("gone", lines(3, 900)...)
	b := newBed(t, d)
	b.publish()
	for i := range 30 {
		d.Append(fmt.Sprintf("s%03d", i), lines(2, 2000+10*i)...)
	}
	d.Remove("gone")
	ctx, interrupt := context.WithCancel(t.Context())
	reads := 0
	d.OnRead(func(string) {
		if reads++; reads == 12 {
			interrupt()
		}
	})
	b.target.Workers = 1
	r, err := b.target.Publish(ctx, b.pass)
	if !errors.Is(err, context.Canceled) || !r.Unfinished || r.Generation != 2 || r.Published != 11 {
		t.Fatalf("interrupted: %v, generation %d, %d published, unfinished %v", err, r.Generation, r.Published, r.Unfinished)
	}
	if got := b.statuses(); got != "complete:31" {
		t.Errorf("an interrupted pass judges what it did not see: %s", got)
	}
	b.sound()
	reads = 0
	d.OnRead(func(string) { reads++ })
	last := b.publish()
	if reads != 19 || last.Unfinished || last.Published != 19 || last.Deleted != 1 {
		t.Errorf("the next pass reads %d, publishes %d, marks %d deleted", reads, last.Published, last.Deleted)
	}
	if got := b.statuses(); got != "complete:30 deleted:1" {
		t.Errorf("at the end: %s", got)
	}
	b.sound()
}

// TestPowerLossOnTheWay stops the disk before every step of a pass that puts generations on
// the way: what is in them holds, and the next pass ends the work.
func TestPowerLossOnTheWay(t *testing.T) {
	id := testIdentity(t)
	for _, survival := range []float64{0, 1} {
		for k := 0; ; k += 3 {
			w := newWorld(t, uint64(k), survival, id)
			w.pause = func(int64) bool { return true }
			w.disk.StopBefore(k)
			_, err := w.publish()
			stopped := w.disk.Stopped()
			w.disk.Crash()
			w.pause = nil
			before := w.driver.Reads("grows") + w.driver.Reads("goes") + w.driver.Reads("stays")
			whole := 0
			if target, err := w.open(); err == nil {
				if v, err := target.View(t.Context()); err == nil {
					whole = v.Root().Total
				}
			}
			if _, err := w.publish(); err != nil {
				t.Fatalf("step %d: the next pass: %v", k, err)
			}
			w.sound()
			after := w.driver.Reads("grows") + w.driver.Reads("goes") + w.driver.Reads("stays")
			// What a generation holds is remembered after it stands: a kill in between costs
			// reading its own sessions again, here one.
			if survival == 1 && after-before > 3-whole+1 {
				t.Errorf("step %d: %d sessions were published, and %d of 3 are read again", k, whole, after-before)
			}
			if err == nil && !stopped {
				break
			}
		}
	}
}

// TestWhatAKilledPassStagedIsSwept kills passes and lets a later one write: what they had
// staged goes once it is old, and not before.
func TestWhatAKilledPassStagedIsSwept(t *testing.T) {
	id := testIdentity(t)
	left := 0
	for k := range 30 {
		w := newWorld(t, uint64(k), 1, id)
		staged := func() (n int) {
			for _, path := range w.disk.Files() {
				if strings.HasPrefix(path, "/store/tmp/") {
					n++
				}
			}
			return n
		}
		if _, err := w.publish(); err != nil {
			t.Fatal(err)
		}
		w.disk.SetTime(w.now)
		w.change()
		w.disk.StopBefore(k)
		_, _ = w.publish() // how far it comes is the question
		w.disk.Kill()
		killed := staged()
		left += killed
		for _, age := range []time.Duration{time.Hour, 48 * time.Hour} {
			w.now = noon.Add(age)
			w.disk.SetTime(w.now)
			w.driver.Append("grows", lines(1, int(age.Hours()))...)
			if _, err := w.publish(); err != nil {
				t.Fatalf("step %d: %v", k, err)
			}
			if n := staged(); age < 24*time.Hour && n != killed || age > 24*time.Hour && n != 0 {
				t.Errorf("step %d: after %v %d of %d staged files are there", k, age, n, killed)
			}
		}
	}
	if left == 0 {
		t.Error("no killed pass left anything")
	}
}
