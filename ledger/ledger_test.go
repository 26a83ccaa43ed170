package ledger_test

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"agentsync/fixtures/crashfs"
	"agentsync/ledger"
	"agentsync/ledger/durable"
)

var stateDir = filepath.FromSlash("/home/dev/state")

func openState(t *testing.T, disk durable.FS) *ledger.State {
	t.Helper()
	s, err := ledger.OpenState(disk, stateDir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// overwrite puts content in the place of a state file.
func overwrite(t *testing.T, disk durable.FS, name, content string) {
	t.Helper()
	if err := durable.Replace(disk, filepath.Join(stateDir, name), []byte(content), 0o600, true); err != nil {
		t.Fatal(err)
	}
}

func wantContent(t *testing.T, disk durable.FS, name, want string) {
	t.Helper()
	got, err := durable.ReadFile(disk, filepath.Join(stateDir, name), 1<<20)
	if err != nil || string(got) != want {
		t.Fatalf("%s holds %q, %v; want %q", name, got, err, want)
	}
}

func TestOpenState(t *testing.T) {
	t.Run("a new folder gets its version and is opened again without writing", func(t *testing.T) {
		disk := crashfs.New(1)
		openState(t, disk)
		wantContent(t, disk, "version", "1\n")
		steps := disk.Count("write")
		if s := openState(t, disk); len(s.Notes()) != 0 || disk.Count("write") != steps {
			t.Fatalf("notes %q, %d writes", s.Notes(), disk.Count("write")-steps)
		}
		info, err := disk.Lstat(stateDir)
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Fatalf("%v, %v", info, err)
		}
	})
	t.Run("a newer folder is refused and left alone", func(t *testing.T) {
		disk := crashfs.New(1)
		openState(t, disk)
		overwrite(t, disk, "version", "2\n")
		_, err := ledger.OpenState(disk, stateDir)
		var version *ledger.VersionError
		if !errors.As(err, &version) || version.Found != 2 || version.Known != 1 {
			t.Fatal(err)
		}
		wantContent(t, disk, "version", "2\n")
	})
	t.Run("a version that says nothing is set aside and noted", func(t *testing.T) {
		for _, content := range []string{"", "one", "0\n", "-1", "{"} {
			disk := crashfs.New(1)
			openState(t, disk)
			overwrite(t, disk, "version", content)
			s := openState(t, disk)
			wantContent(t, disk, "version", "1\n")
			wantContent(t, disk, "version.broken-1", content)
			if notes := s.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "version.broken-1") {
				t.Errorf("%q: notes %q", content, notes)
			}
		}
	})
	t.Run("a relative folder is refused", func(t *testing.T) {
		if _, err := ledger.OpenState(crashfs.New(1), "state"); err == nil {
			t.Fatal("accepted")
		}
	})
	t.Run("a link and a folder open to others are refused", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("no file modes here")
		}
		dir := t.TempDir()
		private, link := filepath.Join(dir, "private"), filepath.Join(dir, "link")
		if _, err := ledger.OpenState(durable.OS(), private); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(os.Symlink(private, link), os.Mkdir(filepath.Join(dir, "open"), 0o755)); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"link", "open"} {
			var refused *durable.NotPrivateError
			if _, err := ledger.OpenState(durable.OS(), filepath.Join(dir, name)); !errors.As(err, &refused) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	t.Run("the loss of power at any step leaves a folder that opens", func(t *testing.T) {
		for k, done := 0, false; !done; k++ {
			disk := crashfs.New(uint64(k))
			disk.StopBefore(k)
			_, err := ledger.OpenState(disk, stateDir)
			if done = !disk.Stopped(); done && err != nil {
				t.Fatal(err)
			}
			disk.Crash()
			if s := openState(t, disk); len(s.Notes()) != 0 {
				t.Fatalf("step %d: %q", k, s.Notes())
			}
		}
	})
}

