package ledger

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
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
	first, err := OpenInstallation(state, "", "", rand.Reader)
	if err != nil || len(first) != 32 {
		t.Fatalf("got %q, %v", first, err)
	}
	if again, err := OpenInstallation(state, "", "", rand.Reader); again != first || err != nil {
		t.Errorf("the second time %q, %v", again, err)
	}
	path := state.Path(installationFile)
	if err := durable.Replace(durable.OS(), path, []byte("x"), privateFile, false); err != nil {
		t.Fatal(err)
	}
	var corrupt *CorruptError
	if _, err := OpenInstallation(state, "", "", rand.Reader); !errors.As(err, &corrupt) {
		t.Errorf("a damaged id is replaced: %v", err)
	}
}

func TestAnInstallationThatLostItsStateComesBack(t *testing.T) {
	dir := t.TempDir()
	open := func(folder, owner, machine string) string {
		t.Helper()
		state, err := OpenState(durable.OS(), filepath.Join(dir, folder))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.Remove(state.Path(installationFile)) }() // its state is lost
		id, err := OpenInstallation(state, owner, machine, rand.Reader)
		if err != nil || len(id) != 32 {
			t.Fatalf("%q, %v", id, err)
		}
		return id
	}
	first := open("state", "did:a", "machine\nhost")
	if again := open("state", "did:a", "machine\nhost"); again != first {
		t.Errorf("it comes back as %s, and was %s", again, first)
	}
	for name, other := range map[string]string{
		"another machine": open("state", "did:a", "other\nhost"),
		"another host":    open("state", "did:a", "machine\nother"),
		"another folder":  open("state2", "did:a", "machine\nhost"),
		"another owner":   open("state", "did:b", "machine\nhost"),
		"no machine":      open("state", "did:a", ""),
		"no machine, too": open("state", "did:a", ""),
	} {
		if other == first {
			t.Errorf("%s is the same installation", name)
		}
	}
	if once, again := open("state", "did:a", ""), open("state", "did:a", ""); once == again {
		t.Error("without any fact of the machine an id comes twice")
	}
}
