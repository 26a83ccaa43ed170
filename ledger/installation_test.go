package ledger

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"agentsync/ledger/durable"
)

func TestInstallation(t *testing.T) {
	state, err := OpenState(durable.OS(), filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ReadInstallation(state); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("before it is made: %v", err)
	}
	first, err := OpenInstallation(state, rand.Reader)
	if err != nil || len(first) != 32 {
		t.Fatalf("got %q, %v", first, err)
	}
	if again, err := OpenInstallation(state, rand.Reader); again != first || err != nil {
		t.Errorf("the second time %q, %v", again, err)
	}
	path := state.Path(installationFile)
	if err := durable.Replace(durable.OS(), path, []byte("x"), privateFile, false); err != nil {
		t.Fatal(err)
	}
	var corrupt *CorruptError
	if _, err := OpenInstallation(state, rand.Reader); !errors.As(err, &corrupt) {
		t.Errorf("a damaged id is replaced: %v", err)
	}
}