// C100: another store is noticed before anything is concluded from what is missing there.
func TestBindStore(t *testing.T) {
	disk := crashfs.New(1)
	disk.SetSurvival(0)
	s := openState(t, disk)
	here, there := "file:///srv/agent-sessions", "s3://bucket/prefix?endpoint=https://example.com"
	if err := s.BindStore(here); err != nil {
		t.Fatal(err)
	}
	disk.Crash()
	s = openState(t, disk)
	if err := s.BindStore(here); err != nil {
		t.Fatal(err)
	}
	var other *ledger.OtherStoreError
	if err := s.BindStore(there); !errors.As(err, &other) || other.Bound != here || other.Asked != there {
		t.Fatal(err)
	}
	for _, bad := range []string{"", "a\nb", strings.Repeat("a", 20000)} {
		if err := openState(t, crashfs.New(1)).BindStore(bad); err == nil {
			t.Errorf("%.10q was accepted", bad)
		}
	}
	overwrite(t, disk, "store", "")
	var corrupt *ledger.CorruptError
	if err := s.BindStore(here); !errors.As(err, &corrupt) {
		t.Fatal(err)
	}
	wantContent(t, disk, "store", "")
}

// seed is a source of randomness that always says the same.
func seed(b byte) *bytes.Reader { return bytes.NewReader(bytes.Repeat([]byte{b}, 64)) }

func TestIdentity(t *testing.T) {
	t.Run("the did:key of a known key is the published one", func(t *testing.T) {
		// RFC 8032, section 7.1, test 1 gives the key pair; the did was spelled by an
		// independent base58 program.
		secret := []byte("\x9d\x61\xb1\x9d\xef\xfd\x5a\x60\xba\x84\x4a\xf4\x92\xec\x2c\xc4\x44\x49\xc5\x69\x7b\x32\x69\x19\x70\x3b\xac\x03\x1c\xae\x7f\x60")
		identity, err := ledger.OpenIdentity(openState(t, crashfs.New(1)), bytes.NewReader(secret))
		if err != nil {
			t.Fatal(err)
		}
		if want := "did:key:z6MktwupdmLXVVqTzCw4i46r4uGyosGXRnR3XjN4Zq7oMMsw"; identity.DID() != want {
			t.Fatalf("%s, want %s", identity.DID(), want)
		}
	})
	t.Run("the key is made once and stays", func(t *testing.T) {
		disk := crashfs.New(1)
		first, err := ledger.OpenIdentity(openState(t, disk), seed(1))
		if err != nil {
			t.Fatal(err)
		}
		disk.SetSurvival(0)
		disk.Crash()
		second, err := ledger.OpenIdentity(openState(t, disk), seed(2))
		if err != nil || second.DID() != first.DID() {
			t.Fatalf("%v, %v", second, err)
		}
		info, err := disk.Lstat(filepath.Join(stateDir, "identity.key"))
		if err != nil || info.Mode() != 0o600 {
			t.Fatalf("%v, %v", info, err)
		}
	})
	t.Run("processes that begin together agree on one key", func(t *testing.T) {
		s := openState(t, crashfs.New(1))
		dids := make([]string, 8)
		var all sync.WaitGroup
		for i := range dids {
			all.Go(func() {
				identity, err := ledger.OpenIdentity(s, seed(byte(i)))
				if err != nil {
					t.Error(err)
					return
				}
				dids[i] = identity.DID()
			})
		}
		all.Wait()
		if len(slices.Compact(dids)) != 1 {
			t.Fatal(dids)
		}
	})
	t.Run("a damaged key is reported and never replaced", func(t *testing.T) {
		for _, content := range []string{"", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "x"} {
			disk := crashfs.New(1)
			s := openState(t, disk)
			overwrite(t, disk, "identity.key", content)
			_, err := ledger.OpenIdentity(s, seed(1))
			var corrupt *ledger.CorruptError
			if !errors.As(err, &corrupt) {
				t.Errorf("%q: %v", content, err)
			}
			wantContent(t, disk, "identity.key", content)
		}
	})
	t.Run("randomness that ends makes no key", func(t *testing.T) {
		disk := crashfs.New(1)
		s := openState(t, disk)
		if _, err := ledger.OpenIdentity(s, strings.NewReader("short")); err == nil {
			t.Fatal("made")
		}
		if _, err := ledger.ReadIdentity(s); !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	})
}

