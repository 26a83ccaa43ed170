package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAStoreThatGoesBackRevertsNobody puts an older copy of the store back under two
// directories that were in step since. Neither is reverted, and every content stays
// somewhere, also when a person goes on from there.
func TestAStoreThatGoesBackRevertsNobody(t *testing.T) {
	b := newBench(t)
	write := func(side, name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(side, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	holds := func(side, name, want string) {
		t.Helper()
		if got, err := os.ReadFile(filepath.Join(side, name)); err != nil || string(got) != want {
			t.Errorf("%s in %s is %q, %v, want %q", name, filepath.Base(side), got, err, want)
		}
	}
	sync := func(id string) {
		t.Helper()
		if p := b.run(0, "preview", id); p.ToProject+p.ToDataset > 0 {
			b.run(0, "apply", p.Plan)
		}
	}
	copyStore := func(from, to string) {
		t.Helper()
		if err := os.RemoveAll(filepath.Join(b.dir, to)); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(filepath.Join(b.dir, to), os.DirFS(filepath.Join(b.dir, from))); err != nil {
			t.Fatal(err)
		}
	}
	write(b.here, "plan.md", "old")
	write(b.here, "other.md", "other")
	b.bind()
	sync("here")
	sync("there")
	copyStore("store", "copy")
	write(b.here, "plan.md", "new")
	sync("here")
	sync("there")
	holds(b.there, "plan.md", "new")
	copyStore("copy", "store")

	for _, id := range []string{"here", "there"} {
		if p := b.run(5, "preview", id); !strings.Contains(p.text, `"code":"dataset-past"`) {
			t.Errorf("%s: %s", id, p.text)
		}
	}
	write(b.here, "other.md", "other, edited")
	b.run(5, "preview", "here")
	write(b.there, "third.md", "third")
	b.run(5, "preview", "there")
	holds(b.here, "plan.md", "new")
	holds(b.there, "plan.md", "new")

	// A person accepts it: what differs is a conflict, what is new goes its way.
	p := b.run(4, "preview", "here", "--accept-past")
	if !strings.Contains(p.text, `"path":"plan.md"`) || !strings.Contains(p.text, `"accept_past":true`) {
		t.Errorf("accepted: %s", p.text)
	}
	p = b.run(0, "choose", p.Plan, "plan.md", "other.md", "--side", "project")
	b.run(0, "apply", p.Plan)
	holds(b.here, "plan.md", "new")
	if p := b.run(0, "preview", "here"); p.ToProject+p.ToDataset > 0 {
		t.Errorf("the accepted state is none: %s", p.text)
	}
	// The other one is of the same content by now, but for what it has alone.
	b.run(5, "preview", "there")
	p = b.run(4, "preview", "there", "--accept-past")
	p = b.run(0, "choose", p.Plan, "other.md", "--side", "dataset")
	b.run(0, "apply", p.Plan)
	sync("here")
	for _, side := range []string{b.here, b.there} {
		holds(side, "plan.md", "new")
		holds(side, "other.md", "other, edited")
		holds(side, "third.md", "third")
	}
}
