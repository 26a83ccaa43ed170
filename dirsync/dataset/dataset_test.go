package dataset_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"agentsync/dirsync"
	"agentsync/dirsync/dataset"
	"agentsync/hashgraph/digest"
	"agentsync/publish/store"
	"agentsync/publish/store/mem"
)

var (
	ctx = context.Background()
	now = time.Date(2026, 1, 2, 3, 4, 5, 6_000_000, time.UTC)
)

// owner signs with a key made of one byte.
type owner struct{ key ed25519.PrivateKey }

func newOwner(b byte) owner {
	return owner{ed25519.NewKeyFromSeed(bytes.Repeat([]byte{b}, ed25519.SeedSize))}
}

func (o owner) DID() string { return fmt.Sprintf("did:test:%x", o.key.Public()) }

func (o owner) Sign(message []byte) []byte { return ed25519.Sign(o.key, message) }

func verify(did string, message, signature []byte) error {
	for b := range byte(4) {
		if o := newOwner(b); o.DID() == did && ed25519.Verify(o.key.Public().(ed25519.PublicKey), message, signature) {
			return nil
		}
	}
	return errors.New("signature does not match")
}

func open(s store.Store, by byte, installation string) *dataset.Dataset {
	return dataset.Open(dataset.Options{Store: s, Owner: newOwner(1).DID(), Signer: newOwner(by), Installation: installation, Verify: verify}, "notes")
}

func file(path, content string) dirsync.Node {
	return dirsync.Node{Path: path, Entry: dirsync.Entry{Kind: dirsync.File, Digest: digest.Sum([]byte(content)), Size: int64(len(content))}}
}

