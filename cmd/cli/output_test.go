package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"agentsync/ledger/durable"
	"agentsync/publish/store"
)

func newTestOutput(asJSON bool) (*output, *bytes.Buffer, *bytes.Buffer) {
	var stdout, stderr bytes.Buffer
	return &output{results: newResultWriter(&stdout), errors: &stderr, asJSON: asJSON, width: defaultWidth}, &stdout, &stderr
}

func TestErrorsOfTheRoomsHaveTheirExitCodes(t *testing.T) {
	held := &durable.HeldError{Path: "/state/publish.lock", Holder: durable.Holder{PID: 7, Verb: "agentsync publish", Since: time.Unix(0, 0)}}
	tests := []struct {
		name string
		err  error
		want exitCode
		code string
	}{
		{"nothing", nil, exitDone, ""},
		{"a reader that left", fmt.Errorf("list: %w", errOutputClosed), exitDone, ""},
		{"a part", errPartial, exitPartial, ""},
		{"a held lock", fmt.Errorf("publish: %w", held), exitLocked, "locked"},
		{"a full store", fmt.Errorf("write: %w", store.ErrFull), exitFailed, "store-full"},
		{"a store that cannot be written", store.ErrReadOnly, exitFailed, "store-read-only"},
		{"a missing permission", &fs.PathError{Op: "open", Path: "/x", Err: fs.ErrPermission}, exitFailed, "permission"},
		{"a folder open to others", &durable.NotPrivateError{Path: "/state", Reason: "mode 0755 lets others in", Hint: "chmod go= /state"}, exitFailed, "not-private"},
		{"a usage error inside others", fmt.Errorf("load: %w", usageError("", "what")), exitUsage, "usage"},
		{"any other", errors.New("out of luck"), exitFailed, "failed"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			out, stdout, stderr := newTestOutput(true)
			if got := out.end(context.Background(), test.err); got != test.want {
				t.Errorf("exit code %d, want %d", got, test.want)
			}
			if test.code == "" {
				if want := fmt.Sprintf("{\"message_type\":\"summary\",\"exit\":%d}\n", test.want); stdout.String() != want || stderr.Len() > 0 {
					t.Errorf("printed %q and %q", stdout, stderr)
				}
				return
			}
			var object errorObject
			if err := json.NewDecoder(stdout).Decode(&object); err != nil {
				t.Fatal(err)
			}
			if object.Type != "error" || object.Code != test.code || object.Message != test.err.Error() {
				t.Errorf("error object %+v", object)
			}
			if !strings.HasPrefix(stderr.String(), "agentsync: error: ") {
				t.Errorf("standard error says %q", stderr)
			}
		})
	}
}

func TestAnInterruptionOutranksWhatItBroke(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(&interrupted{syscall.SIGTERM})
	for _, err := range []error{ctx.Err(), errors.New("broken off"), errPartial} {
		out, _, stderr := newTestOutput(false)
		if got := out.end(ctx, err); got != exitInterrupted {
			t.Errorf("%v: exit code %d", err, got)
		}
		if !strings.Contains(stderr.String(), "interrupted by signal: terminated") {
			t.Errorf("%v: said %q", err, stderr)
		}
	}
	out, _, _ := newTestOutput(false)
	if got := out.end(ctx, nil); got != exitDone {
		t.Errorf("a pass that had finished ended with %d", got)
	}
}

func TestAPassOutlivesItsReader(t *testing.T) {
	reader, writer := io.Pipe()
	reader.Close()
	var stderr bytes.Buffer
	out := &output{results: newResultWriter(writer), errors: &stderr, width: defaultWidth}
	var err error
	for range 10_000 {
		if err = out.line("a line"); err != nil {
			break
		}
	}
	if !errors.Is(err, errOutputClosed) {
		t.Fatalf("writing on gives %v", err)
	}
	if got := out.end(context.Background(), err); got != exitDone || stderr.Len() > 0 {
		t.Errorf("exit code %d, said %q", got, &stderr)
	}
}

type fullDevice struct{}

func (fullDevice) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestResultsThatCannotBeWrittenAreAFailure(t *testing.T) {
	var stderr bytes.Buffer
	out := &output{results: newResultWriter(fullDevice{}), errors: &stderr, width: defaultWidth}
	if err := out.line("a line"); err != nil {
		t.Fatal(err)
	}
	if got := out.end(context.Background(), nil); got != exitFailed || !strings.Contains(stderr.String(), "write the results") {
		t.Errorf("exit code %d, said %q", got, &stderr)
	}
}

