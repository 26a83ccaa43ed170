package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"agentsync/fixtures/gen/tree"
)

var builtProgram struct {
	once sync.Once
	path string
	err  error
}

// build returns the program as a file, built once for all tests.
func build(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("builds the program; not with -short")
	}
	builtProgram.once.Do(func() {
		dir, err := os.MkdirTemp("", "agentsync-program")
		if err != nil {
			builtProgram.err = err
			return
		}
		builtProgram.path = filepath.Join(dir, "agentsync")
		if runtime.GOOS == "windows" {
			builtProgram.path += ".exe"
		}
		out, err := exec.Command("go", "build", "-o", builtProgram.path, "../agentsync").CombinedOutput()
		if err != nil {
			builtProgram.err = err
			t.Logf("%s", out)
		}
	})
	if builtProgram.err != nil {
		t.Fatal(builtProgram.err)
	}
	return builtProgram.path
}

// TestTwoMachinesHashAlike publishes one tree from two homes in two places of the world.
func TestTwoMachinesHashAlike(t *testing.T) {
	exe := build(t)
	agents := filepath.Join(t.TempDir(), "agents")
	if _, _, err := tree.Write(agents, tree.Options{Bytes: 2 << 20, Seed: 3, Files: 40}); err != nil {
		t.Fatal(err)
	}
	hashes := func(env ...string) map[string]string {
		home := t.TempDir()
		run := func(args ...string) []byte {
			cmd := exec.Command(exe, args...)
			cmd.Env = append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "SystemRoot=" + os.Getenv("SystemRoot"),
				"LocalAppData=" + home, "CLAUDE_CONFIG_DIR=" + filepath.Join(agents, "claude"),
				"CODEX_HOME=" + filepath.Join(agents, "codex")}, env...)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v: %v\n%s", args, err, stderr.Bytes())
			}
			return out
		}
		run("publish")
		found := map[string]string{}
		for line := range strings.Lines(string(run("ls", "--all", "--json"))) {
			var row struct {
				Key  string `json:"key"`
				Hash string `json:"content_hash"`
			}
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatal(err)
			}
			if row.Key != "" {
				found[row.Key] = row.Hash
			}
		}
		return found
	}
	one := hashes("TZ=UTC", "LANG=C")
	two := hashes("TZ=Asia/Kathmandu", "LANG=tr_TR.UTF-8", "LC_ALL=tr_TR.UTF-8")
	if len(one) < 40 || len(one) != len(two) {
		t.Fatalf("%d and %d sessions", len(one), len(two))
	}
	for key, hash := range one {
		if hash == "" || two[key] != hash {
			t.Errorf("%s: %q and %q", key, hash, two[key])
		}
	}
}

// TestKilledPasses kills passes at ever later moments. After each kill the store is
// sound, and the next pass goes on without help.
func TestKilledPasses(t *testing.T) {
	exe := build(t)
	agents := filepath.Join(t.TempDir(), "agents")
	if _, _, err := tree.Write(agents, tree.Options{Bytes: 24 << 20, Seed: 5, Files: 30, Grow: true}); err != nil {
		t.Fatal(err)
	}
	s := newStation(t, agents)
	flags := []string{"--config", filepath.Join(s.dir, "config.yaml"), "--state", filepath.Join(s.dir, "state"), "--store", filepath.Join(s.dir, "store")}
	killed := 0
	for n := 1; n <= 12; n++ {
		ctx, stop := context.WithTimeout(t.Context(), time.Duration(n)*25*time.Millisecond)
		if err := exec.CommandContext(ctx, exe, append(flags, "publish", "--full")...).Run(); err != nil {
			killed++
		}
		stop()
		if _, err := os.Stat(filepath.Join(s.dir, "store", "format.json")); err == nil {
			s.run(0, "verify")
		}
	}
	t.Logf("%d of 12 passes were killed", killed)
	s.comesBack("out")
}
