package cli

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"agentsync/fixtures/fakeagent/claude"
	"agentsync/ledger/durable"
)

// Variables by which a script steers the program's surroundings.
const (
	clockVariable     = "TEST_NOW"          // the time, in RFC 3339
	machineVariable   = "TEST_MACHINE"      // what tells the machine from others, with a slash for the line end
	interruptVariable = "TEST_INTERRUPT_AT" // interrupt itself at the n-th look at the clock
	stuckVariable     = "TEST_STUCK"        // stay there, whatever else happens, and interrupt itself again
)

// TestMain lets the test binary be the program: a script's "agentsync" is this binary,
// started again, and so are the agents that scripts run.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"agentsync": func() {
			steer()
			os.Exit(Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
		},
		"fakeclaude": func() { os.Exit(claude.Main()) },
	})
}

// steer installs the clock that the script asks for.
func steer() {
	now := time.Now
	if at, err := time.Parse(time.RFC3339, os.Getenv(clockVariable)); err == nil {
		now = func() time.Time { return at }
	}
	var running context.Context
	testOnlyStarted = func(ctx context.Context) { running = ctx }
	last, _ := strconv.ParseInt(os.Getenv(interruptVariable), 10, 64)
	var looks atomic.Int64
	testOnlyMachine = func() string { return strings.ReplaceAll(os.Getenv(machineVariable), "/", "\n") }
	testOnlyNow = func() time.Time {
		if looks.Add(1) == last {
			interruptSelf()
			<-running.Done()
			if os.Getenv(stuckVariable) != "" {
				interruptSelf()
				select {}
			}
		}
		return now()
	}
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup:               settle,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
			"hold":  hold,
			"mtime": mtime,
			"grab":  grab, "picture": picture, "files": files,
			"until":  until,
			"halve":  halve,
			"chop":   chop,
			"forget": forget,
			"damage": damage,
			"intact": intact,
		},
	})
}

// settle gives a script a home of its own and nothing of the real one.
func settle(env *testscript.Env) error {
	home := filepath.Join(env.WorkDir, "home")
	demo, err := filepath.Abs(filepath.Join("..", "..", "fixtures", "demo", "agentsync.yaml"))
	if err != nil {
		return err
	}
	env.Setenv("HOME", home)
	env.Setenv("USERPROFILE", home)
	env.Setenv("TZ", "UTC")
	env.Setenv("DEMO", demo)
	env.Setenv(clockVariable, "2026-03-01T12:00:00Z")
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "DSH_HOME",
		"AGENTSYNC_CONFIG", "AGENTSYNC_STATE", "AGENTSYNC_STORE", "COLUMNS"} {
		env.Setenv(name, "")
	}
	return os.MkdirAll(home, 0o700)
}

// exits CODE PROGRAM ARGUMENT…: runs a program that must end with that exit code, -1
// being the end by a signal.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGUMENT...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	got := 0
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// hold FILE: holds a pass lock until the script ends.
func hold(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: hold FILE")
	}
	path := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o700))
	who := durable.Holder{PID: 4711, Verb: "agentsync publish", Since: time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC)}
	release, err := durable.Lock(context.Background(), durable.OS(), path, 0, who)
	ts.Check(err)
	ts.Defer(func() { ts.Check(release()) })
}

// chop FILE: takes the last byte off a file, such as a line's end.
func chop(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: chop FILE")
	}
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), info.Size()-1))
}

// mtime TIME FILE…: sets the modification time of files.
func mtime(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: mtime TIME FILE...")
	}
	at, err := time.Parse(time.RFC3339, args[0])
	ts.Check(err)
	for _, file := range args[1:] {
		ts.Check(os.Chtimes(ts.MkAbs(file), at, at))
	}
}
