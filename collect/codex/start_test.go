package codex

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agentsync/collect"
)

func starting(text string) collect.StartInput {
	return collect.StartInput{PromptInput: collect.PromptInput{Text: text}}
}

func TestAStartIsCancelledByTheIDItWasAskedFor(t *testing.T) {
	t.Parallel()
	d := fakeDriver(t, fakeConfig(t, ""))
	m := newMilestones()
	done := make(chan collect.Outcome, 1)
	go func() {
		o, _ := d.StartSession(t.Context(), "asked", starting("Wait. [[fake: hang]]"), m)
		done <- o
	}()
	<-m.ready
	list(t, d)
	cancelled, _ := d.Cancel(t.Context(), "asked")
	wantOutcome(t, cancelled, collect.Succeeded, "")
	o := <-done
	wantOutcome(t, o, collect.Failed, codeCancelled)
	if o.Session == "" || cancelled.Session != o.Session || o.Untouched {
		t.Errorf("thread %q was cancelled, the start made %+v", cancelled.Session, o)
	}
	if !slices.Equal(m.told, []string{"cancel-ready", "session-active"}) || m.session != o.Session {
		t.Errorf("milestones %v of session %q: the start made %q", m.told, m.session, o.Session)
	}
	if s := summaryOf(t, d, o.Session); s.Active != nil {
		t.Error("the session is active after its turn")
	}
}

func TestAStartThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]struct {
		change func(*collect.SourceConfig, *collect.StartInput)
		status collect.Status
		code   string
	}{
		"without a folder": {func(c *collect.SourceConfig, _ *collect.StartInput) { c.Cwd = "" }, collect.Failed, codeCwdRequired},
		"in no folder": {func(c *collect.SourceConfig, in *collect.StartInput) {
			in.Cwd = filepath.Join(c.Cwd, "none")
		}, collect.Failed, codeCwdNoFolder},
		"in a relative folder": {func(_ *collect.SourceConfig, in *collect.StartInput) { in.Cwd = "." }, collect.Failed, codeCwdNoFolder},
		"in a mode":            {func(_ *collect.SourceConfig, in *collect.StartInput) { in.Mode = "plan" }, collect.Unsupported, "unsupported"},
		"of a server that ends": {func(c *collect.SourceConfig, _ *collect.StartInput) {
			c.Env["FAKE_AGENT"] = "exit-at-start"
		}, collect.Failed, codeUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg, in := fakeConfig(t, ""), starting("Begin.")
			one.change(&cfg, &in)
			o, err := fakeDriver(t, cfg).StartSession(t.Context(), "asked", in, newMilestones())
			if err != nil {
				t.Fatal(err)
			}
			wantOutcome(t, o, one.status, one.code)
			if !o.Untouched {
				t.Error("a start that was never asked touched something")
			}
		})
	}
}

func TestAThreadOfAnotherRootIsNotTheAgents(t *testing.T) {
	t.Parallel()
	cfg := fakeConfig(t, "")
	other := t.TempDir()
	writeThread(t, other)
	cfg.Roots = []string{cfg.CodexHome, other}
	o := prompt(t, fakeDriver(t, cfg), madeID(1), "Go on.", newMilestones())
	wantOutcome(t, o, collect.Failed, codeOtherHome)
}

func TestAStartWhoseTurnIsNotProvenNamesItsThread(t *testing.T) {
	t.Parallel()
	d := fakeDriver(t, fakeConfig(t, "exit-after-answer"))
	kept := notebook{}
	d.env.Memory = kept
	in := starting("Begin.")
	in.Title = "A title"
	o, err := d.StartSession(t.Context(), "asked", in, newMilestones())
	if err != nil {
		t.Fatal(err)
	}
	wantOutcome(t, o, collect.Unknown, codeTurnUnknown)
	if !isUUID(o.Session) || o.ProviderOperationID == "" || !o.Result.Path("titled").IsTrue() {
		t.Errorf("outcome %+v", o)
	}
	// The index can pair the thread with the start, in this pass and in later ones.
	if got := collect.StartOf(kept, d.source.ID, o.Session); got != "asked" {
		t.Errorf("the thread's start is %q", got)
	}
	if s := d.summary(&catalog{names: make([]names, 1)}, file{id: o.Session}, head{}, ""); s.StartedAs != "asked" {
		t.Errorf("its summary says %q", s.StartedAs)
	}
}

