//go:build unix

package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"agentsync/fixtures/gen/tree"
)

// TestAnInterruptedFirstPassIsKept interrupts a first publish once it has written something,
// as a person, a unit or a CI job does. What it had read is published, it says so, and the
// next pass reads only the rest.
func TestAnInterruptedFirstPassIsKept(t *testing.T) {
	exe := build(t)
	agents := filepath.Join(t.TempDir(), "agents")
	if _, _, err := tree.Write(agents, tree.Options{Bytes: 40 << 20, Seed: 9, Files: 200}); err != nil {
		t.Fatal(err)
	}
	s := newStation(t, agents)
	cmd := exec.Command(exe, "--config", filepath.Join(s.dir, "config.yaml"), "--state", filepath.Join(s.dir, "state"),
		"--store", filepath.Join(s.dir, "store"), "--json", "publish")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	staged := func() (size int64) {
		found, _ := filepath.Glob(filepath.Join(s.dir, "store", "tmp", ".*"))
		for _, path := range found {
			if info, err := os.Stat(path); err == nil {
				size += info.Size()
			}
		}
		return size
	}
	for staged() < 1<<20 && cmd.ProcessState == nil {
		time.Sleep(2 * time.Millisecond)
	}
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	var sum publishSummary
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &sum); err != nil {
		t.Fatalf("%v: %s", err, lines[len(lines)-1])
	}
	if code := cmd.ProcessState.ExitCode(); code != 130 || !sum.Unfinished || sum.Published == 0 || sum.Complete || sum.Generation != 1 {
		t.Fatalf("exit %d, %+v, %s", code, sum, stderr.Bytes())
	}
	if said := stderr.String(); !strings.Contains(said, "in generation 1; to go on from there: agentsync publish") {
		t.Errorf("it says: %s", said)
	}
	s.run(0, "verify", "--deep")
	if list := s.run(0, "ls", "--all"); int(list["listed"].(float64)) != sum.Published {
		t.Errorf("%v are listed, %d were published", list["listed"], sum.Published)
	}
	next := s.run(0, "publish")
	if next["unfinished"] == true || next["complete"] != true || int(next["retained"].(float64)) != sum.Published {
		t.Errorf("the next pass: %v; the first one published %d", next, sum.Published)
	}
	s.comesBack("out")
}
