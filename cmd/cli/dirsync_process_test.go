package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// bench is two directories, one store, and the built program.
type bench struct {
	t             *testing.T
	exe, dir      string
	here, there   string
	configureExec func(*exec.Cmd)
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, exe: build(t), dir: t.TempDir()}
	b.here, b.there = filepath.Join(b.dir, "here"), filepath.Join(b.dir, "there")
	for _, dir := range []string{b.here, b.there} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func (b *bench) bind() {
	b.t.Helper()
	b.run(0, "bind", b.here, "notes", "--id", "here", "--direction", "both")
	b.run(0, "bind", b.there, "notes", "--id", "there", "--direction", "both")
}

func (b *bench) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, b.exe, append([]string{"--state", filepath.Join(b.dir, "state"), "--store", filepath.Join(b.dir, "store"),
		"--json", "dirsync"}, args...)...)
	cmd.Env = []string{"HOME=" + filepath.Join(b.dir, "home"), "PATH=" + os.Getenv("PATH"), "SystemRoot=" + os.Getenv("SystemRoot")}
	if b.configureExec != nil {
		b.configureExec(cmd)
	}
	return cmd
}

// summary is the last line of a verb's output.
type summary struct {
	Type                                        string `json:"message_type"`
	Plan, Phase, Upload                         string
	Head, Total, Applied, Left, Failed, Blocked int
	ToProject                                   int `json:"to_project"`
	ToDataset                                   int `json:"to_dataset"`
	text, errors                                string
}

// run runs a verb that must end with a code.
func (b *bench) run(code int, args ...string) summary {
	b.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := b.command(b.t.Context(), args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		b.t.Fatal(err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		out := strings.Split(strings.TrimSpace(stdout.String()), "\n")
		b.t.Fatalf("%v: exit code %d, want %d\n%s\n%s", args, got, code, out[len(out)-1], stderr.Bytes())
	}
	s := summary{text: stdout.String(), errors: stderr.String()}
	lines := strings.Split(strings.TrimSpace(s.text), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &s); err != nil {
		b.t.Fatalf("%v: %v", args, err)
	}
	if s.Type != "summary" && code != 5 && code != 6 {
		b.t.Errorf("%v: the last line is no summary: %s", args, lines[len(lines)-1])
	}
	return s
}

// killed runs a verb and kills it after a while; false when it ended by itself before.
func (b *bench) killed(after time.Duration, args ...string) bool {
	b.t.Helper()
	ctx, stop := context.WithTimeout(b.t.Context(), after)
	defer stop()
	return b.command(ctx, args...).Run() != nil && ctx.Err() != nil
}

func content(n int) string { return strings.Repeat(fmt.Sprintf("content %d ", n), 1+n%50) }

func numbered(dir string, n int) string {
	return filepath.Join(dir, fmt.Sprintf("d%02d", n%20), fmt.Sprintf("f%04d", n))
}

// fill writes files with the contents of their numbers plus shift.
func fill(t *testing.T, dir string, files, shift int) {
	t.Helper()
	for n := range files {
		path := numbered(dir, n)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content(n+shift)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestKilledApplications kills applications of both directions at ever later moments. No
// file is ever half written, the same plan goes on, and an edit in between stays.
func TestKilledApplications(t *testing.T) {
	const files = 300
	b := newBench(t)
	fill(t, b.here, files, 0)
	b.bind()
	kills := b.applyKilled(b.run(0, "preview", "here").Plan, 0, func() {})
	if p := b.run(0, "preview", "here"); p.Head != 1 || p.ToProject+p.ToDataset > 0 {
		t.Fatalf("after an upload that was killed %d times: %s", kills, p.text)
	}

	whole := func() {
		for n := range files {
			got, err := os.ReadFile(numbered(b.there, n))
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				t.Fatal(err)
			}
			if err == nil && string(got) != content(n) && string(got) != "mine" {
				t.Fatalf("file %d is neither old nor new: %d bytes", n, len(got))
			}
		}
	}
	edited := numbered(b.there, files-1)
	first := true
	down := b.applyKilled(b.run(0, "preview", "there").Plan, 3, func() {
		whole()
		if first { // nothing of it is there yet
			first = false
			if err := os.MkdirAll(filepath.Dir(edited), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(edited, []byte("mine"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	})
	whole()
	if got, err := os.ReadFile(edited); err != nil || string(got) != "mine" {
		t.Errorf("the edit in between: %q, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(b.there, ".agentsync-stage")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("staged contents are left: %v", err)
	}
	if p := b.run(4, "preview", "there"); p.ToProject > 0 {
		t.Error("something was not applied")
	}
	t.Logf("%d and %d kills", kills, down)
}

// applyKilled applies a plan, killed at ever later moments, until it ends by itself.
func (b *bench) applyKilled(plan string, code int, between func()) (kills int) {
	b.t.Helper()
	for n := 1; n <= 12; n++ {
		if !b.killed(time.Duration(n*n)*5*time.Millisecond, "apply", plan) {
			break
		}
		kills++
		between()
		if strings.Contains(b.run(0, "status").text, `"phase":"applying"`) {
			id := "here"
			if kills > 0 && code != 0 {
				id = "there"
			}
			b.run(6, "preview", id)
		}
	}
	if kills == 0 {
		between()
	}
	b.run(code, "apply", plan)
	return kills
}
