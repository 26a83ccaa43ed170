package claude

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/fixtures/realagents"
)

// live is a source of the real client, whose model is a scripted one.
type live struct {
	*workshop
	model *realagents.ModelServer
}

// newLive makes a source of the real client, or skips the test with the reason.
func newLive(t *testing.T, change ...func(*collect.SourceConfig, *collect.Env)) live {
	t.Helper()
	program := realagents.Require(t, realagents.Claude)
	m := realagents.Model(t)
	w := newWorkshop(t, "", append([]func(*collect.SourceConfig, *collect.Env){func(c *collect.SourceConfig, _ *collect.Env) {
		c.Command, c.Env = []string{program}, map[string]string{}
		for _, entry := range realagents.ClaudeEnv(m, c.ConfigDir) {
			name, text, _ := strings.Cut(entry, "=")
			c.Env[name] = text
		}
	}}, change...)...)
	w.driver.patience = ordinaryPatience
	return live{w, m}
}

// begin starts a session with a first turn.
func (l live) begin(id string) {
	l.t.Helper()
	o := l.start(id, collect.StartInput{PromptInput: collect.PromptInput{Text: "Hello. [[mock: text:Hi.]]"}, Cwd: l.dir, Title: "First title"})
	wantOutcome(l.t.(*testing.T), o, collect.Succeeded, "")
}

// wrote reports a text in a session's transcript.
func (l live) wrote(id, text string) bool {
	l.t.Helper()
	return strings.Contains(read(l.t, l.driver, id, nil).raw, text)
}

func TestLiveAStartAndAPrompt(t *testing.T) {
	l := newLive(t)
	m := &stones{active: func(context.Context) error {
		if s, err := l.driver.Summarize(context.Background(), u(7)); err != nil || s.Active == nil || !*s.Active {
			t.Errorf("the session as it became active: %v %v", s.Active, err)
		}
		return nil
	}}
	in := collect.StartInput{PromptInput: collect.PromptInput{Text: "Hello. [[mock: text:Hi.]]"}, Cwd: l.dir, Title: "First title", Mode: "plan"}
	o, err := l.driver.StartSession(context.Background(), u(7), in, m)
	if err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, o, collect.Succeeded, "")
	s, err := l.driver.Summarize(context.Background(), u(7))
	if err != nil || s.Title == nil || *s.Title != "First title" || s.Cwd == nil || *s.Cwd != l.real() {
		t.Fatalf("summary %+v %v", s, err)
	}
	if !l.wrote(u(7), `"uuid":"`+o.ProviderOperationID+`"`) || !l.wrote(u(7), `"permissionMode":"plan"`) || !l.wrote(u(7), `"entrypoint":"sdk-go"`) {
		t.Error("the transcript lacks the turn's id, the mode or the entrypoint")
	}
	o = l.prompt(u(7), "Second. [[mock: text:Two.]]")
	wantOutcome(t, o, collect.Succeeded, "")
	if turns, _ := o.Result.Get("turns"); turns.Kind() == 0 || strings.Contains(canonical(o.Result), "Two") {
		t.Errorf("result %s", canonical(o.Result))
	}
	h := read(t, l.driver, u(7), nil)
	if last := h.messages[len(h.messages)-1]; last.Preview != "Two." {
		t.Errorf("the last message is %q", last.Preview)
	}
	if ready, begun := m.seen(); ready != 1 || begun != 1 || len(l.model.Requests()) < 2 {
		t.Errorf("milestones %d %d, %d requests", ready, begun, len(l.model.Requests()))
	}
}

func TestLiveACancellationInFlight(t *testing.T) {
	l := newLive(t)
	l.begin(u(7))
	begun, done := make(chan struct{}), make(chan collect.Outcome, 1)
	m := &stones{active: func(context.Context) error { close(begun); return nil }}
	go func() {
		o, err := l.driver.Prompt(context.Background(), u(7), collect.PromptInput{Text: "Long. [[mock: slow:500 one two three four five six seven eight nine ten eleven twelve]]"}, m)
		if err != nil {
			t.Error(err)
		}
		done <- o
	}()
	<-begun
	at := time.Now()
	o, err := l.driver.Cancel(context.Background(), u(7))
	if err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, o, collect.Succeeded, "")
	wantOutcome(t, <-done, collect.Failed, "cancelled")
	t.Logf("cancelled within %s", time.Since(at))
	if !l.wrote(u(7), "[Request interrupted by user]") {
		t.Error("the transcript does not say that the prompt was interrupted")
	}
	wantOutcome(t, l.prompt(u(7), "On. [[mock: text:Back.]]"), collect.Succeeded, "")
}