func TestSignatures(t *testing.T) {
	s := openState(t, crashfs.New(1))
	identity, err := ledger.OpenIdentity(s, seed(1))
	if err != nil {
		t.Fatal(err)
	}
	other, err := ledger.OpenIdentity(openState(t, crashfs.New(1)), seed(2))
	if err != nil {
		t.Fatal(err)
	}
	message := []byte("a head")
	signature := identity.Sign(message)
	if err := ledger.VerifyDID(identity.DID(), message, signature); err != nil {
		t.Fatal(err)
	}
	spoilt := bytes.Clone(signature)
	spoilt[5] ^= 1
	for name, err := range map[string]error{
		"another message":   ledger.VerifyDID(identity.DID(), []byte("another"), signature),
		"another signature": ledger.VerifyDID(identity.DID(), message, spoilt),
		"a short signature": ledger.VerifyDID(identity.DID(), message, signature[:ed25519.SignatureSize-1]),
		"no signature":      ledger.VerifyDID(identity.DID(), message, nil),
		"another key":       ledger.VerifyDID(other.DID(), message, signature),
	} {
		if !errors.Is(err, ledger.ErrSignature) {
			t.Errorf("%s: %v", name, err)
		}
	}
	did := identity.DID()
	for _, bad := range []string{"", "did:key:", "did:web:example.com", did[:len(did)-1], did + "1", "did:key:z1" + did[9:], strings.ReplaceAll(did, "6", "0"), "did:key:u" + did[9:], "did:key:z" + strings.Repeat("z", 10000)} {
		if err := ledger.VerifyDID(bad, message, signature); err == nil || errors.Is(err, ledger.ErrSignature) {
			t.Errorf("%.60q: %v, want a refusal", bad, err)
		}
	}
}

func next(t *testing.T, o *ledger.Observations, floor uint64) uint64 {
	t.Helper()
	n, err := o.Next(t.Context(), floor)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func complete(t *testing.T, o *ledger.Observations, source string, n uint64) {
	t.Helper()
	if err := o.Complete(t.Context(), n, source); err != nil {
		t.Fatal(err)
	}
}

func wantNewest(t *testing.T, o *ledger.Observations, source string, want uint64) {
	t.Helper()
	if got, err := o.NewestComplete(source); got != want || err != nil {
		t.Fatalf("newest complete observation of %s: %d, %v; want %d", source, got, err, want)
	}
}

func TestObservations(t *testing.T) {
	t.Run("numbers rise from pass to pass, and above the floor", func(t *testing.T) {
		disk := crashfs.New(1)
		for i, floor := range []uint64{0, 0, 1, 40, 3} {
			want := []uint64{1, 2, 3, 41, 42}[i]
			if n := next(t, openState(t, disk).Observations(), floor); n != want {
				t.Errorf("draw %d: %d, want %d", i, n, want)
			}
		}
	})
	t.Run("an older complete observation does not replace a newer one", func(t *testing.T) {
		disk := crashfs.New(1)
		o := openState(t, disk).Observations()
		wantNewest(t, o, "claude", 0)
		for range 5 {
			next(t, o, 0)
		}
		complete(t, o, "claude", 4)
		complete(t, o, "codex", 5)
		complete(t, o, "claude", 2)
		again := openState(t, disk).Observations()
		wantNewest(t, again, "claude", 4)
		wantNewest(t, again, "codex", 5)
		if err := o.Complete(t.Context(), 0, "claude"); err == nil {
			t.Error("number 0 was recorded")
		}
	})
	t.Run("passes that draw together get different numbers", func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "state")
		drawn := make([]uint64, 16)
		var all sync.WaitGroup
		for i := range drawn {
			all.Go(func() {
				s, err := ledger.OpenState(durable.OS(), dir)
				if err != nil {
					t.Error(err)
					return
				}
				drawn[i] = next(t, s.Observations(), 0)
			})
		}
		all.Wait()
		slices.Sort(drawn)
		if len(slices.Compact(drawn)) != 16 || drawn[15] != 16 {
			t.Fatal(drawn)
		}
	})
	t.Run("a number drawn before the file was lost is still recorded", func(t *testing.T) {
		disk := crashfs.New(1)
		o := openState(t, disk).Observations()
		complete(t, o, "claude", 9)
		wantNewest(t, o, "claude", 9)
		if n := next(t, o, 0); n != 10 {
			t.Fatalf("the next number is %d", n)
		}
	})
	t.Run("the last number is not passed", func(t *testing.T) {
		o := openState(t, crashfs.New(1)).Observations()
		if n, err := o.Next(t.Context(), math.MaxUint64); err == nil {
			t.Fatal(n)
		}
		if n := next(t, o, math.MaxUint64-1); n != math.MaxUint64 {
			t.Fatal(n)
		}
	})
	t.Run("fields of others are kept", func(t *testing.T) {
		disk := crashfs.New(1)
		o := openState(t, disk).Observations()
		overwrite(t, disk, "observations.json", `{"version": 1, "last": "9007199254740993", "complete": {"a": "7"}, "more": [1.0]}`)
		next(t, o, 0)
		wantContent(t, disk, "observations.json", "{\n  \"complete\": {\n    \"a\": \"7\"\n  },\n  \"last\": \"9007199254740994\",\n  \"more\": [\n    1.0\n  ],\n  \"version\": 1\n}\n")
	})
}

