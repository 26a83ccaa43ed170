package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	urfave "github.com/urfave/cli/v2"

	"agentsync/cmd/config"
	"agentsync/collect"
	"agentsync/collect/drivers"
	"agentsync/ledger"
	"agentsync/ledger/durable"
)

func (v *invocation) initVerb() *urfave.Command {
	return &urfave.Command{
		Name:     "init",
		Category: groupSetUp,
		Usage:    "find the agents of this machine, write a commented configuration and make this installation's identity",
		Description: "Nothing needs it: without a configuration, publish looks for agents in their standard folders. It is for those who want " +
			"to see and change what is read. An existing configuration is not touched without --force, and kept beside the new one then.",
		UsageText: "agentsync init --dry-run\nagentsync init --store /srv/agent-sessions",
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "dry-run", Usage: "print the configuration and write nothing"},
			&urfave.BoolFlag{Name: "force", Usage: "replace an existing configuration"},
		},
		Action: action(0, 0, v.init),
	}
}

// initSummary ends the pass.
type initSummary struct {
	Type    string `json:"message_type"`
	Config  string `json:"config"`
	State   string `json:"state"`
	Owner   string `json:"owner,omitempty"`
	Sources int    `json:"sources"`
	DryRun  bool   `json:"dry_run"`
	Text    string `json:"text,omitempty"`
}

// foundObject is an agent that was looked for, in JSON.
type foundObject struct {
	Type    string `json:"message_type"`
	Source  string `json:"source"`
	Driver  string `json:"driver"`
	Place   string `json:"place"`
	Present bool   `json:"present"`
}

func (v *invocation) init(_ context.Context, c *urfave.Context) error {
	dryRun := c.Bool("dry-run")
	file, err := v.configFile()
	if err != nil {
		return err
	}
	sources, err := v.reportDetected()
	if err != nil {
		return err
	}
	content := config.Render(config.File{Store: v.wantedStore(), Sources: sources})
	summary := initSummary{"summary", file, "", "", len(sources), dryRun, ""}
	if dryRun {
		summary.Text = string(content)
		return v.endInit(summary)
	}
	if err := writeConfig(file, content, c.Bool("force")); err != nil {
		return err
	}
	loaded, err := config.Load(file, v.configEnv())
	if err != nil {
		return err
	}
	state, err := ledger.OpenState(durable.OS(), loaded.State)
	if err != nil {
		return err
	}
	identity, err := ledger.OpenIdentity(state, rand.Reader)
	if err != nil {
		return err
	}
	summary.State, summary.Owner = loaded.State, identity.DID()
	return v.endInit(summary)
}

// configFile is where the configuration goes: as typed, or the standard place.
func (v *invocation) configFile() (string, error) {
	if typed := firstOf(v.globals.config, v.env.Getenv("AGENTSYNC_CONFIG")); typed != "" {
		return v.env.abs(typed), nil
	}
	if file := config.DefaultFile(v.configEnv()); file != "" {
		return file, nil
	}
	return "", failWith(exitNotSetUp, "--config FILE", "place the configuration: there is no home folder")
}

// wantedStore is the store that the file will name: the one that was typed.
func (v *invocation) wantedStore() string {
	return firstOf(v.globals.store, v.env.Getenv("AGENTSYNC_STORE"))
}

// reportDetected looks for agents and tells of each place it looked at.
func (v *invocation) reportDetected() ([]collect.SourceConfig, error) {
	env := collect.Env{Now: v.env.Now(), Home: v.env.Home, Getenv: v.env.Getenv}
	var sources []collect.SourceConfig
	for _, one := range drivers.Detect(env) {
		if one.Exists || one.Err != nil {
			sources = append(sources, one.Config)
		}
		if v.out.asJSON {
			if err := v.out.object(foundObject{"source", one.Config.ID, one.Config.Driver, one.Folder, one.Exists}); err != nil {
				return nil, err
			}
			continue
		}
		v.inform("%s (%s): %s", one.Config.ID, one.Config.Driver, foundText(one, v.env.Home))
	}
	return sources, nil
}

func foundText(one drivers.Found, home string) string {
	place := homePath(home, one.Folder)
	switch {
	case one.Err != nil:
		return "cannot be told: " + one.Err.Error()
	case one.Exists:
		return "found, " + place
	case place == "":
		return "no place to look in"
	}
	return "not on this machine, no folder " + place
}

// inform tells people what a verb does beside its result.
func (v *invocation) inform(format string, args ...any) {
	if !v.out.quiet {
		v.out.diagnose("note", fmt.Sprintf(format, args...))
	}
}

func (v *invocation) endInit(s initSummary) error {
	if v.out.asJSON {
		return v.out.object(s)
	}
	if s.DryRun {
		_, err := v.out.results.Write([]byte(s.Text))
		return err
	}
	if err := v.out.line("configuration  %s", s.Config); err != nil {
		return err
	}
	if err := v.out.line("state          %s", s.State); err != nil {
		return err
	}
	if err := v.out.line("owner          %s", s.Owner); err != nil {
		return err
	}
	return v.out.note("next: agentsync publish --dry-run")
}

const (
	configMode   = 0o600 // it may hold variables of an agent's environment
	previousName = ".previous"
)

// writeConfig writes the file, durably. An existing one is refused without force, and
// kept under another name with it.
func writeConfig(file string, content []byte, force bool) error {
	disk := durable.OS()
	if err := durable.MakeDirs(disk, filepath.Dir(file), 0o700); err != nil {
		return fmt.Errorf("make the folder of the configuration: %w", err)
	}
	_, err := disk.Lstat(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("write the configuration: %w", err)
	}
	if err == nil && force {
		if err := disk.Rename(file, file+previousName); err != nil {
			return fmt.Errorf("keep the configuration: %w", err)
		}
	}
	err = durable.Create(disk, file, content, configMode)
	if errors.Is(err, fs.ErrExist) {
		return &failure{exit: exitStopped, code: "exists", path: file, message: "there is a configuration already: " + file,
			hint: "to see whether it is right: agentsync doctor; to replace it: agentsync init --force"}
	}
	if err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	return nil
}