func TestLiveARename(t *testing.T) {
	l := newLive(t)
	l.begin(u(7))
	o, err := l.driver.Rename(context.Background(), u(7), "Second title")
	if err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, o, collect.Succeeded, "")
	wantOutcome(t, l.prompt(u(7), "On. [[mock: text:Yes.]]"), collect.Succeeded, "")
	s, err := l.driver.Summarize(context.Background(), u(7))
	if err != nil || *s.Title != "Second title" {
		t.Errorf("title %v %v after the client went on", *s.Title, err)
	}
	trace := collect.Trace{Operation: "rename", Title: "Second title"}
	if o, err := l.driver.Investigate(context.Background(), u(7), trace); err != nil || o.Status != collect.Succeeded {
		t.Errorf("investigated: %s %v", o.Status, err)
	}
}

func TestLiveModesAndModels(t *testing.T) {
	l := newLive(t, func(c *collect.SourceConfig, _ *collect.Env) { c.AllowDangerFullAccess = true })
	l.begin(u(7))
	ctx := context.Background()
	for _, mode := range l.driver.Source().Capabilities.Modes {
		if o, err := l.driver.SetMode(ctx, u(7), mode); err != nil || o.Status != collect.Succeeded {
			t.Fatal(mode, o.Problem, err)
		}
		o := l.prompt(u(7), "As "+mode+". [[mock: text:Yes.]]")
		wantOutcome(t, o, collect.Succeeded, "")
		if !l.wrote(u(7), `"permissionMode":"`+mode+`"`) {
			t.Errorf("the transcript has no turn in mode %s", mode)
		}
	}
	if o, err := l.driver.SetConfigOption(ctx, u(7), "model", textValue("claude-sonnet-4-5")); err != nil || o.Status != collect.Succeeded {
		t.Fatal(o.Problem, err)
	}
	wantOutcome(t, l.prompt(u(7), "With a model. [[mock: text:Yes.]]"), collect.Succeeded, "")
	all := l.model.Requests()
	if body := string(all[len(all)-1].Body); !strings.Contains(body, `"model":"claude-sonnet-4-5`) {
		t.Error("the model's server was asked for another model")
	}
}

func TestLiveBypassedAndRefusedPermissions(t *testing.T) {
	l := newLive(t, func(c *collect.SourceConfig, _ *collect.Env) { c.AllowDangerFullAccess = true })
	l.begin(u(7))
	file := filepath.Join(l.dir, "made")
	script := `Make it. [[mock: tool:Bash {"command":"touch ` + file + `","description":"Make"} ;; text:Done.]]`
	wantOutcome(t, l.prompt(u(7), script), collect.Succeeded, "")
	if _, err := os.Stat(file); err == nil {
		t.Error("a command ran that nobody permitted")
	}
	if o, err := l.driver.SetMode(context.Background(), u(7), bypassMode); err != nil || o.Status != collect.Succeeded {
		t.Fatal(o.Problem, err)
	}
	wantOutcome(t, l.prompt(u(7), script), collect.Succeeded, "")
	if _, err := os.Stat(file); err != nil {
		t.Errorf("the mode bypassed nothing: %v", err)
	}
}

func TestLiveWhatFails(t *testing.T) {
	l := newLive(t)
	l.begin(u(7))
	o := l.prompt(u(7), "Fail. [[mock: error:400]]")
	wantOutcome(t, o, collect.Failed, "claude-query-failed")
	if o.Problem.Message != "the model's server answered with status 400" || o.Problem.Retryable {
		t.Errorf("problem %+v", o.Problem)
	}
	trace := collect.Trace{Operation: "prompt", Text: "Fail. [[mock: error:400]]", ClaimedAt: time.Now().Add(-time.Minute)}
	found, err := l.driver.Investigate(context.Background(), u(7), trace)
	if err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, found, collect.Failed, "claude-query-failed")
	wantOutcome(t, l.prompt(u(8), "x"), collect.Failed, "claude-session-not-found")

	inventory(t, l.driver) // remembers the session that is about to vanish
	if err := os.RemoveAll(filepath.Join(l.config.dir, "projects")); err != nil {
		t.Fatal(err)
	}
	q := query{session: u(7), dir: l.dir, args: []string{"--resume=" + u(7)}, prompt: "x"}
	turn, _ := l.driver.admit(context.Background(), u(7), collect.PromptInput{Text: "x"})
	wantOutcome(t, l.driver.release(turn, l.driver.ask(turn, q, &stones{})), collect.Failed, "claude-session-not-found")
}

