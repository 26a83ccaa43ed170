package claude

import (
	"regexp"
	"strings"

	"agentsync/collect/value"
)

// promptUnits is the longest first prompt that the client reports, in UTF-16 units.
const promptUnits = 200

var (
	commandName = regexp.MustCompile(`<command-name>(.*?)</command-name>`)
	bashInput   = regexp.MustCompile(`(?s)<bash-input>(.*?)</bash-input>`)
	pasted      = regexp.MustCompile(`(?s)<pasted_content(?:\s[^>]*)?>\n?(.*?)\n?</pasted_content(?:\s[^>]*)?>\n?`)
	noPrompt    = regexp.MustCompile(`^(?:<[a-z][\w-]*[\s>]|\[Request interrupted by user[^\]]*\])`)
)

// firstPrompt finds the first thing a person typed in the text: a prompt, else the name
// of the first slash command.
func (p *parser) firstPrompt(text string) (string, bool) {
	command := ""
	for line := range strings.SplitSeq(text, "\n") {
		v, ok := p.userLine(line)
		if !ok {
			continue
		}
		for part := range texts(v) {
			prompt, name := judgePrompt(part)
			if command == "" {
				command = name
			}
			if prompt != "" {
				return shorten(prompt), true
			}
		}
	}
	return command, command != ""
}

// userLine parses a line that a person's prompt may stand in.
func (p *parser) userLine(line string) (value.Value, bool) {
	if !mayHoldPrompt(line) {
		return value.Value{}, false
	}
	v, ok := p.parse(line)
	if t, _ := str(v, "type"); !ok || t != "user" || truthy(v, "isMeta") || truthy(v, "isCompactSummary") {
		return value.Value{}, false
	}
	return v, true
}

// mayHoldPrompt judges a line by its text alone.
func mayHoldPrompt(line string) bool {
	return (strings.Contains(line, `"type":"user"`) || strings.Contains(line, `"type": "user"`)) &&
		!strings.Contains(line, `"tool_result"`)
}

// texts yields a message's string content, or the texts of its text blocks.
func texts(line value.Value) func(func(string) bool) {
	content := line.Path("message", "content")
	return func(yield func(string) bool) {
		switch content.Kind() {
		case value.String:
			yield(content.Str())
		case value.Array:
			for block := range content.Elements() {
				if t, _ := str(block, "type"); t != "text" {
					continue
				}
				if text, ok := str(block, "text"); ok && !yield(text) {
					return
				}
			}
		}
	}
}

// judgePrompt returns what of a text counts as a prompt, or the slash command it is.
func judgePrompt(text string) (prompt, command string) {
	text = pasted.ReplaceAllString(text, "$1")
	text = trim(strings.ReplaceAll(text, "\n", " "))
	if text == "" {
		return "", ""
	}
	if m := commandName.FindStringSubmatch(text); m != nil {
		return "", m[1]
	}
	if m := bashInput.FindStringSubmatch(text); m != nil {
		return "! " + trim(m[1]), ""
	}
	if noPrompt.MatchString(text) {
		return "", ""
	}
	return text, ""
}

func shorten(prompt string) string {
	cut, shorter := cutUnits(prompt, promptUnits)
	if !shorter {
		return prompt
	}
	return trim(cut) + "…"
}
