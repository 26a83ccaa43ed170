package dataset_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"agentsync/dirsync/dataset"
	"agentsync/hashgraph/digest"
	"agentsync/publish/store"
	"agentsync/publish/store/mem"
)

// chain publishes heads of which each holds "one" and a content of its own, a day apart.
func chain(t *testing.T, s *mem.Store, heads int) {
	t.Helper()
	d := open(s, 1, "here")
	var base *dataset.Head
	for i := range heads {
		s.SetTime(now.AddDate(0, 0, i))
		h, err := put(t, d, base, fmt.Sprint("plan ", i), "one", fmt.Sprint("other ", i))
		if err != nil {
			t.Fatal(err)
		}
		base = h
	}
}

func options(s store.Store) dataset.Options { return open(s, 1, "here").Options }

func check(t *testing.T, s store.Store, deep bool) dataset.CheckReport {
	t.Helper()
	r, err := dataset.Check(ctx, options(s), deep, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// replace puts other bytes under a name that is taken.
func replace(t *testing.T, s store.Store, name string, content []byte) {
	t.Helper()
	if err := s.Delete(ctx, name); err != nil {
		t.Fatal(err)
	}
	if content == nil {
		return
	}
	if err := store.PutOnce(ctx, s, name, content); err != nil {
		t.Fatal(err)
	}
}

func TestACheckFindsWhatIsDamaged(t *testing.T) {
	other := store.ObjectName(digest.Sum([]byte("other 1")))
	head := store.HeadName("dataset-notes", 2)
	for _, row := range []struct {
		name    string
		damage  func(s store.Store)
		at      string // "" for sound
		shallow bool   // found without reading every byte
	}{
		{"nothing", func(store.Store) {}, "", true},
		{"a content is gone", func(s store.Store) { replace(t, s, other, nil) }, other, true},
		{"a content is shorter", func(s store.Store) { replace(t, s, other, []byte("oth")) }, other, true},
		{"a content is another", func(s store.Store) { replace(t, s, other, []byte("OTHER 1")) }, other, false},
		{"a head is another", func(s store.Store) {
			text, err := s.Get(ctx, head, 0, -1, nil)
			if err != nil {
				t.Fatal(err)
			}
			replace(t, s, head, bytes.Replace(text, []byte("plan 1"), []byte("plan X"), 1))
		}, head, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := mem.New()
			chain(t, s, 3)
			row.damage(s)
			for _, deep := range []bool{false, true} {
				r := check(t, s, deep)
				want := row.at != "" && (deep || row.shallow)
				if (len(r.Problems) > 0) != want || want && r.Problems[0].Name != row.at {
					t.Errorf("deep %t: %+v", deep, r.Problems)
				}
			}
		})
	}
	t.Run("a manifest is gone", func(t *testing.T) {
		s := mem.New()
		chain(t, s, 3)
		h, err := open(s, 1, "here").At(ctx, 1)
		if err != nil {
			t.Fatal(err)
		}
		replace(t, s, store.ObjectName(h.Manifest), nil)
		if r := check(t, s, false); len(r.Problems) != 1 || r.Problems[0].Name != store.HeadName("dataset-notes", 1) {
			t.Errorf("%+v", r.Problems)
		}
	})
	t.Run("a sound one is counted", func(t *testing.T) {
		s := mem.New()
		chain(t, s, 3)
		if r := check(t, s, true); r.Datasets != 1 || r.Heads != 3 || r.Objects != 3+4 || r.Bytes == 0 {
			t.Errorf("%+v", r)
		}
	})
}

func TestPruneKeepsWhatAKeptHeadNeeds(t *testing.T) {
	s := mem.New()
	chain(t, s, 5)
	stray := digest.Sum([]byte("stray"))
	s.SetTime(now)
	if err := store.PutOnce(ctx, s, store.ObjectName(stray), []byte("stray")); err != nil {
		t.Fatal(err)
	}
	p := dataset.PruneOptions{Keep: 2, Grace: 24 * time.Hour, Now: now.AddDate(0, 1, 0)}
	told, err := dataset.Prune(ctx, options(s), p)
	if err != nil {
		t.Fatal(err)
	}
	// Three heads with a manifest and a content each, and the stray one.
	if len(told.Removed) != 3+3+3+1 || told.Heads != 2 || told.Objects != 2+3 {
		t.Fatalf("%+v", told)
	}
	if r := check(t, s, true); r.Heads != 5 || len(r.Problems) > 0 {
		t.Fatalf("telling removed something: %+v", r)
	}
	p.Apply = true
	if _, err := dataset.Prune(ctx, options(s), p); err != nil {
		t.Fatal(err)
	}
	if r := check(t, s, true); r.Heads != 2 || len(r.Problems) > 0 || r.Objects != 2+3 {
		t.Errorf("%+v", r)
	}
	if again, err := dataset.Prune(ctx, options(s), p); err != nil || len(again.Removed) > 0 {
		t.Errorf("%+v, %v", again, err)
	}
}

func TestPruneRemovesNothingYoungAndNothingBesideDamage(t *testing.T) {
	s := mem.New()
	chain(t, s, 5)
	young, err := dataset.Prune(ctx, options(s), dataset.PruneOptions{Keep: 1, Grace: 3 * 24 * time.Hour, Now: now.AddDate(0, 0, 4)})
	if err != nil || young.Heads != 3 || len(young.Removed) != 2+2+2 {
		t.Errorf("%+v, %v", young, err)
	}
	h, err := open(s, 1, "here").At(ctx, 5)
	if err != nil {
		t.Fatal(err)
	}
	replace(t, s, store.ObjectName(h.Manifest), []byte("{}"))
	r, err := dataset.Prune(ctx, options(s), dataset.PruneOptions{Keep: 1, Apply: true, Now: now.AddDate(1, 0, 0)})
	if err == nil || len(r.Removed) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if r := check(t, s, false); r.Heads != 5 {
		t.Errorf("%+v", r)
	}
}
