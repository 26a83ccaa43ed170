package acp

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"agentsync/collect"
	"agentsync/collect/value"
)

func text(s string) value.Value    { return value.NewBuilder().String(s).Finish() }
func truth(v bool) value.Value     { return value.NewBuilder().Bool(v).Finish() }
func number(f float64) value.Value { return value.NewBuilder().Number(f).Finish() }

func TestAModeIsSetNowAndAgainBeforeALaterPrompt(t *testing.T) {
	for _, row := range []struct {
		words, mode, option string
		method, params      string
	}{
		{"modes", "act", "", methodSetMode, `"modeId":"act"`},
		{"mode-option", "plan", "mode", methodSetOption, `"configId":"mode","value":"plan"`},
	} {
		t.Run(row.words, func(t *testing.T) {
			s := newStage(t, row.words)
			s.seed("one", "Hello.")
			s.begin()
			o, err := s.SetMode(t.Context(), "one", row.mode)
			wantOutcome(t, o, err, collect.Succeeded, "")
			if resultText(o, "mode") != row.mode || resultText(o, "configOption") != row.option || !o.Result.Path("remembered").IsTrue() {
				t.Errorf("result %s", value.AppendText(nil, o.Result))
			}
			if sent := s.received(row.method); len(sent) != 1 || !strings.Contains(sent[0], row.params) {
				t.Errorf("sent %q", sent)
			}
			s.begin() // another pass: the agent has forgotten
			o, err = prompt(s, "one", &milestones{})
			wantOutcome(t, o, err, collect.Succeeded, "")
			if sent := s.received(row.method); len(sent) != 2 || sent[1] != sent[0] {
				t.Errorf("sent %q", sent)
			}
			o, err = prompt(s, "one", &milestones{})
			wantOutcome(t, o, err, collect.Succeeded, "")
			if sent := s.received(row.method); len(sent) != 2 {
				t.Error("the mode was set although the session is in it")
			}
		})
	}
}

func TestOptionsTakeTheValuesThatAreOffered(t *testing.T) {
	s := newStage(t, "options")
	s.seed("one", "Hello.")
	s.begin()
	for _, row := range []struct {
		name   string
		key    string
		value  value.Value
		status collect.Status
		code   string
	}{
		{"a value in a group", "model", text("large"), collect.Succeeded, ""},
		{"a boolean", "fast", truth(true), collect.Succeeded, ""},
		{"a text for a boolean", "fast", text("true"), collect.Failed, codeInvalidValue},
		{"a value that is not offered", "model", text(secret), collect.Failed, codeInvalidValue},
		{"a boolean for a text", "model", truth(true), collect.Failed, codeInvalidValue},
		{"a number", "model", number(1), collect.Failed, codeInvalidValue},
		{"nothing", "model", value.Value{}, collect.Failed, codeInvalidValue},
		{"an unknown option", secret, text("x"), collect.Unsupported, codeUnoffered},
		{"an option of an unknown kind", "volume", number(5), collect.Unsupported, codeUnoffered},
	} {
		t.Run(row.name, func(t *testing.T) {
			o, err := s.SetConfigOption(t.Context(), "one", row.key, row.value)
			wantOutcome(t, o, err, row.status, row.code)
			if (row.status == collect.Succeeded) == o.Untouched {
				t.Errorf("untouched %v", o.Untouched)
			}
		})
	}
	sent := s.received(methodSetOption)
	if len(sent) != 2 || !strings.Contains(sent[0], `"configId":"model","value":"large"`) || !strings.Contains(sent[1], `"configId":"fast","type":"boolean","value":true`) {
		t.Errorf("sent %q", sent)
	}
	t.Run("and keep them in later passes", func(t *testing.T) {
		s.begin()
		before := len(s.received(methodSetOption))
		o, err := prompt(s, "one", &milestones{})
		wantOutcome(t, o, err, collect.Succeeded, "")
		again := s.received(methodSetOption)[before:]
		if len(again) != 2 || !strings.Contains(again[0], `"type":"boolean","value":true`) || !strings.Contains(again[1], `"large"`) {
			t.Errorf("sent %q", again)
		}
	})
	t.Run("what is not offered any more is forgotten, and named", func(t *testing.T) {
		s.words("options,fewer")
		s.begin()
		o, err := prompt(s, "one", &milestones{})
		wantOutcome(t, o, err, collect.Succeeded, "")
		forgotten := o.Result.Path("forgottenSettings")
		if forgotten.Len() != 1 || !strings.Contains(string(value.AppendText(nil, forgotten)), `"fast"`) {
			t.Errorf("result %s", value.AppendText(nil, o.Result))
		}
		if len(s.wanted.of("one").Options) != 1 {
			t.Errorf("wanted %+v", s.wanted.of("one"))
		}
	})
}