// notebook is a memory of what a source must not forget.
type notebook map[[3]string]string

func (n notebook) Recall(source, session, key string) (string, bool) {
	text, ok := n[[3]string{source, session, key}]
	return text, ok
}

func (n notebook) Remember(_ context.Context, source, session, key, text string) error {
	n[[3]string{source, session, key}] = text
	return nil
}

func TestFullAccessIsAskedForAndTakenBack(t *testing.T) {
	t.Parallel()
	for words, restored := range map[string]bool{"": true, "exit-after-answer": false} {
		cfg := fakeConfig(t, words)
		cfg.AllowDangerFullAccess = true
		writeThread(t, cfg.CodexHome)
		d := fakeDriver(t, cfg)
		o := prompt(t, d, madeID(1), "Go on.", newMilestones())
		if o.Result.Path("sandbox").Str() != fullAccess || o.Result.Path("restrictionsRestored").IsTrue() != restored {
			t.Errorf("%q: %+v", words, o)
		}
		s, err := d.live.reach(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if before, err := s.resume(t.Context(), madeID(1)); err != nil || before.Sandbox.kind() != "readOnly" {
			t.Errorf("%q: the thread is left with %v (%v)", words, before.Sandbox, err)
		}
	}
}

func TestTheLaunchIsWhatTheConfigurationSays(t *testing.T) {
	environ := map[string]string{"PATH": "/bin", "OPENAI_API_KEY": "k", "SECRET": "s", "HTTPS_PROXY": "p"}
	env := collect.Env{Home: "/home/dev", Getenv: func(name string) string { return environ[name] }}
	for name, one := range map[string]struct {
		cfg  collect.SourceConfig
		want string
	}{
		"stdio":   {collect.SourceConfig{}, "codex app-server --listen stdio://"},
		"a bin":   {collect.SourceConfig{CodexBin: "/opt/codex"}, "/opt/codex app-server --listen stdio://"},
		"managed": {collect.SourceConfig{CodexTransport: "managed"}, "codex app-server proxy after app-server daemon start"},
		"proxy":   {collect.SourceConfig{CodexTransport: "proxy"}, "codex app-server proxy"},
		"a socket": {collect.SourceConfig{CodexTransport: "proxy", CodexSocket: "/run/codex.sock"},
			"codex app-server proxy --sock /run/codex.sock"},
		"a command": {collect.SourceConfig{CodexTransport: "proxy", Command: []string{"my-codex", "serve"}}, "my-codex serve"},
	} {
		t.Run(name, func(t *testing.T) {
			one.cfg.Env = map[string]string{"MOCK_KEY": "m"}
			l, err := newLaunch(one.cfg, env, "/home/dev/.codex")
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Join(append([]string{l.program}, l.args...), " ")
			if l.prepare != nil {
				got += " after " + strings.Join(l.prepare, " ")
			}
			if got != one.want {
				t.Errorf("runs %q, want %q", got, one.want)
			}
			want := []string{"HOME=/home/dev", "HTTPS_PROXY=p", "MOCK_KEY=m", "OPENAI_API_KEY=k", "PATH=/bin"}
			if !slices.Equal(l.env, want) {
				t.Errorf("environment %q, want %q", l.env, want)
			}
		})
	}
	if _, err := newLaunch(collect.SourceConfig{CodexTransport: "pigeon"}, env, "/home/dev/.codex"); err == nil {
		t.Error("a transport that nobody knows is taken")
	}
	if l, _ := newLaunch(collect.SourceConfig{}, env, "/srv/codex"); !slices.Contains(l.env, "CODEX_HOME=/srv/codex") {
		t.Errorf("the home is not named: %q", l.env)
	}
}
