package publish

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agentsync/fixtures/fakedriver"
	"agentsync/ledger"
	"agentsync/publish/document"
	"agentsync/publish/store"
	"agentsync/publish/store/mem"
)

// run claims a command and ends it, n seconds after noon, without listing it.
func (d *desk) run(id ledger.CommandID, n int, status ledger.ReceiptStatus) ledger.Receipt {
	d.Helper()
	r := claimed(d.one, id, n)
	d.claim(d.one, r)
	d.publish(d.one, ended(r, status))
	return ended(r, status)
}

func (d *desk) list(t *Target, receipts ...ledger.Receipt) {
	d.Helper()
	if err := t.ListReceipts(d.Context(), receipts); err != nil {
		d.Fatal(err)
	}
}

// listed are the rows as the reader sees them, each as its command and status.
func (d *desk) listed() (rows []string) {
	d.Helper()
	found, err := d.reader.Receipts(d.Context())
	if err != nil {
		d.Fatal(err)
	}
	for _, row := range found {
		rows = append(rows, fmt.Sprint(strings.TrimPrefix(row.CommandID.Producer+"/"+row.CommandID.ID, "/"), " ", row.Status))
	}
	return rows
}

func (d *desk) wantList(want ...string) {
	d.Helper()
	if got := d.listed(); !slices.Equal(got, want) {
		d.Errorf("list is %q, want %q", got, want)
	}
}

func TestTheListHasOneRowForEachCommandTheNewestFirst(t *testing.T) {
	d := newDesk(t)
	d.wantList()
	web := ledger.CommandID{Producer: "web", ID: "1"}
	one, other := claimed(d.one, own("1"), 1), claimed(d.one, web, 2)
	d.claim(d.one, one)
	d.claim(d.one, other)
	d.list(d.one, one, other)
	d.wantList("web/1 in-flight", "1 in-flight")
	d.publish(d.one, ended(one, ledger.Failed))
	d.list(d.two, ended(one, ledger.Failed))
	d.wantList("1 failed", "web/1 in-flight")
	heads := len(d.names("heads/receipts/"))
	d.list(d.two, ended(one, ledger.Failed), other)
	if n := len(d.names("heads/receipts/")); n != heads {
		t.Error("a list that says nothing new was written")
	}
	rows, err := d.reader.Receipts(t.Context())
	if err != nil || rows[0].Problem == nil || rows[0].Problem.Code != "made-up" || rows[0].UpdatedAt != one.ClaimedAt {
		t.Errorf("%+v, %v", rows, err)
	}
	if v := d.sound(); v.Lists != 2 || v.Claims != 2 {
		t.Errorf("%+v", v)
	}
}

func TestASettledRowIsNotUnsettled(t *testing.T) {
	d := newDesk(t)
	done := d.run(own("1"), 1, ledger.Succeeded)
	lost := d.run(own("2"), 1, ledger.Unknown)
	d.list(d.one, done, lost)
	d.list(d.two, claimed(d.two, own("1"), 1), ended(claimed(d.two, own("1"), 1), ledger.Unknown), claimed(d.two, own("2"), 1))
	d.wantList("2 unknown", "1 succeeded")
	d.publish(d.two, ended(claimed(d.two, own("2"), 1), ledger.Failed))
	d.list(d.two, ended(claimed(d.two, own("2"), 1), ledger.Failed))
	d.wantList("2 failed", "1 succeeded")
}

func TestTheListKeepsTwoHundred(t *testing.T) {
	d := newDesk(t)
	var receipts []ledger.Receipt
	for i := range 250 {
		receipts = append(receipts, ended(claimed(d.one, own(fmt.Sprint(i)), i), ledger.Succeeded))
	}
	d.list(d.one, receipts...)
	got := d.listed()
	if len(got) != document.MaxReceiptRows || got[0] != "249 succeeded" || got[199] != "50 succeeded" {
		t.Errorf("%d rows from %s to %s", len(got), got[0], got[len(got)-1])
	}
	if len(d.names("heads/receipts/")) != 2 { // head and hint
		t.Error(d.names("heads/receipts/"))
	}
}

