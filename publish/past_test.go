package publish

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentsync/collect"
	"agentsync/fixtures/fakedriver"
	"agentsync/ledger"
	"agentsync/ledger/durable"
	"agentsync/publish/store"
)

func TestWhatWasSeenIsNeverUnseen(t *testing.T) {
	seen := ledger.SeenHead{Number: 7, Digest: "sha256:seven"}
	for _, row := range []struct {
		name   string
		seen   ledger.SeenHead
		newest uint64
		at     string // the digest under the number that was seen
		want   string
	}{
		{"nothing was seen, nothing is there", ledger.SeenHead{}, 0, "", ""},
		{"nothing was seen", ledger.SeenHead{}, 5, "", ""},
		{"the same", seen, 7, "sha256:seven", ""},
		{"it went on", seen, 9, "sha256:seven", ""},
		{"it went on, and what was seen is pruned", seen, 90, "", ""},
		{"fewer", seen, 6, "", "generation 7 was seen here, and the newest there now is 6: the store went back in time"},
		{"none", seen, 0, "", "generation 7 was seen here, and none is there now: the store went back in time"},
		{"another under the number", seen, 7, "sha256:other", "generation 7 is another one than was seen here before: the store went back in time, and went on"},
		{"another under the number, and it went on", seen, 8, "sha256:other", "generation 7 is another one than was seen here before: the store went back in time, and went on"},
	} {
		if got := judgeHead(sessionsHead, row.seen, row.newest, row.at); got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
	known := ledger.Sight{OwnerDID: "did:a", SpaceDID: "did:s"}
	for _, row := range []struct {
		name         string
		seen         ledger.Sight
		owner, space string
		guarded      bool
	}{
		{"first", ledger.Sight{}, "did:a", "did:s", false},
		{"the same", known, "did:a", "did:s", false},
		{"another owner", known, "did:b", "did:s", true},
		{"another space", known, "did:a", "did:t", true},
	} {
		if got := judgeStore(row.seen, row.owner, row.space); (got != "") != row.guarded {
			t.Errorf("%s: %q", row.name, got)
		}
	}
}

// reopened opens the target anew with what the folder says was seen of the store.
func (b *bed) reopened(dir string) (*Target, error) {
	b.Helper()
	seen, err := ledger.OpenSeen(durable.OS(), dir, false)
	if err != nil {
		b.Fatal(err)
	}
	o := b.target.Options
	o.Seen = seen
	return Open(b.Context(), o)
}

// watched is a bed of n generations that were all seen, and where that is remembered.
func watched(t *testing.T, n int) (*bed, string) {
	t.Helper()
	b := newBed(t)
	dir := filepath.Join(t.TempDir(), "store")
	target, err := b.reopened(dir)
	if err != nil {
		t.Fatal(err)
	}
	b.target = target
	for i := range n {
		b.pass.Sources = []collect.Driver{fakedriver.New("codex").Session("one", lines(i+1, 0)...)}
		b.publish()
	}
	return b, dir
}

// goBack takes the newest generations away, so that n are left.
func (b *bed) goBack(from, n uint64) {
	b.Helper()
	for ; from > n; from-- {
		if err := b.store.Delete(b.Context(), store.HeadName(sessionsHead, from)); err != nil {
			b.Fatal(err)
		}
	}
}

func TestAStoreThatWentBackStopsEveryRead(t *testing.T) {
	b, dir := watched(t, 4)
	b.goBack(4, 2)
	target, err := b.reopened(dir)
	if err != nil {
		t.Fatal(err)
	}
	var past *PastError
	reads := map[string]func() error{
		"publish": func() error { _, err := target.Publish(t.Context(), b.pass); return err },
		"view":    func() error { _, err := target.View(t.Context()); return err },
		"log":     func() error { return target.Log(t.Context(), func(LogEntry) error { return nil }) },
		"verify":  func() error { _, err := target.Verify(t.Context(), VerifyOptions{}); return err },
		"prune": func() error {
			_, err := target.Prune(t.Context(), PruneOptions{Keep: 1, Apply: true, Now: noon.AddDate(1, 0, 0)})
			return err
		},
	}
	for name, read := range reads {
		if err := read(); !errors.As(err, &past) || !strings.Contains(err.Error(), "generation 4 was seen here, and the newest there now is 2") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if v, err := target.ViewAt(t.Context(), 2); err != nil || v.Head().Generation != 2 {
		t.Errorf("an older generation that is asked for by its number: %v", err)
	}
	if n := len(mustNumbers(t, b.store)); n != 2 {
		t.Errorf("%d heads are there", n)
	}

	// Accepted, everything that was published since is published again from its sources.
	sight, err := target.Sight(t.Context())
	if err == nil {
		err = target.Seen.Replace(sight)
	}
	if err != nil {
		t.Fatal(err)
	}
	if b.target, err = b.reopened(dir); err != nil {
		t.Fatal(err)
	}
	if r := b.publish(); r.Generation != 3 || r.Published != 1 {
		t.Errorf("report %+v", r)
	}
	if got := b.stored("codex/one"); got != strings.Join(lines(4, 0), "\n")+"\n" {
		t.Errorf("the newest copy is %q", got)
	}
	b.sound()
}

func mustNumbers(t *testing.T, s store.Store) []uint64 {
	t.Helper()
	numbers, err := store.Numbers(t.Context(), s, sessionsHead)
	if err != nil {
		t.Fatal(err)
	}
	return numbers
}

func TestAStoreThatWentBackAndOnStops(t *testing.T) {
	b, dir := watched(t, 3)
	b.goBack(3, 2)
	o := b.target.Options // of a machine that never saw the third
	o.Seen, o.State = nil, ""
	other, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		b.pass.Sources = []collect.Driver{fakedriver.New("codex").Session("one", lines(i+10, 5)...)}
		if _, err := other.Publish(t.Context(), b.pass); err != nil {
			t.Fatal(err)
		}
	}
	target, err := b.reopened(dir)
	if err != nil {
		t.Fatal(err)
	}
	var past *PastError
	if _, err := target.View(t.Context()); !errors.As(err, &past) || !strings.Contains(err.Error(), "generation 3 is another one") {
		t.Errorf("view: %v", err)
	}
}

func TestAnEmptyPlaceWhereAStoreWasSeenStops(t *testing.T) {
	b, dir := watched(t, 1)
	b.goBack(1, 0)
	b.without(t)
	for _, prefix := range []string{"packs/", "heads/"} {
		var names []string
		if err := b.store.List(t.Context(), prefix, func(e store.Entry) error { names = append(names, e.Name); return nil }); err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if err := b.store.Delete(t.Context(), name); err != nil {
				t.Fatal(err)
			}
		}
	}
	var past *PastError
	if _, err := b.reopened(dir); !errors.Is(err, ErrNoStore) {
		t.Errorf("open: %v", err)
	}
	o := b.target.Options
	if _, err := Create(t.Context(), o, noon); !errors.As(err, &past) || past.Owner != "" {
		t.Errorf("create: %v", err)
	}
}

func TestAnUnchangedPassWritesNothingOfWhatWasSeen(t *testing.T) {
	b, dir := watched(t, 2)
	path := filepath.Join(dir, "seen.json")
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if b.target, err = b.reopened(dir); err != nil {
		t.Fatal(err)
	}
	if r := b.publish(); r.Published != 0 {
		t.Fatalf("report %+v", r)
	}
	after, err := os.Stat(path)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("the file was replaced: %v", err)
	}
}

func TestOnlyTheOwnerPrunes(t *testing.T) {
	b := generations(t, 3)
	o := b.target.Options
	o.Signer = nil
	reader, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	look := PruneOptions{Keep: 1, Now: noon.AddDate(1, 0, 0)}
	if r, err := reader.Prune(t.Context(), look); err != nil || len(r.Removed) == 0 {
		t.Errorf("a look: %+v, %v", r, err)
	}
	look.Apply = true
	if _, err := reader.Prune(t.Context(), look); !errors.Is(err, ErrForeign) || len(mustNumbers(t, b.store)) != 3 {
		t.Errorf("pruned: %v", err)
	}
}
