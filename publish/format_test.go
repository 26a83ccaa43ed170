package publish

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"agentsync/fixtures/fakedriver"
	"agentsync/publish/document"
	"agentsync/publish/store"
)

// without removes format.json and returns what it was.
func (b *bed) without(t *testing.T) []byte {
	t.Helper()
	text, err := store.ReadRecord(t.Context(), b.store, formatName, store.MaxRecord)
	if err == nil {
		err = b.store.Delete(t.Context(), formatName)
	}
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestAPopulatedPlaceWithoutItsRecordIsNeverAdopted(t *testing.T) {
	b := generations(t, 2)
	b.without(t)
	other := b.target.Options
	other.Signer = testIdentity(t)
	for name, o := range map[string]Options{"owner": b.target.Options, "other": other} {
		if _, err := Open(t.Context(), o); !errors.Is(err, ErrRecordLost) {
			t.Errorf("%s: open: %v", name, err)
		}
		if _, err := Create(t.Context(), o, noon); !errors.Is(err, ErrRecordLost) {
			t.Errorf("%s: create: %v", name, err)
		}
	}
	if _, err := b.store.Stat(t.Context(), formatName); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a record was written: %v", err)
	}
}

func TestAnythingOfAStoreKeepsAPlaceFromBeingAdopted(t *testing.T) {
	for _, name := range []string{"packs/00/x.pack", store.HeadName("dataset-notes", 1), "objects/00/x", "queues/@owner/1.json", "receipts/1/claim.json"} {
		b := newBed(t)
		b.without(t)
		if err := store.PutOnce(t.Context(), b.store, name, []byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, err := Create(t.Context(), b.target.Options, noon); !errors.Is(err, ErrRecordLost) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestALostRecordComesBackFromSignedRoots(t *testing.T) {
	b := generations(t, 3)
	lost := b.without(t)
	other := b.target.Options
	other.Signer = testIdentity(t)
	var damaged *DamagedError
	if _, _, err := RepairFormat(t.Context(), other); !errors.As(err, &damaged) {
		t.Errorf("another key: %v", err)
	}
	target, repaired, err := RepairFormat(t.Context(), b.target.Options)
	if err != nil || !repaired {
		t.Fatal(repaired, err)
	}
	if target.SpaceDID() != b.target.SpaceDID() || target.OwnerDID() != b.target.OwnerDID() {
		t.Errorf("space %s, owner %s", target.SpaceDID(), target.OwnerDID())
	}
	if text := b.without(t); !bytes.Equal(text, lost) { // made at noon, as the first generation was
		t.Errorf("%s, want %s", text, lost)
	}
	if _, _, err := RepairFormat(t.Context(), b.target.Options); err != nil {
		t.Fatal(err)
	}
	b.sound()
	if _, repaired, err := RepairFormat(t.Context(), b.target.Options); err != nil || repaired {
		t.Errorf("again: %v, %v", repaired, err)
	}
}

func TestARecordIsNotMadeUp(t *testing.T) {
	t.Run("no generation", func(t *testing.T) {
		b := newBed(t)
		b.without(t)
		if err := store.PutOnce(t.Context(), b.store, "queues/@owner/1.json", []byte("x")); err != nil {
			t.Fatal(err)
		}
		if _, _, err := RepairFormat(t.Context(), b.target.Options); err == nil {
			t.Error("made")
		}
	})
	t.Run("two spaces", func(t *testing.T) {
		b := generations(t, 2)
		b.without(t)
		spoilt := b.target
		spoilt.format = &document.Format{OwnerDID: spoilt.format.OwnerDID, SpaceDID: "did:key:z6MkOther"}
		base, err := spoilt.readHead(spoilt.library(t.Context()), sessionsHead, 2)
		if err != nil {
			t.Fatal(err)
		}
		packer := &packer{ctx: t.Context(), store: b.store}
		root := &document.Root{OwnerDID: spoilt.OwnerDID(), SpaceDID: spoilt.SpaceDID(), Generation: 3, GeneratedAt: stamp(noon)}
		w := &work{Target: spoilt, ctx: t.Context(), packer: packer}
		link, err := packer.write(w.bench(0).encoder, root.Text())
		if err == nil {
			err = packer.cut()
		}
		if err == nil {
			_, err = spoilt.putHead(t.Context(), base, &document.Head{Name: sessionsHead, Root: link, Time: stamp(noon)})
		}
		if err != nil {
			t.Fatal(err)
		}
		var damaged *DamagedError
		if _, _, err := RepairFormat(t.Context(), b.target.Options); !errors.As(err, &damaged) {
			t.Errorf("repaired: %v", err)
		}
	})
}

func TestTheRecordIsSignedByTheOwner(t *testing.T) {
	b := newBed(t, fakedriver.New("codex").Session("one", lines(1, 0)...))
	b.publish()
	text := b.without(t)
	forged := bytes.Replace(text, []byte(`"created":"2026`), []byte(`"created":"2020`), 1)
	if bytes.Equal(forged, text) {
		t.Fatalf("%s", text)
	}
	if err := store.PutOnce(context.Background(), b.store, formatName, forged); err != nil {
		t.Fatal(err)
	}
	var damaged *DamagedError
	if _, err := Open(t.Context(), b.target.Options); !errors.As(err, &damaged) || damaged.What != formatName {
		t.Errorf("open: %v", err)
	}
	if _, repaired, err := RepairFormat(t.Context(), b.target.Options); err != nil || !repaired {
		t.Errorf("repair: %v, %v", repaired, err)
	}
	if again := b.without(t); !bytes.Equal(again, text) {
		t.Errorf("%s, want %s", again, text)
	}
}
