package fs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"agentsync/fixtures/crashfs"
	"agentsync/fixtures/storetest"
	"agentsync/hashgraph/digest"
	"agentsync/ledger/durable"
	"agentsync/publish/store"
	"agentsync/publish/store/fs"
)

var root = filepath.FromSlash("/srv/sessions")

func openOn(t *testing.T, disk *crashfs.FS) *fs.Store {
	t.Helper()
	s, err := fs.OpenOn(disk, root, true)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStoreOnForgetfulDisk(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return openOn(t, crashfs.New(1)) })
}

// written is one name and its content.
type written struct {
	name    string
	content []byte
}

// passes is what two publishes put, in their order: a head must never be there without
// everything before it.
func passes() []written {
	pack := func(n byte) written {
		content := bytes.Repeat([]byte{n}, 1000)
		return written{store.PackName(digest.Sum(content)), content}
	}
	return []written{
		{"format.json", []byte("{}")}, pack(1), {store.HeadName("sessions", 1), []byte("one")},
		pack(2), pack(3), {"receipts/prompt-1/claim.json", []byte("mine")}, {store.HeadName("dataset", 1), []byte("two")},
		{store.HeadName("sessions", 2), []byte("three")},
	}
}

// run opens the store and puts everything, as far as it comes. acknowledged is how many
// names were put for certain.
func run(ctx context.Context, disk durable.FS) (acknowledged int, err error) {
	s, err := fs.OpenOn(disk, root, true)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	for i, w := range passes() {
		if err := store.PutOnce(ctx, s, w.name, w.content); err != nil {
			return i, err
		}
	}
	return len(passes()), nil
}

// check returns an error unless every name is whole or absent, the acknowledged ones
// are there, and no name is there without all that was put before it.
func check(ctx context.Context, disk durable.FS, acknowledged int) error {
	s, err := fs.OpenOn(disk, root, false)
	if errors.Is(err, store.ErrNotFound) && acknowledged == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	defer s.Close()
	missing := ""
	for i, w := range passes() {
		got, err := s.Get(ctx, w.name, 0, -1, nil)
		if errors.Is(err, store.ErrNotFound) && i >= acknowledged {
			missing = w.name
			continue
		}
		if err != nil {
			return err
		}
		if !bytes.Equal(got, w.content) {
			return fmt.Errorf("%s holds %d bytes that were never put", w.name, len(got))
		}
		if missing != "" {
			return fmt.Errorf("%s is there without %s", w.name, missing)
		}
	}
	return nil
}

func TestLossOfPowerAtEveryStep(t *testing.T) {
	for _, survival := range []float64{0, 0.5, 0.9} {
		for k, done := 0, false; !done; k += 1 + k%3 {
			disk := crashfs.New(uint64(k))
			disk.SetSurvival(survival)
			disk.StopBefore(k)
			acknowledged, err := run(t.Context(), disk)
			done = !disk.Stopped()
			if done && err != nil {
				t.Fatal(err)
			}
			disk.Crash()
			if err := check(t.Context(), disk, acknowledged); err != nil {
				t.Fatalf("power lost before step %d, survival %v: %v", k, survival, err)
			}
			if n, err := run(t.Context(), disk); n != len(passes()) {
				t.Fatalf("power lost before step %d, survival %v: the next pass ended after %d: %v", k, survival, n, err)
			}
		}
	}
}

// A process that dies leaves everything in the page cache, synced or not. The pass
// after it finds names taken and must not rely on them before they are durable.
func TestLossOfPowerAfterAKilledPass(t *testing.T) {
	for k, done := 0, false; !done; k++ {
		disk := crashfs.New(uint64(k))
		disk.SetSurvival(0)
		disk.StopBefore(k)
		_, _ = run(t.Context(), disk) // it ends where the process dies
		done = !disk.Stopped()
		disk.Kill()
		disk.SetSurvival(0)
		n, err := run(t.Context(), disk)
		if n != len(passes()) {
			t.Fatalf("killed before step %d: the next pass ended after %d: %v", k, n, err)
		}
		disk.Crash()
		if err := check(t.Context(), disk, n); err != nil {
			t.Fatalf("killed before step %d, power lost after the next pass: %v", k, err)
		}
	}
}

func TestSyncsOfAPublish(t *testing.T) {
	disk := crashfs.New(1)
	s := openOn(t, disk)
	syncs := func(names ...written) (files, folders int) {
		files, folders = -disk.Count("sync"), -disk.Count("syncdir")
		for _, w := range names {
			if err := store.PutOnce(t.Context(), s, w.name, w.content); err != nil {
				t.Fatal(err)
			}
		}
		return files + disk.Count("sync"), folders + disk.Count("syncdir")
	}
	all := passes()
	if files, folders := syncs(all[1], all[2]); files != 2 || folders != 2 {
		t.Errorf("a pack and a head cost %d file and %d folder syncs, want 2 and 2", files, folders)
	}
	if files, folders := syncs(all[5]); files != 1 || folders != 2 {
		t.Errorf("a name in a new folder costs %d and %d, want 1 and 2", files, folders)
	}
	if files, folders := syncs(written{"receipts/prompt-1/outcome-1.json", nil}); files != 1 || folders != 1 {
		t.Errorf("the next name in that folder costs %d and %d, want 1 and 1", files, folders)
	}
	before := disk.Count("sync") + disk.Count("syncdir")
	if err := s.Hint(t.Context(), store.HintName("sessions"), []byte("1")); err != nil {
		t.Fatal(err)
	}
	if _, err := fs.OpenOn(disk, root, true); err != nil {
		t.Fatal(err)
	}
	if after := disk.Count("sync") + disk.Count("syncdir"); after != before {
		t.Errorf("a hint and opening again cost %d syncs", after-before)
	}
}

