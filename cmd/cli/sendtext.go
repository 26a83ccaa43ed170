package cli

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	urfave "github.com/urfave/cli/v2"

	"agentsync/collect/value"
)

// mostText is how much of a file or a stream is read for a command's text, in bytes: what a
// command may hold, 128 Ki UTF-16 units, takes less.
const mostText = 512 << 10

func (v *invocation) promptPayload(c *urfave.Context) (value.Value, error) {
	text, err := v.commandText(c)
	if err != nil {
		return value.Value{}, err
	}
	return value.NewBuilder().Record().Key("text").String(text).End().Finish(), nil
}

var uuidForm = regexp.MustCompile(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)

func (v *invocation) startPayload(c *urfave.Context) (value.Value, error) {
	if id := c.String("session-id"); id != "" && !uuidForm.MatchString(id) {
		return value.Value{}, usageError("for example: --session-id 0f3c9a1b-0000-4000-8000-000000000001", "--session-id is no UUID")
	}
	text, err := v.commandText(c)
	if err != nil {
		return value.Value{}, err
	}
	b := value.NewBuilder().Record().Key("text").String(text)
	for _, field := range [][2]string{{"cwd", v.env.abs(c.String("cwd"))}, {"title", c.String("title")}, {"mode", c.String("mode")}} {
		if field[1] != "" {
			b.Key(field[0]).String(field[1])
		}
	}
	return b.End().Finish(), nil
}

func (v *invocation) cancelPayload(*urfave.Context) (value.Value, error) {
	return value.NewBuilder().Record().End().Finish(), nil
}

func (v *invocation) renamePayload(c *urfave.Context) (value.Value, error) {
	return oneField("title", c.Args().Get(1))
}

func (v *invocation) modePayload(c *urfave.Context) (value.Value, error) {
	return oneField("mode", c.Args().Get(1))
}

// oneField is a payload of one text.
func oneField(name, text string) (value.Value, error) {
	if err := checkText(text, "the "+name); err != nil {
		return value.Value{}, err
	}
	return value.NewBuilder().Record().Key(name).String(text).End().Finish(), nil
}

func (v *invocation) optionPayload(c *urfave.Context) (value.Value, error) {
	if c.Bool("string") && c.Bool("json-value") {
		return value.Value{}, usageError("one of them", "--string and --json-value exclude each other")
	}
	option, err := optionValue(c.Args().Get(2), c.Bool("string"), c.Bool("json-value"))
	if err != nil {
		return value.Value{}, err
	}
	key := c.Args().Get(1)
	if err := checkText(key, "the option"); err != nil {
		return value.Value{}, err
	}
	return value.NewBuilder().Record().Key("key").String(key).Key("value").Value(option).End().Finish(), nil
}

// optionValue reads the value of an option as it was typed.
func optionValue(typed string, asText, asJSON bool) (value.Value, error) {
	captured, err := new(value.Tape).Capture([]byte(typed))
	if asJSON {
		if err != nil {
			return value.Value{}, usageError("quote it for the shell: --json-value '{\"a\": 1}'", "the value is not JSON: %w", err)
		}
		return captured.Value, nil
	}
	if err == nil && !asText {
		switch captured.Value.Kind() {
		case value.True, value.False, value.Number, value.String:
			return captured.Value, nil
		}
	}
	if err := checkText(typed, "the value"); err != nil {
		return value.Value{}, err
	}
	return value.NewBuilder().String(typed).Finish(), nil
}

// commandText reads a command's text from where it was said to be.
func (v *invocation) commandText(c *urfave.Context) (string, error) {
	typed, given := c.Args().Get(1), c.NArg() > 1
	file := c.String("file")
	help := c.Command.HelpName + " --help"
	switch {
	case file != "" && given:
		return "", usageError(help, "the text is given twice, as an argument and by --file")
	case given && typed != "-":
		return typed, checkText(typed, "the text")
	case file != "":
		return readTextFile(v.env.abs(file))
	case !given && v.env.StdinTerminal:
		return "", usageError(help, "no text: it is the last argument, in a file that --file names, or on standard input")
	}
	return readText(v.env.Stdin, "standard input")
}

func readTextFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", &failure{exit: exitFailed, path: path, err: fmt.Errorf("read the text: %w", err)}
	}
	defer file.Close()
	return readText(file, path)
}

func readText(from io.Reader, name string) (string, error) {
	if from == nil {
		return "", usageError("give the text as an argument", "there is no standard input")
	}
	text, err := io.ReadAll(io.LimitReader(from, mostText+1))
	if err != nil {
		return "", &failure{exit: exitFailed, err: fmt.Errorf("read the text from %s: %w", name, err)}
	}
	if len(text) > mostText {
		return "", usageError("the longest text has 131072 UTF-16 units", "the text in %s is longer than %s", name, bytesText(mostText))
	}
	return string(text), checkText(string(text), "the text in "+name)
}

// checkText refuses what no command can say. The text itself is not repeated.
func checkText(text, what string) error {
	if !utf8.ValidString(text) {
		return usageError("", "%s is not valid UTF-8", what)
	}
	if strings.TrimSpace(text) == "" {
		return usageError("", "%s is empty", what)
	}
	return nil
}
