package claude

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"agentsync/collect"
)

func TestHowAPromptEnds(t *testing.T) {
	for _, row := range []struct {
		name, faults string
		status       collect.Status
		code         string
	}{
		{"a finished turn succeeds", "", collect.Succeeded, ""},
		{"a flood of lines", "flood", collect.Succeeded, ""},
		{"a line of 50 MB", "long-line", collect.Succeeded, ""},
		{"a result said twice", "answer-twice", collect.Succeeded, ""},
		{"no init line", "no-init", collect.Succeeded, ""},
		{"a child left behind", "fork-child", collect.Succeeded, ""},
		{"an error of the model's server, whatever the subtype says", "api-error", collect.Failed, "claude-query-failed"},
		{"another subtype names the code", "max-turns", collect.Failed, "claude-error_max_turns"},
		{"the end within a line", "exit-mid-line", collect.Unknown, "claude-query-outcome-unknown"},
		{"the end without a result", "no-result", collect.Unknown, "claude-query-outcome-unknown"},
		{"killed after the prompt", "die", collect.Unknown, "claude-query-outcome-unknown"},
		{"the end before the prompt", "exit-early", collect.Failed, "claude-query-failed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkshop(t, row.faults)
			o := w.prompt(w.session(1), "Do it.")
			wantOutcome(t, o, row.status, row.code)
			if o.Problem != nil && strings.Contains(o.Problem.Message, "Do it") {
				t.Errorf("the problem quotes the prompt: %s", o.Problem.Message)
			}
			sent := row.code != "claude-query-failed" || row.faults == "api-error"
			if (o.ProviderOperationID != "") != sent || o.Untouched == sent {
				t.Errorf("operation %q, untouched %v, prompt sent %v", o.ProviderOperationID, o.Untouched, sent)
			}
			if runtime.GOOS != "windows" {
				w.wantNoChildren()
			}
		})
	}
}

func TestAResultIsKeptWithoutItsWords(t *testing.T) {
	w := newWorkshop(t, "")
	o := w.prompt(w.session(1), "Tell me.")
	want := `{"costUsd":0.25,"cwd":` + quote(w.dir) + `,"durationMs":12,"nativeSessionId":"` + u(1) + `","stopReason":"end_turn","terminalReason":"completed","turns":1}`
	if got := canonical(o.Result); got != want {
		t.Errorf("result\n got %s\nwant %s", got, want)
	}
	h := read(t, w.driver, u(1), nil)
	if last := h.messages[len(h.messages)-2]; last.ID != o.ProviderOperationID || last.Preview != "Tell me." {
		t.Errorf("the prompt's line is %s %q, the operation %s", last.ID, last.Preview, o.ProviderOperationID)
	}
}

func TestALongLineIsNotHeldInMemory(t *testing.T) {
	w := newWorkshop(t, "long-line")
	id := w.session(1)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	wantOutcome(t, w.prompt(id, "Do it."), collect.Succeeded, "")
	runtime.ReadMemStats(&after)
	if made := (after.TotalAlloc - before.TotalAlloc) >> 20; made > 32 {
		t.Errorf("%d MiB were allocated for a line of 50 MB", made)
	}
}

func TestPermissionsAreRefusedAtOnce(t *testing.T) {
	for faults, want := range map[string]string{"ask-approval": `"success deny"`, "ask-odd": `"error"`} {
		w := newWorkshop(t, faults)
		wantOutcome(t, w.prompt(w.session(1), "Do it."), collect.Succeeded, "")
		if got := w.logged("answered"); len(got) != 1 || string(got[0]) != want {
			t.Errorf("%s was answered %s, want %s", faults, got, want)
		}
	}
}