// C103: a damaged file stops nothing, a newer one is not touched.
func TestDamagedObservations(t *testing.T) {
	for name, content := range map[string]string{
		"zero bytes": "", "half of it": `{"version": 1, "last": "12`, "null": "null", "no version": `{"last":"1"}`, "a list": "[]",
		"a number that is none": `{"version":1,"last":"-1"}`, "another spelling": `{"version":1,"last":"01"}`,
		"a source beyond the last": `{"version":1,"last":"3","complete":{"a":"4"}}`, "a number without quotes": `{"version":1,"last":3}`,
		"zeros": strings.Repeat("\x00", 100),
	} {
		t.Run(name+" is set aside and noted", func(t *testing.T) {
			disk := crashfs.New(1)
			s := openState(t, disk)
			o := s.Observations()
			for n := 1; n <= 2; n++ {
				overwrite(t, disk, "observations.json", content)
				wantNewest(t, o, "a", 0)
				if got := next(t, o, 20); got != 21 {
					t.Fatalf("drew %d", got)
				}
				wantContent(t, disk, "observations.json.broken-"+string(rune('0'+n)), content)
				if len(s.Notes()) != n {
					t.Fatalf("notes %q", s.Notes())
				}
			}
			complete(t, o, "a", 21)
			wantNewest(t, o, "a", 21)
		})
	}
	t.Run("a newer version is refused and left alone", func(t *testing.T) {
		disk := crashfs.New(1)
		s := openState(t, disk)
		newer := `{"version": 2, "last": {"host": 4}}`
		overwrite(t, disk, "observations.json", newer)
		_, nextErr := s.Observations().Next(t.Context(), 0)
		_, newestErr := s.Observations().NewestComplete("a")
		for _, err := range []error{nextErr, newestErr, s.Observations().Complete(t.Context(), 1, "a")} {
			var version *ledger.VersionError
			if !errors.As(err, &version) || !strings.Contains(err.Error(), "newer program") {
				t.Errorf("%v, want a *VersionError", err)
			}
		}
		wantContent(t, disk, "observations.json", newer)
	})
}

// The file is not synced: a loss of power may take numbers back or tear the file. The
// floor keeps the next number above all that count, and no manual step is needed.
func TestObservationsAfterLossOfPower(t *testing.T) {
	for k := range 60 {
		disk := crashfs.New(uint64(k))
		o := openState(t, disk).Observations()
		published := next(t, o, 0)
		disk.StopBefore(k % 12)
		for range 4 {
			n, err := o.Next(t.Context(), published)
			if err != nil {
				break
			}
			published = n
		}
		disk.Crash()
		if n := next(t, openState(t, disk).Observations(), published); n <= published {
			t.Fatalf("seed %d: drew %d after %d was published", k, n, published)
		}
	}
}
