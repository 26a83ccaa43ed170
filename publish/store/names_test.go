package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"agentsync/fixtures/storetest"
	"agentsync/hashgraph/digest"
	"agentsync/publish/store"
	"agentsync/publish/store/mem"
)

func TestCheckName(t *testing.T) {
	for _, name := range []string{
		"format.json", store.PackName(digest.Sum(nil)), store.ObjectName(digest.Sum(nil)), store.HeadName("sessions", 1),
		store.HintName("sessions"), "queues/did:key:z6Mk/a%2Fb.json", "a..b/...", "päckchen/ü", "a/tmp", strings.Repeat("a", 255),
	} {
		if err := store.CheckName(name); err != nil {
			t.Errorf("%v, but it is harmless", err)
		}
	}
	for _, name := range storetest.BadNames {
		var refused *store.NameError
		if err := store.CheckName(name); !errors.As(err, &refused) || refused.Name != name {
			t.Errorf("%q: %v, want a *NameError", name, err)
		}
	}
}

func TestNamesAreReadBack(t *testing.T) {
	d := digest.Sum([]byte("x"))
	if got, err := store.ParsePackName(store.PackName(d)); got != d || err != nil {
		t.Errorf("pack: %v, %v", got, err)
	}
	if got, err := store.ParseObjectName(store.ObjectName(d)); got != d || err != nil {
		t.Errorf("object: %v, %v", got, err)
	}
	for _, n := range []uint64{0, 1, 42, store.MaxHead} {
		name := store.HeadName("sessions", n)
		if root, got, err := store.ParseHeadName(name); root != "sessions" || got != n || err != nil {
			t.Errorf("%s: %s, %d, %v", name, root, got, err)
		}
	}
	if got := store.HeadName("health", 7); got != "heads/health/000000000007.json" {
		t.Errorf("head 7 is %s", got)
	}
}

// C101: a digest or number from the wire is refused before it becomes a name.
func TestOtherNamesAreRefused(t *testing.T) {
	hex := digest.Sum([]byte("x")).Hex()
	for _, name := range []string{
		"", "packs/", "packs/00/../../x.pack", "packs/00/" + hex + ".pack", "packs/" + hex[:2] + "/" + strings.ToUpper(hex) + ".pack",
		"packs/" + hex[:2] + "/" + hex[:63] + ".pack", "packs/" + hex[:2] + "/" + hex, "packs/" + hex[:2] + "/" + hex + ".tmp_",
		"Packs/" + hex[:2] + "/" + hex + ".pack", "objects/" + hex[:2] + "/" + hex,
	} {
		if d, err := store.ParsePackName(name); err == nil {
			t.Errorf("%q was read as the pack %s", name, d)
		}
	}
	for _, name := range []string{"objects/" + hex, "objects/00/" + hex, store.PackName(digest.Sum(nil))} {
		if d, err := store.ParseObjectName(name); err == nil {
			t.Errorf("%q was read as the object %s", name, d)
		}
	}
	for _, name := range []string{
		"", "heads/sessions/hint", "heads/sessions/1.json", "heads/sessions/0000000000001.json", "heads/sessions/00000000000a.json",
		"heads/sessions/+00000000001.json", "heads/000000000001.json", "heads//000000000001.json", "heads/../000000000001.json",
		"heads/a/b/000000000001.json", store.HeadName("sessions", store.MaxHead+1), "xheads/sessions/000000000001.json",
	} {
		if root, n, err := store.ParseHeadName(name); err == nil {
			t.Errorf("%q was read as head %d of %s", name, n, root)
		}
	}
}

func TestPutOnce(t *testing.T) {
	t.Run("a bad name reaches no store", func(t *testing.T) {
		s := mem.New()
		if err := store.PutOnce(t.Context(), s, "packs/../../x", nil); err == nil || s.Calls("") != 0 {
			t.Fatalf("%v after %d calls", err, s.Calls(""))
		}
	})
	t.Run("a failed write stages nothing for good", func(t *testing.T) {
		s := mem.New()
		s.Inject(mem.Fault{Op: mem.Write, Before: store.ErrFull})
		if err := store.PutOnce(t.Context(), s, "format.json", []byte("x")); !errors.Is(err, store.ErrFull) || s.Calls(mem.Commit) != 0 {
			t.Fatalf("%v after %d commits", err, s.Calls(mem.Commit))
		}
	})
	t.Run("a failed comparison is its own error, not a lost race", func(t *testing.T) {
		s := mem.New()
		if err := store.PutOnce(t.Context(), s, "format.json", []byte("x")); err != nil {
			t.Fatal(err)
		}
		s.Inject(mem.Fault{Op: mem.Get, Before: context.DeadlineExceeded})
		err := store.PutOnce(t.Context(), s, "format.json", []byte("x"))
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, store.ErrExists) {
			t.Fatal(err)
		}
	})
}
