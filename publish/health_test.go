package publish

import (
	"bytes"
	"slices"
	"testing"
	"time"

	"agentsync/ledger"
	"agentsync/publish/store"
	"agentsync/publish/store/mem"
)

func (b *bed) record(t *Target, e Ended) {
	b.Helper()
	if err := t.RecordHealth(b.Context(), e); err != nil {
		b.Fatal(err)
	}
}

func (b *bed) healths(refused int) []Health {
	b.Helper()
	found, bad, err := b.target.Healths(b.Context())
	if err != nil || len(bad) != refused {
		b.Fatalf("%v, refused %v", err, bad)
	}
	return found
}

func TestAPassThatChangesNothingLeavesItsRecordForAnHour(t *testing.T) {
	b := newBed(t)
	pass := Ended{Host: "desk", Verb: "publish", Changed: true, Counts: map[string]int64{"found": 3}, Now: noon}
	b.record(b.target, pass)
	first := b.healths(0)
	if len(first) != 1 || first[0].Host != "desk" || first[0].Counts["found"] != 3 || first[0].Good != first[0].Time || first[0].Installation != "one" {
		t.Fatalf("%+v", first)
	}
	pass.Changed = false
	for _, step := range []struct {
		name   string
		after  time.Duration
		exit   int
		change bool
		writes int
	}{
		{"a minute later", time.Minute, 0, false, 0},
		{"just below an hour", time.Hour - time.Second, 0, false, 0},
		{"an hour later", time.Hour, 0, false, 1},
		{"another end", time.Hour + time.Second, 3, false, 1},
		{"the same end", time.Hour + 2*time.Second, 3, false, 0},
		{"something changed", time.Hour + 3*time.Second, 3, true, 1},
		{"a clock that was put back", 0, 3, false, 1},
	} {
		before := b.store.Calls(mem.Hint)
		pass.Now, pass.Exit, pass.Changed = noon.Add(step.after), step.exit, step.change
		b.record(b.target, pass)
		if n := b.store.Calls(mem.Hint) - before; n != step.writes {
			t.Errorf("%s: written %d times", step.name, n)
		}
	}
	if h := b.healths(0); h[0].Good != stamp(noon.Add(time.Hour)) || h[0].Exit != 3 {
		t.Errorf("%+v", h)
	}
}

func TestARecordThatDoesNotHoldIsToldAndWrittenAnew(t *testing.T) {
	b := newBed(t)
	other := b.open("two", b.target.Signer.(*ledger.Identity))
	pass := Ended{Verb: "publish", Now: noon}
	b.record(b.target, pass)
	b.record(other, pass)
	mine, its := store.HealthName("one", "publish"), store.HealthName("two", "publish")
	text, err := b.store.Get(t.Context(), mine, 0, -1, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string][]byte{
		"changed":          bytes.Replace(text, []byte(`"exit":0`), []byte(`"exit":1`), 1),
		"cut":              text[:len(text)/2],
		"empty":            {},
		"of another store": b.foreign(pass),
	} {
		if err := b.store.Hint(t.Context(), mine, bad); err != nil {
			t.Fatal(err)
		}
		if h := b.healths(1); len(h) != 1 || h[0].Installation != "two" {
			t.Errorf("%s: %+v", name, h)
		}
		v, err := b.target.Verify(t.Context(), VerifyOptions{})
		if err != nil || len(v.Problems) != 1 || v.Problems[0].What != mine || v.Healths != 1 {
			t.Errorf("%s: %+v, %v", name, v, err)
		}
		b.record(b.target, pass)
		if h := b.healths(0); len(h) != 2 {
			t.Errorf("%s: %+v", name, h)
		}
	}
	if err := b.store.Hint(t.Context(), its, text); err != nil { // another installation's, replayed
		t.Fatal(err)
	}
	b.healths(1)
}

// foreign is a record that another store's owner signed.
func (b *bed) foreign(e Ended) []byte {
	b.Helper()
	o := newBed(b.T)
	o.record(o.target, e)
	text, err := o.store.Get(b.Context(), store.HealthName("one", "publish"), 0, -1, nil)
	if err != nil {
		b.Fatal(err)
	}
	return text
}

func TestPruneRemovesTheRecordsOfInstallationsThatAreGone(t *testing.T) {
	b := newBed(t)
	b.store.SetTime(noon)
	b.record(b.target, Ended{Verb: "publish", Now: noon})
	name := store.HealthName("one", "publish")
	removed := func(age time.Duration) bool {
		r, err := b.target.Prune(t.Context(), PruneOptions{Keep: 1, Grace: time.Hour, Now: noon.Add(age)})
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(r.Removed, func(p Pruned) bool { return p.Name == name })
	}
	if removed(24 * time.Hour) {
		t.Error("a record of a day ago goes")
	}
	if !removed(healthAge + time.Hour) {
		t.Error("an old record of an installation without sources stays")
	}
	if err := b.store.Hint(t.Context(), name, []byte("x")); err != nil {
		t.Fatal(err)
	}
	if removed(0) || !removed(2*time.Hour) {
		t.Error("a record that does not hold goes after the grace period")
	}
}
