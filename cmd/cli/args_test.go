package cli

import (
	"errors"
	"strings"
	"testing"

	urfave "github.com/urfave/cli/v2"
)

// sampleApp is a program with a verb that has every kind of flag, and a group.
func sampleApp() *urfave.App {
	return &urfave.App{
		Name:  "agentsync",
		Flags: globalFlags(),
		Commands: []*urfave.Command{
			{Name: "publish", Flags: []urfave.Flag{
				&urfave.BoolFlag{Name: "full"},
				&urfave.StringSliceFlag{Name: "source"},
				&urfave.StringFlag{Name: "to"},
				&urfave.IntFlag{Name: "limit"},
			}},
			{Name: "dirsync", Subcommands: []*urfave.Command{{Name: "preview", Flags: []urfave.Flag{&urfave.BoolFlag{Name: "accept-missing"}}}, {Name: "apply"}}},
			{Name: "ls"},
			{Name: "version"},
		},
	}
}

func TestArrange(t *testing.T) {
	tests := []struct{ name, typed, want string }{
		{"flags before arguments stay", "publish --full x", "publish --full -- x"},
		{"flags after arguments move before them", "publish x --full", "publish --full -- x"},
		{"a string flag takes its value along", "publish x --to /tmp y", "publish --to /tmp -- x y"},
		{"an equals sign keeps the value in the word", "publish x --to=/tmp y", "publish --to=/tmp -- x y"},
		{"repeated flags keep their order", "publish --source a x --source b", "publish --source a --source b -- x"},
		{"an integer flag takes its value along", "publish x --limit 3", "publish --limit 3 -- x"},
		{"a verb's flag may stand before the verb", "--full publish x", "publish --full -- x"},
		{"a global flag may stand anywhere", "publish x --json --state /s", "--json --state /s publish -- x"},
		{"a boolean flag takes no word along", "publish --full x", "publish --full -- x"},
		{"a boolean flag may be refused", "publish x --full=false", "publish --full=false -- x"},
		{"two dashes end the flags", "publish --full -- --json -x", "publish --full -- --json -x"},
		{"a lone dash is an argument", "publish - --full", "publish --full -- -"},
		{"one dash is as good as two", "publish x -full", "publish -full -- x"},
		{"a value may start with a dash after an equals sign", "publish --to=-x", "publish --to=-x --"},
		{"a negative number is a value", "publish --limit -3", "publish --limit -3 --"},
		{"a subcommand's flag moves to it", "dirsync preview notes --accept-missing --quiet", "--quiet dirsync preview --accept-missing -- notes"},
		{"the version flag is the verb", "--version --json", "--json version --"},
		{"no verb is no error here", "--json", "--json --"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := arrange(sampleApp(), append([]string{"agentsync"}, strings.Fields(test.typed)...))
			if err != nil {
				t.Fatal(err)
			}
			if line := strings.Join(got.argv[1:], " "); line != test.want {
				t.Errorf("arranged %q, want %q", line, test.want)
			}
		})
	}
}

func TestArrangeRefuses(t *testing.T) {
	tests := []struct{ name, typed, message, hint string }{
		{"a slip in the verb", "publsh", `agentsync has no verb "publsh"`, "did you mean: agentsync publish"},
		{"another tool's verb", "backup --full", `agentsync has no verb "backup"`, "did you mean: agentsync publish"},
		{"a beginning of a verb", "pub", `agentsync has no verb "pub"`, "did you mean: agentsync publish"},
		{"a verb like none", "quux", `agentsync has no verb "quux"`, "agentsync --help"},
		{"a slip in a subcommand", "dirsync previw", `agentsync dirsync has no verb "previw"`, "did you mean: agentsync dirsync preview"},
		{"a group alone", "dirsync --json", "agentsync dirsync needs a subcommand: preview, apply", "agentsync dirsync --help"},
		{"a slip in a flag", "publish --ful", "agentsync publish has no flag --ful", "did you mean: agentsync publish --full"},
		{"a flag of another verb", "ls --full", "agentsync ls has no flag --full", "agentsync ls --help"},
		{"a value that is missing at the end", "publish --to", "flag --to needs a value", "agentsync publish --help"},
		{"a value that is another flag", "publish --to --full", "flag --to needs a value", "agentsync publish --help"},
		{"a flag of a verb without one", "--full", "agentsync has no flag --full", "agentsync --help"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := arrange(sampleApp(), append([]string{"agentsync"}, strings.Fields(test.typed)...))
			var f *failure
			if !errors.As(err, &f) {
				t.Fatalf("got %v, want a usage error", err)
			}
			if f.exit != exitUsage || f.Error() != test.message || f.hint != test.hint {
				t.Errorf("got exit %d, %q, hint %q", f.exit, f.Error(), f.hint)
			}
		})
	}
}

func TestArrangeFindsHelpAnywhere(t *testing.T) {
	for _, typed := range []string{"publish --help", "publish x -h", "help publish", "--help publish", "publish --full --help x"} {
		got, err := arrange(sampleApp(), append([]string{"agentsync"}, strings.Fields(typed)...))
		if err != nil || !got.help || len(got.path) != 1 || got.path[0].Name != "publish" {
			t.Errorf("%q: help %t, path %v, error %v", typed, got.help, got.path, err)
		}
	}
	if got, err := arrange(sampleApp(), []string{"agentsync", "dirsync", "--help"}); err != nil || !got.help {
		t.Errorf("a group's help: %v", err)
	}
}

// A flag that takes a value in one verb and none in another could not be sorted
// before the verb is known.
func TestEveryFlagNameIsOfOneKind(t *testing.T) {
	app := new(invocation).newAppForTest()
	kinds := make(map[string]bool)
	check := func(where string, flags []urfave.Flag) {
		for _, flag := range flags {
			for _, name := range flag.Names() {
				takes := takesValue(flag)
				if before, known := kinds[name]; known && before != takes {
					t.Errorf("%s: flag --%s takes a value elsewhere but not here, or here but not elsewhere", where, name)
				}
				kinds[name] = takes
			}
		}
	}
	check("agentsync", app.Flags)
	for command := range everyCommand(app.Commands) {
		check(command.Name, command.Flags)
		for _, flag := range command.Flags {
			for _, name := range flag.Names() {
				if hasFlag(app.Flags, name) {
					t.Errorf("%s: flag --%s hides the flag of every verb", command.Name, name)
				}
			}
		}
	}
}

func (v *invocation) newAppForTest() *urfave.App {
	v.env = Env{Getenv: func(string) string { return "" }, Width: defaultWidth}
	v.out = &output{results: newResultWriter(new(strings.Builder)), errors: new(strings.Builder), width: defaultWidth}
	return v.newApp()
}

// Every verb explains itself.
func TestEveryVerbHasHelp(t *testing.T) {
	app := new(invocation).newAppForTest()
	for command := range everyCommand(app.Commands) {
		if command.Usage == "" || strings.HasSuffix(command.Usage, ".") {
			t.Errorf("%s: usage %q", command.Name, command.Usage)
		}
		text := verbHelp(app, []*urfave.Command{command}, defaultWidth)
		for _, row := range exitTable {
			if !strings.Contains(text, row.code.String()+"  "+row.meaning) {
				t.Errorf("the help of %s does not name exit code %d", command.Name, row.code)
			}
		}
		for _, flag := range command.Flags {
			if term, meaning := flagTerm(flag); meaning == "" || takesValue(flag) && strings.HasSuffix(term, "VALUE") {
				t.Errorf("%s: flag %s has no meaning or no placeholder", command.Name, term)
			}
		}
	}
}
