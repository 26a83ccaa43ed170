package acp

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/fixtures/realagents"
)

// live is a real opencode, its model and a driver of it.
type live struct {
	*stage
	model *realagents.ModelServer
}

// beginLive starts a real opencode in a folder of its own.
func beginLive(t *testing.T) *live {
	t.Helper()
	program := realagents.Require(t, realagents.Opencode)
	model := realagents.Model(t)
	l := &live{stage: newStage(t, ""), model: model}
	l.cfg.Command, l.cfg.Env = []string{program, "acp"}, map[string]string{}
	for _, variable := range realagents.OpencodeEnv(t, model) {
		name, text, _ := strings.Cut(variable, "=")
		l.cfg.Env[name] = text
	}
	l.env.Now, l.env.Getenv = time.Now(), nil // nothing of the person's
	l.limits = defaultLimits()
	l.limits.grace = 30 * time.Second // other tests take their share of the machine
	l.begin()
	return l
}

// asked counts the model's requests that hold a text.
func (l *live) asked(text string) int {
	n := 0
	for _, r := range l.model.Requests() {
		if strings.Contains(string(r.Body), text) {
			n++
		}
	}
	return n
}

// says reports a message of a role that holds a text.
func (h replayed) says(role, text string) bool {
	return slices.ContainsFunc(h.messages, func(m collect.Message) bool { return m.Role == role && strings.Contains(m.Preview, text) })
}

// TestLiveOpencode does everything with one agent and one session: a real one starts
// slowly, and the more so beside other tests.
func TestLiveOpencode(t *testing.T) {
	l := beginLive(t)
	o, err := l.StartSession(t.Context(), "asked-for", collect.StartInput{PromptInput: collect.PromptInput{
		Text: `List. [[mock: think:Look first && text:Looking. && tool:bash {"command":"ls","description":"List files"} ;; text:Nothing there.]]`}}, &milestones{})
	wantOutcome(t, o, err, collect.Succeeded, "")
	session := o.Session
	t.Run("a session is listed and loaded the same each time", func(t *testing.T) { l.loads(t, session) })
	t.Run("a prompt reaches the model once", func(t *testing.T) { l.prompts(t, session) })
	t.Run("a turn is read meanwhile, and cancelled", func(t *testing.T) { l.cancels(t, session) })
	t.Run("mode and options are kept from pass to pass", func(t *testing.T) { l.sets(t, session) })
	t.Run("a session that it does not have is missing", func(t *testing.T) {
		l.catalog.rows["ses_none"] = row{id: "ses_none", native: "ses_none", cwd: l.cfg.Cwd}
		if _, err := read(t, l.Driver, "ses_none"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error %v", err)
		}
	})
	t.Run("the end of the pass cancels a turn, and nothing is left", func(t *testing.T) { l.ends(t, session) })
}

func (l *live) loads(t *testing.T, session string) {
	list, tally := inventory(t, l.Driver)
	if !tally.Complete || len(list) != 1 || list[0].NativeSessionID != session || *list[0].Summary.Cwd != l.cfg.Cwd {
		t.Fatalf("tally %+v, listed %+v", tally, list)
	}
	first := mustRead(t, l.Driver, session)
	if !first.says("user", "List.") || !first.says("assistant", "Nothing there.") || !first.says("tool", "") || !first.trailer.Complete {
		t.Errorf("messages %+v", first.messages)
	}
	if second := mustRead(t, l.Driver, session); second.raw != first.raw {
		t.Errorf("loaded twice, it is\n%s\nand\n%s", first.raw, second.raw)
	}
	if l.Source().Version == "" || !slices.Equal(l.Source().Capabilities.Modes, []string{"build", "plan"}) {
		t.Errorf("source %+v", l.Source())
	}
	l.begin() // another process
	if third := mustRead(t, l.Driver, session); third.raw != first.raw {
		t.Errorf("another process loads\n%s\nand not\n%s", third.raw, first.raw)
	}
}

