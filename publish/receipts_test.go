package publish

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"agentsync/collect/value"
	"agentsync/ledger"
	"agentsync/publish/document"
	"agentsync/publish/store/mem"
)

func TestOneMachineWinsAClaimAndTheOthersAreTold(t *testing.T) {
	d := newDesk(t)
	id := ledger.CommandID{Producer: "web", ID: "1"}
	if r := d.read(id); r != nil {
		t.Fatalf("before the claim: %+v", r)
	}
	d.claim(d.one, claimed(d.one, id, 1))
	won, taken, err := d.two.Claim(t.Context(), claimed(d.two, id, 2))
	if won || err != nil || taken.Installation != "one" || taken.Status != ledger.InFlight || taken.Outcomes != 0 {
		t.Fatalf("the second: %v, %+v, %v", won, taken, err)
	}
	if won, _, err := d.one.Claim(t.Context(), claimed(d.one, id, 1)); won || err != nil {
		t.Errorf("the same machine again: %v, %v", won, err)
	}
	done := ended(claimed(d.one, id, 1), ledger.Succeeded)
	done.Result = value.NewBuilder().Record().Key("none").Undefined().End().Finish()
	d.publish(d.one, done)
	_, taken, err = d.two.Claim(t.Context(), claimed(d.two, id, 2))
	if err != nil || taken.Outcomes != 1 || !sameReceipt(taken.Receipt, done) {
		t.Errorf("after the outcome: %+v, %v", taken, err)
	}
	if r := d.read(own("1")); r != nil {
		t.Errorf("the owner's command of the same id: %+v", r)
	}
	if v := d.sound(); v.Claims != 1 || v.Outcomes != 1 {
		t.Errorf("%+v", v)
	}
}

func TestEachClaimIsWonOnceAmongGoroutines(t *testing.T) {
	d := newDesk(t)
	var won atomic.Int64
	var all sync.WaitGroup
	for _, target := range []*Target{d.one, d.two, d.one, d.two} {
		all.Go(func() {
			for i := range 200 {
				mine, _, err := target.Claim(t.Context(), claimed(target, own(fmt.Sprint(i)), i))
				if err != nil {
					t.Error(err)
					return
				}
				if mine {
					won.Add(1)
				}
			}
		})
	}
	all.Wait()
	if won.Load() != 200 {
		t.Errorf("%d claims were won", won.Load())
	}
}

func TestAClaimWhoseAnswerIsLostIsOurs(t *testing.T) {
	lost := errors.New("connection reset")
	d := newDesk(t)
	d.store.Inject(mem.Fault{Op: mem.Commit, Times: 1, After: lost})
	d.claim(d.one, claimed(d.one, own("1"), 1))

	t.Run("not when somebody else's comes to be there", func(t *testing.T) {
		d.store.Inject(mem.Fault{Op: mem.Commit, Times: 1, Before: lost})
		won, err := d.two.putClaim(t.Context(), claimed(d.two, own("1"), 2))
		if won || err != nil || d.read(own("1")).Installation != "one" {
			t.Errorf("%v, %v", won, err)
		}
	})
	t.Run("and when nothing more can be asked it is an error, the claim standing", func(t *testing.T) {
		d.store.Inject(mem.Fault{Op: mem.Commit, Prefix: "receipts/2/", Times: 1, After: lost})
		d.store.Inject(mem.Fault{Op: mem.Get, Prefix: "receipts/2/", Times: 1, Before: lost})
		if won, _, err := d.one.Claim(t.Context(), claimed(d.one, own("2"), 1)); won || !errors.Is(err, lost) {
			t.Fatalf("%v, %v", won, err)
		}
		if r := d.read(own("2")); r == nil || r.Installation != "one" {
			t.Errorf("%+v", r)
		}
	})
	t.Run("a store that fails for good gives an error and no claim", func(t *testing.T) {
		d.store.Inject(mem.Fault{Op: mem.Commit, Before: lost})
		if won, _, err := d.one.Claim(t.Context(), claimed(d.one, own("3"), 1)); won || !errors.Is(err, lost) {
			t.Errorf("%v, %v", won, err)
		}
		d.store.Heal()
		if r := d.read(own("3")); r != nil {
			t.Errorf("%+v", r)
		}
	})
}

func TestAnOutcomeWhoseAnswerIsLostIsWrittenOnce(t *testing.T) {
	lost := errors.New("connection reset")
	d := newDesk(t)
	run := claimed(d.one, own("1"), 1)
	d.claim(d.one, run)
	done := []ledger.Receipt{ended(run, ledger.Succeeded)}
	d.store.Inject(mem.Fault{Op: mem.Commit, Prefix: "receipts/", Times: 1, After: lost})
	d.store.Inject(mem.Fault{Op: mem.Commit, Prefix: "heads/", Times: 1, After: lost})
	if err := d.one.PublishReceipt(t.Context(), done[0]); !errors.Is(err, lost) {
		t.Error(err)
	}
	d.publish(d.one, done[0])
	if err := d.one.ListReceipts(t.Context(), done); !errors.Is(err, lost) {
		t.Error(err)
	}
	d.list(d.one, done...)
	if r := d.read(own("1")); r.Outcomes != 1 {
		t.Errorf("%+v", r)
	}
	if v := d.sound(); v.Lists != 1 || v.Outcomes != 1 {
		t.Errorf("%+v", v)
	}
}