// put uploads contents and publishes the tree of them.
func put(t *testing.T, d *dataset.Dataset, base *dataset.Head, operation string, contents ...string) (*dataset.Head, error) {
	t.Helper()
	up, err := d.NewUpload(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var nodes []dirsync.Node
	for i, c := range contents {
		n := file(fmt.Sprintf("f%02d", i), c)
		nodes = append(nodes, n)
		if err := up.Put(ctx, n.Digest, n.Size, bytes.NewReader([]byte(c))); err != nil {
			t.Fatal(err)
		}
	}
	manifest, err := up.PutManifest(ctx, dirsync.NewTree(nodes))
	if err == nil {
		err = up.Commit(ctx)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d.Publish(ctx, base, manifest, operation, now)
}

func TestADatasetIsTheChainOfItsHeads(t *testing.T) {
	s := mem.New()
	d := open(s, 1, "here")
	if h, err := d.Newest(ctx); h != nil || err != nil {
		t.Fatal(h, err)
	}
	var base *dataset.Head
	for i := range 5 {
		h, err := put(t, d, base, fmt.Sprint("plan ", i), "one", fmt.Sprint("other ", i))
		if err != nil {
			t.Fatal(err)
		}
		newest, err := open(s, 1, "there").Newest(ctx)
		if err != nil || newest.Generation != int64(i+1) || newest.Manifest != h.Manifest || newest.Operation != fmt.Sprint("plan ", i) {
			t.Fatalf("%+v, %v", newest, err)
		}
		tree, err := d.Tree(ctx, newest)
		if err != nil || tree.Find("f01") != file("", fmt.Sprint("other ", i)).Entry {
			t.Fatalf("%+v, %v", tree, err)
		}
		base = newest
	}
	names, err := dataset.List(ctx, s)
	if err != nil || fmt.Sprint(names) != "[notes]" {
		t.Error(names, err)
	}
	content, err := io.ReadAll(d.Content(ctx, digest.Sum([]byte("other 4")), 7))
	if err != nil || string(content) != "other 4" {
		t.Errorf("%q, %v", content, err)
	}
}

func TestOfManyPublishersOneComesFirst(t *testing.T) {
	s := mem.New()
	base, err := put(t, open(s, 1, "here"), nil, "first", "x")
	if err != nil {
		t.Fatal(err)
	}
	manifest := base.Manifest
	won := make([]error, 16)
	var wait sync.WaitGroup
	for i := range won {
		wait.Go(func() {
			_, won[i] = open(s, 1, fmt.Sprint(i)).Publish(ctx, base, manifest, fmt.Sprint(i), now)
		})
	}
	wait.Wait()
	first := -1
	for i, err := range won {
		switch {
		case err == nil && first < 0:
			first = i
		case !errors.Is(err, dataset.ErrMoved):
			t.Errorf("%d: %v", i, err)
		}
	}
	for i := range won {
		h, taken, err := open(s, 1, fmt.Sprint(i)).Published(ctx, 1, fmt.Sprint(i))
		if err != nil || !taken || (h != nil) != (i == first) {
			t.Errorf("%d: %v %t %v", i, h, taken, err)
		}
	}
	if h, taken, err := open(s, 1, "0").Published(ctx, 2, "0"); h != nil || taken || err != nil {
		t.Errorf("a number that nobody took: %v %t %v", h, taken, err)
	}
}

func TestNothingIsTakenForTrueThatIsNotChecked(t *testing.T) {
	t.Run("a head of somebody else", func(t *testing.T) {
		s := mem.New()
		if _, err := put(t, open(s, 2, "foreign"), nil, "p", "x"); err != nil {
			t.Fatal(err)
		}
		var damaged *dataset.DamagedError
		if _, err := open(s, 1, "here").Newest(ctx); !errors.As(err, &damaged) {
			t.Error(err)
		}
	})
	t.Run("a head with other words under the same signature", func(t *testing.T) {
		s := mem.New()
		if _, err := put(t, open(s, 1, "here"), nil, "p", "x"); err != nil {
			t.Fatal(err)
		}
		text, err := s.Get(ctx, store.HeadName("dataset-notes", 1), 0, -1, nil)
		if err != nil {
			t.Fatal(err)
		}
		forged := mem.New()
		if err := store.PutOnce(ctx, forged, store.HeadName("dataset-notes", 1), bytes.Replace(text, []byte(`"operation":"p"`), []byte(`"operation":"q"`), 1)); err != nil {
			t.Fatal(err)
		}
		var damaged *dataset.DamagedError
		if _, err := open(forged, 1, "here").Newest(ctx); !errors.As(err, &damaged) {
			t.Error(err)
		}
	})
	t.Run("a head in another spelling", func(t *testing.T) {
		s := mem.New()
		if _, err := put(t, open(s, 1, "here"), nil, "p", "x"); err != nil {
			t.Fatal(err)
		}
		name := store.HeadName("dataset-notes", 1)
		text, err := s.Get(ctx, name, 0, -1, nil)
		if err != nil {
			t.Fatal(err)
		}
		at := bytes.Index(text, []byte(`"signature":"`)) + len(`"signature":"`) + 85
		filled := bytes.Clone(text)
		filled[at]++ // of its six bits four are filling
		for _, other := range [][]byte{filled, append([]byte("{ "), text[1:]...), text[:len(text)-1], append([]byte(`{"a":1,`), text[1:]...)} {
			if err := s.Hint(ctx, name, other); err != nil {
				t.Fatal(err)
			}
			var damaged *dataset.DamagedError
			if _, err := open(s, 1, "here").Newest(ctx); !errors.As(err, &damaged) {
				t.Errorf("%s: %v", other, err)
			}
		}
	})
	t.Run("a content that is another", func(t *testing.T) {
		s := mem.New()
		d := open(s, 1, "here")
		sum := digest.Sum([]byte("right"))
		if err := store.PutOnce(ctx, s, store.ObjectName(sum), []byte("wrong")); err != nil {
			t.Fatal(err)
		}
		var damaged *dataset.DamagedError
		if got, err := io.ReadAll(d.Content(ctx, sum, 5)); !errors.As(err, &damaged) {
			t.Errorf("%q, %v", got, err)
		}
		if got, err := io.ReadAll(d.Content(ctx, sum, 9)); !errors.As(err, &damaged) {
			t.Errorf("%q, %v", got, err)
		}
	})
	t.Run("an upload that is not what it claims", func(t *testing.T) {
		s := mem.New()
		d := open(s, 1, "here")
		up, err := d.NewUpload(ctx)
		if err != nil {
			t.Fatal(err)
		}
		sum := digest.Sum([]byte("right"))
		var damaged *dataset.DamagedError
		if err := up.Put(ctx, sum, 5, bytes.NewReader([]byte("wrong"))); !errors.As(err, &damaged) {
			t.Error(err)
		}
		if has, err := d.Has(ctx, sum, 5); has || err != nil {
			t.Error(has, err)
		}
	})
	t.Run("a stored content that is another, of the right size", func(t *testing.T) {
		s := mem.New()
		d := open(s, 1, "here")
		for _, content := range []string{"right", ""} {
			sum := digest.Sum([]byte(content))
			if err := s.Hint(ctx, store.ObjectName(sum), []byte("wrong")); err != nil {
				t.Fatal(err)
			}
			if has, err := d.Has(ctx, sum, int64(len(content))); has || err != nil {
				t.Error(has, err)
			}
			up, err := d.NewUpload(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(up.Put(ctx, sum, int64(len(content)), strings.NewReader(content)), up.Commit(ctx)); err != nil {
				t.Fatal(err)
			}
			if has, err := d.Has(ctx, sum, int64(len(content))); !has || err != nil {
				t.Error(has, err)
			}
		}
	})
	t.Run("an absent content", func(t *testing.T) {
		d := open(mem.New(), 1, "here")
		for _, size := range []int64{0, 5} {
			if _, err := io.ReadAll(d.Content(ctx, digest.Sum(nil), size)); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%d: %v", size, err)
			}
		}
	})
}