func TestLiveAUsedID(t *testing.T) {
	l := newLive(t)
	l.begin(u(7))
	in := collect.StartInput{PromptInput: collect.PromptInput{Text: "x"}, Cwd: l.dir}
	wantOutcome(t, l.start(u(7), in), collect.Failed, "claude-session-exists")
	q := query{session: u(7), dir: l.dir, args: []string{"--session-id=" + u(7)}, prompt: "x", appears: "none"}
	turn, _ := l.driver.admit(context.Background(), u(7), collect.PromptInput{Text: "x"}) // as when the file came in between
	wantOutcome(t, l.driver.release(turn, l.driver.ask(turn, q, &stones{})), collect.Failed, "claude-session-exists")
}

func TestLiveASessionOfAnotherFolder(t *testing.T) {
	l := newLive(t)
	l.begin(u(7))
	other := newLive(t, func(c *collect.SourceConfig, _ *collect.Env) {
		c.ConfigDir, c.Env["CLAUDE_CONFIG_DIR"] = l.config.dir, l.config.dir
	})
	wantOutcome(t, other.prompt(u(7), "From afar. [[mock: text:Yes.]]"), collect.Succeeded, "")
	if !l.wrote(u(7), "From afar.") || len(ids(inventory(t, l.driver))) != 1 {
		t.Error("the turn went elsewhere")
	}
}

// killedInItsTurn prompts a new session, and has the program interrupted and killed at once
// when it is in the turn.
func killedInItsTurn(t *testing.T, l live, id, text string) collect.Outcome {
	t.Helper()
	before := l.driver.patience
	defer func() { l.driver.patience = before }()
	l.begin(id)
	l.driver.patience.interrupt, l.driver.patience.grace = time.Millisecond, 0
	ctx, end := context.WithCancel(context.Background())
	defer end()
	m := &stones{active: func(context.Context) error {
		for !l.wrote(id, "Slow. ") {
			time.Sleep(10 * time.Millisecond)
		}
		end()
		return nil
	}}
	o, err := l.driver.Prompt(ctx, id, collect.PromptInput{Text: text}, m)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func TestLiveAProgramKilledInItsTurn(t *testing.T) {
	l := newLive(t)
	text := "Slow. [[mock: text:Begin. && slow:500 one two three four five six]]"
	claimed := time.Now().Add(-time.Second)
	var o collect.Outcome
	var id string
	for n := 7; n < 12; n++ { // on a busy machine it may hear the interrupt before it is killed
		id = u(n)
		if o = killedInItsTurn(t, l, id, text); o.Status != collect.Failed {
			break
		}
	}
	wantOutcome(t, o, collect.Unknown, "claude-query-outcome-unknown")
	for _, operation := range []string{"", o.ProviderOperationID} {
		trace := collect.Trace{Operation: "prompt", Text: text, ProviderOperationID: operation, ClaimedAt: claimed}
		found, err := l.driver.Investigate(context.Background(), id, trace)
		if err != nil {
			t.Fatal(err)
		}
		wantOutcome(t, found, collect.Unknown, "claude-query-outcome-unknown")
		if !strings.Contains(found.Problem.Message, "has the prompt, but neither") {
			t.Errorf("message %q", found.Problem.Message)
		}
	}
	l.driver.patience = ordinaryPatience
	wantOutcome(t, l.prompt(id, "On. [[mock: text:Yes.]]"), collect.Succeeded, "")
	trace := collect.Trace{Operation: "prompt", Text: text, ClaimedAt: claimed}
	found, err := l.driver.Investigate(context.Background(), id, trace)
	if err != nil || found.Status != collect.Unknown {
		t.Errorf("after the next prompt: %s %v %v", found.Status, found.Problem, err)
	}
	trace.Text = "On. [[mock: text:Yes.]]"
	if found, err = l.driver.Investigate(context.Background(), id, trace); err != nil || found.Status != collect.Succeeded {
		t.Errorf("the next prompt: %s %v %v", found.Status, found.Problem, err)
	}
}
