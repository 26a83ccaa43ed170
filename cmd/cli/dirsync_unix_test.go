//go:build unix

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentsync/fixtures/plainuser"
	"agentsync/hashgraph/digest"
	"agentsync/publish/store"
)

// unprivileged lets the program run as a user whom file modes bind, whoever runs the test.
func (b *bench) unprivileged() {
	b.t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	b.exe = plainuser.Copy(b.t, b.exe, b.dir)
	b.configureExec = plainuser.Become
	b.own(b.dir)
}

// own gives everything below a folder to the program's user.
func (b *bench) own(folder string) {
	b.t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	err := filepath.WalkDir(folder, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, plainuser.ID, plainuser.ID)
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) chmod(path string, mode os.FileMode) {
	b.t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = os.Chmod(path, 0o755) }) // so that it can be removed
}

func TestWhatCannotBeReadIsNotMissing(t *testing.T) {
	b := newBench(t)
	fill(t, b.here, 60, 0)
	b.unprivileged()
	b.bind()
	b.run(0, "apply", b.run(0, "preview", "here").Plan)
	b.run(0, "apply", b.run(0, "preview", "there").Plan)

	b.chmod(filepath.Join(b.there, "d03"), 0)
	fill(t, b.here, 60, 1)
	b.own(b.here)
	b.run(5, "preview", "here")
	b.run(0, "apply", b.run(0, "preview", "here", "--accept-overwrites", "60").Plan)
	b.run(5, "preview", "there")
	p := b.run(3, "preview", "there", "--accept-overwrites", "57")
	if p.Blocked != 1 || p.ToProject != 57 || p.ToDataset != 0 || !strings.Contains(p.errors, "d03 cannot be read") {
		t.Fatalf("%s%s", p.text, p.errors)
	}
	if strings.Contains(p.text, `"held"`) && strings.Contains(p.text, "deleted-on") {
		t.Errorf("it was taken for deleted: %s", p.text)
	}
	if a := b.run(3, "apply", p.Plan); a.Applied != 57 || a.Phase != "complete" {
		t.Errorf("%s", a.text)
	}
	b.chmod(filepath.Join(b.there, "d03"), 0o755)
	if p := b.run(0, "preview", "there"); p.ToProject != 3 {
		t.Errorf("once it can be read: %s", p.text)
	}

	b.chmod(b.there, 0)
	if p := b.run(5, "preview", "there"); !strings.Contains(p.text, `"incomplete-scan"`) {
		t.Errorf("a root that cannot be listed: %s", p.text)
	}
}

func TestAPreviewNeedsNoRightToWrite(t *testing.T) {
	b := newBench(t)
	fill(t, b.here, 40, 0)
	b.unprivileged()
	b.bind()
	b.run(0, "apply", b.run(0, "preview", "here").Plan)
	b.chmod(b.there, 0o555)
	p := b.run(0, "preview", "there")
	if p.ToProject != 60 {
		t.Fatalf("%s", p.text)
	}
	a := b.run(3, "apply", p.Plan)
	if a.Applied != 0 || a.Left != 60 || !strings.Contains(a.errors, "permission denied") {
		t.Errorf("%s%s", a.text, a.errors)
	}
	b.chmod(b.there, 0o755)
	if a := b.run(0, "apply", b.run(0, "preview", "there").Plan); a.Applied != 60 {
		t.Errorf("%s", a.text)
	}

	locked := filepath.Join(b.there, "d07")
	b.chmod(locked, 0o555)
	fill(t, b.here, 10, 7)
	b.own(b.here)
	b.run(0, "apply", b.run(0, "preview", "here").Plan)
	p = b.run(0, "preview", "there")
	for range 2 { // nothing waits for it, and each pass tries again
		a = b.run(3, "apply", p.Plan)
		if a.Applied+a.Left != a.Total || a.Left != 1 || a.Failed != 0 || !strings.Contains(a.errors, "permission denied") {
			t.Errorf("a directory that cannot be written: %s%s", a.text, a.errors)
		}
		p = b.run(0, "preview", "there")
		if p.ToProject != 1 {
			t.Errorf("%s", p.text)
		}
	}
	b.chmod(locked, 0o755)
	if a := b.run(0, "apply", b.run(0, "preview", "there").Plan); a.Applied != 1 {
		t.Errorf("%s", a.text)
	}
	b.run(0, "unbind", "there")
}

func TestAnApplyOverADamagedObjectIsDamage(t *testing.T) {
	for name, damage := range map[string]func(object string) error{
		"another content": func(object string) error { return os.WriteFile(object, []byte("evil"), 0o644) },
		"a shorter one":   func(object string) error { return os.WriteFile(object, []byte("e"), 0o644) },
		"none":            os.Remove,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.write("good", "good")
			b.write("bad", "full")
			b.bind()
			b.run(0, "apply", b.run(0, "preview", "here").Plan)
			object := filepath.Join(b.dir, "store", filepath.FromSlash(store.ObjectName(digest.Sum([]byte("full")))))
			if err := damage(object); err != nil {
				t.Fatal(err)
			}
			for _, applied := range []int{1, 0} {
				p := b.run(0, "preview", "there")
				a := b.run(12, "apply", p.Plan)
				if a.Applied != applied || a.Left != 1 || a.Phase != "applied-with-drift" || !strings.Contains(a.errors, "agentsync verify --deep") {
					t.Errorf("%s%s", a.text, a.errors)
				}
			}
			if _, err := os.Lstat(filepath.Join(b.there, "bad")); err == nil {
				t.Error("something was written for what is damaged")
			}
			if err := os.WriteFile(object, []byte("full"), 0o644); err != nil {
				t.Fatal(err)
			}
			if a := b.run(0, "apply", b.run(0, "preview", "there").Plan); a.Applied != 1 {
				t.Errorf("%s", a.text)
			}
		})
	}
}

func (b *bench) write(name, content string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.here, name), []byte(content), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func TestAFileThatCannotBeReadAnyMoreHoldsUpNothing(t *testing.T) {
	b := newBench(t)
	b.write("one", "1")
	b.write("two", "2")
	b.unprivileged()
	b.bind()
	p := b.run(0, "preview", "here")
	b.chmod(filepath.Join(b.here, "one"), 0)
	if a := b.run(3, "apply", p.Plan); a.Upload != "committed" || a.Phase != "applied-with-drift" || !strings.Contains(a.errors, "permission denied") {
		t.Errorf("%s%s", a.text, a.errors)
	}
	b.chmod(filepath.Join(b.here, "one"), 0o644)
	if p := b.run(0, "preview", "here"); p.ToDataset != 1 {
		t.Errorf("%s", p.text)
	}
}
