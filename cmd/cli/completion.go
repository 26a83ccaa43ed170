package cli

import (
	"context"
	"embed"
	"fmt"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"
)

// completeWord is the hidden verb by which a shell asks what could be typed next. It
// is followed by the words typed so far, the last one being unfinished, and answers
// one candidate a line, with a tab before its explanation.
const completeWord = "__complete"

//go:embed completion/*
var completionScripts embed.FS

// shells are the shells that have a completion script, and its file.
var shells = map[string]string{
	"bash":       "completion/agentsync.bash",
	"zsh":        "completion/agentsync.zsh",
	"fish":       "completion/agentsync.fish",
	"powershell": "completion/agentsync.ps1",
}

// shellNames are the keys of shells, in the order of the help.
var shellNames = []string{"bash", "zsh", "fish", "powershell"}

func (v *invocation) completionVerb() *urfave.Command {
	return &urfave.Command{
		Name:      "completion",
		Category:  groupOther,
		Usage:     "print a completion script for a shell",
		ArgsUsage: strings.Join(shellNames, "|"),
		UsageText: "source <(agentsync completion bash)\nagentsync completion fish > ~/.config/fish/completions/agentsync.fish",
		Action: action(1, 1, func(_ context.Context, c *urfave.Context) error {
			shell := c.Args().First()
			file, known := shells[shell]
			if !known {
				return usageError("choose one: "+joined(shellNames), "no completion for shell %q", shell)
			}
			script, err := completionScripts.ReadFile(file)
			if err != nil {
				return err
			}
			return v.out.text(string(script))
		}),
	}
}

// candidate is one word that could be typed next.
type candidate struct{ word, help string }

// complete answers a shell, whatever flags stand among the words typed.
func (v *invocation) complete(ctx context.Context, typed []string) error {
	v.out.asJSON = false
	for _, c := range append(candidates(v.app, typed), v.storedCandidates(ctx, typed)...) {
		if _, err := fmt.Fprintf(v.out.results, "%s\t%s\n", clean(c.word), clean(c.help)); err != nil {
			return err
		}
	}
	return nil
}

// candidates returns what may follow the words typed so far, of which the last one is
// unfinished. Nothing is returned where a file name or a free value belongs.
func candidates(app *urfave.App, typed []string) []candidate {
	if len(typed) == 0 {
		typed = []string{""}
	}
	before, current := typed[:len(typed)-1], strings.Trim(typed[len(typed)-1], `"`)
	known := allFlags(app)
	if len(before) > 0 {
		name, isFlag := flagName(before[len(before)-1])
		if isFlag && takesValue(known[name]) && !strings.Contains(before[len(before)-1], "=") {
			return matching(current, valuesOf(name))
		}
	}
	_, plain, _ := splitFlags(known, before)
	path, rest, err := findVerb(app, plain, true)
	if err != nil || slices.Contains(before, "--") {
		return nil
	}
	if strings.HasPrefix(current, "-") {
		return matching(current, flagCandidates(app, path))
	}
	if len(path) == 0 {
		return matching(current, verbCandidates(app.Commands))
	}
	last := path[len(path)-1]
	if len(rest) == 0 && strings.Contains(last.ArgsUsage, "|") {
		return matching(current, plainCandidates(strings.Split(last.ArgsUsage, "|")))
	}
	return matching(current, verbCandidates(last.Subcommands))
}

func valuesOf(flag string) []candidate {
	switch flag {
	case "progress":
		return plainCandidates([]string{string(progressAuto), string(progressPlain), string(progressNone)})
	case "direction", "set":
		return plainCandidates([]string{"both", "to-project", "to-dataset"})
	case "side":
		return plainCandidates([]string{"project", "dataset"})
	case "links":
		return plainCandidates([]string{"skip", "portable"})
	}
	return nil
}

func plainCandidates(words []string) []candidate {
	offered := make([]candidate, len(words))
	for i, word := range words {
		offered[i] = candidate{word: word}
	}
	return offered
}

func verbCandidates(commands []*urfave.Command) []candidate {
	var offered []candidate
	for _, command := range commands {
		if !command.Hidden {
			offered = append(offered, candidate{command.Name, command.Usage})
		}
	}
	return offered
}

func flagCandidates(app *urfave.App, path []*urfave.Command) []candidate {
	var flags []urfave.Flag
	for _, command := range path {
		flags = append(flags, command.Flags...)
	}
	var offered []candidate
	for _, flag := range append(flags, app.Flags...) {
		_, meaning := flagTerm(flag)
		offered = append(offered, candidate{"--" + flag.Names()[0], meaning})
	}
	return append(offered, candidate{"--help", "print the help"})
}

func matching(prefix string, offered []candidate) []candidate {
	return slices.DeleteFunc(offered, func(c candidate) bool { return !strings.HasPrefix(c.word, prefix) })
}
