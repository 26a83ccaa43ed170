package publish

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"agentsync/publish/pack"
	"agentsync/publish/store"
	"agentsync/publish/store/mem"
)

// longSession is a conversation of several parts, in more than one frame.
func longSession(events int) string { return strings.Join(lines(events, 0), "\n") + "\n" }

// eachSpoilt spoils every frame of the packs in turn and puts the packs back after.
func (b *bed) eachSpoilt(try func(at string)) {
	b.Helper()
	for name := range b.packs() {
		file := b.content(name)
		id, _ := store.ParsePackName(name)
		entries, err := pack.ReadTable(b.Context(), b.store, id)
		if err != nil {
			b.Fatal(err)
		}
		for _, e := range entries {
			spoilt := bytes.Clone(file)
			spoilt[e.Offset+e.Length/2] ^= 1
			b.plant(name, spoilt)
			try(e.ID)
		}
		b.plant(name, file)
	}
}

// twin is a bed like b: the same store, as it is now, with a state of its own.
func (b *bed) twin() *bed {
	b.Helper()
	twin := &bed{T: b.T, store: mem.New(), pass: b.pass}
	err := b.store.List(b.Context(), "", func(e store.Entry) error {
		twin.plant(e.Name, b.content(e.Name))
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	o := b.target.Options
	o.Store, o.State = twin.store, b.TempDir()
	target, err := Open(b.Context(), o)
	if err != nil {
		b.Fatal(err)
	}
	twin.target = target
	return twin
}

func (b *bed) verify() VerifyReport {
	b.Helper()
	v, err := b.target.Verify(b.Context(), VerifyOptions{Workers: 2})
	if err != nil {
		b.Fatal(err)
	}
	return v
}

func TestAFullPassMendsWhatItsSourcesStillHave(t *testing.T) {
	files := map[string]string{
		"-home-dev-app/" + oddID + ".jsonl":                        longSession(12_000),
		"-home-dev-app/22222222-2222-4333-8444-555555555555.jsonl": forgedLine,
	}
	_, d := claudeTree(t, files)
	b := newBed(t, d)
	b.publish()
	mended, index := 0, 0
	b.eachSpoilt(func(at string) {
		twin := b.twin()
		before := twin.verify()
		if len(before.Problems) == 0 {
			t.Errorf("%s: found sound", at)
		}
		r, err := twin.target.Publish(t.Context(), twin.pass)
		if err == nil && r.Mended == 0 {
			if r.Documents > 0 {
				t.Errorf("%s: an ordinary pass had something to write: %+v", at, r)
			}
			twin.pass.Full = true
			r, err = twin.target.Publish(t.Context(), twin.pass)
		}
		var damaged *DamagedError
		if errors.As(err, &damaged) {
			index++
			return
		}
		if r.Mended == 0 && len(r.Notes) == 1 && r.Notes[0].Code == "mended" {
			index++
		} else if err != nil || r.Mended != 1 || r.Published != 1 || r.Unchanged != 1 || r.Generation != 2 {
			t.Errorf("%s: %+v, %v", at, r, err)
			return
		}
		mended++
		if len(before.Damaged) != r.Mended {
			t.Errorf("%s: %d sessions mended, but %q are damaged", at, r.Mended, before.Damaged)
		}
		after := twin.verify()
		if len(after.Damaged) > 0 || len(after.Problems) == 0 {
			t.Errorf("%s: afterwards %+v", at, after)
		}
		for _, p := range after.Problems {
			if !strings.Contains(p.Message, "only generations before 2 need it") && p.What != store.HeadName(sessionsHead, 1) {
				t.Errorf("%s: %s: %s", at, p.What, p.Message)
			}
		}
		for name, content := range files {
			if id := strings.TrimSuffix(filepath.Base(name), ".jsonl"); twin.stored("claude/"+id) != content {
				t.Errorf("%s: %s has other bytes", at, id)
			}
		}
		if err := readAll(twin); err != nil {
			t.Errorf("%s: %v", at, err)
		}
		if r := twin.publish(); r.Mended > 0 || r.Documents > 0 {
			t.Errorf("%s: again: %+v", at, r)
		}
	})
	if mended < 5 || index == 0 {
		t.Errorf("%d mended, %d in the index", mended, index)
	}
}

func TestAnAppendNeverBuildsOnADamagedPartThatItReads(t *testing.T) {
	dir, d := claudeTree(t, map[string]string{"-home-dev-app/" + oddID + ".jsonl": longSession(12_000)})
	b := newBed(t, d)
	b.publish()
	writeFile(t, filepath.Join(dir, "projects", "-home-dev-app", oddID+".jsonl"), longSession(12_001))
	mended := 0
	b.eachSpoilt(func(at string) {
		twin := b.twin() // which remembers nothing, so that the parts before are read
		r, err := twin.target.Publish(t.Context(), twin.pass)
		var damaged *DamagedError
		if errors.As(err, &damaged) {
			return // in the index
		}
		if err != nil || r.Published != 1 {
			t.Errorf("%s: %+v, %v", at, r, err)
			return
		}
		mended += r.Mended
		if r.Mended > 0 && twin.stored("claude/"+oddID) != longSession(12_001) {
			t.Errorf("%s: other bytes", at)
		}
	})
	if mended == 0 {
		t.Error("nothing was mended")
	}
}
