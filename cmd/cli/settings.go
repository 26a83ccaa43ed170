package cli

import (
	"errors"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"

	"agentsync/cmd/config"
	"agentsync/collect"
	"agentsync/collect/drivers"
	"agentsync/ledger"
	"agentsync/ledger/durable"
)

// settings are what the configuration, the flags and the environment say together.
type settings struct {
	config.Config
	sources  []collect.SourceConfig // enabled ones
	detected bool                   // there is no configuration of sources; agents were looked for
	looked   []string               // where, when nothing was found
	origins  []origin               // of the sources whose folders no configuration names
	accepted []string               // ids of sources of which a person said that what is not seen is gone
	env      collect.Env
}

// settings loads the configuration. Every mistake in the file is reported by itself.
func (v *invocation) settings() (*settings, error) {
	loaded, err := config.Load(v.globals.config, v.configEnv())
	var invalid *config.InvalidError
	if errors.As(err, &invalid) {
		for _, p := range invalid.Problems {
			v.out.report(&failure{exit: exitUsage, code: "invalid-config", path: p.File, message: withoutHint(p).String(), hint: p.Hint})
		}
		return nil, reported(exitUsage)
	}
	if err != nil {
		return nil, err
	}
	s := &settings{Config: loaded, env: collect.Env{Now: v.env.Now(), Home: v.env.Home, Getenv: v.env.Getenv, Temp: v.env.Temp}}
	s.env.Memory = memory(loaded.State)
	for _, source := range loaded.Sources {
		if source.Enabled {
			s.sources = append(s.sources, source)
		}
	}
	if len(loaded.Sources) == 0 {
		s.detect()
	}
	for _, source := range s.sources {
		if !drivers.Named(source) {
			here := drivers.Folder(source, s.env)
			if _, err := os.Stat(here); errors.Is(err, fs.ErrNotExist) {
				here = ""
			}
			s.origins = append(s.origins, newOrigin(source, here, s.env.Memory))
		}
	}
	s.settle()
	return s, nil
}

// memory returns what the sources remember from pass to pass; nil where there is no
// state folder in order, since a pass that only looks makes none.
func memory(folder string) collect.Memory {
	if _, err := durable.OS().Lstat(folder); err != nil {
		return nil
	}
	state, err := ledger.OpenState(durable.OS(), folder)
	if err != nil {
		return nil // a pass that needs the folder says why
	}
	return state.Memory()
}

func withoutHint(p config.Problem) config.Problem {
	p.Hint = ""
	return p
}

func (v *invocation) configEnv() config.Env {
	return config.Env{
		Getenv: v.env.Getenv, Home: v.env.Home, Goos: runtime.GOOS, Dir: v.env.Dir,
		State: v.globals.state, Store: v.globals.store,
	}
}

// detect looks for the agents of this machine. Those that are there are its sources, those
// of which that cannot be told (to be unreadable is not to be absent), and those that were
// published from here before.
func (s *settings) detect() {
	s.detected = true
	for _, one := range drivers.Detect(s.env) {
		if one.Folder != "" {
			s.looked = append(s.looked, one.Folder)
		}
		here := ""
		if one.Exists || one.Err != nil {
			here = one.Folder
		}
		o := newOrigin(one.Config, here, s.env.Memory)
		s.origins = append(s.origins, o)
		for _, folder := range o.known {
			if folder != one.Folder {
				s.looked = append(s.looked, folder)
			}
		}
	}
}

// drivers makes the drivers of the sources, or of those that only names. A source
// that has no driver is reported, and the others are taken.
func (v *invocation) drivers(s *settings, only []string) ([]collect.Driver, error) {
	sources, err := s.chosenSources(only)
	if err != nil {
		return nil, err
	}
	made := make([]collect.Driver, 0, len(sources))
	for _, source := range sources {
		driver, err := drivers.New(source, s.env)
		if err != nil {
			v.out.problem(&failure{exit: exitPartial, code: "source-unavailable", source: source.ID, hint: driverHint(err), err: err})
			continue
		}
		made = append(made, driver)
	}
	return made, nil
}

func driverHint(err error) string {
	var unknown *drivers.UnknownError
	if errors.As(err, &unknown) {
		return "correct its driver, or set enabled: false for it"
	}
	return "agentsync doctor"
}

// chosenSources returns the configured sources that only names; all, when it is empty.
func (s *settings) chosenSources(only []string) ([]collect.SourceConfig, error) {
	if len(only) == 0 {
		return s.sources, nil
	}
	var chosen []collect.SourceConfig
	for _, typed := range only {
		id, err := collect.SourceID(typed)
		if err != nil {
			return nil, usageError("--source ID", "--source: %w", err)
		}
		i := slices.IndexFunc(s.sources, func(source collect.SourceConfig) bool {
			canonical, err := collect.SourceID(source.ID)
			return err == nil && canonical == id
		})
		if i < 0 {
			return nil, usageError(s.sourceHint(id), "there is no source %q", typed)
		}
		chosen = append(chosen, s.sources[i])
	}
	return chosen, nil
}

func (s *settings) sourceHint(typed string) string {
	ids := make([]string, len(s.sources))
	for i, source := range s.sources {
		ids[i] = source.ID
	}
	if meant := nearest(typed, ids); meant != "" {
		return "did you mean: --source " + meant
	}
	if len(ids) == 0 {
		return "agentsync doctor"
	}
	return "the sources are: " + strings.Join(ids, ", ")
}

// demo is a command that works on a machine without any agent.
const demo = "agentsync --config fixtures/demo/agentsync.yaml publish --full"

// nothingFound tells where sessions were looked for, of which so many were found without a
// conversation; it is a failure when one was required.
func (v *invocation) nothingFound(s *settings, found int, required bool) error {
	message := "no session was found"
	if found > 0 {
		message = "no conversation was found: not one message in " + counted(found, "session", "sessions")
	}
	if s.detected {
		message += "; " + lookedIn(s.looked)
	}
	hint := "name other folders in the configuration: agentsync init"
	if s.detected {
		hint = "to see it work on made-up sessions: " + demo
	}
	if required {
		return &failure{exit: exitFailed, code: "nothing-found", hint: hint, message: message}
	}
	v.out.warn("%s", message)
	if !v.out.quiet {
		v.out.diagnose("hint", hint)
	}
	return nil
}

func lookedIn(places []string) string {
	if len(places) == 0 {
		return "there is no home folder to look in"
	}
	return "looked in " + joined(places)
}

// workers is how many sessions are read at once.
func workers() int { return runtime.GOMAXPROCS(0) }
