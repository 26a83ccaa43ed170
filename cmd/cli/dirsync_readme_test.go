//go:build unix

package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestTheWalkOfTheReadme types what the README says about directory sync, with the plan
// that was named last in the place of PLAN.
func TestTheWalkOfTheReadme(t *testing.T) {
	walk := readmeBlock(t, 1)
	dir := t.TempDir()
	plan, typed := "", 0
	for line := range strings.Lines(strings.ReplaceAll(walk, "/tmp/", dir+"/")) {
		line, comment, _ := strings.Cut(strings.TrimSpace(line), "#")
		words := strings.Fields(strings.ReplaceAll(line, "PLAN", plan))
		switch {
		case len(words) == 0:
			continue
		case words[0] != "./agentsync":
			if out, err := exec.Command("sh", "-c", line).CombinedOutput(); err != nil {
				t.Fatalf("%s: %v\n%s", line, err, out)
			}
			continue
		}
		want := 0
		if code := regexp.MustCompile(`exit code (\d+)`).FindStringSubmatch(comment); code != nil {
			want, _ = strconv.Atoi(code[1])
		}
		var stdout, stderr bytes.Buffer
		args := append([]string{"agentsync", "--state", filepath.Join(dir, "state"), "--store", filepath.Join(dir, "store")}, words[1:]...)
		if got := Main(args, strings.NewReader(""), &stdout, &stderr); got != want {
			t.Fatalf("%s: exit code %d, want %d\n%s%s", line, got, want, stdout.String(), stderr.String())
		}
		if named := regexp.MustCompile(`plan (sha256:[0-9a-f]+)\n`).FindStringSubmatch(stdout.String()); named != nil {
			plan = named[1]
		}
		typed++
	}
	mine, err := os.ReadFile(filepath.Join(dir, "copy", "plan.md"))
	if err != nil || string(mine) != "Mine\n" || typed < 10 {
		t.Errorf("after %d commands: %q, %v", typed, mine, err)
	}
}

// readmeBlock is the n-th shell block of the README's section.
func readmeBlock(t *testing.T, n int) string {
	t.Helper()
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "## A directory in step")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := strings.Split(section, "```sh\n")
	if len(blocks) <= n {
		t.Fatalf("the README has no block %d", n)
	}
	block, _, ends := strings.Cut(blocks[n], "```")
	if !ends {
		t.Fatal("a block does not end")
	}
	return block
}

// TestTheTimerScriptOfTheReadme runs it where there is something to do, nothing, a
// conflict, and a guard that fires.
func TestTheTimerScriptOfTheReadme(t *testing.T) {
	b := newBench(t)
	path := filepath.Dir(b.exe) + string(os.PathListSeparator) + os.Getenv("PATH")
	tick := func(want int, binding string) {
		t.Helper()
		cmd := exec.Command("sh", "-c", strings.ReplaceAll(readmeBlock(t, 2), "notes", binding))
		cmd.Env = []string{"HOME=" + b.dir, "PATH=" + path, "AGENTSYNC_STATE=" + filepath.Join(b.dir, "state"), "AGENTSYNC_STORE=" + filepath.Join(b.dir, "store")}
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != want {
			t.Fatalf("%v, want %d: %s", err, want, out)
		}
	}
	fill(t, b.here, 30, 0)
	b.bind()
	for range 2 {
		tick(0, "here")
		tick(0, "there")
	}
	sameFiles(t, b.here, b.there)
	for dir, text := range map[string]string{b.here: "mine", b.there: "theirs"} {
		if err := os.WriteFile(numbered(dir, 3), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	tick(0, "here")
	tick(4, "there")
	if err := os.Rename(b.there, b.there+"-gone"); err != nil {
		t.Fatal(err)
	}
	tick(5, "there")
}