func TestWritersOfTheListMerge(t *testing.T) {
	d := newDesk(t)
	var all sync.WaitGroup
	for n, target := range []*Target{d.one, d.two} {
		for i := range 40 {
			r := claimed(target, own(fmt.Sprint(n, "-", i)), i)
			d.claim(target, r)
			all.Go(func() {
				if err := target.ListReceipts(t.Context(), []ledger.Receipt{r}); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	rows := d.listed()
	if slices.Sort(rows); len(slices.Compact(rows)) != 80 {
		t.Errorf("%d rows: %q", len(rows), rows)
	}
	d.sound()
}

func TestADamagedListIsReportedAndNeverReplacedByAnEmptyOne(t *testing.T) {
	forger := testIdentity(t)
	// resign gives the newest list other rows, signed by the owner all the same.
	resign := func(d *desk, name string, change func(string) string) {
		head, err := document.ParseHead(d.text(name), &document.Packs{})
		if err != nil {
			d.Fatal(err)
		}
		text := change(string(head.Text()))
		if head, err = document.ParseHead([]byte(text), &document.Packs{}); err != nil {
			d.Fatal(err)
		}
		head.Signature = d.owner.Sign(head.Signed())
		d.replace(name, head.Text())
	}
	replaceAll := func(from, to string) func(string) string {
		return func(s string) string { return strings.ReplaceAll(s, from, to) }
	}
	for name, spoil := range map[string]func(d *desk, name string){
		"torn":  func(d *desk, name string) { d.replace(name, d.text(name)[:200]) },
		"empty": func(d *desk, name string) { d.replace(name, nil) },
		"changed": func(d *desk, name string) {
			d.replace(name, bytes.ReplaceAll(d.text(name), []byte("succeeded"), []byte("failed")))
		},
		"a command twice":   func(d *desk, name string) { resign(d, name, replaceAll(`"commandId":"2"`, `"commandId":"1"`)) },
		"an unknown status": func(d *desk, name string) { resign(d, name, replaceAll("succeeded", "done")) },
		"an inexact time":   func(d *desk, name string) { resign(d, name, replaceAll(".000Z\"", "Z\"")) },
		"another owner":     func(d *desk, name string) { resign(d, name, replaceAll(d.owner.DID(), forger.DID())) },
		"another space":     func(d *desk, name string) { resign(d, name, replaceAll(d.one.SpaceDID(), forger.DID())) },
		"a link elsewhere": func(d *desk, name string) {
			resign(d, name, replaceAll("of:fid1:", "of:fid1:A"))
		},
		"no rows":              func(d *desk, name string) { resign(d, name, replaceAll(`"receipts":[`, `"rows":[`)) },
		"rows of another kind": func(d *desk, name string) { resign(d, name, replaceAll(`"receipts":[`, `"receipts":[7,`)) },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			one, two := d.run(own("1"), 1, ledger.Succeeded), d.run(own("2"), 2, ledger.Succeeded)
			d.list(d.one, one, two)
			head := store.HeadName(receiptsHead, 1)
			spoil(d, head)
			if rows, err := d.reader.Receipts(t.Context()); damagedAt(err) != head {
				t.Errorf("read: %v, %v", rows, err)
			}
			if err := d.one.ListReceipts(t.Context(), []ledger.Receipt{one}); damagedAt(err) != head {
				t.Errorf("written over: %v", err)
			}
			if _, problems := d.verify(); len(problems) != 1 || !strings.HasPrefix(problems[0], head) {
				t.Errorf("verify: %q", problems)
			}
			n, err := d.one.RepairReceipts(t.Context())
			if err != nil || n != 2 {
				t.Fatalf("repair: %d, %v", n, err)
			}
			d.wantList("2 succeeded", "1 succeeded")
			d.list(d.two, one)
		})
	}
}

func TestARepairedListIsMadeOfTheReceipts(t *testing.T) {
	d := newDesk(t)
	if n, err := d.one.RepairReceipts(t.Context()); n != 0 || err != nil {
		t.Errorf("of nothing: %d, %v", n, err)
	}
	for i := range 203 {
		d.run(own(fmt.Sprint(1000-i)), i, ledger.Succeeded)
	}
	if n, err := d.one.RepairReceipts(t.Context()); n != document.MaxReceiptRows || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if got := d.listed(); got[0] != "798 succeeded" || got[199] != "997 succeeded" {
		t.Errorf("from %s to %s", got[0], got[199])
	}
	heads := len(d.names("heads/receipts/"))
	if n, err := d.two.RepairReceipts(t.Context()); n != document.MaxReceiptRows || err != nil || len(d.names("heads/receipts/")) != heads {
		t.Errorf("again: %d, %v", n, err)
	}
	d.replace("receipts/798/outcome-1.json", nil)
	n, err := d.one.RepairReceipts(t.Context())
	if n != document.MaxReceiptRows || damagedAt(err) != "receipts/798/outcome-1.json" {
		t.Errorf("with a damaged receipt: %d, %v", n, err)
	}
	if got := d.listed(); got[0] != "799 succeeded" {
		t.Error(got[0])
	}
	if _, err := d.reader.RepairReceipts(t.Context()); err == nil {
		t.Error("repaired without the owner's key")
	}
}

func TestTheListNeedsNoSessionsAndTheSessionsNoList(t *testing.T) {
	b := newBed(t, fakedriver.New("codex").Session("s-1", lines(2, 0)...))
	b.publish()
	r := claimed(b.target, own("1"), 1)
	if won, _, err := b.target.Claim(t.Context(), r); !won || err != nil {
		t.Fatal(err)
	}
	if err := b.target.ListReceipts(t.Context(), []ledger.Receipt{r}); err != nil {
		t.Fatal(err)
	}
	b.publish()
	if v := b.sound(); v.Generations != 1 || v.Lists != 1 || v.Claims != 1 || v.Sessions != 1 {
		t.Errorf("%+v", v)
	}
	// A head is not taken for one of another name.
	list, err := b.store.Get(t.Context(), store.HeadName(receiptsHead, 1), 0, -1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := store.PutOnce(t.Context(), b.store, store.HeadName(sessionsHead, 2), list); err != nil {
		t.Fatal(err)
	}
	if _, err := b.target.View(t.Context()); damagedAt(err) != store.HeadName(sessionsHead, 2) {
		t.Error(err)
	}
}

func TestAListThatCannotBeReadIsAnErrorAndNotDamage(t *testing.T) {
	d := newDesk(t)
	d.list(d.one, d.run(own("1"), 1, ledger.Succeeded))
	broken := errors.New("input/output error")
	d.store.Inject(mem.Fault{Op: mem.Get, Prefix: store.HeadName(receiptsHead, 1), Before: broken})
	if _, err := d.reader.Receipts(t.Context()); !errors.Is(err, broken) || strings.Contains(err.Error(), "damaged") {
		t.Error(err)
	}
	if _, err := d.one.RepairReceipts(t.Context()); !errors.Is(err, broken) {
		t.Errorf("repaired over it: %v", err)
	}
}

func TestOldReceiptsOfATakeOverPushNoNewerOnesOff(t *testing.T) {
	row := func(id string, at time.Time) ReceiptRow {
		return ReceiptRow{CommandID: own(id), SourceID: "codex", NativeSessionID: "1", Status: ledger.Succeeded, UpdatedAt: stamp(at)}
	}
	newer := []ReceiptRow{row("new", noon)}
	var old []ReceiptRow
	for i := range document.MaxReceiptRows + 50 {
		old = append(old, row(fmt.Sprint(i), noon.Add(time.Duration(i-1000)*time.Minute)))
	}
	rows, changed := listed(newer, old)
	if !changed || len(rows) != document.MaxReceiptRows || !slices.ContainsFunc(rows, func(r ReceiptRow) bool { return r.CommandID == own("new") }) {
		t.Errorf("%d rows, the newer one is not among them", len(rows))
	}
	if _, again := listed(rows, old[:50]); again {
		t.Error("receipts older than the whole list change it")
	}
}
