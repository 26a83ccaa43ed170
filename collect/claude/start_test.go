package claude

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agentsync/collect"
	"agentsync/collect/value"
)

func inDir(dir string) func(*collect.SourceConfig, *collect.Env) {
	return func(c *collect.SourceConfig, _ *collect.Env) { c.Cwd = dir }
}

func TestAStartBeginsASessionUnderTheCallersID(t *testing.T) {
	w := newWorkshop(t, "")
	o := w.start(u(7), collect.StartInput{PromptInput: collect.PromptInput{Text: "Begin."}, Cwd: w.dir, Title: "New work", Mode: "plan"})
	wantOutcome(t, o, collect.Succeeded, "")
	s, err := w.driver.Summarize(context.Background(), u(7))
	if err != nil || s.Title == nil || *s.Title != "New work" {
		t.Fatalf("summary %v %v", s.Title, err)
	}
	wantArgs(t, w, 0, "--session-id="+u(7)+" --permission-mode=plan")
	if id, _ := o.Result.Get("nativeSessionId"); id.Str() != u(7) {
		t.Errorf("result %s", canonical(o.Result))
	}
	wantOutcome(t, w.prompt(u(7), "Go on."), collect.Succeeded, "")
	wantArgs(t, w, 1, "--resume="+u(7)+" --permission-mode=plan")
	wantOutcome(t, w.start(u(7), collect.StartInput{Cwd: w.dir}), collect.Failed, "claude-session-exists")
	wantOutcome(t, w.start(u(7), collect.StartInput{Cwd: t.TempDir()}), collect.Failed, "claude-session-exists")
	if n := len(w.logged("args")); n != 2 {
		t.Errorf("the program was run %d times", n)
	}
}

// wantArgs checks what the program's n-th run was given beside the protocol's arguments.
func wantArgs(t *testing.T, w *workshop, n int, want string) {
	t.Helper()
	var args []string
	decode(t, w.logged("args")[n], &args)
	if got := strings.Join(args[len(protocolArgs):], " "); got != want {
		t.Errorf("run %d was given %q, want %q", n, got, want)
	}
}

func TestANewSessionIsThereWhenItIsSaidToBeActive(t *testing.T) {
	w := newWorkshop(t, "slow")
	m := &stones{active: func(context.Context) error {
		if s, err := w.driver.Summarize(context.Background(), u(7)); err != nil || s.Active == nil || !*s.Active {
			t.Errorf("the session as it became active: %v %v", s.Active, err)
		}
		return nil
	}}
	in := collect.StartInput{PromptInput: collect.PromptInput{Text: "Begin."}, Cwd: w.dir}
	if _, err := w.driver.StartSession(context.Background(), u(7), in, m); err != nil {
		t.Fatal(err)
	}
	if ready, begun := m.seen(); ready != 1 || begun != 1 {
		t.Errorf("milestones %d %d", ready, begun)
	}
}

func TestWhereAStartMayRun(t *testing.T) {
	own, other := t.TempDir(), t.TempDir()
	for _, row := range []struct {
		name, source, asked string
		status              collect.Status
		code                string
	}{
		{"the source's directory", own, "", collect.Succeeded, ""},
		{"the source's directory, named", own, own + "/", collect.Succeeded, ""},
		{"another than the source's", own, other, collect.Failed, "claude-start-cwd-not-source"},
		{"none where the source has none", "", "", collect.Failed, "claude-start-cwd-required"},
		{"one where the source has none", "", other, collect.Succeeded, ""},
		{"one in the home folder", "", filepath.Base(other), collect.Succeeded, ""},
		{"one that is not there", "", other + "/none", collect.Failed, "claude-start-cwd-not-directory"},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorkshop(t, "", inDir(row.source), func(_ *collect.SourceConfig, e *collect.Env) { e.Home = filepath.Dir(other) })
			o := w.start(u(7), collect.StartInput{PromptInput: collect.PromptInput{Text: "Begin."}, Cwd: row.asked})
			wantOutcome(t, o, row.status, row.code)
			if o.Problem != nil && row.asked != "" && strings.Contains(o.Problem.Message, row.asked) {
				t.Errorf("the problem quotes the command: %s", o.Problem.Message)
			}
		})
	}
}

func TestStartsThatCannotBe(t *testing.T) {
	w := newWorkshop(t, "in-use")
	in := collect.StartInput{PromptInput: collect.PromptInput{Text: "Begin."}, Cwd: w.dir}
	wantOutcome(t, w.start("work", in), collect.Failed, "claude-session-id-invalid")
	wantOutcome(t, w.start(u(7), in), collect.Failed, "claude-session-exists")
	in.Mode = "bypassPermissions"
	wantOutcome(t, w.start(u(7), in), collect.Unsupported, "unsupported")
}

func TestAFailedStartKeepsNoMode(t *testing.T) {
	w := newWorkshop(t, "api-error")
	in := collect.StartInput{PromptInput: collect.PromptInput{Text: "Begin."}, Cwd: w.dir, Mode: "plan"}
	wantOutcome(t, w.start(u(7), in), collect.Failed, "claude-query-failed")
	w.prompt(u(7), "Go on.")
	wantArgs(t, w, 1, "--resume="+u(7))
}