func TestOnlyAnUnknownOutcomeIsReplaced(t *testing.T) {
	d := newDesk(t)
	run := claimed(d.one, own("1"), 1)
	d.claim(d.one, run)
	d.publish(d.one, run) // is its claim and nothing more
	unknown := ended(run, ledger.Unknown)
	d.publish(d.two, unknown)
	d.publish(d.two, unknown)
	if r := d.read(own("1")); r.Outcomes != 1 || r.Status != ledger.Unknown || r.Installation != "one" {
		t.Fatalf("%+v", r)
	}
	done := ended(run, ledger.Succeeded)
	d.publish(d.one, done)
	commits := d.store.Calls(mem.Commit)
	d.publish(d.one, done)
	d.publish(d.two, done)
	if n := d.store.Calls(mem.Commit); n != commits {
		t.Errorf("an equal outcome made %d writes", n-commits)
	}
	for _, status := range []ledger.ReceiptStatus{ledger.Failed, ledger.Unknown, ledger.NeedsConfirmation} {
		if err := d.two.PublishReceipt(t.Context(), ended(run, status)); !errors.Is(err, ErrSettled) {
			t.Errorf("%s after success: %v", status, err)
		}
	}
	if r := d.read(own("1")); r.Outcomes != 2 || r.Status != ledger.Succeeded {
		t.Errorf("%+v", r)
	}
	d.sound()
}

func TestAnOutcomeIsOfItsOwnClaim(t *testing.T) {
	d := newDesk(t)
	d.claim(d.one, claimed(d.one, own("1"), 1))
	late := ended(claimed(d.two, own("1"), 2), ledger.Failed) // two failed to claim it
	if err := d.two.PublishReceipt(t.Context(), late); !errors.Is(err, ErrClaimed) {
		t.Errorf("of another claim: %v", err)
	}
	other := ended(claimed(d.one, own("1"), 1), ledger.Succeeded)
	other.NativeSessionID = "s-2"
	if err := d.one.PublishReceipt(t.Context(), other); err == nil {
		t.Error("of another session: published")
	}
	foreign := ended(claimed(d.one, own("1"), 1), ledger.Succeeded)
	foreign.OwnerDID = testIdentity(t).DID()
	if err := d.one.PublishReceipt(t.Context(), foreign); err == nil {
		t.Error("of another owner: published")
	}
	pending := claimed(d.one, own("1"), 1)
	pending.Status = ledger.Pending
	if err := d.one.PublishReceipt(t.Context(), pending); err == nil {
		t.Error("of a command that waits: published")
	}
	if err := d.reader.PublishReceipt(t.Context(), other); err == nil {
		t.Error("without the owner's key: published")
	}
	if r := d.read(own("1")); r.Outcomes != 0 {
		t.Errorf("%+v", r)
	}
}

func TestACommandThatEndedUnclaimedIsClaimedByItsOutcome(t *testing.T) {
	d := newDesk(t)
	failed := ended(claimed(d.one, own("1"), 1), ledger.Failed)
	d.publish(d.one, failed)
	won, taken, err := d.two.Claim(t.Context(), claimed(d.two, own("1"), 2))
	if won || err != nil || taken.Status != ledger.Failed || taken.Installation != "one" {
		t.Errorf("%v, %+v, %v", won, taken, err)
	}
	if err := d.one.PublishReceipt(t.Context(), claimed(d.one, own("2"), 1)); err == nil {
		t.Error("a command in flight without a claim was published")
	}
	d.sound()
}

