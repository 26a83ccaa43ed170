package fs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"agentsync/fixtures/crashfs"
	"agentsync/hashgraph/digest"
	"agentsync/publish/store"
	"agentsync/publish/store/fs"
)

// content is the i-th content of a batch and its name.
func content(i int) (string, []byte) {
	text := []byte(fmt.Sprintf("content %d", i))
	return store.ObjectName(digest.Sum(text)), text
}

func TestABatchIsWholeOrItsNamesHoldNothingElse(t *testing.T) {
	const n = 40
	for stop := 0; ; stop++ {
		for _, survive := range []float64{0, 0.5, 1} {
			disk := crashfs.New(uint64(stop))
			disk.SetSurvival(survive)
			s, err := fs.OpenOn(disk, "/store", true)
			if err != nil {
				t.Fatal(err)
			}
			disk.StopBefore(stop)
			putErr := putAll(s, n)
			if putErr != nil && !disk.Stopped() {
				t.Fatal(putErr)
			}
			disk.Crash()
			if s, err = fs.OpenOn(disk, "/store", true); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				name, want := content(i)
				got, readErr := s.Get(context.Background(), name, 0, -1, nil)
				switch {
				case errors.Is(readErr, store.ErrNotFound) && putErr != nil:
				case readErr != nil:
					t.Fatalf("stop %d survive %v: %v", stop, survive, readErr)
				case !bytes.Equal(got, want):
					t.Fatalf("stop %d survive %v: %s holds %q", stop, survive, name, got)
				}
			}
			if err := putAll(s, n); err != nil {
				t.Fatalf("stop %d survive %v: again: %v", stop, survive, err)
			}
			if putErr == nil && survive == 1 {
				return // the batch came to its end before the power failed
			}
		}
	}
}

func putAll(s store.Store, n int) error {
	ctx := context.Background()
	b, err := store.NewBatch(ctx, s)
	if err != nil {
		return err
	}
	for i := range n {
		name, text := content(i)
		if err := b.Put(ctx, name, bytes.NewReader(text)); err != nil {
			return errors.Join(err, b.Discard())
		}
	}
	return b.Commit(ctx)
}

func TestAContentThatFailsIsNotInTheBatch(t *testing.T) {
	disk := crashfs.New(1)
	s, err := fs.OpenOn(disk, "/store", true)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	b, err := s.NewBatch(ctx)
	if err != nil {
		t.Fatal(err)
	}
	name, text := content(1)
	if err := b.Put(ctx, name, bytes.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("not what the name says")
	other, _ := content(2)
	if err := b.Put(ctx, other, failing{broken}); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if err := b.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Stat(ctx, other); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	if _, err := s.Stat(ctx, name); err != nil {
		t.Error(err)
	}
	for _, path := range disk.Files() {
		if strings.Contains(path, "/tmp/") {
			t.Error("left behind: " + path)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }
