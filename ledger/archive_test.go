package ledger

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"agentsync/fixtures/crashfs"
	"agentsync/ledger/durable"
)

// settle puts n outcomes and publishes them, named prefix0 and so on.
func settle(t testing.TB, c *Commands, prefix string, n int) {
	t.Helper()
	all := make([]Receipt, n)
	for i := range all {
		all[i] = outcome(fmt.Sprint(prefix, i))
	}
	put(t, c, all...)
	publish(t, c, all...)
}

func openSmall(t testing.TB, disk durable.FS) *Commands {
	t.Helper()
	c, err := small(OpenCommands(context.Background(), disk, commandsDir))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// archivedLedger returns a disk with a ledger most of whose receipts are archived.
func archivedLedger(t testing.TB) *crashfs.FS {
	t.Helper()
	disk := crashfs.New(1)
	c := openSmall(t, disk)
	settle(t, c, "a", smallHigh+1)
	if n := len(c.archive.index); n != smallHigh+1-smallLow {
		t.Fatalf("%d archived", n)
	}
	return disk
}

func count(t testing.TB, c *Commands) (receipts int, problems []error) {
	t.Helper()
	seen := map[string]bool{}
	for r, err := range c.All() {
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if seen[r.CommandID.Key()] {
			t.Errorf("%q twice", r.CommandID.Key())
		}
		seen[r.CommandID.Key()] = true
	}
	return len(seen), problems
}

// damageLine replaces line n of the archive by what change makes of it, of the same length.
func damageLine(t testing.TB, disk durable.FS, n int, change func(string) string) {
	t.Helper()
	lines := strings.SplitAfter(fileIn(t, disk, archiveFile), "\n")
	damaged := strings.TrimSuffix(change(lines[n-1]), "\n")
	lines[n-1] = damaged + strings.Repeat(" ", len(lines[n-1])-1-len(damaged)) + "\n"
	lay(t, disk, archiveFile, strings.Join(lines, ""))
}

func TestArchive(t *testing.T) {
	t.Run("settled receipts move, all others stay, and all are found", func(t *testing.T) {
		disk := crashfs.New(1)
		c := openSmall(t, disk)
		put(t, c, claim("running"), outcome("unpublished"))
		for i := range 5 {
			settle(t, c, fmt.Sprint("r", i, "-"), 20)
		}
		for _, c := range []*Commands{c, openSmall(t, disk)} {
			if len(c.kept.entries) > smallHigh+2 || len(c.Notes()) != 0 {
				t.Errorf("%d receipts stayed, notes %q", len(c.kept.entries), c.Notes())
			}
			wantReceipt(t, c, claim("running"))
			wantReceipt(t, c, outcome("unpublished"))
			for i := range 5 {
				for j := range 20 {
					wantReceipt(t, c, outcome(fmt.Sprint("r", i, "-", j)))
				}
			}
			if n, problems := count(t, c); n != 102 || len(problems) != 0 {
				t.Errorf("%d receipts, %v", n, problems)
			}
		}
	})
	t.Run("a few hundred stay where they are", func(t *testing.T) {
		c := openLedger(t, crashfs.New(1))
		settle(t, c, "a", settledHigh)
		if len(c.archive.index) != 0 {
			t.Errorf("%d archived", len(c.archive.index))
		}
		settle(t, c, "b", 1)
		if len(c.kept.entries) != settledLow || len(c.archive.index) != settledHigh+1-settledLow {
			t.Errorf("%d stayed, %d archived", len(c.kept.entries), len(c.archive.index))
		}
	})
	t.Run("a receipt put again counts from then on, and when both are archived", func(t *testing.T) {
		disk := archivedLedger(t)
		c := openSmall(t, disk)
		id := "a0"
		wantReceipt(t, c, outcome(id))
		put(t, c, failure(id))
		wantReceipt(t, c, failure(id))
		wantReceipt(t, openSmall(t, disk), failure(id))
		publish(t, c, failure(id))
		for i := range 3 {
			settle(t, c, fmt.Sprint("z", i), smallHigh)
		}
		if c.kept.entries[id] != nil {
			t.Fatal("it is not archived")
		}
		wantReceipt(t, c, failure(id))
		again := openSmall(t, disk)
		wantReceipt(t, again, failure(id))
		if n, _ := count(t, again); n != smallHigh+1+3*smallHigh {
			t.Errorf("%d receipts", n)
		}
		if err := again.Forget(context.Background(), CommandID{ID: id}); err == nil {
			t.Error("forgotten")
		}
	})
	t.Run("producers' commands are told apart", func(t *testing.T) {
		disk := crashfs.New(1)
		c := openSmall(t, disk)
		var all []Receipt
		for i := range smallHigh + 1 {
			r := outcome(fmt.Sprint("é", i))
			r.CommandID.Producer = "pättern"
			all = append(all, r)
		}
		put(t, c, all...)
		publish(t, c, all...)
		again := openSmall(t, disk)
		for _, r := range all {
			wantReceipt(t, again, r)
			if again.Known(CommandID{ID: r.CommandID.ID}) {
				t.Error("the owner's command of that id is known too")
			}
		}
	})
	t.Run("an archive that cannot be written keeps nobody from putting", func(t *testing.T) {
		disk := crashfs.New(1)
		c := openSmall(t, disk)
		lay(t, disk, archiveFile, "")
		if err := disk.Remove(filepath.Join(commandsDir, archiveFile)); err != nil {
			t.Fatal(err)
		}
		if err := disk.Mkdir(filepath.Join(commandsDir, archiveFile), 0o700); err != nil {
			t.Fatal(err)
		}
		settle(t, c, "a", smallHigh+1)
		if notes := c.Notes(); len(notes) != 1 || len(c.kept.entries) != smallHigh+1 {
			t.Errorf("notes %q", notes)
		}
	})
}

func TestADamagedArchiveIsToldAndKept(t *testing.T) {
	for name, row := range map[string]struct {
		change func(string) string
		known  bool // the command of the line
	}{
		"a receipt":        {func(s string) string { return strings.Replace(s, "succeeded", "sucaeeded", 1) }, true},
		"a sum":            {func(s string) string { return strings.Replace(s, `","receipt":`, `g,"receipt":`, 1) }, true},
		"an id":            {func(s string) string { return strings.Replace(s, `"command":"a`, `"command":"b`, 1) }, false},
		"the line's start": {func(s string) string { return "\x00\x00" + s[2:] }, false},
		"half the line":    {func(s string) string { return s[:60] + "\n" }, true},
		"all of the line":  {func(s string) string { return "garbage\n" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			disk := archivedLedger(t)
			id := openSmall(t, disk).archivedAt(2)
			damageLine(t, disk, 2, row.change)
			before := fileIn(t, disk, archiveFile)
			for range 2 {
				c := openSmall(t, disk)
				if notes := c.Notes(); len(notes) != 1 || !strings.Contains(strings.Join(notes, "\n"), "line 2 ") {
					t.Errorf("notes %q", notes)
				}
				if c.Known(id) != row.known {
					t.Errorf("known %t", !row.known)
				}
				if _, found, err := c.Get(id); found != row.known || (err != nil) != row.known {
					t.Errorf("%t, %v", found, err)
				}
				if n, problems := count(t, c); n != smallHigh || len(problems) != 1 {
					t.Errorf("%d receipts, %v", n, problems)
				}
			}
			c := openSmall(t, disk)
			for i := range 2 {
				settle(t, c, fmt.Sprint("more", i, "-"), smallHigh)
			}
			after := fileIn(t, disk, archiveFile)
			if !strings.HasPrefix(after, before) || len(after) == len(before) {
				t.Error("the archive was rewritten")
			}
			if notes := openSmall(t, disk).Notes(); !strings.Contains(strings.Join(notes, "\n"), "line 2 ") {
				t.Errorf("later it is told no more: %q", notes)
			}
		})
	}
	t.Run("a line damaged after an older one of the same command does not bring that back", func(t *testing.T) {
		disk := archivedLedger(t)
		c := openSmall(t, disk)
		put(t, c, failure("a0"))
		publish(t, c, failure("a0"))
		for i := range 3 {
			settle(t, c, fmt.Sprint("z", i), smallHigh)
		}
		text := fileIn(t, disk, archiveFile)
		at := strings.LastIndex(text, `"command":"a0"`)
		lay(t, disk, archiveFile, text[:at]+strings.Replace(text[at:], "unknown", "unknowm", 1))
		if r, found, err := openSmall(t, disk).Get(CommandID{ID: "a0"}); !found || err == nil {
			t.Errorf("%s, %t, %v", written(r), found, err)
		}
	})
	t.Run("a shorter archive and a missing one are told", func(t *testing.T) {
		disk := archivedLedger(t)
		lines := strings.SplitAfter(fileIn(t, disk, archiveFile), "\n")
		lay(t, disk, archiveFile, strings.Join(lines[:2], ""))
		if notes := openSmall(t, disk).Notes(); len(notes) != 1 || !strings.Contains(notes[0], "were written") {
			t.Errorf("notes %q", notes)
		}
		if err := disk.Remove(filepath.Join(commandsDir, archiveFile)); err != nil {
			t.Fatal(err)
		}
		if notes := openSmall(t, disk).Notes(); len(notes) != 1 || !strings.Contains(notes[0], "were written") {
			t.Errorf("notes %q", notes)
		}
	})
	t.Run("hundreds of damaged lines make a bounded number of notes", func(t *testing.T) {
		disk := archivedLedger(t)
		settle(t, openSmall(t, disk), "more", 2*mostNotes)
		lay(t, disk, archiveFile, strings.ReplaceAll(fileIn(t, disk, archiveFile), "succeeded", "sucaeeded"))
		if n := len(openSmall(t, disk).Notes()); n != mostNotes+1 {
			t.Errorf("%d notes", n)
		}
	})
}

// archivedAt returns the command of a line.
func (c *Commands) archivedAt(line int) CommandID {
	for key, at := range c.archive.index {
		if at.number == line {
			return CommandID{ID: key}
		}
	}
	return CommandID{}
}

func TestATornTailIsToldOnceAndBuiltUpon(t *testing.T) {
	disk := archivedLedger(t)
	kept := fileIn(t, disk, archiveFile)
	moving := appendLine(nil, outcome(openSmall(t, disk).kept.order[0])) // of a receipt that the file still has
	torn := kept + "\x00\x00\x00\n" + string(moving[:50])
	lay(t, disk, archiveFile, torn)
	c := openSmall(t, disk)
	if notes := c.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "interrupted") {
		t.Fatalf("notes %q", notes)
	}
	if reader, err := ReadCommands(disk, commandsDir); err != nil || len(reader.Notes()) != 0 {
		t.Errorf("a reader, beside whom somebody may be writing: %q, %v", reader.Notes(), err)
	}
	if n, problems := count(t, c); n != smallHigh+1 || len(problems) != 0 {
		t.Errorf("%d receipts, %v", n, problems)
	}
	settle(t, c, "more", smallHigh)
	if !strings.HasPrefix(fileIn(t, disk, archiveFile), torn) {
		t.Error("the archive was rewritten")
	}
	again := openSmall(t, disk)
	if notes := again.Notes(); len(notes) != 0 {
		t.Errorf("told again: %q", notes)
	}
	if n, problems := count(t, again); n != 2*smallHigh+1 || len(problems) != 0 {
		t.Errorf("%d receipts, %v", n, problems)
	}
}

func FuzzSplitLine(f *testing.F) {
	r := outcome("c1")
	r.CommandID.Producer = "p"
	for _, seed := range []string{string(appendLine(nil, r)), string(appendLine(nil, failure("é\"\\"))), string(appendLeftover(nil, 17)), `{"command":"`, `{"command":"a","sum":"`, ""} {
		f.Add([]byte(strings.TrimSuffix(seed, "\n")))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		parseLeftover(line)
		key, _, _, ok := splitLine(line)
		if r, whole := parseLine(line); whole {
			if !ok || r.CommandID.Key() != key {
				t.Fatalf("%q names %q and holds %q", line, key, r.CommandID.Key())
			}
		}
	})
}