func (l *live) prompts(t *testing.T, session string) {
	m := &milestones{}
	o, err := l.Prompt(t.Context(), session, collect.PromptInput{Text: "Later words. [[mock: text:Gone on.]]"}, m)
	wantOutcome(t, o, err, collect.Succeeded, "")
	h := mustRead(t, l.Driver, session)
	if resultText(o, "stopReason") != "end_turn" || m.ready != 1 || m.active != 1 || !h.says("assistant", "Gone on.") {
		t.Errorf("outcome %+v, messages %+v", o, h.messages)
	}
	if got := l.asked("Later words."); got != 1 {
		t.Errorf("the model was asked %d times", got)
	}
}

// slowly is a prompt that begins with a word and whose answer takes longer than the test.
func slowly(word string) collect.PromptInput {
	return collect.PromptInput{Text: word + " [[mock: slow:1000 " + strings.Repeat("one two ", 300) + "]]"}
}

// awaitModel waits until the model was asked for what begins with a word: before that,
// this agent answers a cancellation with the end of the turn before.
func (l *live) awaitModel(word string) {
	for limit := time.Now().Add(2 * time.Minute); l.asked(word) == 0 && time.Now().Before(limit); {
		time.Sleep(20 * time.Millisecond)
	}
}

func (l *live) cancels(t *testing.T, session string) {
	var cancelled collect.Outcome
	m := &milestones{onActive: func() {
		l.awaitModel("Slowly.")
		if h := mustRead(t, l.Driver, session); !h.says("user", "Slowly.") || h.trailer.Summary.Active == nil {
			t.Errorf("read meanwhile: %+v", h.messages)
		}
		cancelled, _ = l.Cancel(t.Context(), session)
	}}
	o, err := l.Prompt(t.Context(), session, slowly("Slowly."), m)
	wantOutcome(t, o, err, collect.Failed, codeCancelled)
	wantOutcome(t, cancelled, nil, collect.Succeeded, "")
	if h := mustRead(t, l.Driver, session); !h.says("user", "Slowly.") || h.trailer.Summary.Active != nil {
		t.Errorf("messages %+v", h.messages)
	}
}

func (l *live) sets(t *testing.T, session string) {
	o, err := l.SetMode(t.Context(), session, "plan")
	wantOutcome(t, o, err, collect.Succeeded, "")
	if resultText(o, "configOption") != "mode" || !o.Result.Path("remembered").IsTrue() {
		t.Errorf("result %+v", o)
	}
	o, err = l.SetMode(t.Context(), session, secret)
	wantOutcome(t, o, err, collect.Unsupported, codeModeUnoffered)
	o, err = l.SetConfigOption(t.Context(), session, "model", text("mock/mock"))
	wantOutcome(t, o, err, collect.Succeeded, "")
	l.begin()
	o, err = l.Prompt(t.Context(), session, collect.PromptInput{Text: "In plan mode. [[mock: text:Planned.]]"}, &milestones{})
	wantOutcome(t, o, err, collect.Succeeded, "")
	if mode := (&ready{controls: l.controls.sessions[session]}).mode(); mode != "plan" {
		t.Errorf("the prompt ran in mode %q", mode)
	}
}

func (l *live) ends(t *testing.T, session string) {
	ctx, interrupt := context.WithCancel(t.Context())
	o, err := l.Prompt(ctx, session, slowly("Slower."), &milestones{onActive: func() { l.awaitModel("Slower."); interrupt() }})
	wantOutcome(t, o, err, collect.Failed, codeCancelled)
	began := time.Now()
	if err := l.Stop(); err != nil {
		t.Fatal(err)
	}
	t.Logf("stopped in %s", time.Since(began))
	if left, err := filepath.Glob(filepath.Join(l.env.Temp, "*")); err != nil || len(left) > 0 {
		t.Errorf("left %q, %v", left, err)
	}
}
