package publish

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/fixtures/crashfs"
	"agentsync/fixtures/fakedriver"
	"agentsync/ledger"
	"agentsync/publish/document"
	"agentsync/publish/store"
	storefs "agentsync/publish/store/fs"
)

// world is a disk that can lose power, and the agent whose sessions are published.
type world struct {
	t      *testing.T
	disk   *crashfs.FS
	id     *ledger.Identity
	driver *fakedriver.Driver
	now    time.Time
	pause  func(int64) bool
}

func newWorld(t *testing.T, seed uint64, survival float64, id *ledger.Identity) *world {
	w := &world{t: t, disk: crashfs.New(seed), id: id, now: noon}
	w.disk.SetSurvival(survival)
	w.driver = fakedriver.New("codex").Session("grows", lines(40, 0)...).Session("goes", lines(5, 100)...).Session("stays", lines(5, 200)...)
	return w
}

// open opens the store, making it when it is not there, as each run of the program does.
func (w *world) open() (*Target, error) {
	disk, err := storefs.OpenOn(w.disk, "/store", true)
	if err != nil {
		return nil, err
	}
	// An error is that it exists, or one that the pass meets again.
	_ = w.disk.Mkdir("/state", 0o700)
	o := Options{Store: disk, FS: w.disk, State: "/state", Signer: w.id, Installation: "one", Rand: rand.Reader, Workers: 1}
	target, err := Open(context.Background(), o)
	if errors.Is(err, ErrNoStore) {
		return Create(context.Background(), o, w.now)
	}
	return target, err
}

func (w *world) publish() (Report, error) {
	w.now = w.now.Add(time.Minute)
	target, err := w.open()
	if err != nil {
		return Report{}, err
	}
	return target.Publish(context.Background(), Pass{Sources: []collect.Driver{w.driver}, Now: w.now, Pause: w.pause})
}

// change makes the next pass write all there is to write.
func (w *world) change() {
	w.driver.Append("grows", lines(3, 40)...).Remove("goes").Session("new", lines(4, 300)...)
}

// sound verifies the store and returns how many generations it has.
func (w *world) sound() int {
	w.t.Helper()
	target, err := w.open()
	if err != nil {
		w.t.Fatalf("open: %v", err)
	}
	r, err := target.Verify(context.Background(), VerifyOptions{Deep: true})
	if err != nil {
		w.t.Fatalf("verify: %v", err)
	}
	for _, p := range r.Problems {
		w.t.Errorf("verify: %s: %s", p.What, p.Message)
	}
	return r.Generations
}

