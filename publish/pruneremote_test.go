package publish

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agentsync/ledger"
	"agentsync/publish/document"
	"agentsync/publish/store"
)

// prune removes what is older than a day, a week after noon unless told otherwise.
func (d *desk) prune(at time.Time, apply bool) (removed []string) {
	d.Helper()
	r, err := d.one.Prune(d.Context(), PruneOptions{Keep: 2, Grace: 24 * time.Hour, Apply: apply, Now: at})
	if err != nil {
		d.Fatal(err)
	}
	for _, p := range r.Removed {
		removed = append(removed, p.Name)
	}
	return removed
}

func TestPruneRemovesSettledCommandsAndNeverAClaim(t *testing.T) {
	d := newDesk(t)
	d.store.SetTime(noon)
	week := noon.Add(7 * 24 * time.Hour)
	web := testIdentity(t)
	if err := d.one.BindProducer(t.Context(), producerOf("web", web.DID()), noon); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 250)
	for _, id := range []string{"done", "unknown", "running", "waiting", "broken", "late", long} {
		d.send("", d.owner, command(d.one, id))
	}
	d.send("web", web, command(d.one, "done"))
	d.put(store.CommandName("", "junk"), []byte("{}"))
	d.run(own("done"), 1, ledger.Succeeded)
	d.run(own(long), 1, ledger.Unsupported)
	d.run(ledger.CommandID{Producer: "web", ID: "done"}, 1, ledger.Failed)
	d.run(own("unknown"), 1, ledger.Unknown)
	d.claim(d.one, claimed(d.one, own("running"), 1))
	d.run(own("broken"), 1, ledger.Succeeded)
	d.replace("receipts/broken/outcome-1.json", nil)
	d.claim(d.one, claimed(d.one, own("late"), 1))
	d.store.SetTime(week)
	d.publish(d.one, ended(claimed(d.one, own("late"), 1), ledger.Succeeded))
	d.store.SetTime(noon)

	want := []string{store.CommandName("", long), store.CommandName("", "done"), store.CommandName("web", "done")}
	got := d.prune(week, false)
	if slices.Sort(got); !slices.Equal(got, sorted(want)) {
		t.Fatalf("would remove %q, want %q", got, want)
	}
	before := d.names("receipts/")
	d.prune(week, true)
	if !slices.Equal(d.names("receipts/"), before) {
		t.Error("a claim or an outcome was removed")
	}
	if young := d.prune(noon.Add(time.Hour), false); len(young) != 0 {
		t.Errorf("within the grace period: %q", young)
	}
	// A command that is sent again after that finds its claim.
	d.send("", d.owner, command(d.one, "done"))
	won, taken, err := d.two.Claim(t.Context(), claimed(d.two, own("done"), 9))
	if won || err != nil || taken.Status != ledger.Succeeded {
		t.Errorf("%v, %+v, %v", won, taken, err)
	}
}

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}

func TestPruneThinsTheListsOfReceipts(t *testing.T) {
	d := newDesk(t)
	d.store.SetTime(noon)
	for i := range 6 {
		if i == 5 {
			d.store.SetTime(noon.Add(6 * 24 * time.Hour))
		}
		d.list(d.one, d.run(own(fmt.Sprint(i)), i, ledger.Succeeded))
	}
	removed := d.prune(noon.Add(7*24*time.Hour), true)
	var want []string
	for n := range uint64(4) {
		want = append(want, store.HeadName(receiptsHead, n+1))
	}
	if !slices.Equal(removed, want) {
		t.Errorf("removed %q, want %q", removed, want)
	}
	if v := d.sound(); v.Lists != 2 {
		t.Errorf("%+v", v)
	}
	d.list(d.two, d.run(own("7"), 7, ledger.Succeeded))
	if rows := d.listed(); len(rows) != 7 {
		t.Errorf("%q", rows)
	}
}

func TestVerifyComparesTheListWithTheReceipts(t *testing.T) {
	d := newDesk(t)
	done := d.run(own("1"), 1, ledger.Succeeded)
	gone := ended(claimed(d.one, own("2"), 2), ledger.Succeeded)
	ahead := claimed(d.one, own("3"), 3)
	d.claim(d.one, ahead)
	d.list(d.one, done, gone, ended(ahead, ledger.Failed))
	_, problems := d.verify()
	slices.Sort(problems)
	if len(problems) != 2 || !strings.HasPrefix(problems[0], store.ClaimName("", "2")) || !strings.HasPrefix(problems[1], store.ClaimName("", "3")) {
		t.Errorf("%q", problems)
	}
	if rows, err := d.reader.Receipts(t.Context()); err != nil || !slices.EqualFunc(rows[2:], []ReceiptRow{document.ReceiptRowOf(done)}, ReceiptRow.Equal) {
		t.Errorf("%+v, %v", rows, err)
	}
}