func TestObjectsHoldNoRawControlCharacter(t *testing.T) {
	out, stdout, _ := newTestOutput(true)
	title := "red \x1b[31m, C1 \u009b31m, DEL \x7f, turned \u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c, ümlaut <&>, 修复"
	if err := out.object(struct {
		Type  string `json:"message_type"`
		Title string `json:"title"`
	}{"session", title}); err != nil {
		t.Fatal(err)
	}
	if err := out.results.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, r := range strings.TrimSuffix(stdout.String(), "\n") {
		if visible(r) != r {
			t.Errorf("raw %U in %q", r, stdout)
		}
	}
	var back struct{ Title string }
	if err := json.Unmarshal(stdout.Bytes(), &back); err != nil || back.Title != title {
		t.Errorf("read back as %q: %v", back.Title, err)
	}
	if !strings.Contains(stdout.String(), "ümlaut <&>, 修复") {
		t.Errorf("escaped more than needed: %q", stdout)
	}
}

func TestQuietHidesNotesAndWarningsButNoError(t *testing.T) {
	out, stdout, stderr := newTestOutput(false)
	out.quiet = true
	_ = out.note("a note")
	out.warn("a warning")
	_ = out.line("a result")
	out.problem(&failure{exit: exitFailed, code: "unreadable", err: errors.New("read x: broken\nline \x1b[2J")})
	if got := out.end(context.Background(), out.partial()); got != exitPartial {
		t.Errorf("exit code %d", got)
	}
	if stdout.String() != "a result\n" {
		t.Errorf("results are %q", stdout)
	}
	if stderr.String() != "agentsync: error: read x: broken line \ufffd[2J\n" {
		t.Errorf("diagnostics are %q", stderr)
	}
}

func TestPlainProgressComesFromTimeToTime(t *testing.T) {
	var stderr bytes.Buffer
	now := time.Unix(1000, 0)
	v := &invocation{env: Env{Stderr: &stderr, Now: func() time.Time { return now }, Getenv: func(string) string { return "" }},
		globals: globals{progress: progressPlain}}
	v.out, _, _ = newTestOutput(false)
	m := v.meter("publish", "sessions", 300)
	for range 300 {
		now = now.Add(100 * time.Millisecond)
		m.add(1)
	}
	want := "agentsync: progress: publish: 100 of 300 sessions\nagentsync: progress: publish: 200 of 300 sessions\nagentsync: progress: publish: 300 of 300 sessions\n"
	if stderr.String() != want {
		t.Errorf("progress was\n%s", &stderr)
	}
}

func TestProgressNeedsATerminalUnlessPlain(t *testing.T) {
	for _, test := range []struct {
		name     string
		globals  globals
		terminal bool
		term     string
		bar      bool
	}{
		{"automatic on a terminal", globals{progress: progressAuto}, true, "xterm", true},
		{"automatic elsewhere", globals{progress: progressAuto}, false, "xterm", false},
		{"a dumb terminal", globals{progress: progressAuto}, true, "dumb", false},
		{"none", globals{progress: progressNone}, true, "xterm", false},
		{"quiet", globals{progress: progressAuto, quiet: true}, true, "xterm", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			var stderr bytes.Buffer
			v := &invocation{globals: test.globals, env: Env{Stderr: &stderr, StderrTerminal: test.terminal,
				Now: time.Now, Getenv: func(string) string { return test.term }}}
			v.out, _, _ = newTestOutput(false)
			m := v.meter("publish", "sessions", 10)
			m.grow(20)
			m.set(20)
			m.hide()
			if got := stderr.Len() > 0; got != test.bar {
				t.Errorf("wrote %q", &stderr)
			}
		})
	}
}

func TestTheSummaryIsTheLastLineWhateverIsToldAfterIt(t *testing.T) {
	out, stdout, _ := newTestOutput(true)
	if err := out.object(verifySummary{Type: "summary", Problems: 1}); err != nil {
		t.Fatal(err)
	}
	out.problem(failWith(exitDamaged, "", "told late"))
	if err := out.object(noteObject{Type: "note"}); err != nil {
		t.Fatal(err)
	}
	if err := out.object(verifySummary{Type: "summary"}); err == nil {
		t.Error("a second summary is taken")
	}
	out.end(context.Background(), errors.New("and later still"))
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	last := lines[len(lines)-1]
	if len(lines) != 4 || !strings.HasPrefix(last, summaryLead) || !strings.HasSuffix(last, `,"exit":1}`) || !json.Valid([]byte(last)) {
		t.Errorf("%d lines, the last %s", len(lines), last)
	}
}

func TestALockedPassIsSilentWhenAskedToBe(t *testing.T) {
	held := &durable.HeldError{Path: "/state/publish.lock"}
	for _, asJSON := range []bool{false, true} {
		out, stdout, stderr := newTestOutput(asJSON)
		out.quiet = true
		if got := out.end(context.Background(), held); got != exitLocked || stderr.Len() > 0 {
			t.Errorf("exit %d, said %q", got, stderr)
		}
		if said := stdout.String(); strings.Contains(said, `"code":"locked"`) != asJSON {
			t.Errorf("JSON %v: %q", asJSON, said)
		}
	}
}