func TestTheProgramIsRunAsTheClientIs(t *testing.T) {
	w := newWorkshop(t, "", func(c *collect.SourceConfig, e *collect.Env) {
		e.Getenv = func(name string) string {
			return map[string]string{"ANTHROPIC_API_KEY": "k", "TERM": "xterm", "HOME": "/elsewhere", "AGENTSYNC_X": "y",
				"HTTPS_PROXY": "http://127.0.0.1:9", "CLAUDE_CODE_ENTRYPOINT": "cli"}[name]
		}
		e.Home = "/home/dev"
	})
	wantOutcome(t, w.prompt(w.session(1), "Do it."), collect.Succeeded, "")
	var args, env []string
	decode(t, w.logged("args")[0], &args)
	decode(t, w.logged("env")[0], &env)
	want := "--output-format stream-json --verbose --input-format stream-json --resume=" + u(1)
	if got := strings.Join(args, " "); got != want {
		t.Errorf("arguments\n got %s\nwant %s", got, want)
	}
	wantEnv := []string{"ANTHROPIC_API_KEY=k", "CLAUDE_CODE_ENTRYPOINT=sdk-go", "CLAUDE_CONFIG_DIR=" + w.config.dir,
		"FAKE_AGENT=", "FAKE_AGENT_LOG=" + w.log, "HOME=/home/dev", "HTTPS_PROXY=http://127.0.0.1:9"}
	if got := strings.Join(env, "\n"); runtime.GOOS != "windows" && got != strings.Join(wantEnv, "\n") {
		t.Errorf("environment\n%s\nwant\n%s", got, strings.Join(wantEnv, "\n"))
	}
	if lines := w.logged("line"); len(lines) != 2 || !strings.Contains(string(lines[0]), `"subtype":"initialize"`) {
		t.Errorf("sent %s", lines)
	}
}

func TestAProgramThatIsNotThere(t *testing.T) {
	for name, change := range map[string]func(*collect.SourceConfig, *collect.Env){
		"no command and an empty search path": func(c *collect.SourceConfig, e *collect.Env) { c.Command = nil },
		"a command that is no file":           func(c *collect.SourceConfig, e *collect.Env) { c.Command = []string{"/home/dev/none"} },
		"a command in a relative folder":      func(c *collect.SourceConfig, e *collect.Env) { c.Command = []string{"./none"} },
	} {
		w := newWorkshop(t, "", change)
		o := w.prompt(w.session(1), "Do it.")
		wantOutcome(t, o, collect.Failed, "claude-not-installed")
		if !o.Problem.Retryable || !o.Untouched || !strings.Contains(o.Problem.Message, "command:") {
			t.Errorf("%s: %+v %v", name, o.Problem, o.Untouched)
		}
	}
}

func TestTheProgramIsFoundInTheSearchPath(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a link named claude is no program there")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(program, filepath.Join(bin, "claude")); err != nil {
		t.Fatal(err)
	}
	w := newWorkshop(t, "", func(c *collect.SourceConfig, e *collect.Env) {
		c.Command, c.Env["PATH"] = nil, "relative"+string(os.PathListSeparator)+bin
	})
	wantOutcome(t, w.prompt(w.session(1), "Do it."), collect.Succeeded, "")
}

func TestReadingStartsNoProgram(t *testing.T) {
	w := newWorkshop(t, "")
	id := w.session(1)
	if err := w.driver.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	inventory(t, w.driver)
	read(t, w.driver, id, nil)
	if _, err := w.driver.Investigate(context.Background(), id, collect.Trace{Operation: "prompt", Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	if got := w.logged("args"); len(got) != 0 {
		t.Errorf("the program was run: %s", got)
	}
}

func TestTheStandardFolderIsNotNamedToTheProgram(t *testing.T) {
	for _, row := range []struct{ name, configured, own, process, want string }{
		{"the standard folder", "", "", "", ""},
		{"the standard folder, configured", "/home/dev/.claude", "", "", ""},
		{"another, configured", "/home/dev/other", "", "", "/home/dev/other"},
		{"one set for the source", "", "/home/dev/own", "", "/home/dev/own"},
		{"one set for the process", "", "", "/home/dev/p", "/home/dev/p"},
		{"the standard one, set for the process", "", "", "/home/dev/.claude", "/home/dev/.claude"},
		{"one configured over all", "/home/dev/other", "/home/dev/own", "/home/dev/p", "/home/dev/other"},
	} {
		cfg := collect.SourceConfig{ID: "claude", ConfigDir: filepath.FromSlash(row.configured), Env: map[string]string{}}
		if row.own != "" {
			cfg.Env["CLAUDE_CONFIG_DIR"] = filepath.FromSlash(row.own)
		}
		d, err := New(cfg, collect.Env{Home: filepath.FromSlash("/home/dev"), Getenv: func(name string) string {
			if name == "CLAUDE_CONFIG_DIR" {
				return filepath.FromSlash(row.process)
			}
			return ""
		}})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, entry := range d.environment(0) {
			if dir, ok := strings.CutPrefix(entry, "CLAUDE_CONFIG_DIR="); ok {
				got = dir
			}
		}
		if got != filepath.FromSlash(row.want) {
			t.Errorf("%s: the program is told %q, want %q", row.name, got, row.want)
		}
	}
}
