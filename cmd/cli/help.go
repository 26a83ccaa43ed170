package cli

import (
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v2"
)

const widestHelp = 100 // columns; longer lines are tiring to read

// showHelp prints the help of a verb, or of the program for an empty path.
func (v *invocation) showHelp(path []*urfave.Command) error {
	width := min(v.out.width, widestHelp)
	text := appHelp(v.app, width)
	if len(path) > 0 {
		text = verbHelp(v.app, path, width)
	}
	return v.out.text(printable(strings.TrimRight(text, "\n")) + "\n")
}

func appHelp(app *urfave.App, width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s - %s\n\nUsage: %s VERB [flags] [arguments]\n", app.Name, app.Usage, app.Name)
	group := ""
	for _, command := range app.Commands {
		if command.Hidden {
			continue
		}
		if command.Category != group {
			group = command.Category
			fmt.Fprintf(&b, "\n%s:\n", group)
		}
		writeTerm(&b, command.Name, command.Usage, width)
	}
	writeFlags(&b, "Flags of every verb", app.Flags, width)
	fmt.Fprintf(&b, "\nExit codes:\n%s\nMore: %s VERB --help\n", exitList(), app.Name)
	return b.String()
}

func verbHelp(app *urfave.App, path []*urfave.Command, width int) string {
	command := path[len(path)-1]
	typed := typedPath(app, path)
	var b strings.Builder
	fmt.Fprintf(&b, "%s - %s\n\nUsage: %s\n", typed, command.Usage, usageLine(typed, command))
	if command.Description != "" {
		fmt.Fprintf(&b, "\n%s\n", strings.Join(wrap(command.Description, width), "\n"))
	}
	if len(command.Subcommands) > 0 {
		b.WriteString("\nSubcommands:\n")
		for _, inner := range command.Subcommands {
			writeTerm(&b, inner.Name, inner.Usage, width)
		}
	}
	writeFlags(&b, "Flags", command.Flags, width)
	writeFlags(&b, "Flags of every verb", app.Flags, width)
	if command.UsageText != "" {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", indented(command.UsageText))
	}
	fmt.Fprintf(&b, "\nExit codes:\n%s", exitList())
	return b.String()
}

func usageLine(typed string, command *urfave.Command) string {
	switch {
	case len(command.Subcommands) > 0:
		return typed + " SUBCOMMAND [flags]"
	case command.ArgsUsage != "":
		return typed + " [flags] " + command.ArgsUsage
	}
	return typed + " [flags]"
}

func writeFlags(b *strings.Builder, title string, flags []urfave.Flag, width int) {
	if len(flags) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s:\n", title)
	for _, flag := range flags {
		term, meaning := flagTerm(flag)
		writeTerm(b, term, meaning, width)
	}
}

// flagTerm returns a flag as it is typed, and what it means. The placeholder of its
// value stands between back quotes in the usage text.
func flagTerm(flag urfave.Flag) (term, meaning string) {
	documented, ok := flag.(urfave.DocGenerationFlag)
	if !ok {
		return "", ""
	}
	placeholder, meaning := urfaveUnquote(documented.GetUsage())
	for i, name := range flag.Names() {
		if i > 0 {
			term += ", "
		}
		term += dashes(name) + name
	}
	if documented.TakesValue() {
		term += " " + placeholder
	}
	return term, meaning
}

func dashes(name string) string {
	if len(name) == 1 {
		return "-"
	}
	return "--"
}

// urfaveUnquote parts the placeholder from a usage text.
func urfaveUnquote(usage string) (placeholder, text string) {
	before, rest, found := strings.Cut(usage, "`")
	if !found {
		return "VALUE", usage
	}
	name, after, _ := strings.Cut(rest, "`")
	return name, before + name + after
}

const termWidth = 22 // columns of the left side of a list in the help

// writeTerm writes one entry of a list: the term, then its meaning, wrapped beside it.
func writeTerm(b *strings.Builder, term, meaning string, width int) {
	lines := wrap(meaning, max(width-termWidth-2, 20))
	if textWidth(term) >= termWidth-1 {
		fmt.Fprintf(b, "  %s\n", term)
	} else {
		fmt.Fprintf(b, "  %-*s%s\n", termWidth, term, lines[0])
		lines = lines[1:]
	}
	for _, line := range lines {
		fmt.Fprintf(b, "  %*s%s\n", termWidth, "", line)
	}
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}

func joined(names []string) string { return strings.Join(names, ", ") }
