package publish

import (
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/fixtures/fakedriver"
	"agentsync/ledger"
)

// noise is a record of n random bytes.
func noise(rng *rand.Rand, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return fmt.Sprintf(`{"type":"user","uuid":"u-%x","message":{"role":"user","content":"%s"}}`, rng.Uint64(), hex.EncodeToString(b))
}

// TestPublishingGoesOnAfterAPrune rewrites a session until packs are left that nothing
// needs, prunes them, and goes on: also a store whose list still names them.
func TestPublishingGoesOnAfterAPrune(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	d := fakedriver.New("codex").Session("grows", lines(1, 0)...)
	b := newBed(t, d)
	age := func(by time.Duration) {
		b.pass.Now = b.pass.Now.Add(by)
		b.store.SetTime(b.pass.Now)
	}
	rewrite := func() {
		d.Remove("noise").Session("noise", noise(rng, 60_000))
		b.publish()
	}
	rewrite()
	rewrite()
	for i := range 12 {
		d.Append("grows", lines(1, i+1)...)
		b.publish()
	}
	removed := 0
	for round := range 30 {
		age(8 * 24 * time.Hour)
		p, err := b.target.Prune(t.Context(), PruneOptions{Keep: 1, Grace: 7 * 24 * time.Hour, Apply: true, Now: b.pass.Now})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		removed += len(p.Removed)
		for range 9 {
			rewrite()
		}
		b.sound()
	}
	if removed < 50 {
		t.Errorf("only %d names were removed", removed)
	}
}

// TestAPassThatLosesItsRaceFindsWhatWasMovedMeanwhile lets another machine merge packs, and
// prune those that are left over, while a pass holds links into them.
func TestAPassThatLosesItsRaceFindsWhatWasMovedMeanwhile(t *testing.T) {
	mine := fakedriver.New("codex").Session("fails", lines(3, 0)...).Session("grows", lines(3, 50)...)
	theirs := fakedriver.New("claude").Session("other", lines(2, 100)...)
	b := newBed(t, mine)
	b.publish()
	two := b.open("two", b.target.Signer.(*ledger.Identity))
	mine.Append("fails", lines(1, 10)...).Append("grows", lines(1, 60)...)
	mine.FailRead("fails", errors.New("not now"))
	mine.OnRead(func(key string) {
		if key != "grows" {
			return
		}
		for i := range 2 * tierFull {
			theirs.Append("other", lines(1, 200+i)...)
			if _, err := two.Publish(t.Context(), Pass{Sources: []collect.Driver{theirs}, Now: b.pass.Now}); err != nil {
				t.Fatal(err)
			}
		}
		p, err := two.Prune(t.Context(), PruneOptions{Keep: 1, Apply: true, Now: b.pass.Now})
		if err != nil || len(p.Removed) < tierFull {
			t.Fatalf("%d names pruned, %v", len(p.Removed), err)
		}
	})
	b.target.Workers = 1
	if r := b.publish(); r.Failed != 1 || r.Published != 1 {
		t.Fatalf("published %d, failed %d", r.Published, r.Failed)
	}
	b.sound()
	if got := b.stored("codex/fails"); got != joined(lines(3, 0)) {
		t.Errorf("the session that could not be read: %q", got)
	}
}

func joined(lines []string) string { return strings.Join(lines, "\n") + "\n" }

// TestTheListOfPacksHoldsWhatIsLinked publishes long enough for several sweeps.
func TestTheListOfPacksHoldsWhatIsLinked(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	d := fakedriver.New("codex")
	b := newBed(t, d)
	most := 0
	for i := range 200 {
		d.Remove(fmt.Sprint("s", i%4)).Session(fmt.Sprint("s", i%4), noise(rng, 40_000+rng.IntN(60_000)))
		b.publish()
		most = max(most, len(b.view().Root().Files))
	}
	if most > 3*tierFull {
		t.Errorf("the list of packs grows to %d for four sessions of one part", most)
	}
}