func TestPromptsThatCannotBe(t *testing.T) {
	w := newWorkshop(t, "")
	id := w.session(1)
	w.put(collect.ProjectKey(w.real())+"/"+id+"/subagents/agent-1.jsonl", talk("one"))
	w.put("-q/"+u(2)+".jsonl", turn("user", "u1", "", "elsewhere"))
	wantOutcome(t, w.prompt(u(3), "Do it."), collect.Failed, "claude-session-not-found")
	wantOutcome(t, w.prompt(id+"/subagents/agent-1", "Do it."), collect.Failed, "claude-session-id-invalid")
	wantOutcome(t, w.prompt(u(2), "Do it."), collect.Failed, "claude-cwd-not-directory")
	if n := len(w.logged("args")); n != 0 {
		t.Errorf("the program was run %d times", n)
	}
}

// memory is a collect.Memory of a test.
type memory map[[3]string]string

func (m memory) Recall(source, session, key string) (string, bool) {
	text, ok := m[[3]string{source, session, key}]
	return text, ok
}

func (m memory) Remember(_ context.Context, source, session, key, text string) error {
	m[[3]string{source, session, key}] = text
	return nil
}

func TestSettingsOutliveTheProcess(t *testing.T) {
	kept := memory{}
	remembering := func(c *collect.SourceConfig, e *collect.Env) { e.Memory, c.AllowDangerFullAccess = kept, true }
	w := newWorkshop(t, "", remembering)
	id := w.session(1)
	set := func(o collect.Outcome, err error) collect.Outcome {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	ctx, d := context.Background(), w.driver
	wantOutcome(t, set(d.SetMode(ctx, id, "bypassPermissions")), collect.Succeeded, "")
	wantOutcome(t, set(d.SetConfigOption(ctx, id, "model", textValue("haiku"))), collect.Succeeded, "")
	wantOutcome(t, set(d.SetMode(ctx, id, "everything")), collect.Unsupported, "unsupported")
	wantOutcome(t, set(d.SetMode(ctx, u(9), "plan")), collect.Failed, "claude-session-not-found")
	wantOutcome(t, set(d.SetConfigOption(ctx, id, "speed", textValue("fast"))), collect.Unsupported, "unsupported")
	wantOutcome(t, set(d.SetConfigOption(ctx, id, "model", value.NewBuilder().Int(3).Finish())), collect.Failed, "claude-model-invalid")
	w.prompt(id, "Do it.")
	wantArgs(t, w, 0, "--resume="+id+" --permission-mode=bypassPermissions --allow-dangerously-skip-permissions --model=haiku")

	later := newWorkshop(t, "", func(c *collect.SourceConfig, e *collect.Env) { e.Memory, c.ConfigDir = kept, w.config.dir })
	later.prompt(id, "Again.") // the source allows no full access any more
	wantArgs(t, later, 0, "--resume="+id+" --model=haiku")
}

func textValue(s string) value.Value { return value.NewBuilder().String(s).Finish() }

func TestCapabilitiesDoNotDependOnTheProgram(t *testing.T) {
	w := newWorkshop(t, "", func(c *collect.SourceConfig, _ *collect.Env) { c.Command = []string{"/home/dev/none"} })
	c := w.driver.Source().Capabilities
	if !c.Prompt || !c.Cancel || !c.Rename || !c.StartSession || !c.SetMode || !c.SetOption {
		t.Errorf("capabilities %+v", c)
	}
	if got := strings.Join(c.Modes, " "); got != "acceptEdits auto default dontAsk plan" {
		t.Errorf("modes %s", got)
	}
}

func TestARenameAppendsTheClientsLine(t *testing.T) {
	w := newWorkshop(t, "")
	id := w.session(1)
	path := w.path(collect.ProjectKey(w.real()) + "/" + id + ".jsonl")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	torn := string(before) + `{"type":"user","mess`
	if err := os.WriteFile(path, []byte(torn), 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := w.driver.Rename(context.Background(), id, "  Tést \"q\" <&>\u2028 \xed\xa0\x80 x\ny\u0007 ")
	if err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, o, collect.Succeeded, "")
	after, err := os.ReadFile(path)
	// As the client wrote it for the same title.
	want := torn + `{"type":"custom-title","customTitle":"Tést \"q\" <&>` + "\u2028" + ` \ud800 x\ny\u0007","sessionId":"` + id + `"}` + "\n"
	if err != nil || string(after) != want {
		t.Errorf("the file\n got %q\nwant %q (%v)", after, want, err)
	}
	if s, err := w.driver.Summarize(context.Background(), id); err != nil || !strings.HasPrefix(*s.Title, "Tést") {
		t.Errorf("the title behind a torn line is %v %v", s.Title, err)
	}
}

func TestRenamesThatCannotBe(t *testing.T) {
	w := newWorkshop(t, "")
	w.session(1)
	state := treeState(t, w.config.dir)
	for _, row := range []struct{ id, title, code, message string }{
		{u(1), " \n ", "claude-title-invalid", "title must be non-empty"},
		{"nope", "x", "claude-session-id-invalid", "Invalid sessionId: nope"},
		{u(2), "x", "claude-session-not-found", "Session " + u(2) + " not found in any project directory"},
	} {
		o, err := w.driver.Rename(context.Background(), row.id, row.title)
		if err != nil {
			t.Fatal(err)
		}
		wantOutcome(t, o, collect.Failed, row.code)
		if o.Problem.Message != row.message {
			t.Errorf("message %q, the client's is %q", o.Problem.Message, row.message)
		}
	}
	if treeState(t, w.config.dir) != state {
		t.Error("a refused rename changed something")
	}
}