// final checks that the newest generation is what the agent has now.
func (w *world) final() {
	w.t.Helper()
	target, err := w.open()
	if err != nil {
		w.t.Fatal(err)
	}
	v, err := target.View(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	want := map[string]string{"codex/goes": document.StatusDeleted, "codex/grows": document.StatusComplete,
		"codex/new": document.StatusComplete, "codex/stays": document.StatusComplete}
	err = v.Rows(func(row *document.Row) error {
		if want[row.Key] != row.Status {
			w.t.Errorf("%s is %s, want %q", row.Key, row.Status, want[row.Key])
		}
		delete(want, row.Key)
		return nil
	})
	if err != nil || len(want) > 0 {
		w.t.Errorf("missing %v, %v", want, err)
	}
}

// TestPowerLoss stops the disk before its k-th step, for every k until a pass runs
// through, and forgets a share of what was not synced. Survival 1 is a killed
// process, whose page cache stays.
func TestPowerLoss(t *testing.T) {
	id := testIdentity(t)
	stride := 1
	if testing.Short() {
		stride = 5 // every fifth step; the last one, at which a pass runs through, is met all the same
	}
	for _, survival := range []float64{0, 0.5, 1} {
		t.Run(fmt.Sprintf("survival %v", survival), func(t *testing.T) {
			for k := 0; ; k += stride {
				w := newWorld(t, uint64(k), survival, id)
				if _, err := w.publish(); err != nil {
					t.Fatal(err)
				}
				w.change()
				w.disk.StopBefore(k)
				_, err := w.publish()
				stopped := w.disk.Stopped()
				w.disk.Crash()
				if n := w.sound(); n < 1 || !stopped && n != 2 {
					t.Fatalf("step %d: %d generations", k, n)
				}
				if err == nil && !stopped {
					w.final()
					if k < 10 {
						t.Fatalf("a pass took %d steps", k)
					}
					return
				}
				if _, err := w.publish(); err != nil {
					t.Fatalf("step %d: the next pass: %v", k, err)
				}
				w.sound()
				w.final()
				if t.Failed() {
					t.Fatalf("after step %d", k)
				}
			}
		})
	}
	t.Run("while the store is made", func(t *testing.T) {
		for k := 0; ; k += stride {
			w := newWorld(t, uint64(k), 0, id)
			w.disk.StopBefore(k)
			_, err := w.publish()
			stopped := w.disk.Stopped()
			w.disk.Crash()
			if err == nil && !stopped {
				return
			}
			if _, err := w.publish(); err != nil {
				t.Fatalf("step %d: the next pass: %v", k, err)
			}
			w.sound()
		}
	})
}

func TestFullDisk(t *testing.T) {
	id, stride := testIdentity(t), int64(500)
	if testing.Short() {
		stride = 3000
	}
	for room := int64(0); ; room += stride {
		w := newWorld(t, 1, 1, id)
		if _, err := w.publish(); err != nil {
			t.Fatal(err)
		}
		w.change()
		before := w.disk.Files()
		w.disk.SetRoom(room)
		_, err := w.publish()
		w.disk.SetRoom(-1)
		if err == nil {
			break
		}
		if !errors.Is(err, store.ErrFull) && !strings.Contains(err.Error(), "no space") {
			t.Fatalf("with room for %d bytes: %v", room, err)
		}
		for _, left := range w.disk.Files() {
			if !slices.Contains(before, left) && !strings.HasPrefix(left, "/store/packs/") {
				t.Errorf("with room for %d bytes: %s is left", room, left)
			}
		}
		w.sound()
		if _, err := w.publish(); err != nil {
			t.Fatal(err)
		}
		w.final()
	}
}

func TestSyncsOfAPass(t *testing.T) {
	id := testIdentity(t)
	for _, changed := range []int{1, 50} {
		w := newWorld(t, 1, 1, id)
		if _, err := w.publish(); err != nil {
			t.Fatal(err)
		}
		for i := range changed {
			w.driver.Session(fmt.Sprintf("s%d", i), lines(3, i)...)
		}
		files, folders := w.disk.Count("sync"), w.disk.Count("syncdir")
		if _, err := w.publish(); err != nil {
			t.Fatal(err)
		}
		if f, d := w.disk.Count("sync")-files, w.disk.Count("syncdir")-folders; f != 2 || d != 2 {
			t.Errorf("%d changed sessions: %d files and %d folders synced, want pack and head, and their folders", changed, f, d)
		}
	}
}

func TestReadOnlyStoreIsReadAndSaidSo(t *testing.T) {
	w := newWorld(t, 1, 1, testIdentity(t))
	if _, err := w.publish(); err != nil {
		t.Fatal(err)
	}
	w.disk.ReadOnly()
	w.sound()
	w.readsOne()
	w.change()
	if _, err := w.publish(); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("publish into a read-only store: %v", err)
	}
}

// readsOne reads one session from the store as it is.
func (w *world) readsOne() {
	w.t.Helper()
	target, err := w.open()
	if err != nil {
		w.t.Fatal(err)
	}
	v, err := target.View(context.Background())
	if err != nil {
		w.t.Fatal(err)
	}
	row, err := v.Find("codex/stays")
	if err != nil || row == nil {
		w.t.Fatalf("find: %v, %v", row, err)
	}
	s, err := v.Session(row)
	if err != nil {
		w.t.Fatal(err)
	}
	c, err := s.Part(0)
	if err != nil || !bytes.Equal(c.Events[0].Text, []byte(lines(1, 200)[0])) {
		w.t.Errorf("part: %v", err)
	}
}

// TestPowerLossDuringAPrune stops the disk before every step of a prune: no head comes back
// whose packs are gone, none is missing between others, and the next prune ends the work.
func TestPowerLossDuringAPrune(t *testing.T) {
	id := testIdentity(t)
	for k := 0; ; k++ {
		w := newWorld(t, uint64(k), 0.5, id)
		for i := range 5 {
			w.driver.Session("stays", noise(mathrand.New(mathrand.NewPCG(1, uint64(i))), 40_000))
			if _, err := w.publish(); err != nil {
				t.Fatal(err)
			}
		}
		w.now = w.now.AddDate(0, 0, 8)
		prune := func() error {
			target, err := w.open()
			if err == nil {
				_, err = target.Prune(t.Context(), PruneOptions{Keep: 1, Grace: 24 * time.Hour, Apply: true, Now: w.now})
			}
			return err
		}
		w.disk.StopBefore(k)
		err := prune()
		stopped := w.disk.Stopped()
		w.disk.Crash()
		w.sound()
		if err := prune(); err != nil {
			t.Fatalf("step %d: the next prune: %v", k, err)
		}
		if n := w.sound(); n != 1 {
			t.Fatalf("step %d: %d generations are kept", k, n)
		}
		if err == nil && !stopped {
			return
		}
	}
}
