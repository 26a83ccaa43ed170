package publish

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/collect/claude"
	"agentsync/fixtures/fakedriver"
	"agentsync/ledger"
	"agentsync/ledger/durable"
	"agentsync/publish/document"
	"agentsync/publish/store"
	"agentsync/publish/store/mem"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// bed is a store with one installation that publishes into it.
type bed struct {
	*testing.T
	store  *mem.Store
	target *Target
	pass   Pass
}

func newBed(t *testing.T, sources ...collect.Driver) *bed {
	t.Helper()
	b := &bed{T: t, store: mem.New()}
	b.pass = Pass{Sources: sources, Now: noon}
	b.target = b.open("one", testIdentity(t))
	return b
}

func testIdentity(t *testing.T) *ledger.Identity {
	t.Helper()
	state, err := ledger.OpenState(durable.OS(), filepath.Join(t.TempDir(), "state"))
	if err != nil {
		t.Fatal(err)
	}
	id, err := ledger.OpenIdentity(state, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (b *bed) open(installation string, id *ledger.Identity) *Target {
	b.Helper()
	o := Options{Store: b.store, FS: durable.OS(), State: b.TempDir(), Signer: id, Installation: installation, Rand: rand.Reader, Workers: 2}
	target, err := Open(b.Context(), o)
	if errors.Is(err, ErrNoStore) {
		target, err = Create(b.Context(), o, noon)
	}
	if err != nil {
		b.Fatal(err)
	}
	return target
}

// publish runs a pass, a minute later each time, and checks that its counts add up.
func (b *bed) publish() Report {
	b.Helper()
	r, err := b.target.Publish(b.Context(), b.pass)
	if err != nil {
		b.Fatal(err)
	}
	b.pass.Now = b.pass.Now.Add(time.Minute)
	if r.Found != r.Published+r.Unchanged+r.Failed {
		b.Fatalf("found %d, but published %d + unchanged %d + failed %d", r.Found, r.Published, r.Unchanged, r.Failed)
	}
	return r
}

// sound verifies the store deeply.
func (b *bed) sound() VerifyReport {
	b.Helper()
	v, err := b.target.Verify(b.Context(), VerifyOptions{Deep: true, Workers: 2})
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range v.Problems {
		b.Errorf("verify: %s: %s", p.What, p.Message)
	}
	return v
}

func (b *bed) view() *View {
	b.Helper()
	v, err := b.target.View(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return v
}

func (b *bed) row(key string) *document.Row {
	b.Helper()
	row, err := b.view().Find(key)
	if err != nil {
		b.Fatal(err)
	}
	return row
}

// stored gives back a session's bytes.
func (b *bed) stored(key string) string {
	b.Helper()
	v := b.view()
	row, err := v.Find(key)
	if err != nil || row == nil {
		b.Fatalf("find %s: %v, %v", key, row, err)
	}
	return b.bytesOf(v, row)
}

// bytesOf gives back the bytes of a row's session.
func (b *bed) bytesOf(v *View, row *document.Row) string {
	b.Helper()
	s, err := v.Session(row)
	if err != nil {
		b.Fatal(err)
	}
	var out bytes.Buffer
	err = s.Events(func(i int, e *document.ChunkEvent) error {
		if e.Plain {
			out.Write(e.Text)
			return out.WriteByte('\n')
		}
		_, err := out.Write(e.Raw)
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return out.String()
}

func lines(n int, from int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(`{"type":"user","uuid":"u-%06d","message":{"role":"user","content":[{"type":"text","text":"line %d %s"}]}}`,
			from+i, from+i, strings.Repeat("words ", (from+i)%40))
	}
	return out
}

func TestPublish(t *testing.T) {
	t.Run("gives every byte back and verifies", func(t *testing.T) {
		events := append(lines(300, 0), `{ "spaced" : 1.50 }`, `not json`, `{"a":1,"a":2}`, `{"/x":1}`, `{"n":12345678901234567890}`, `{"u":"\ud800"}`)
		d := fakedriver.New("codex").Session("one", events...).Session("two").Session("three", lines(2, 0)...)
		b := newBed(t, d)
		r := b.publish()
		if r.Published != 3 || r.Generation != 1 {
			t.Fatalf("report: %+v", r)
		}
		if got, want := b.stored("codex/one"), strings.Join(events, "\n")+"\n"; got != want {
			t.Errorf("stored %d bytes, want %d", len(got), len(want))
		}
		if got := b.stored("codex/two"); got != "" {
			t.Errorf("an empty session gave %q", got)
		}
		v := b.sound()
		if v.Sessions != 3 || v.Hashes < 9 {
			t.Errorf("verified %+v", v)
		}
	})
	t.Run("a second pass writes nothing and reads no session", func(t *testing.T) {
		d := fakedriver.New("codex").Session("one", lines(10, 0)...)
		b := newBed(t, d)
		b.publish()
		reads, stages := d.Reads("one"), b.store.Calls(mem.Stage)
		r := b.publish()
		if d.Reads("one") != reads || b.store.Calls(mem.Stage) != stages || r.Unchanged != 1 || r.Retained != 1 || r.Generation != 1 {
			t.Errorf("second pass: %+v, %d reads", r, d.Reads("one")-reads)
		}
	})
	t.Run("a full pass reads all and still writes nothing", func(t *testing.T) {
		d := fakedriver.New("codex").Session("one", lines(3000, 0)...)
		b := newBed(t, d)
		b.publish()
		reads := d.Reads("one")
		b.pass.Full = true
		r := b.publish()
		if d.Reads("one") == reads || r.Generation != 1 || r.Unchanged != 1 || r.Documents != 0 {
			t.Errorf("full pass: %+v, %d reads", r, d.Reads("one")-reads)
		}
	})
	t.Run("a session that grows keeps its settled documents", func(t *testing.T) {
		d := fakedriver.New("codex").Session("one", lines(9000, 0)...)
		b := newBed(t, d)
		first := b.publish()
		d.Append("one", lines(1, 9000)...)
		r := b.publish()
		if r.Documents > 5 { // chunk, manifest, index page, inner page, root
			t.Errorf("an append wrote %d documents of %d", r.Documents, first.Documents)
		}
		if got, want := b.stored("codex/one"), strings.Join(lines(9001, 0), "\n")+"\n"; got != want {
			t.Error("the grown session is not its bytes")
		}
		b.sound()
	})
}

// TestLongSession lets a session grow whose messages are remembered.
func TestLongSession(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "projects", "-home-dev-app", "11111111-2222-4333-8444-555555555555.jsonl")
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(from, n int) {
		f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for _, line := range lines(n, from) {
			fmt.Fprintln(f, line)
		}
		fmt.Fprintln(f, lines(1, from)[0]) // an id that was there before
	}
	write(0, 7000)
	d, err := claude.New(collect.SourceConfig{ID: "claude", Driver: "claude-agent-sdk", ConfigDir: dir},
		collect.Env{Now: noon, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	b := newBed(t, d)
	b.publish()
	const key = "claude/11111111-2222-4333-8444-555555555555"
	for _, n := range []int{1, 300, 2500, 1} {
		write(7000+n, n)
		if r := b.publish(); r.Published != 1 || !r.Sessions[0].Resumed {
			t.Fatalf("append of %d lines: %+v", n, r)
		}
		b.sound()
	}
	recalled := b.row(key)
	for _, name := range []string{recallName(key), claimsFile} {
		if err := os.Remove(filepath.Join(b.target.State, name)); err != nil {
			t.Fatal(err)
		}
	}
	b.pass.Full = true
	if r := b.publish(); r.Unchanged != 1 {
		t.Errorf("read anew without the cache: %+v", r)
	}
	if row := b.row(key); row.ManifestHash != recalled.ManifestHash {
		t.Error("the remembered messages gave another hash than the session itself")
	}
	content, err := os.ReadFile(file)
	if err != nil || b.stored(key) != string(content) {
		t.Errorf("stored bytes differ, %v", err)
	}
}

func TestDeletion(t *testing.T) {
	setUp := func(t *testing.T) (*fakedriver.Driver, *bed) {
		d := fakedriver.New("codex").Session("one", lines(3, 0)...).Session("two", lines(3, 10)...)
		b := newBed(t, d)
		b.publish()
		return d, b
	}
	status := func(b *bed, key, want string) {
		b.Helper()
		if row := b.row(key); row == nil || row.Status != want {
			b.Errorf("%s: row %+v, want status %s", key, row, want)
		}
	}
	t.Run("a complete inventory marks what it does not name deleted, and keeps it", func(t *testing.T) {
		d, b := setUp(t)
		d.Remove("two")
		if r := b.publish(); r.Deleted != 1 {
			t.Errorf("report %+v", r)
		}
		status(b, "codex/two", document.StatusDeleted)
		at := *b.row("codex/two").DeletedAt
		d.Session("one", lines(4, 0)...)
		b.publish()
		if got := *b.row("codex/two").DeletedAt; got != at {
			t.Errorf("deleted at %s, first %s", got, at)
		}
		if b.stored("codex/two") != strings.Join(lines(3, 10), "\n")+"\n" {
			t.Error("a deleted session lost its bytes")
		}
		b.sound()
	})
	t.Run("an incomplete inventory only makes it stale", func(t *testing.T) {
		d, b := setUp(t)
		d.Remove("two").Problem(collect.Problem{Code: "unreadable", Message: "list folder"})
		r := b.publish()
		if r.Deleted != 0 || !r.Incomplete() {
			t.Errorf("report %+v", r)
		}
		status(b, "codex/two", document.StatusStale)
	})
	t.Run("an absent source deletes nothing", func(t *testing.T) {
		d, b := setUp(t)
		d.Remove("one").Remove("two").Absent()
		if r := b.publish(); r.Deleted != 0 || !r.Incomplete() {
			t.Errorf("report %+v", r)
		}
		status(b, "codex/one", document.StatusStale)
	})
	t.Run("a session that cannot be read keeps its copy, marked partial", func(t *testing.T) {
		d, b := setUp(t)
		d.Append("one", lines(1, 3)...).FailRead("one", errors.New("i/o error"))
		if r := b.publish(); r.Failed != 1 || !r.Incomplete() {
			t.Errorf("report %+v", r)
		}
		status(b, "codex/one", document.StatusPartial)
		d.FailRead("one", nil)
		if r := b.publish(); r.Published != 1 {
			t.Errorf("report %+v", r)
		}
		status(b, "codex/one", document.StatusComplete)
		b.sound()
	})
	t.Run("a part of a source deletes nothing", func(t *testing.T) {
		d, b := setUp(t)
		d.Remove("two")
		b.pass.Only = func(_ string, l collect.Listing) bool { return l.NativeSessionID == "one" }
		b.publish()
		status(b, "codex/two", document.StatusComplete)
	})
}

func TestManyGenerationsStaySound(t *testing.T) {
	d := fakedriver.New("codex")
	for i := range 400 {
		d.Session(fmt.Sprintf("s-%04d", i), lines(2, i)...)
	}
	b := newBed(t, d)
	b.publish()
	for i := range 40 {
		d.Append(fmt.Sprintf("s-%04d", i*7%400), lines(1, 1000+i)...)
		if i%5 == 0 {
			d.Session(fmt.Sprintf("t-%04d", i), lines(3, i)...)
		}
		r := b.publish()
		if r.Published < 1 || r.Published > 2 {
			t.Fatalf("pass %d published %d", i, r.Published)
		}
	}
	b.sound()
	if n := len(b.view().Root().Files); n > 3*tierFull {
		t.Errorf("%d packs after 41 generations", n)
	}
	pruned, err := b.target.Prune(t.Context(), PruneOptions{Keep: 1, Apply: true, Now: noon.Add(1000 * time.Hour)})
	if err != nil || len(pruned.Removed) == 0 || pruned.KeptHeads != 1 {
		t.Errorf("prune: %+v, %v", pruned, err)
	}
	v := b.sound()
	if v.Sessions != 408 {
		t.Errorf("%d sessions after prune", v.Sessions)
	}
}

func TestTwoInstallations(t *testing.T) {
	t.Run("publish different sources into one store", func(t *testing.T) {
		one, two := fakedriver.New("codex").Session("a", lines(2, 0)...), fakedriver.New("laptop").Session("b", lines(2, 0)...)
		b := newBed(t, one)
		b.publish()
		other := b.open("two", b.target.Signer.(*ledger.Identity))
		if _, err := other.Publish(t.Context(), Pass{Sources: []collect.Driver{two}, Now: noon}); err != nil {
			t.Fatal(err)
		}
		if r := b.publish(); r.Unchanged != 1 || r.Deleted != 0 || r.Retained != 1 {
			t.Errorf("after the other's generation: %+v", r)
		}
		if b.row("codex/a") == nil || b.row("laptop/b") == nil {
			t.Error("a session of one of them is gone")
		}
	})
	t.Run("may not publish the same source", func(t *testing.T) {
		b := newBed(t, fakedriver.New("codex").Session("a", lines(2, 0)...))
		b.publish()
		other := b.open("two", b.target.Signer.(*ledger.Identity))
		_, err := other.Publish(t.Context(), b.pass)
		var owned *OwnedError
		if !errors.As(err, &owned) || owned.Source != "codex" {
			t.Fatalf("got %v", err)
		}
	})
	t.Run("race, and both generations land", func(t *testing.T) {
		one, two := fakedriver.New("codex").Session("a", lines(2, 0)...), fakedriver.New("laptop").Session("b", lines(2, 0)...)
		b := newBed(t, one)
		b.publish()
		other := b.open("two", b.target.Signer.(*ledger.Identity))
		one.Append("a", lines(1, 2)...).OnRead(func(string) {
			if _, err := other.Publish(context.Background(), Pass{Sources: []collect.Driver{two}, Now: noon}); err != nil {
				t.Error(err)
			}
		})
		if r := b.publish(); r.Generation != 3 || r.Published != 1 {
			t.Errorf("report %+v", r)
		}
		b.sound()
		if b.row("laptop/b") == nil {
			t.Error("the other's session is gone")
		}
	})
	t.Run("a store of another owner is refused", func(t *testing.T) {
		b := newBed(t)
		_, err := Open(t.Context(), Options{Store: b.store, Signer: testIdentity(t), Rand: rand.Reader})
		if !errors.Is(err, ErrForeign) {
			t.Errorf("got %v", err)
		}
	})
}

// TestOrder lets a newer observation be published while an older one is still reading.
func TestOrder(t *testing.T) {
	// overtake publishes old and new once; then, while the older pass reads, the newer
	// one sees what change makes of the source, and is published first.
	overtake := func(t *testing.T, older, newest func(*fakedriver.Driver)) *bed {
		make := func() *fakedriver.Driver {
			return fakedriver.New("codex").Session("x", lines(2, 0)...).Session("y", lines(2, 10)...)
		}
		slow, fast := make(), make()
		b := newBed(t, slow)
		state, err := ledger.OpenState(durable.OS(), filepath.Join(t.TempDir(), "state"))
		if err != nil {
			t.Fatal(err)
		}
		b.target.Observations = state.Observations()
		b.publish()
		older(slow)
		newest(fast)
		once := false
		slow.OnRead(func(string) {
			if !once {
				once = true
				if _, err := b.target.Publish(context.Background(), Pass{Sources: []collect.Driver{fast}, Now: noon}); err != nil {
					t.Error(err)
				}
			}
		})
		r := b.publish()
		for _, s := range r.Sessions { // what is reported is what the index holds
			row := b.row(s.Key)
			if s.Status != SessionFailed && (row.ManifestHash.String() != s.ManifestHash || row.ContentHash.String() != s.SnapshotHash) {
				t.Errorf("%s is reported with other hashes than it has", s.Key)
			}
		}
		b.sound()
		return b
	}
	t.Run("an older collection does not overwrite a newer refresh", func(t *testing.T) {
		b := overtake(t, func(d *fakedriver.Driver) { d.Append("x", lines(1, 2)...) },
			func(d *fakedriver.Driver) { d.Append("x", lines(2, 2)...) })
		if b.stored("codex/x") != strings.Join(lines(4, 0), "\n")+"\n" {
			t.Error("the newer refresh is gone")
		}
	})
	t.Run("an older inventory does not delete a newer refresh", func(t *testing.T) {
		b := overtake(t, func(d *fakedriver.Driver) { d.Append("x", lines(1, 2)...).Remove("y") },
			func(d *fakedriver.Driver) { d.Append("y", lines(1, 12)...) })
		if row := b.row("codex/y"); row.Status != document.StatusComplete {
			t.Errorf("y is %s", row.Status)
		}
	})
	t.Run("an older inventory does not bring back what a newer one misses", func(t *testing.T) {
		b := overtake(t, func(d *fakedriver.Driver) { d.Append("y", lines(1, 12)...) },
			func(d *fakedriver.Driver) { d.Remove("y") })
		if row := b.row("codex/y"); row.Status != document.StatusDeleted {
			t.Errorf("y is %s", row.Status)
		}
	})
	t.Run("the next pass sees all again", func(t *testing.T) {
		b := overtake(t, func(d *fakedriver.Driver) { d.Append("x", lines(1, 2)...) },
			func(d *fakedriver.Driver) { d.Append("x", lines(2, 2)...) })
		if r := b.publish(); r.Published != 1 || b.stored("codex/x") != strings.Join(lines(3, 0), "\n")+"\n" {
			t.Errorf("report %+v", r)
		}
	})
}

func TestVerifyFindsDamage(t *testing.T) {
	d := fakedriver.New("codex").Session("one", lines(50, 0)...)
	b := newBed(t, d)
	b.publish()
	var name string
	_ = b.store.List(t.Context(), "packs/", func(e store.Entry) error { name = e.Name; return io.EOF })
	content, err := b.store.Get(t.Context(), name, 0, -1, nil)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(content); at += 97 {
		spoiled := bytes.Clone(content)
		spoiled[at] ^= 0x40
		if err := b.store.Delete(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		if err := store.PutOnce(t.Context(), b.store, name, spoiled); err != nil {
			t.Fatal(err)
		}
		v, err := b.target.Verify(t.Context(), VerifyOptions{Workers: 1})
		if err != nil || len(v.Problems) == 0 {
			t.Fatalf("a spoiled byte at %d of %d was not found: %+v, %v", at, len(content), v, err)
		}
	}
}
