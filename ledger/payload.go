package ledger

import (
	"strings"
	"unicode/utf8"

	"agentsync/collect"
	"agentsync/collect/value"
)

// payload begins to read the payload of a command that must have the type.
func (c Command) payload(t CommandType) fields {
	f := fields{record: c.Payload, at: "payload."}
	if c.Type != t {
		f.at = ""
		f.refuse("type", "is not "+string(t))
	}
	return f
}

// PromptInput returns the payload of a prompt; an *InvalidCommandError when it is none.
func (c Command) PromptInput() (collect.PromptInput, error) {
	f := c.payload(Prompt)
	in := collect.PromptInput{Text: wellFormed(f.text("text", maxPrompt)), Force: c.Force}
	if f.problem != nil {
		return collect.PromptInput{}, f.problem
	}
	return in, nil
}

// StartInput returns the payload of a start; an *InvalidCommandError when it is none.
func (c Command) StartInput() (collect.StartInput, error) {
	f := c.payload(Start)
	in := collect.StartInput{
		PromptInput: collect.PromptInput{Text: wellFormed(f.text("text", maxPrompt)), Force: c.Force},
		Cwd:         f.optional("cwd", maxCwd),
		Title:       wellFormed(f.optional("title", maxTitle)),
		Mode:        f.optional("mode", maxMode),
	}
	if f.problem != nil {
		return collect.StartInput{}, f.problem
	}
	return in, nil
}

// wellFormed puts one U+FFFD in place of each lone surrogate: as bytes, an agent would take
// it for three.
func wellFormed(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if r == utf8.RuneError && n == 1 && text[i] == 0xed && len(text)-i >= 3 {
			n = 3 // the other two continue it
		}
		b.WriteRune(r)
		i += n
	}
	return b.String()
}

// Title returns the payload of a rename; an *InvalidCommandError when it is none.
func (c Command) Title() (string, error) {
	title, err := c.only(Rename, "title", maxTitle)
	return wellFormed(title), err
}

// Mode returns the payload of a set-mode; an *InvalidCommandError when it is none.
func (c Command) Mode() (string, error) { return c.only(SetMode, "mode", maxMode) }

func (c Command) only(t CommandType, field string, limit int) (string, error) {
	f := c.payload(t)
	text := f.text(field, limit)
	if f.problem != nil {
		return "", f.problem
	}
	return text, nil
}

// Option returns the payload of a set-config-option; an *InvalidCommandError when it is
// none. A value that is not there is undefined.
func (c Command) Option() (key string, v value.Value, err error) {
	f := c.payload(SetConfigOption)
	key = f.text("key", maxOptionKey)
	if f.problem != nil {
		return "", value.Value{}, f.problem
	}
	v, found := c.Payload.Get("value")
	if !found {
		v = value.NewBuilder().Undefined().Finish()
	}
	return key, v, nil
}
