package ledger

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"agentsync/fixtures/crashfs"
	"agentsync/ledger/durable"
)

// unreplacing is a disk whose rename replaces nothing.
type unreplacing struct{ *crashfs.FS }

func (d unreplacing) Rename(from, to string) error {
	if _, err := d.Lstat(to); err == nil {
		return &fs.PathError{Op: "rename", Path: to, Err: fs.ErrExist}
	}
	return d.FS.Rename(from, to)
}

const previousFile = commandsFile + previousSuffix

func openTwin(t testing.TB, disk durable.FS) *Commands {
	t.Helper()
	c, err := openCommands(context.Background(), disk, commandsDir, true)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// generationIn returns the generation that a slot says.
func generationIn(t testing.TB, disk durable.FS, name string) uint64 {
	t.Helper()
	c, err := parseContent(name, []byte(fileIn(t, disk, name)))
	if err != nil {
		t.Fatal(err)
	}
	return c.generation
}

func TestSlots(t *testing.T) {
	t.Run("opening commits the empty ledger to both slots", func(t *testing.T) {
		disk := unreplacing{crashfs.New(1)}
		openTwin(t, disk)
		if one, two := fileIn(t, disk, commandsFile), fileIn(t, disk, previousFile); one != two || generationIn(t, disk, commandsFile) != 0 {
			t.Errorf("%s\n%s", one, two)
		}
	})
	t.Run("writes take turns, and the newest is read", func(t *testing.T) {
		disk := unreplacing{crashfs.New(1)}
		c := openTwin(t, disk)
		for i, id := range []string{"a", "b", "c"} {
			put(t, c, claim(id))
			one, two := generationIn(t, disk, commandsFile), generationIn(t, disk, previousFile)
			if newest := max(one, two); newest != uint64(i+1) || one == two || one+two != 2*newest-1 {
				t.Errorf("generations %d and %d", one, two)
			}
			again := openTwin(t, disk)
			wantReceipt(t, again, claim(id))
			if len(again.Notes()) != 0 {
				t.Errorf("notes %q", again.Notes())
			}
		}
		if n := len(openTwin(t, disk).Pending()); n != 3 {
			t.Errorf("%d receipts", n)
		}
	})
	t.Run("a damaged or missing slot is passed over and filled again", func(t *testing.T) {
		for _, name := range []string{commandsFile, previousFile} {
			for _, text := range []string{"", "{", "missing"} {
				disk := unreplacing{crashfs.New(1)}
				c := openTwin(t, disk)
				put(t, c, claim("a"))
				put(t, c, claim("b"))
				remove(t, disk, name)
				if text != "missing" {
					lay(t, disk, name, text)
				}
				again := openTwin(t, disk)
				wantReceipt(t, again, claim("a"))
				if one, two := generationIn(t, disk, commandsFile), generationIn(t, disk, previousFile); one != two {
					t.Errorf("generations %d and %d", one, two)
				}
				if told := len(again.Notes()) == 1; told != (text != "missing") {
					t.Errorf("%s %q: notes %q", name, text, again.Notes())
				}
				put(t, again, claim("c"))
				wantReceipt(t, openTwin(t, disk), claim("c"))
			}
		}
	})
	t.Run("two damaged slots are damage", func(t *testing.T) {
		disk := unreplacing{crashfs.New(1)}
		lay(t, disk, commandsFile, "{")
		lay(t, disk, previousFile, "{")
		var corrupt *CorruptError
		if _, err := openCommands(context.Background(), disk, commandsDir, true); !errors.As(err, &corrupt) || fileIn(t, disk, commandsFile) != "{" {
			t.Error(err)
		}
	})
	t.Run("equal generations must say the same, however it is laid out", func(t *testing.T) {
		disk := unreplacing{crashfs.New(1)}
		lay(t, disk, commandsFile, ledgerJSON())
		lay(t, disk, previousFile, strings.ReplaceAll(ledgerJSON(), ",", " ,\n"))
		openTwin(t, disk)
		remove(t, disk, previousFile)
		lay(t, disk, previousFile, ledgerJSON("pendingPublicationCommandIds", "[]"))
		var corrupt *CorruptError
		if _, err := openCommands(context.Background(), disk, commandsDir, true); !errors.As(err, &corrupt) {
			t.Error(err)
		}
	})
	t.Run("a newer slot is refused", func(t *testing.T) {
		disk := unreplacing{crashfs.New(1)}
		lay(t, disk, commandsFile, ledgerJSON())
		lay(t, disk, previousFile, ledgerJSON("version", "2"))
		var newer *VersionError
		if _, err := openCommands(context.Background(), disk, commandsDir, true); !errors.As(err, &newer) {
			t.Error(err)
		}
	})
}

func remove(t testing.TB, disk durable.FS, name string) {
	t.Helper()
	if err := disk.Remove(filepath.Join(commandsDir, name)); err != nil {
		t.Fatal(err)
	}
}