func TestRacingOutcomesAgree(t *testing.T) {
	d := newDesk(t)
	run := claimed(d.one, own("1"), 1)
	d.claim(d.one, run)
	var all sync.WaitGroup
	var settled, wrote atomic.Int64
	for i := range 8 {
		target, status := d.one, ledger.Succeeded
		if i%2 == 0 {
			target, status = d.two, ledger.Failed
		}
		all.Go(func() {
			switch err := target.PublishReceipt(t.Context(), ended(run, status)); {
			case err == nil:
				wrote.Add(1)
			case errors.Is(err, ErrSettled):
				settled.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	all.Wait()
	if wrote.Load() != 4 || settled.Load() != 4 || d.read(own("1")).Outcomes != 1 {
		t.Errorf("%d accepted, %d refused, %+v", wrote.Load(), settled.Load(), d.read(own("1")))
	}
}

// damageReceipt has a claim and two outcomes of one command to damage.
func damageReceipt(t *testing.T) (*desk, ledger.Receipt) {
	d := newDesk(t)
	run := claimed(d.one, own("1"), 1)
	d.claim(d.one, run)
	d.publish(d.one, ended(run, ledger.Unknown))
	d.publish(d.one, ended(run, ledger.Succeeded))
	return d, run
}

func TestADamagedReceiptIsNeverAbsent(t *testing.T) {
	forger := testIdentity(t)
	for name, spoil := range map[string]func(d *desk, run ledger.Receipt){
		"no claim": func(d *desk, _ ledger.Receipt) { _ = d.store.Delete(t.Context(), "receipts/1/claim.json") },
		"a gap":    func(d *desk, _ ledger.Receipt) { _ = d.store.Delete(t.Context(), "receipts/1/outcome-1.json") },
		"a torn outcome": func(d *desk, _ ledger.Receipt) {
			d.replace("receipts/1/outcome-2.json", d.text("receipts/1/outcome-2.json")[:100])
		},
		"an empty claim": func(d *desk, _ ledger.Receipt) { d.replace("receipts/1/claim.json", nil) },
		"a changed outcome": func(d *desk, _ ledger.Receipt) {
			d.replace("receipts/1/outcome-2.json", bytes.Replace(d.text("receipts/1/outcome-2.json"), []byte("succeeded"), []byte("failed"), 1))
		},
		"a forged outcome": func(d *desk, run ledger.Receipt) {
			o := document.Outcome{Number: 3, Installation: "x", Receipt: ended(run, ledger.Failed)}
			d.put("receipts/1/outcome-3.json", d.sealed(o.Seal(forger.DID()), forger, ""))
		},
		"an outcome of another number": func(d *desk, _ ledger.Receipt) {
			d.put("receipts/1/outcome-3.json", d.text("receipts/1/outcome-2.json"))
		},
		"an outcome of another command": func(d *desk, _ ledger.Receipt) {
			run := claimed(d.one, own("2"), 1)
			d.claim(d.one, run)
			d.publish(d.one, ended(run, ledger.Failed))
			d.replace("receipts/1/outcome-1.json", d.text("receipts/2/outcome-1.json"))
			_ = d.store.Delete(t.Context(), "receipts/1/outcome-2.json")
		},
		"another command's claim": func(d *desk, _ ledger.Receipt) {
			d.claim(d.one, claimed(d.one, own("2"), 1))
			d.replace("receipts/1/claim.json", d.text("receipts/2/claim.json"))
		},
		"another queue's claim": func(d *desk, _ ledger.Receipt) {
			d.claim(d.one, claimed(d.one, ledger.CommandID{Producer: "web", ID: "1"}, 1))
			d.replace("receipts/1/claim.json", d.text("receipts/web@1/claim.json"))
		},
		"a claim that is an outcome": func(d *desk, _ ledger.Receipt) {
			d.replace("receipts/1/claim.json", d.text("receipts/1/outcome-2.json"))
		},
		"a claim too large": func(d *desk, _ ledger.Receipt) {
			d.replace("receipts/1/claim.json", bytes.Repeat([]byte(" "), maxRecord+1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, run := damageReceipt(t)
			spoil(d, run)
			r, err := d.reader.ReadReceipt(t.Context(), own("1"))
			if at := damagedAt(err); r != nil || !strings.HasPrefix(at, "receipts/1") {
				t.Errorf("read: %+v, %s", r, at)
			}
			if won, _, err := d.two.Claim(t.Context(), claimed(d.two, own("1"), 2)); won || err == nil {
				t.Errorf("claim: %v, %v", won, err)
			}
			if err := d.one.PublishReceipt(t.Context(), ended(run, ledger.Failed)); err == nil {
				t.Error("an outcome was published over it")
			}
			if _, problems := d.verify(); len(problems) == 0 {
				t.Error("verify finds nothing")
			}
		})
	}
}

func TestVerifyFindsWhatReadingPassesOver(t *testing.T) {
	d, run := damageReceipt(t)
	o := document.Outcome{Number: 3, Installation: "one", Receipt: ended(run, ledger.Failed)}
	d.put("receipts/1/outcome-3.json", d.sealed(o.Seal(d.owner.DID()), d.owner, ""))
	d.put("receipts/1/notes.txt", nil)
	_, problems := d.verify()
	if len(problems) != 2 || !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, "outcome-3.json: replaces an outcome") }) {
		t.Errorf("%q", problems)
	}
}

func TestIdsThatDifferInCaseOnlyAreNeverMistaken(t *testing.T) {
	d := newDesk(t)
	d.claim(d.one, claimed(d.one, own("A"), 1))
	d.publish(d.one, ended(claimed(d.one, own("A"), 1), ledger.Succeeded))
	// What such a system shows of the folder of "a" is the folder of "A".
	d.put("receipts/a/claim.json", d.text("receipts/A/claim.json"))
	d.put("receipts/a/outcome-1.json", d.text("receipts/A/outcome-1.json"))
	r, err := d.reader.ReadReceipt(t.Context(), own("a"))
	if r != nil || damagedAt(err) != "receipts/a/claim.json" {
		t.Errorf("%+v, %v", r, err)
	}
	if won, _, err := d.one.Claim(t.Context(), claimed(d.one, own("a"), 1)); won || err == nil {
		t.Errorf("%v, %v", won, err)
	}
	if r := d.read(own("A")); r.Status != ledger.Succeeded {
		t.Errorf("%+v", r)
	}
}
