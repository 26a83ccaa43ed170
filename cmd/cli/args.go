package cli

import (
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"
)

// words is a command line after sorting: the library sees global flags, then the
// verb and its flags, then the arguments, whatever order they were typed in.
type words struct {
	path []*urfave.Command // the verb, and its subcommand if it has one
	argv []string          // for the library, program name first
	help bool              // --help was given, or the verb was help
}

// flagWord is one flag as typed.
type flagWord struct {
	name     string // without dashes
	text     []string
	detached bool // its value was expected and nothing followed
}

// arrange sorts a command line. Flags may stand anywhere; "--" ends them. An unknown
// verb or flag, a missing subcommand and a missing value are usage errors whose
// hint can be typed. No verb at all gives an empty path.
func arrange(app *urfave.App, argv []string) (words, error) {
	flags, plain, literal := splitFlags(allFlags(app), argv[1:])
	var w words
	flags = slices.DeleteFunc(flags, func(f flagWord) bool {
		help := f.name == "help" || f.name == "h"
		w.help = w.help || help
		return help
	})
	flags, plain = versionVerb(flags, plain)
	if len(plain) > 0 && plain[0] == "help" {
		w.help, plain = true, plain[1:]
	}
	var err error
	if w.path, plain, err = findVerb(app, plain, w.help); err != nil {
		return w, err
	}
	global, local, err := placeFlags(app, w.path, flags)
	if err != nil {
		return w, err
	}
	w.argv = append(append(w.argv, app.Name), global...)
	for i, command := range w.path {
		w.argv = append(append(w.argv, command.Name), local[i]...)
	}
	w.argv = append(append(append(w.argv, "--"), plain...), literal...)
	return w, nil
}

// versionVerb makes the flag that every program has into our verb.
func versionVerb(flags []flagWord, plain []string) ([]flagWord, []string) {
	rest := slices.DeleteFunc(slices.Clone(flags), func(f flagWord) bool { return f.name == "version" })
	if len(rest) < len(flags) && len(plain) == 0 {
		return rest, []string{"version"}
	}
	return flags, plain
}

// splitFlags parts flags with their values from plain words and from what follows "--".
func splitFlags(known map[string]urfave.Flag, argv []string) (flags []flagWord, plain, literal []string) {
	for i := 0; i < len(argv); i++ {
		word := argv[i]
		if word == "--" {
			return flags, plain, argv[i+1:]
		}
		name, isFlag := flagName(word)
		if !isFlag {
			plain = append(plain, word)
			continue
		}
		flag := flagWord{name: name, text: []string{word}}
		if takesValue(known[name]) && !strings.Contains(word, "=") {
			if i+1 < len(argv) && !isKnownFlag(known, argv[i+1]) {
				i++
				flag.text = append(flag.text, argv[i])
			} else {
				flag.detached = true
			}
		}
		flags = append(flags, flag)
	}
	return flags, plain, nil
}

func isKnownFlag(known map[string]urfave.Flag, word string) bool {
	name, isFlag := flagName(word)
	return word == "--" || isFlag && (known[name] != nil || name == "help")
}

// flagName returns the name of a word that is a flag. A lone dash is an argument.
func flagName(word string) (string, bool) {
	if len(word) < 2 || word[0] != '-' {
		return "", false
	}
	name := strings.TrimPrefix(word[1:], "-")
	name, _, _ = strings.Cut(name, "=")
	return name, true
}

func takesValue(flag urfave.Flag) bool {
	documented, ok := flag.(urfave.DocGenerationFlag)
	return ok && documented.TakesValue()
}

// allFlags knows every flag of every verb by name. A name takes a value in all of
// its verbs or in none; a test keeps it so.
func allFlags(app *urfave.App) map[string]urfave.Flag {
	known := make(map[string]urfave.Flag)
	addFlags(known, app.Flags)
	for command := range everyCommand(app.Commands) {
		addFlags(known, command.Flags)
	}
	return known
}

func addFlags(known map[string]urfave.Flag, flags []urfave.Flag) {
	for _, flag := range flags {
		for _, name := range flag.Names() {
			known[name] = flag
		}
	}
}

// everyCommand visits commands and all that stand below them, in order.
func everyCommand(commands []*urfave.Command) func(func(*urfave.Command) bool) {
	return func(yield func(*urfave.Command) bool) {
		for _, command := range commands {
			if !yield(command) {
				return
			}
			for inner := range everyCommand(command.Subcommands) {
				if !yield(inner) {
					return
				}
			}
		}
	}
}