// C090: a full disk leaves no name, no temporary file, and the next pass mends all.
func TestFullDiskAtEveryByte(t *testing.T) {
	total := 0
	for _, w := range passes() {
		total += len(w.content)
	}
	for room := 0; room < total; room += 97 {
		disk := crashfs.New(1)
		openOn(t, disk)
		disk.SetRoom(int64(room))
		n, err := run(t.Context(), disk)
		if !errors.Is(err, store.ErrFull) || !strings.Contains(err.Error(), "no space left") {
			t.Fatalf("room for %d bytes: %v, want ErrFull with the system's text", room, err)
		}
		if files := disk.Files(); len(files) != n {
			t.Fatalf("room for %d bytes: %d names put, but there are %q", room, n, files)
		}
		disk.SetRoom(-1)
		if n, err := run(t.Context(), disk); n != len(passes()) {
			t.Fatalf("with room again the pass ended after %d: %v", n, err)
		}
	}
}

func TestFailedSyncsLeaveNoTrust(t *testing.T) {
	broken := errors.New("input/output error")
	for _, step := range []string{"create", "write", "sync", "link", "syncdir"} {
		t.Run(step+" fails once", func(t *testing.T) {
			disk := crashfs.New(1)
			s := openOn(t, disk)
			failed := false
			disk.OnStep(func(at crashfs.Step) error {
				if at.Name != step || failed {
					return nil
				}
				failed = true
				return broken
			})
			w := passes()[1]
			if err := store.PutOnce(t.Context(), s, w.name, w.content); !errors.Is(err, broken) {
				t.Fatalf("put: %v", err)
			}
			if err := store.PutOnce(t.Context(), s, w.name, w.content); err != nil {
				t.Fatalf("put again: %v", err)
			}
			if files := disk.Files(); len(files) != 1 {
				t.Errorf("left over: %q", files)
			}
			disk.SetSurvival(0)
			disk.Crash()
			if got, err := openOn(t, disk).Get(t.Context(), w.name, 0, -1, nil); !bytes.Equal(got, w.content) {
				t.Errorf("after the loss of power: %d bytes, %v", len(got), err)
			}
		})
	}
}

func TestReadOnlyStore(t *testing.T) {
	disk := crashfs.New(1)
	if _, err := run(t.Context(), disk); err != nil {
		t.Fatal(err)
	}
	disk.ReadOnly()
	steps := len(disk.Steps())
	s, err := fs.OpenOn(disk, root, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range passes() {
		if got, err := s.Get(t.Context(), w.name, 0, -1, nil); err != nil || !bytes.Equal(got, w.content) {
			t.Errorf("get %s: %v", w.name, err)
		}
	}
	if err := s.List(t.Context(), "", func(store.Entry) error { return nil }); err != nil {
		t.Error(err)
	}
	if n := len(disk.Steps()) - steps; n != 0 {
		t.Errorf("reading took %d steps towards the disk", n)
	}
	errs := map[string]error{
		"put":    store.PutOnce(t.Context(), s, "queues/a/b.json", nil),
		"hint":   s.Hint(t.Context(), store.HintName("sessions"), nil),
		"delete": s.Delete(t.Context(), passes()[1].name),
	}
	for call, err := range errs {
		if !errors.Is(err, store.ErrReadOnly) || !strings.Contains(err.Error(), "read-only file system") {
			t.Errorf("%s: %v, want ErrReadOnly with the system's text", call, err)
		}
	}
}

func TestDiskWithoutLinks(t *testing.T) {
	disk := crashfs.New(1)
	s := openOn(t, disk)
	disk.OnStep(func(at crashfs.Step) error {
		if at.Name == "link" {
			return syscall.EPERM
		}
		return nil
	})
	err := store.PutOnce(t.Context(), s, "format.json", nil)
	if !errors.Is(err, durable.ErrNoLinks) || errors.Is(err, store.ErrReadOnly) || len(disk.Files()) != 0 {
		t.Fatalf("%v, left %q", err, disk.Files())
	}
}

func TestSweep(t *testing.T) {
	disk := crashfs.New(1)
	now := time.Date(2026, 5, 2, 12, 0, 0, 0, time.UTC)
	for _, age := range []time.Duration{25 * time.Hour, 23 * time.Hour} {
		disk.SetTime(now.Add(-age))
		staged, err := openOn(t, disk).Stage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := staged.Write([]byte("left behind")); err != nil {
			t.Fatal(err)
		}
	}
	disk.Kill()
	s := openOn(t, disk)
	if n, err := s.Sweep(t.Context(), now); n != 1 || err != nil {
		t.Fatalf("first sweep: %d, %v; want the one older than a day", n, err)
	}
	if n, err := s.Sweep(t.Context(), now.Add(2*time.Hour)); n != 1 || err != nil || len(disk.Files()) != 0 {
		t.Fatalf("second sweep: %d, %v, left %q", n, err, disk.Files())
	}
}
