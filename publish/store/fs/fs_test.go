package fs_test

import (
	"testing"

	"agentsync/fixtures/storetest"
	"agentsync/publish/store"
	"agentsync/publish/store/fs"
)

func open(t *testing.T, dir string) *fs.Store {
	t.Helper()
	s, err := fs.Open(dir, true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, t.TempDir()) })
}
