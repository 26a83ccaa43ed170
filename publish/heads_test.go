package publish

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"agentsync/fixtures/fakedriver"
	"agentsync/publish/store"
	folder "agentsync/publish/store/fs"
)

// generations publishes n of them.
func generations(t *testing.T, n int) *bed {
	t.Helper()
	b := newBed(t)
	for i := range n {
		b.pass.Sources = append(b.pass.Sources[:0], fakedriver.New("codex").Session("one", lines(i+1, 0)...))
		b.publish()
	}
	return b
}

func TestAStrayHeadIsOneProblem(t *testing.T) {
	b := generations(t, 3)
	stray := store.HeadName(sessionsHead, 1_000_000)
	if err := store.PutOnce(t.Context(), b.store, stray, []byte("{}\n")); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	r, err := b.target.Verify(ctx, VerifyOptions{})
	if err != nil || len(r.Problems) != 1 || r.Problems[0].What != stray || r.Generations != 3 {
		t.Errorf("verify: %v, %d generations, %d problems, first %+v", err, r.Generations, len(r.Problems), r.Problems[:min(1, len(r.Problems))])
	}
	var damaged *DamagedError
	if _, err := b.target.Publish(ctx, b.pass); !errors.As(err, &damaged) || damaged.What != stray {
		t.Errorf("publish: %v", err)
	}
	if _, err := b.store.Stat(t.Context(), store.HeadName(sessionsHead, 1_000_001)); err == nil {
		t.Error("the pass went on behind the gap")
	}
}

func TestAGapIsOneProblemAndHidesNothing(t *testing.T) {
	b := generations(t, 6)
	for _, n := range []uint64{3, 4} {
		if err := b.store.Delete(t.Context(), store.HeadName(sessionsHead, n)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.store.Hint(t.Context(), store.HintName(sessionsHead), []byte("2\n")); err != nil {
		t.Fatal(err)
	}
	r, err := b.target.Verify(t.Context(), VerifyOptions{})
	if err != nil || len(r.Problems) != 1 || r.Problems[0].What != store.HeadName(sessionsHead, 2) {
		t.Errorf("verify: %v, %+v", err, r.Problems)
	}
	if n := b.view().Head().Generation; n != 6 {
		t.Errorf("the newest generation is %d, want 6", n)
	}
	var seen []int64
	err = b.target.Log(t.Context(), func(e LogEntry) error {
		seen = append(seen, e.Head.Generation)
		return nil
	})
	if fmt.Sprint(seen, err) != "[6 5 2 1] <nil>" {
		t.Errorf("the log shows %v, %v", seen, err)
	}
	b.pass.Sources = append(b.pass.Sources[:0], fakedriver.New("codex").Session("one", lines(9, 0)...))
	if r := b.publish(); r.Generation != 7 {
		t.Errorf("published generation %d, want 7", r.Generation)
	}
}

func TestAPruneLeavesNoGap(t *testing.T) {
	b := generations(t, 0)
	for i := range 8 {
		b.store.SetTime(noon)
		if i == 3 { // put back from elsewhere, and so younger than the others
			b.store.SetTime(noon.Add(100 * time.Hour))
		}
		b.pass.Sources = append(b.pass.Sources[:0], fakedriver.New("codex").Session("one", lines(i+1, 0)...))
		b.publish()
	}
	if _, err := b.target.Prune(t.Context(), PruneOptions{Keep: 2, Grace: 24 * time.Hour, Apply: true, Now: noon.Add(101 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if r := b.sound(); r.Generations != 5 {
		t.Errorf("%d generations are kept, want 4 to 8", r.Generations)
	}
}

func TestARecordOfFortyGigabytesIsDamageAndTakesNoMemory(t *testing.T) {
	const huge = 40 << 30
	dir := t.TempDir()
	place, err := folder.Open(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	d := fakedriver.New("codex").Session("one", lines(3, 0)...)
	b := newBed(t, d)
	o := b.target.Options
	o.Store = place
	target, err := Create(t.Context(), o, noon)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := target.Publish(t.Context(), b.pass); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{store.HintName(sessionsHead), store.HeadName(sessionsHead, 1), formatName} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.Truncate(path, huge); err != nil {
			t.Skipf("no sparse files here: %v", err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		again, err := Open(t.Context(), o)
		if err == nil {
			_, err = again.View(t.Context())
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
			t.Errorf("%s: %d bytes of memory", name, used)
		}
		var damaged *DamagedError
		if hint := name == store.HintName(sessionsHead); hint && err != nil || !hint && (!errors.As(err, &damaged) || damaged.What != name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
