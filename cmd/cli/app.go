package cli

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"
)

const (
	programName  = "agentsync"
	programUsage = "keep every session that the coding agents of a machine have produced"
)

// Groups of verbs in the help.
const (
	groupSetUp   = "Set up"
	groupPublish = "Collect and publish"
	groupRead    = "Read what is published"
	groupKeep    = "Bring back and look after"
	groupCommand = "Command agents from afar"
	groupSync    = "Keep a directory in step"
	groupOther   = "Other"
)

// Main runs agentsync once with args, of which the first is the program's name, and
// returns the exit code. It is the whole program but for the call that ends the process.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	defer surviveBrokenPipe()()
	ctx, stop := untilSignal(context.Background())
	defer stop()
	if testOnlyStarted != nil {
		testOnlyStarted(ctx)
	}
	return int(run(ctx, processEnv(stdin, stdout, stderr), args))
}

// globals are the flags that every verb has.
type globals struct {
	config, state, store string
	quiet                bool
	progress             progressMode
	wait                 time.Duration
}

// invocation is one run of the program.
type invocation struct {
	env     Env
	out     *output
	app     *urfave.App
	globals globals
	told    bool // whose store it is
}

func run(ctx context.Context, env Env, args []string) exitCode {
	v := &invocation{env: env, out: &output{
		results: newResultWriter(env.Stdout),
		errors:  env.Stderr,
		asJSON:  asksForJSON(args),
		width:   env.Width,
	}}
	v.app = v.newApp()
	return v.out.end(ctx, v.dispatch(ctx, args))
}

// asksForJSON decides the form of usage errors, before flags can be parsed.
func asksForJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

// dispatch sorts the command line and hands it to the verb.
func (v *invocation) dispatch(ctx context.Context, args []string) error {
	if len(args) > 1 && args[1] == completeWord {
		return v.complete(ctx, args[2:])
	}
	if len(args) == 0 {
		args = []string{programName}
	}
	sorted, err := arrange(v.app, args)
	if err != nil {
		return err
	}
	if sorted.help {
		return v.showHelp(sorted.path)
	}
	if len(sorted.path) == 0 {
		return usageError(programName+" --help", "no verb given: %s", joined(namesOf(v.app.Commands)))
	}
	return v.app.RunContext(ctx, sorted.argv)
}

func (v *invocation) newApp() *urfave.App {
	app := &urfave.App{
		Name:                      programName,
		Usage:                     programUsage,
		Writer:                    v.out.results,
		ErrWriter:                 v.env.Stderr,
		Reader:                    v.env.Stdin,
		Compiled:                  time.Unix(0, 0), // else the library looks for the program's file
		Flags:                     globalFlags(),
		Before:                    v.readGlobals,
		HideHelp:                  true, // our own, see help.go
		HideVersion:               true, // a verb
		DisableSliceFlagSeparator: true, // a path may hold a comma
		ExitErrHandler:            func(*urfave.Context, error) {},
		OnUsageError:              wrongValue,
		Commands:                  v.verbs(),
	}
	for command := range everyCommand(app.Commands) {
		command.HideHelp = true
		command.OnUsageError = wrongValue
	}
	return app
}

// wrongValue takes over what the library says of a flag's value; everything else
// about flags has been checked by then. The library writes one dash.
func wrongValue(c *urfave.Context, err error, _ bool) error {
	text := strings.Replace(err.Error(), "for flag -", "for flag --", 1)
	return usageError(firstOf(c.Command.HelpName, programName)+" --help", "%s", text)
}

// verbs lists what the program can do, in the order of the help.
func (v *invocation) verbs() []*urfave.Command {
	list := []*urfave.Command{
		v.initVerb(),
		v.doctorVerb(),
		v.collectVerb(),
		v.prepareVerb(),
		v.publishVerb(),
		v.scheduleVerb(),
	}
	list = append(append(list, v.readingVerbs()...), v.commandVerbs()...)
	return append(list,
		v.dirsyncVerb(),
		v.versionVerb(),
		v.completionVerb(),
		v.docsVerb(),
	)
}

func globalFlags() []urfave.Flag {
	return []urfave.Flag{
		&urfave.StringFlag{Name: "config", Usage: "read `FILE` instead of the standard configuration (AGENTSYNC_CONFIG)"},
		&urfave.StringFlag{Name: "state", Usage: "keep this installation's memory in `DIR` (AGENTSYNC_STATE)"},
		&urfave.StringFlag{Name: "store", Usage: "publish to and read from `URL`, a folder or file:///folder (AGENTSYNC_STORE)"},
		&urfave.BoolFlag{Name: "json", Usage: "print one JSON object a line"},
		&urfave.StringFlag{Name: "progress", Value: string(progressAuto), Usage: "show progress on standard error, `MODE` being auto (on a terminal), plain or none"},
		&urfave.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "print only errors and what was asked for"},
		&urfave.DurationFlag{Name: "wait", Usage: "wait at most `DURATION` for another pass to end"},
	}
}

// readGlobals takes the global flags over. Package config reads the variables that
// stand for them.
func (v *invocation) readGlobals(c *urfave.Context) error {
	v.globals = globals{
		config:   c.String("config"),
		state:    c.String("state"),
		store:    c.String("store"),
		quiet:    c.Bool("quiet"),
		progress: progressMode(c.String("progress")),
		wait:     c.Duration("wait"),
	}
	v.out.asJSON = c.Bool("json")
	v.out.quiet = v.globals.quiet
	if !slices.Contains(progressModes, v.globals.progress) {
		return usageError("choose one: --progress=auto, --progress=plain, --progress=none",
			"unknown progress %q", string(v.globals.progress))
	}
	if v.globals.wait < 0 {
		return usageError("for example: --wait 10m", "a negative --wait")
	}
	return nil
}

func firstOf(values ...string) string {
	for _, value := range values {
		if value != "" {
			return value
		}
	}
	return ""
}

// action checks how many arguments a verb got before it runs; a negative most is no limit.
func action(least, most int, verb func(context.Context, *urfave.Context) error) urfave.ActionFunc {
	return func(c *urfave.Context) error {
		name := c.Command.HelpName
		switch given := c.NArg(); {
		case given < least:
			return usageError(name+" --help", "%s needs %s", name, c.Command.ArgsUsage)
		case most >= 0 && given > most:
			return usageError(name+" --help", "%s does not take %q", name, c.Args().Get(most))
		}
		return verb(c.Context, c)
	}
}
