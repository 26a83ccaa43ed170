package mem_test

import (
	"errors"
	"io"
	"testing"

	"agentsync/fixtures/storetest"
	"agentsync/publish/store"
	"agentsync/publish/store/mem"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(*testing.T) store.Store { return mem.New() })
}

func TestFaults(t *testing.T) {
	broken := errors.New("broken")
	t.Run("the second commit fails and changes nothing", func(t *testing.T) {
		s := mem.New()
		s.Inject(mem.Fault{Op: mem.Commit, Skip: 1, Times: 1, Before: broken})
		for i, want := range []error{nil, broken, nil} {
			err := store.PutOnce(t.Context(), s, store.HeadName("sessions", uint64(i)), nil)
			if !errors.Is(err, want) {
				t.Errorf("put %d: %v, want %v", i, err, want)
			}
		}
		if _, err := s.Stat(t.Context(), store.HeadName("sessions", 1)); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the failed put left something: %v", err)
		}
		if n := s.Calls(mem.Commit); n != 3 {
			t.Errorf("counted %d commits", n)
		}
	})
	t.Run("a time-out after success is settled by the same call again", func(t *testing.T) {
		s := mem.New()
		s.Inject(mem.Fault{Op: mem.Commit, Times: 1, After: broken})
		if err := store.PutOnce(t.Context(), s, "format.json", []byte("x")); !errors.Is(err, broken) {
			t.Fatal(err)
		}
		if err := store.PutOnce(t.Context(), s, "format.json", []byte("x")); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("a short read and an altered byte reach the reader only", func(t *testing.T) {
		s := mem.New()
		if err := store.PutOnce(t.Context(), s, "format.json", []byte("abc")); err != nil {
			t.Fatal(err)
		}
		s.Inject(mem.Fault{Op: mem.Get, Prefix: "format", Short: 1, Alter: func(p []byte) { p[0] = '?' }})
		if got, err := s.Get(t.Context(), "format.json", 0, -1, nil); string(got) != "?b" || !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("%q, %v", got, err)
		}
		s.Heal()
		if got, err := s.Get(t.Context(), "format.json", 0, -1, nil); string(got) != "abc" || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
	})
}
