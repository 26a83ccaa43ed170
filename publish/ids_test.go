package publish

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/collect/claude"
	"agentsync/collect/codex"
	"agentsync/publish/document"
)

// twins is a source in which several files claim one id.
type twins struct {
	*bed
	source string
	bare   string           // the id that they claim
	files  []string         // places, any of which may hold a copy
	now    func(int) string // the record n
}

func newTwins(t *testing.T, kind string) *twins {
	t.Helper()
	dir := t.TempDir()
	s := &twins{source: kind, bare: placedID, now: func(n int) string { return jsonl(1, n) }}
	var d collect.Driver
	var err error
	switch kind {
	case "claude":
		for _, folder := range []string{"-home-dev-a", "-home-dev-b", "-home-dev-c"} {
			s.files = append(s.files, filepath.Join(dir, "projects", folder, placedID+".jsonl"))
		}
		d, err = claude.New(collect.SourceConfig{ID: "claude", Driver: claude.Kind, ConfigDir: dir}, collect.Env{Now: noon})
		must(t, os.MkdirAll(filepath.Join(dir, "projects"), 0o755))
	case "codex":
		for _, day := range []string{"01", "02", "03"} {
			s.files = append(s.files, filepath.Join(dir, "sessions/2026/02/"+day, "rollout-2026-02-"+day+"T09-00-00-"+placedID+".jsonl"))
		}
		s.now = func(n int) string {
			return fmt.Sprintf(`{"timestamp":"2026-02-01T09:00:00.000Z","type":"event_msg","payload":{"type":"user_message","message":"record %d"}}`+"\n", n)
		}
		d, err = codex.New(collect.SourceConfig{ID: "codex", Driver: codex.Kind, CodexHome: dir}, collect.Env{Now: noon})
		must(t, os.MkdirAll(filepath.Join(dir, "sessions"), 0o755))
	}
	must(t, err)
	// Another session, so that no pass finds everything gone.
	writeFile(t, filepath.Join(filepath.Dir(s.files[0]), filepath.Base(s.files[0])[:len(filepath.Base(s.files[0]))-len(placedID)-6]+"0f3c9a1b-0000-4000-8000-00000000cafe.jsonl"), s.now(1))
	s.bed = newBed(t, d)
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// write gives a file so many records, dated so many minutes after another.
func (s *twins) write(i int, text string, minute int) {
	s.Helper()
	writeFile(s.T, s.files[i], text)
	at := noon.Add(time.Duration(minute)*time.Minute).AddDate(0, 0, -1)
	must(s.T, os.Chtimes(s.files[i], at, at))
}

func (s *twins) records(n int) (text string) {
	for i := range n {
		text += s.now(i)
	}
	return text
}

// at is the row of the file at a place, by status.
func (s *twins) at(i int) (rows []*document.Row) {
	s.Helper()
	must(s.T, s.view().Rows(func(row *document.Row) error {
		if strings.HasSuffix(filepath.ToSlash(s.files[i]), "/"+row.Placement.Path) {
			rows = append(rows, row)
		}
		return nil
	}))
	return rows
}

func TestTheNewerOfTwoCopiesIsNotLostWhenItGoes(t *testing.T) {
	for _, kind := range []string{"claude", "codex"} {
		for _, lost := range []bool{false, true} {
			for _, bearer := range []int{0, 1} {
				t.Run(fmt.Sprintf("%s, cache lost %v, %d", kind, lost, bearer), func(t *testing.T) {
					s := newTwins(t, kind)
					other := 1 - bearer
					s.write(bearer, s.records(5), 10+bearer)
					s.write(other, s.records(4), 10+other)
					s.publish()
					newer, older := s.at(bearer), s.at(other)
					if len(newer) != 1 || len(older) != 1 {
						t.Fatalf("%d and %d rows", len(newer), len(older))
					}
					if lost {
						s.target.State = t.TempDir()
					}
					must(t, os.Remove(s.files[bearer]))
					s.publish()
					gone, left := s.row(newer[0].Key), s.row(older[0].Key)
					if gone.Status != document.StatusDeleted || left.Status != document.StatusComplete {
						t.Errorf("%s is %s, %s is %s", gone.Key, gone.Status, left.Key, left.Status)
					}
					if s.stored(gone.Key) != s.records(5) || s.stored(left.Key) != s.records(4) {
						t.Error("a record is lost")
					}
					if len(gone.Copies)+len(left.Copies) > 0 {
						t.Error("a file took another one's key")
					}
					if r := s.publish(); r.Documents != 0 {
						t.Errorf("a pass at rest writes: %+v", r)
					}
					c, err := s.target.CompareSources(t.Context(), s.pass.Sources, CompareOptions{Workers: 1})
					if err != nil || len(c.Differing)+len(c.Problems) > 0 {
						t.Errorf("compared with the sources: %+v, %v", c, err)
					}
				})
			}
		}
	}
}

// TestNoIdMovesBetweenFilesThatStay lets copies come, grow, be dated anew and go, in any
// order. What is there twice in a row keeps its key, and nothing that was published is lost.
func TestNoIdMovesBetweenFilesThatStay(t *testing.T) {
	for _, kind := range []string{"claude", "codex"} {
		for seed := range uint64(12) {
			rng := rand.New(rand.NewPCG(seed, 9))
			s := newTwins(t, kind)
			content, keys := map[int]string{}, map[int]string{}
			written := 0
			for step := range 25 {
				for range 1 + rng.IntN(2) {
					i := rng.IntN(len(s.files))
					switch rng.IntN(4) {
					case 0, 1:
						written++
						content[i] += s.now(1000*int(seed) + written)
						s.write(i, content[i], rng.IntN(600))
					case 2:
						if content[i] != "" {
							s.write(i, content[i], rng.IntN(600))
						}
					case 3:
						_ = os.Remove(s.files[i])
						delete(content, i)
						delete(keys, i)
					}
				}
				if rng.IntN(5) == 0 {
					s.target.State = t.TempDir()
				}
				s.publish()
				for i, text := range content {
					var mine *document.Row
					for _, row := range s.at(i) {
						if row.Status == document.StatusComplete {
							mine = row
						}
					}
					if mine == nil || s.stored(mine.Key) != text {
						t.Fatalf("%s, seed %d, step %d: file %d is not published as it is", kind, seed, step, i)
					}
					if keys[i] != "" && keys[i] != mine.Key {
						t.Fatalf("%s, seed %d, step %d: file %d was %s, and is %s", kind, seed, step, i, keys[i], mine.Key)
					}
					keys[i] = mine.Key
				}
				if all := slices.Sorted(func(yield func(string) bool) {
					for _, key := range keys {
						if !yield(key) {
							return
						}
					}
				}); len(slices.Compact(all)) != len(keys) {
					t.Fatalf("%s, seed %d, step %d: one key for two files: %v", kind, seed, step, keys)
				}
			}
			s.sound()
		}
	}
}

// TestAnIdWaitsForAFileThatCannotBeListed hides the bearer of an id behind a folder that
// cannot be listed, while a copy of it comes.
func TestAnIdWaitsForAFileThatCannotBeListed(t *testing.T) {
	for _, kind := range []string{"claude", "codex"} {
		t.Run(kind, func(t *testing.T) {
			s := newTwins(t, kind)
			s.write(1, s.records(5), 10)
			s.publish()
			bearer := s.at(1)[0].Key
			folder := filepath.Dir(s.files[1])
			must(t, os.Rename(folder, folder+".away"))
			must(t, os.Symlink(folder+".nothing", folder)) // a mount that is not there
			s.write(2, s.records(3), 20)
			s.publish()
			must(t, os.Remove(folder))
			must(t, os.Rename(folder+".away", folder))
			s.publish()
			if row := s.at(1); len(row) != 1 || row[0].Key != bearer || s.stored(bearer) != s.records(5) || len(row[0].Copies) > 0 {
				t.Errorf("the bearer is %+v", row)
			}
			if row := s.at(2); len(row) != 1 || row[0].Key == bearer || s.stored(row[0].Key) != s.records(3) {
				t.Errorf("the copy is %+v", row)
			}
		})
	}
}
