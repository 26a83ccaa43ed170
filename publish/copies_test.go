package publish

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

func (b *bed) storedCopy(typed string) string {
	b.Helper()
	v := b.view()
	rows, err := v.FindKeys(typed)
	if err != nil || len(rows) != 1 {
		b.Fatalf("find %s: %v, %v", typed, rows, err)
	}
	return b.bytesOf(v, rows[0])
}

func TestAShorterTranscriptLeavesTheLongerOneAsAKeptCopy(t *testing.T) {
	for why, now := range map[string]string{
		keptShortened: jsonl(1, 0),
		keptDiverged:  jsonl(150, 0) + jsonl(60, 900),
		"":            jsonl(201, 0),
	} {
		t.Run(why, func(t *testing.T) {
			whole := jsonl(200, 0)
			b, file, key := transcriptBed(t, whole)
			writeFile(t, file, now)
			r := b.publish()
			if r.Sessions[0].Why != why || (r.Copies == 1) != (why != "") || b.stored(key) != now {
				t.Fatalf("report %+v", r)
			}
			if why == "" {
				return
			}
			prune := func() {
				t.Helper()
				_, err := b.target.Prune(b.Context(), PruneOptions{Keep: 1, Apply: true, Now: b.pass.Now.AddDate(50, 0, 0)})
				if err != nil {
					t.Fatal(err)
				}
			}
			prune() // the first pack holds nothing but the copy
			if b.storedCopy(key+"@1") != whole {
				t.Fatal("a prune took the kept copy")
			}
			for i := range 11 { // what a prune of old generations would do to it
				writeFile(t, file, now+jsonl(i+1, 300))
				b.publish()
			}
			prune()
			row := b.row(key)
			if len(row.Copies) != 1 || row.Copies[0].N != 1 || row.Copies[0].Why != why || row.Copies[0].Events != 200 {
				t.Fatalf("copies %+v", row.Copies)
			}
			if b.storedCopy(key+"@1") != whole {
				t.Error("the kept copy is not what was published")
			}
			b.sound()
		})
	}
}

func TestAnEmptiedTranscriptIsKeptAlsoWithoutTheCache(t *testing.T) {
	whole := jsonl(5000, 0) // a table of its own, and parts before the last
	b, file, key := transcriptBed(t, whole)
	b.target.State = t.TempDir()
	writeFile(t, file, "")
	if r := b.publish(); r.Copies != 1 || r.Sessions[0].Why != keptShortened {
		t.Fatalf("%+v", r)
	}
	writeFile(t, file, whole)
	if r := b.publish(); r.Copies != 0 {
		t.Errorf("what grew is kept: %+v", r)
	}
	if b.storedCopy(key+"@1") != whole || b.stored(key) != whole {
		t.Error("bytes differ")
	}
	b.sound()
}

func TestAGrownSessionOfALostCacheKeepsNoCopy(t *testing.T) {
	b, file, _ := transcriptBed(t, jsonl(5000, 0))
	b.target.State = t.TempDir()
	writeFile(t, file, jsonl(5100, 0))
	if r := b.publish(); r.Copies != 0 || r.Published != 1 {
		t.Errorf("%+v", r)
	}
}

// TestAKeptCopyOutlivesSweepsAndPrunes keeps a copy through so many rewrites of other
// sessions that its documents are moved and the list of packs is swept, with a prune after
// each of them.
func TestAKeptCopyOutlivesSweepsAndPrunes(t *testing.T) {
	whole := jsonl(200, 0)
	b, file, key := transcriptBed(t, whole)
	writeFile(t, file, jsonl(3, 0))
	if r := b.publish(); r.Copies != 1 {
		t.Fatalf("%+v", r)
	}
	other := filepath.Join(filepath.Dir(file), "0f3c9a1b-0000-4000-8000-00000000beef.jsonl")
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range 150 {
		if err := os.Remove(other); err != nil && i > 0 {
			t.Fatal(err)
		}
		writeFile(t, other, noise(rng, 40_000)+"\n")
		b.publish()
		if i%5 == 0 {
			if _, err := b.target.Prune(t.Context(), PruneOptions{Keep: 1, Apply: true, Now: b.pass.Now}); err != nil {
				t.Fatal(err)
			}
			if b.storedCopy(key+"@1") != whole {
				t.Fatalf("after %d rewrites the copy is another", i)
			}
		}
	}
	b.sound()
	dropped, n, err := b.target.DropCopies(t.Context(), []string{key + "@1"}, true, b.pass.Now)
	if err != nil || len(dropped) != 1 || n != b.view().Root().Generation || len(b.row(key).Copies) != 0 {
		t.Fatalf("dropped %d in generation %d, %v", len(dropped), n, err)
	}
	if r := b.publish(); r.Documents != 0 {
		t.Errorf("a pass after the drop writes: %+v", r)
	}
	b.sound()
}
