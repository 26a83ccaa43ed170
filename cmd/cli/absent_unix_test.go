//go:build unix

package cli

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// program runs a verb of the program, which must end with a code, and returns its output.
func (b *bench) program(code int, args ...string) string {
	b.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := b.command(b.t.Context())
	cmd.Args = append(cmd.Args[:len(cmd.Args)-1], args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		b.t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		b.t.Fatalf("%v: exit code %d, want %d\n%s%s", args, got, code, stdout.Bytes(), stderr.Bytes())
	}
	return stdout.String()
}

// TestASideFileThatMayNotBeReadStays takes the permissions of a side file, then of its
// folder: each is named, and the newest generation has the file as it was published.
func TestASideFileThatMayNotBeReadStays(t *testing.T) {
	b := newBench(t)
	project := filepath.Join(b.dir, "home", ".claude", "projects", "-p")
	id := "0f3c9a1b-0000-4000-8000-000000000001"
	notes := filepath.Join(project, id, "notes")
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(project, id+".jsonl"), `{"type":"user","uuid":"u1","message":{"role":"user","content":"hi"}}`+"\n")
	write(filepath.Join(notes, "one.txt"), "the only copy")
	write(filepath.Join(notes, "two.txt"), "another")
	write(filepath.Join(project, id, "plan.txt"), "first")
	b.unprivileged()
	b.program(0, "publish")
	for i, path := range []string{filepath.Join(notes, "one.txt"), notes} {
		b.chmod(path, 0)
		write(filepath.Join(project, id, "plan.txt"), strings.Repeat("changed ", i+1))
		b.own(b.dir)
		out := b.program(3, "publish")
		if !strings.Contains(out, `"code":"unreadable"`) || !strings.Contains(out, `"path":"`+path+`"`) || !strings.Contains(out, `"complete":false`) {
			t.Errorf("%s: %s", path, out)
		}
		to := filepath.Join(b.dir, "to"+filepath.Base(path))
		b.program(0, "restore", "--all", "--to", to)
		for name, want := range map[string]string{"notes/one.txt": "the only copy", "notes/two.txt": "another", "plan.txt": strings.Repeat("changed ", i+1)} {
			found, err := filepath.Glob(filepath.Join(to, "*", "projects", "-p", id, name))
			if err != nil || len(found) != 1 {
				t.Fatalf("%s: %s is at %v, %v", path, name, found, err)
			}
			if got, err := os.ReadFile(found[0]); string(got) != want {
				t.Errorf("%s: %s holds %q, %v", path, name, got, err)
			}
		}
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	b.program(0, "publish")
	b.program(0, "verify", "--deep")
}
