package publish

import (
	"context"
	"fmt"
	"testing"
	"time"

	"agentsync/ledger"
)

// carry sends a command, claims it, and publishes and lists its outcome, each unless it
// was done before. It returns what was acknowledged.
func (w *world) carry() (acknowledged []string, err error) {
	target, err := w.open()
	if err != nil {
		return nil, err
	}
	ctx := context.Background()
	steps := []struct {
		name string
		run  func() error
	}{
		{"sent", func() error { _, err := target.Send(ctx, "", w.id, command(target, "1")); return err }},
		{"claimed", func() error { _, _, err := target.Claim(ctx, claimed(target, own("1"), 1)); return err }},
		{"ended", func() error { return target.PublishReceipt(ctx, ended(claimed(target, own("1"), 1), ledger.Succeeded)) }},
		{"listed", func() error {
			return target.ListReceipts(ctx, []ledger.Receipt{ended(claimed(target, own("1"), 1), ledger.Succeeded)})
		}},
	}
	for _, step := range steps {
		if err := step.run(); err != nil {
			return acknowledged, fmt.Errorf("%s: %w", step.name, err)
		}
		acknowledged = append(acknowledged, step.name)
	}
	return acknowledged, nil
}

// keeps reports an error unless everything acknowledged is in the store.
func (w *world) keeps(acknowledged []string) error {
	target, err := w.open()
	if err != nil {
		return err
	}
	ctx := context.Background()
	queue, err := target.Queued(ctx, nil)
	if err != nil {
		return err
	}
	shared, err := target.ReadReceipt(ctx, own("1"))
	if err != nil {
		return err
	}
	rows, err := target.Receipts(ctx)
	if err != nil {
		return err
	}
	held := map[string]bool{"sent": len(queue.Commands) == 1, "claimed": shared != nil,
		"ended": shared != nil && shared.Status == ledger.Succeeded, "listed": len(rows) == 1}
	for _, step := range acknowledged {
		if !held[step] {
			return fmt.Errorf("was acknowledged as %s, and is not: %v", step, held)
		}
	}
	return nil
}

// TestPowerLossKeepsWhatWasAcknowledged stops the disk before its k-th step, for every k
// until a command was carried through, and forgets a share of what was not synced.
func TestPowerLossKeepsWhatWasAcknowledged(t *testing.T) {
	id := testIdentity(t)
	for _, survival := range []float64{0, 0.5, 1} {
		for k := 0; ; k++ {
			w := newWorld(t, uint64(k), survival, id)
			w.now = w.now.Add(time.Minute)
			if _, err := w.open(); err != nil {
				t.Fatal(err)
			}
			w.disk.StopBefore(k)
			acknowledged, err := w.carry()
			stopped := w.disk.Stopped()
			w.disk.Crash()
			if err := w.keeps(acknowledged); err != nil {
				t.Fatalf("survival %v, step %d: %v", survival, k, err)
			}
			if _, err := w.carry(); err != nil {
				t.Fatalf("survival %v, step %d: the next attempt: %v", survival, k, err)
			}
			w.sound()
			if t.Failed() {
				t.Fatalf("survival %v, after step %d", survival, k)
			}
			if err == nil && !stopped {
				if k < 20 {
					t.Errorf("a command took %d steps", k)
				}
				break
			}
		}
	}
}

func TestSyncsOfACommand(t *testing.T) {
	w := newWorld(t, 1, 1, testIdentity(t))
	target, err := w.open()
	if err != nil {
		t.Fatal(err)
	}
	run := func(id string) (claim, outcome, list [2]int) {
		r := claimed(target, own(id), 1)
		count := func(err error, before [2]int) [2]int {
			if err != nil {
				t.Fatal(err)
			}
			return [2]int{w.disk.Count("sync") - before[0], w.disk.Count("syncdir") - before[1]}
		}
		at := count(nil, [2]int{})
		_, _, err := target.Claim(t.Context(), r)
		claim, at = count(err, at), count(nil, [2]int{})
		outcome, at = count(target.PublishReceipt(t.Context(), ended(r, ledger.Succeeded)), at), count(nil, [2]int{})
		list = count(target.ListReceipts(t.Context(), []ledger.Receipt{ended(r, ledger.Succeeded)}), at)
		return claim, outcome, list
	}
	run("first")
	claim, outcome, list := run("second")
	if claim != [2]int{1, 2} || outcome != [2]int{1, 1} || list != [2]int{1, 1} {
		t.Errorf("claim, outcome and list synced %v, %v and %v files and folders; want the file and its folder, and once the receipt's new folder", claim, outcome, list)
	}
}
