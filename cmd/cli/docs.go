package cli

import (
	"context"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v2"
)

// manuals are the forms of the manual, by the word that asks for one.
var manuals = []string{"man", "markdown"}

func (v *invocation) docsVerb() *urfave.Command {
	return &urfave.Command{
		Name:      "docs",
		Category:  groupOther,
		Usage:     "print the manual",
		ArgsUsage: strings.Join(manuals, "|"),
		UsageText: "agentsync docs man > agentsync.1",
		Action: action(1, 1, func(_ context.Context, c *urfave.Context) error {
			text, err := manual(v.app, c.Args().First())
			if err != nil {
				return err
			}
			return v.out.text(text)
		}),
	}
}

// manual renders the whole program as a man page or as Markdown. The library writes
// the frame, which ends with the line of usage; what it says of verbs and flags is
// too little, so that is ours.
func manual(app *urfave.App, form string) (string, error) {
	page := &urfave.App{
		Name:        app.Name,
		Usage:       app.Usage,
		UsageText:   app.Name + " VERB [flags] [arguments]",
		Description: manualText(app),
		Compiled:    app.Compiled,
	}
	switch form {
	case "man":
		return page.ToManWithSection(1)
	case "markdown":
		return page.ToMarkdown()
	}
	return "", usageError("choose one: "+joined(manuals), "no manual of form %q", form)
}

// manualText is the manual from the description on, as Markdown.
func manualText(app *urfave.App) string {
	var b strings.Builder
	b.WriteString(manualDescription + "\n# FLAGS OF EVERY VERB\n\n")
	manualFlags(&b, app.Flags)
	b.WriteString("# VERBS\n\n")
	for _, command := range app.Commands {
		manualVerb(&b, []*urfave.Command{command}, app)
	}
	b.WriteString("# EXIT CODES\n\n")
	for _, row := range exitTable {
		manualEntry(&b, row.code.String(), row.meaning)
	}
	b.WriteString("# ENVIRONMENT\n\n")
	for _, variable := range variables {
		manualEntry(&b, variable.name, variable.meaning)
	}
	b.WriteString("# FILES\n\n")
	for _, file := range manualFiles {
		manualEntry(&b, file.name, file.meaning)
	}
	b.WriteString("# HELP\n\nEach verb explains itself: agentsync VERB --help.\n")
	return b.String()
}

func manualEntry(b *strings.Builder, name, meaning string) {
	fmt.Fprintf(b, "**%s**\n: %s\n\n", name, meaning)
}

func manualVerb(b *strings.Builder, path []*urfave.Command, app *urfave.App) {
	command := path[len(path)-1]
	if command.Hidden {
		return
	}
	typed := typedPath(app, path)
	fmt.Fprintf(b, "## %s\n\n**%s**\n\n%s.\n\n", typed, usageLine(typed, command), upperFirst(command.Usage))
	if command.Description != "" {
		fmt.Fprintf(b, "%s\n\n", command.Description)
	}
	manualFlags(b, command.Flags)
	if command.UsageText != "" {
		fmt.Fprintf(b, "Examples:\n\n    %s\n\n", strings.ReplaceAll(strings.TrimSpace(command.UsageText), "\n", "\n    "))
	}
	for _, inner := range command.Subcommands {
		manualVerb(b, append(path[:len(path):len(path)], inner), app)
	}
}

func manualFlags(b *strings.Builder, flags []urfave.Flag) {
	for _, flag := range flags {
		term, meaning := flagTerm(flag)
		manualEntry(b, term, meaning)
	}
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

const manualDescription = `agentsync collects the sessions that coding agents keep in their own files, publishes them as a
content-addressed graph to a folder, and gives every byte back. Each verb is one short pass that ends with
a summary and an exit code. Results go to standard output, diagnostics and progress to standard error. Flags
may stand before and after arguments; -- ends them.

With --json every line of standard output is one object with a message_type. A pass ends with one summary, and
each item that failed is an error object with code, message, hint and retryable.

The first interrupt or termination signal ends a pass tidily; the second one ends it at once. What was published
before stays readable either way.
`

// namedText is an entry of a list in the manual.
type namedText struct{ name, meaning string }

var variables = []namedText{
	{"AGENTSYNC_CONFIG", "the configuration file, as --config"},
	{"AGENTSYNC_STATE", "the state folder, as --state"},
	{"AGENTSYNC_STORE", "the store, as --store"},
	{"CLAUDE_CONFIG_DIR", "where Claude Code keeps its files"},
	{"CODEX_HOME", "where Codex keeps its files"},
	{"XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_DATA_HOME", "where the configuration, the state folder and the store stand"},
	{"COLUMNS", "the width of tables when there is no terminal to ask"},
}

var manualFiles = []namedText{
	{"$XDG_CONFIG_HOME/agentsync/config.yaml", "the configuration; without it agents are looked for in their standard folders"},
	{"$XDG_STATE_HOME/agentsync/", "this installation's memory"},
	{"$XDG_DATA_HOME/agentsync/store/", "the store, when none is named"},
}
