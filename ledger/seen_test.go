package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"agentsync/ledger/durable"
)

func TestWhatWasSeenComesBack(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	seen, err := OpenSeen(durable.OS(), dir, false)
	if err != nil {
		t.Fatal(err)
	}
	seen.Add("did:a", "did:s", "sessions", SeenHead{18446744073709551615, "sha256:x"})
	seen.Add("did:a", "did:s", "receipts", SeenHead{2, "sha256:y"})
	again, err := OpenSeen(durable.OS(), dir, false)
	if err != nil || seen.Err() != nil || !reflect.DeepEqual(again.Sight(), seen.Sight()) || len(again.Sight().Heads) != 2 {
		t.Errorf("%+v, want %+v; %v, %v", again.Sight(), seen.Sight(), err, seen.Err())
	}
	if err := again.Replace(Sight{}); err != nil {
		t.Fatal(err)
	}
	if again, err = OpenSeen(durable.OS(), dir, true); err != nil || again.Sight().OwnerDID != "" {
		t.Errorf("%+v, %v", again.Sight(), err)
	}
	again.Add("did:b", "did:s", "", SeenHead{})
	if again, err = OpenSeen(durable.OS(), dir, true); err != nil || again.Sight().OwnerDID != "" {
		t.Errorf("a frozen one wrote: %+v, %v", again.Sight(), err)
	}
}

func TestADamagedSightIsNeverTakenForNothing(t *testing.T) {
	for name, content := range map[string]string{
		"empty":      "",
		"torn":       `{"version": 1, "ownerDid": "did:a`,
		"no version": `{"ownerDid":"did:a","spaceDid":"did:s"}`,
		"no owner":   `{"version":1,"spaceDid":"did:s"}`,
		"no number":  `{"version":1,"ownerDid":"did:a","spaceDid":"did:s","heads":{"sessions":{"number":"07","digest":"sha256:x"}}}`,
		"zero":       `{"version":1,"ownerDid":"did:a","spaceDid":"did:s","heads":{"sessions":{"number":"0","digest":"sha256:x"}}}`,
	} {
		dir := t.TempDir()
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "seen.json"), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		var corrupt *CorruptError
		if _, err := OpenSeen(durable.OS(), dir, false); !errors.As(err, &corrupt) {
			t.Errorf("%s: %v", name, err)
		}
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "seen.json")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 40<<30); err != nil {
		t.Skipf("no sparse files here: %v", err)
	}
	var corrupt *CorruptError
	if _, err := OpenSeen(durable.OS(), dir, false); !errors.As(err, &corrupt) || corrupt.Field != "size" {
		t.Errorf("forty gigabytes: %v", err)
	}
}

func TestWhatAnotherProcessSawStays(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "store")
	open := func() *Seen {
		t.Helper()
		seen, err := OpenSeen(durable.OS(), dir, false)
		if err != nil {
			t.Fatal(err)
		}
		return seen
	}
	slow, quick := open(), open()
	quick.Add("did:a", "did:s", "sessions", SeenHead{7, "sha256:7"})
	slow.Add("did:a", "did:s", "sessions", SeenHead{6, "sha256:6"})
	slow.Add("did:a", "did:s", "receipts", SeenHead{1, "sha256:1"})
	want := map[string]SeenHead{"sessions": {7, "sha256:7"}, "receipts": {1, "sha256:1"}}
	if got := open().Sight().Heads; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
