package ledger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"agentsync/collect"
	"agentsync/collect/value"
	"agentsync/fixtures/crashfs"
	"agentsync/ledger/durable"
)

const (
	ownerOne = "did:key:z6MkownerOne"
	atNoon   = "2026-01-02T12:00:00.000Z"
	later    = "2026-01-02T12:00:05.000Z"
)

var commandsDir = filepath.FromSlash("/home/dev/state/stores/one")

func openLedger(t testing.TB, disk durable.FS) *Commands {
	t.Helper()
	c, err := OpenCommands(context.Background(), disk, commandsDir)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// claim is the receipt of a command in flight.
func claim(id string) Receipt {
	return Receipt{OwnerDID: ownerOne, CommandID: CommandID{ID: id}, SourceID: "codex", NativeSessionID: "s1",
		Status: InFlight, ClaimedAt: atNoon}
}

// outcome is the receipt of a command that succeeded with a result.
func outcome(id string) Receipt {
	r := claim(id)
	r.Status, r.CompletedAt, r.ProviderOperationID = Succeeded, later, "turn-"+id
	r.Result = value.NewBuilder().Record().Key("id").String(id).Key("missing").Undefined().Key("zero").Number(negativeZero()).End().Finish()
	return r
}

func failure(id string) Receipt {
	r := claim(id)
	r.Status, r.CompletedAt = Unknown, later
	r.Problem = &collect.OperationProblem{Code: "orphaned-in-flight", Message: "the process ended first"}
	return r
}

func negativeZero() float64 { zero := 0.0; return -zero }

func put(t testing.TB, c *Commands, receipts ...Receipt) {
	t.Helper()
	if err := c.Put(context.Background(), receipts...); err != nil {
		t.Fatal(err)
	}
}

func publish(t testing.TB, c *Commands, receipts ...Receipt) {
	t.Helper()
	if err := c.MarkPublished(context.Background(), receipts...); err != nil {
		t.Fatal(err)
	}
}

func written(r Receipt) string { return string(appendJSON(nil, r.Value(), "")) }

func wantReceipt(t testing.TB, c *Commands, want Receipt) {
	t.Helper()
	got, found, err := c.Get(want.CommandID)
	if err != nil || !found || written(got) != written(want) || !c.Known(want.CommandID) {
		t.Errorf("%q: %s, %t, %v; want %s", want.CommandID, written(got), found, err, written(want))
	}
}

func ids(receipts []Receipt) []string {
	var all []string
	for _, r := range receipts {
		all = append(all, r.CommandID.Key())
	}
	return all
}

func TestCommands(t *testing.T) {
	ctx := context.Background()
	t.Run("a missing ledger is empty and is not made by opening it", func(t *testing.T) {
		disk := crashfs.New(1)
		c := openLedger(t, disk)
		if c.Known(CommandID{ID: "a"}) || len(c.Pending()) != 0 || len(disk.Files()) != 0 {
			t.Fatalf("pending %v, files %v", c.Pending(), disk.Files())
		}
	})
	t.Run("what was put is there after opening again", func(t *testing.T) {
		disk := crashfs.New(1)
		c := openLedger(t, disk)
		produced := outcome("same")
		produced.CommandID.Producer = "pattern"
		put(t, c, claim("a"), outcome("same"), produced, failure("c"))
		publish(t, c, outcome("same"))
		again := openLedger(t, disk)
		for _, r := range []Receipt{claim("a"), outcome("same"), produced, failure("c")} {
			wantReceipt(t, c, r)
			wantReceipt(t, again, r)
		}
		if got := ids(again.Pending()); !slices.Equal(got, []string{"a", "c", "pattern\x00same"}) {
			t.Errorf("pending %q", got)
		}
		if got := ids(again.InFlight()); !slices.Equal(got, []string{"a"}) {
			t.Errorf("in flight %q", got)
		}
	})
	t.Run("a mark stays when the receipt was stored anew since", func(t *testing.T) {
		c := openLedger(t, crashfs.New(1))
		put(t, c, claim("a"))
		put(t, c, outcome("a"))
		publish(t, c, claim("a"))
		if got := ids(c.Pending()); !slices.Equal(got, []string{"a"}) {
			t.Fatalf("pending %q", got)
		}
		publish(t, c, outcome("a"))
		if len(c.Pending()) != 0 {
			t.Fatalf("pending %q", ids(c.Pending()))
		}
	})
	t.Run("only a claim that was never published is forgotten", func(t *testing.T) {
		disk := crashfs.New(1)
		c := openLedger(t, disk)
		put(t, c, claim("never"), claim("published"), claim("again"), outcome("done"))
		publish(t, c, claim("published"), claim("again"))
		put(t, c, claim("again"))
		for _, id := range []string{"published", "again", "done"} {
			if err := c.Forget(ctx, CommandID{ID: id}); err == nil || !c.Known(CommandID{ID: id}) {
				t.Errorf("%s: %v", id, err)
			}
		}
		for range 2 {
			if err := c.Forget(ctx, CommandID{ID: "never"}); err != nil || c.Known(CommandID{ID: "never"}) {
				t.Errorf("never: %v", err)
			}
		}
		if openLedger(t, disk).Known(CommandID{ID: "never"}) {
			t.Error("it is back")
		}
	})
	t.Run("nobody changes the ledger through what it returned", func(t *testing.T) {
		c := openLedger(t, crashfs.New(1))
		given := failure("a")
		put(t, c, given)
		given.Problem.Code = "changed"
		got, _, _ := c.Get(given.CommandID)
		got.Problem.Code = "changed too"
		c.Pending()[0].Problem.Code = "and again"
		wantReceipt(t, c, failure("a"))
	})
	t.Run("an invalid receipt is refused with the others of its call, and writes nothing", func(t *testing.T) {
		disk := crashfs.New(1)
		c := openLedger(t, disk)
		bad := claim("b")
		bad.ClaimedAt = "noon"
		if err := c.Put(ctx, claim("a"), bad); err == nil || c.Known(CommandID{ID: "a"}) || len(disk.Files()) != 0 {
			t.Fatal(err)
		}
	})
	t.Run("what changes nothing is not written", func(t *testing.T) {
		disk := crashfs.New(1)
		c := openLedger(t, disk)
		put(t, c, claim("a"))
		writes := disk.Count("write")
		put(t, c, claim("a"))
		publish(t, c, outcome("a"), claim("b"))
		if n := disk.Count("write") - writes; n != 0 {
			t.Errorf("%d writes", n)
		}
	})
	t.Run("a ledger opened to be looked at, and a closed one, refuse changes", func(t *testing.T) {
		disk := crashfs.New(1)
		c := openLedger(t, disk)
		put(t, c, claim("a"))
		reader, err := ReadCommands(disk, commandsDir)
		if err != nil {
			t.Fatal(err)
		}
		wantReceipt(t, reader, claim("a"))
		steps := len(disk.Steps())
		if err := reader.Put(ctx, claim("b")); !errors.Is(err, errReadOnly) || len(disk.Steps()) != steps {
			t.Error(err)
		}
		if err := errors.Join(c.Close(), c.Close()); err != nil {
			t.Error(err)
		}
		if err := c.Put(ctx, claim("b")); !errors.Is(err, errClosed) {
			t.Error(err)
		}
	})
	t.Run("an absent folder reads as an empty ledger and is not made", func(t *testing.T) {
		disk := crashfs.New(1)
		c, err := ReadCommands(disk, commandsDir)
		if err != nil || c.Known(CommandID{ID: "a"}) || len(disk.Steps()) != 0 {
			t.Fatal(err)
		}
	})
	t.Run("a call that was given up writes nothing", func(t *testing.T) {
		disk := crashfs.New(1)
		c := openLedger(t, disk)
		over, cancel := context.WithCancel(ctx)
		cancel()
		if err := c.Put(over, claim("a")); !errors.Is(err, context.Canceled) || len(disk.Files()) != 0 {
			t.Fatal(err)
		}
	})
}

func TestPrivateLedger(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no file modes here")
	}
	ctx, disk := context.Background(), durable.OS()
	dir := filepath.Join(t.TempDir(), "ledger")
	c, err := OpenCommands(ctx, disk, dir)
	if err != nil {
		t.Fatal(err)
	}
	put(t, c, claim("a"))
	for path, mode := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, commandsFile): 0o600} {
		if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	var refused *durable.NotPrivateError
	path := filepath.Join(dir, commandsFile)
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenCommands(ctx, disk, dir); !errors.As(err, &refused) {
		t.Errorf("a file that others read: %v", err)
	}
	if err := errors.Join(os.Chmod(path, 0o600), os.Rename(path, path+".real"), os.Symlink(path+".real", path)); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenCommands(ctx, disk, dir); !errors.As(err, &refused) {
		t.Errorf("a link: %v", err)
	}
	if err := errors.Join(os.Remove(path), os.Rename(path+".real", path), os.Chmod(dir, 0o755)); err != nil {
		t.Fatal(err)
	}
	for name, open := range map[string]func() (*Commands, error){
		"open": func() (*Commands, error) { return OpenCommands(ctx, disk, dir) },
		"read": func() (*Commands, error) { return ReadCommands(disk, dir) },
	} {
		if _, err := open(); !errors.As(err, &refused) {
			t.Errorf("%s a folder that others enter: %v", name, err)
		}
	}
}

