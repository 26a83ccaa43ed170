//go:build unix

package tree_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"agentsync/dirsync"
	"agentsync/dirsync/tree"
	"agentsync/hashgraph/digest"
)

// now is an hour after every file of a test was written.
var now = time.Now().Add(time.Hour)

func write(t testing.TB, root, path, content string, mode os.FileMode) {
	t.Helper()
	full := filepath.Join(root, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

func scan(t testing.TB, o tree.Options) tree.Scan {
	t.Helper()
	if o.Now.IsZero() {
		o.Now = now
	}
	s, err := tree.Read(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// told lists a tree, one node a line.
func told(t dirsync.Tree) string {
	var b strings.Builder
	for _, n := range t.Nodes {
		fmt.Fprintf(&b, "%s %s", n.Path, n.Kind)
		switch {
		case n.Kind == dirsync.Blocked:
			fmt.Fprintf(&b, " %s", n.Reason)
		case n.Kind == dirsync.Link:
			fmt.Fprintf(&b, " %s", n.Target)
		case n.Executable:
			b.WriteString(" executable")
		}
		if n.Disk != "" {
			fmt.Fprintf(&b, " as %q", n.Disk)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestEveryKindOfEntryIsToldApart(t *testing.T) {
	root, outside := t.TempDir(), t.TempDir()
	write(t, outside, "secret", "outside", 0o600)
	write(t, root, "a.md", "text", 0o644)
	write(t, root, "bin/run", "#!", 0o755)
	write(t, root, "logs/x.log", "noise", 0o644)
	write(t, root, "e\u0301.md", "decomposed", 0o644)
	write(t, root, `back\slash`, "x", 0o644)
	write(t, root, "latin\xe9", "x", 0o644)
	write(t, root, ".agentsync-stage/p/x", "on its way", 0o600)
	for link, target := range map[string]string{"out": outside, "up": "../..", "in": "bin/run", "dangling": "nowhere"} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(root, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := told(scan(t, tree.Options{Root: root, Ignore: []string{"*.log"}, Links: dirsync.SkipLinks, Workers: 3}).Tree)
	want := `.agentsync-stage blocked control
a.md file
back\\slash blocked unrepresentable-name as "back\\slash"
bin directory
bin/run file executable
dangling blocked link
in blocked link
latin\xe9 blocked unrepresentable-name as "latin\xe9"
logs directory
logs/x.log blocked ignored
out blocked link
pipe blocked special-file
up blocked link
` + "\u00e9.md file as \"e\u0301.md\"\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	portable := told(scan(t, tree.Options{Root: root, Links: dirsync.PortableLinks}).Tree)
	for _, line := range []string{"in link bin/run\n", "dangling link nowhere\n", "out blocked link-unsafe\n", "up blocked link-unsafe\n"} {
		if !strings.Contains(portable, line) {
			t.Errorf("portable links: %q is missing in\n%s", line, portable)
		}
	}
}

func TestBothFormsOfANameCollide(t *testing.T) {
	root := t.TempDir()
	write(t, root, "e\u0301", "one", 0o644)
	write(t, root, "\u00e9", "other", 0o644)
	if got := told(scan(t, tree.Options{Root: root}).Tree); !strings.HasPrefix(got, "\u00e9 blocked name-collision") || strings.Count(got, "\n") != 1 {
		t.Error(got)
	}
}

func TestDigestsAreTakenOverUntilAFileChanges(t *testing.T) {
	root := t.TempDir()
	for i := range 30 {
		write(t, root, fmt.Sprintf("d%d/f%d", i/10, i), fmt.Sprint("content ", i), 0o644)
	}
	first := scan(t, tree.Options{Root: root})
	if first.Hashed != 30 {
		t.Fatalf("hashed %d", first.Hashed)
	}
	known, err := tree.ParseIndex(first.Index.Encode())
	if err != nil || !reflect.DeepEqual(known, first.Index) {
		t.Fatalf("index read back: %v", err)
	}
	if second := scan(t, tree.Options{Root: root, Known: known}); second.Hashed != 0 || told(second.Tree) != told(first.Tree) {
		t.Fatalf("hashed %d again", second.Hashed)
	}
	path := filepath.Join(root, "d1", "f15")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("CONTENT 15"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	third := scan(t, tree.Options{Root: root, Known: known})
	if third.Hashed != 1 || third.Tree.Find("d1/f15").Digest != digest.Sum([]byte("CONTENT 15")) {
		t.Errorf("a change that keeps size and time: hashed %d", third.Hashed)
	}
	fresh := scan(t, tree.Options{Root: root, Now: info.ModTime().Add(time.Second)})
	if len(fresh.Index) != 0 {
		t.Errorf("%d files that were written a second ago are trusted", len(fresh.Index))
	}
}

func TestARootThatIsNotTheBoundOneStopsTheScan(t *testing.T) {
	root := t.TempDir()
	id, err := tree.IdentityOf(root)
	if err != nil {
		t.Fatal(err)
	}
	guard := func(o tree.Options) dirsync.Guard {
		t.Helper()
		o.Now = now
		_, err := tree.Read(context.Background(), o)
		var stop *dirsync.StopError
		if !errors.As(err, &stop) {
			t.Fatalf("%v", err)
		}
		return stop.Guard
	}
	if got := guard(tree.Options{Root: filepath.Join(root, "absent")}); got != dirsync.RootMissing {
		t.Error(got)
	}
	write(t, root, "file", "", 0o644)
	if got := guard(tree.Options{Root: filepath.Join(root, "file")}); got != dirsync.RootMissing {
		t.Error(got)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(root, link); err != nil {
		t.Fatal(err)
	}
	if got := guard(tree.Options{Root: link}); got != dirsync.RootMissing {
		t.Error(got)
	}
	if got := guard(tree.Options{Root: t.TempDir(), Identity: id}); got != dirsync.RootChanged {
		t.Error(got)
	}
}

func TestASpoiltIndexIsNoIndex(t *testing.T) {
	good := tree.Index{"a": {Size: 1, Inode: 7, ModTime: -3, Digest: digest.Sum(nil)}}.Encode()
	for i := range good {
		spoilt := append([]byte(nil), good...)
		spoilt[i] ^= 0x41
		if x, err := tree.ParseIndex(spoilt); err == nil {
			t.Errorf("byte %d: %v", i, x)
		}
		if x, err := tree.ParseIndex(good[:i]); err == nil {
			t.Errorf("cut at %d: %v", i, x)
		}
	}
}

func FuzzParseIndex(f *testing.F) {
	f.Add(tree.Index{"a/b": {Size: 1, Inode: 7, ModTime: -3, Digest: digest.Sum(nil)}, "c": {}}.Encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		if x, err := tree.ParseIndex(b); err == nil {
			if again, err := tree.ParseIndex(x.Encode()); err != nil || !reflect.DeepEqual(again, x) {
				t.Errorf("%v, %v", again, err)
			}
		}
	})
}

func BenchmarkScan(b *testing.B) {
	root := b.TempDir()
	for i := range 20_000 {
		write(b, root, fmt.Sprintf("p%03d/s%02d/f%05d", i/200, i/20%10, i), fmt.Sprint(i), 0o644)
	}
	known := scan(b, tree.Options{Root: root, Workers: 2}).Index
	for _, workers := range []int{1, 2, 4} {
		b.Run(fmt.Sprintf("20000 files unchanged, %d workers", workers), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if s := scan(b, tree.Options{Root: root, Known: known, Workers: workers}); s.Hashed != 0 {
					b.Fatal(s.Hashed)
				}
			}
		})
	}
}