func TestNoPromptRunsInAModeThatNobodyChose(t *testing.T) {
	s := newStage(t, "mode-option")
	s.seed("one", "Hello.")
	s.begin()
	o, err := s.SetMode(t.Context(), "one", "plan")
	wantOutcome(t, o, err, collect.Succeeded, "")
	s.words("mode-option,fewer")
	s.begin()
	o, err = prompt(s, "one", &milestones{})
	wantOutcome(t, o, err, collect.Failed, codeModeUnoffered)
	if !o.Untouched || len(s.received(methodPrompt)) > 0 {
		t.Error("it was sent")
	}
}

func TestAModeThatIsNotOfferedIsUnsupported(t *testing.T) {
	for words, says := range map[string]string{"modes": "ask, act", "mode-option": "build, plan", "": "no modes"} {
		s := newStage(t, words)
		s.seed("one", "Hello.")
		s.begin()
		o, err := s.SetMode(t.Context(), "one", secret)
		wantOutcome(t, o, err, collect.Unsupported, codeModeUnoffered)
		if !strings.Contains(o.Problem.Message, says) {
			t.Errorf("%q: %s", words, o.Problem.Message)
		}
	}
}

func TestAModeAndItsOptionDoNotContradictEachOther(t *testing.T) {
	s := newStage(t, "mode-option")
	s.seed("one", "Hello.")
	s.begin()
	o, err := s.SetConfigOption(t.Context(), "one", "mode", text("plan"))
	wantOutcome(t, o, err, collect.Succeeded, "")
	o, err = s.SetMode(t.Context(), "one", "build")
	wantOutcome(t, o, err, collect.Succeeded, "")
	if w := s.wanted.of("one"); w.Mode != "build" || len(w.Options) > 0 {
		t.Errorf("wanted %+v", w)
	}
	o, err = s.SetConfigOption(t.Context(), "one", "mode", text("plan"))
	wantOutcome(t, o, err, collect.Succeeded, "")
	if w := s.wanted.of("one"); w.Mode != "" || string(w.Options["mode"]) != `"plan"` {
		t.Errorf("wanted %+v", w)
	}
}

func TestWithoutAMemorySettingsLastAsLongAsThePass(t *testing.T) {
	s := newStage(t, "modes")
	s.env.Memory = nil
	s.seed("one", "Hello.")
	s.begin()
	o, err := s.SetMode(t.Context(), "one", "act")
	wantOutcome(t, o, err, collect.Succeeded, "")
	if o.Result.Path("remembered").IsTrue() || s.wanted.of("one").Mode != "act" {
		t.Errorf("result %s", value.AppendText(nil, o.Result))
	}
}

func modesOf(b *controlBook) []string {
	modes, _ := b.modes()
	return modes
}

func TestTheAgentsOwnReportsOfItsControlsCount(t *testing.T) {
	var b controlBook
	b.learn("one", json.RawMessage(`{"modes":{"currentModeId":"ask","availableModes":[{"id":"ask"},{"id":"act"}]},
		"configOptions":[{"id":"fast","type":"boolean","currentValue":false}]}`))
	b.changed("one", update{json.RawMessage(`{"currentModeId":"act"}`), "current_mode_update"})
	b.changed("one", update{json.RawMessage(`{"configOptions":[{"id":"model","type":"select","currentValue":"x","options":[{"value":"x"}]}]}`), "config_option_update"})
	b.changed("two", update{json.RawMessage(`{"currentModeId":"act"}`), "current_mode_update"})
	c := b.sessions["one"]
	if c.mode != "act" || len(c.options) != 1 || c.options[0].id != "model" || len(b.sessions) != 1 {
		t.Errorf("controls %+v", b.sessions)
	}
	t.Run("and a later load replaces them all", func(t *testing.T) {
		b.learn("one", json.RawMessage(`null`))
		if c := b.sessions["one"]; len(c.modes)+len(c.options) > 0 || b.descriptors() != (value.Value{}) || len(modesOf(&b)) > 0 {
			t.Errorf("controls %+v", c)
		}
	})
}

func TestSessionsThatDifferMakeOneSortedDescription(t *testing.T) {
	var b controlBook
	b.learn("two", json.RawMessage(`{"modes":{"availableModes":[{"id":"z"},{"id":"a"}]},"configOptions":[{"id":"o","type":"boolean","name":"second"}]}`))
	b.learn("one", json.RawMessage(`{"modes":{"availableModes":[{"id":"m"},{"id":"a"}]},"configOptions":[{"id":"o","type":"boolean","name":"first"}]}`))
	if !slices.Equal(modesOf(&b), []string{"a", "m", "z"}) || b.descriptors().Path("o", "name").Str() != "first" {
		t.Errorf("modes %q, options %s", modesOf(&b), value.AppendText(nil, b.descriptors()))
	}
}