// findVerb resolves the leading plain words to a command.
func findVerb(app *urfave.App, plain []string, help bool) (path []*urfave.Command, rest []string, err error) {
	offered := app.Commands
	typed := app.Name
	for len(offered) > 0 {
		if len(plain) == 0 {
			if len(path) > 0 && !help {
				return nil, nil, usageError(typed+" --help", "%s needs a subcommand: %s", typed, strings.Join(namesOf(offered), ", "))
			}
			return path, nil, nil
		}
		i := slices.IndexFunc(offered, func(c *urfave.Command) bool { return c.HasName(plain[0]) })
		if i < 0 {
			return nil, nil, unknownVerb(typed, plain[0], namesOf(offered))
		}
		path = append(path, offered[i])
		typed += " " + offered[i].Name
		plain, offered = plain[1:], offered[i].Subcommands
	}
	return path, plain, nil
}

func namesOf(commands []*urfave.Command) []string {
	var names []string
	for _, command := range commands {
		if !command.Hidden {
			names = append(names, command.Name)
		}
	}
	return names
}

func unknownVerb(typed, word string, offered []string) error {
	meant := nearest(word, offered)
	if other := otherNames[word]; slices.Contains(offered, other) {
		meant = other
	}
	hint := typed + " --help"
	if meant != "" {
		hint = "did you mean: " + typed + " " + meant
	}
	return usageError(hint, "%s has no verb %q", typed, word)
}

// otherNames are what people coming from other tools type.
var otherNames = map[string]string{
	"backup": "publish", "push": "publish", "upload": "publish", "sync": "publish", "save": "publish",
	"list": "ls", "sessions": "ls", "check": "verify", "fsck": "verify", "scan": "collect", "find": "collect",
	"pull": "restore", "checkout": "restore", "gc": "prune", "forget": "prune", "clean": "prune",
	"get": "cat", "dump": "cat", "info": "show", "snapshots": "log", "setup": "init", "configure": "init",
	"diagnose": "doctor", "man": "docs",
}

// placeFlags gives every flag to the program or to the verb that has it.
func placeFlags(app *urfave.App, path []*urfave.Command, flags []flagWord) (global []string, local [][]string, err error) {
	local = make([][]string, len(path))
	for _, flag := range flags {
		owner := ownerOf(app, path, flag.name)
		if owner == nobody {
			return nil, nil, unknownFlag(app, path, flag.name)
		}
		if flag.detached {
			return nil, nil, usageError(typedPath(app, path)+" --help", "flag %s needs a value", flag.text[0])
		}
		if owner == program {
			global = append(global, flag.text...)
			continue
		}
		local[owner] = append(local[owner], flag.text...)
	}
	return global, local, nil
}

// Owners of a flag that are no place in the path.
const (
	program = -1
	nobody  = -2
)

func ownerOf(app *urfave.App, path []*urfave.Command, name string) int {
	for i := len(path) - 1; i >= 0; i-- {
		if hasFlag(path[i].Flags, name) {
			return i
		}
	}
	if hasFlag(app.Flags, name) {
		return program
	}
	return nobody
}

func hasFlag(flags []urfave.Flag, name string) bool {
	return slices.ContainsFunc(flags, func(f urfave.Flag) bool { return slices.Contains(f.Names(), name) })
}

func unknownFlag(app *urfave.App, path []*urfave.Command, name string) error {
	typed := typedPath(app, path)
	known := make(map[string]urfave.Flag)
	addFlags(known, app.Flags)
	for _, command := range path {
		addFlags(known, command.Flags)
	}
	var offered []string
	for name := range known {
		if len(name) > 1 {
			offered = append(offered, name)
		}
	}
	slices.Sort(offered)
	hint := typed + " --help"
	if meant := nearest(name, offered); meant != "" {
		hint = "did you mean: " + typed + " --" + meant
	}
	return usageError(hint, "%s has no flag --%s", typed, name)
}

func typedPath(app *urfave.App, path []*urfave.Command) string {
	typed := app.Name
	for _, command := range path {
		typed += " " + command.Name
	}
	return typed
}

// nearest returns the offered name that word is most likely a slip of, or "".
func nearest(word string, offered []string) string {
	best, bestCost := "", 1+len(word)/3
	for _, name := range offered {
		cost := slips(strings.ToLower(word), name)
		if len(word) > 1 && strings.HasPrefix(name, word) {
			cost = 1
		}
		if cost <= bestCost && (best == "" || cost < bestCost) {
			best, bestCost = name, cost
		}
	}
	return best
}

// slips counts the characters that must be typed, dropped or changed to turn one
// word into another.
func slips(from, to string) int {
	row := make([]int, len(to)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(from) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(to) {
			changed := diagonal
			if from[i] != to[j] {
				changed++
			}
			diagonal = row[j+1]
			row[j+1] = min(changed, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(to)]
}