func TestManyPutsShareOneWrite(t *testing.T) {
	disk := crashfs.New(1)
	c := openLedger(t, disk)
	put(t, c, claim("first"))
	done := make(chan error, 51)
	c.turn.Lock() // as if a write were on its way
	for i := range 51 {
		go func() { done <- c.Put(context.Background(), claim(fmt.Sprint("c", i))) }()
	}
	for waiting := 0; waiting < 51; {
		c.mu.Lock()
		waiting = len(c.waiting)
		c.mu.Unlock()
		runtime.Gosched()
	}
	writes := disk.Count("sync")
	c.turn.Unlock()
	for range 51 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if n := disk.Count("sync") - writes; n != 1 {
		t.Errorf("%d writes for 51 calls", n)
	}
	if n := len(openLedger(t, disk).Pending()); n != 52 {
		t.Errorf("%d receipts", n)
	}
}

func TestReadersBesideWriters(t *testing.T) {
	c := openSmall(t, crashfs.New(1))
	var writers, readers sync.WaitGroup
	for g := range 4 {
		writers.Go(func() {
			for i := range 20 {
				id := fmt.Sprint(g, "-", i)
				put(t, c, claim(id))
				put(t, c, outcome(id))
				publish(t, c, outcome(id))
				wantReceipt(t, c, outcome(id))
			}
		})
	}
	stop := make(chan struct{})
	for range 2 {
		readers.Go(func() {
			for before := 0; ; {
				n, problems := count(t, c)
				if n < before || len(problems) > 0 {
					t.Errorf("%d receipts after %d, %v", n, before, problems)
				}
				before = n
				c.Pending()
				c.Notes()
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	if n, _ := count(t, c); n != 80 || len(c.Pending()) != 0 {
		t.Errorf("%d receipts, pending %q", n, ids(c.Pending()))
	}
}
