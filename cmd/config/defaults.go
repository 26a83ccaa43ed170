package config

import (
	"errors"
	"fmt"
)

const (
	redactDefault   = false // nothing masks yet, and nothing may claim to
	enabledDefault  = true
	folderName      = "agentsync"
	fileName        = "config.yaml"
	storeName       = "store" // in the data folder, for a configuration without store
	maxFile         = 1 << 20 // bytes; far beyond any configuration written by hand
	maxSourceID     = 256     // UTF-16 units, as in commands (spec 5.8)
	setStateHint    = "--state DIR or AGENTSYNC_STATE=DIR"
	writeConfigHint = "agentsync init --config "
)

// openingDriver is the driver whose sessions may start in an app.
const openingDriver = "claude-agent-sdk"

// knownDrivers are the drivers' names unless the caller says which it has.
var knownDrivers = []string{"claude-agent-sdk", "codex-app-server", "acp"}

// place returns a folder of ours: below the folder that the variable xdg names, on
// every system, or else where the system keeps such things. Below is relative to
// home; "" means that there is no place.
func (e Env) place(xdg, below string) string {
	s := e.system()
	if base := e.getenv(xdg); s.absolute(base) { // a relative one is to be ignored
		return s.join(base, folderName)
	}
	if s == windows {
		if base := e.getenv("LocalAppData"); s.absolute(base) {
			return s.join(base, folderName)
		}
		below = `AppData\Local`
	}
	if s == "darwin" {
		below = "Library/Application Support"
	}
	if !s.absolute(e.Home) {
		return ""
	}
	return s.join(e.Home, below, folderName)
}

// DefaultFile returns where the configuration is looked for when none is named, ""
// when there is no such place: $XDG_CONFIG_HOME/agentsync/config.yaml, by default
// below ~/.config; on macOS below ~/Library/Application Support and on Windows below
// %LocalAppData%.
func DefaultFile(env Env) string {
	folder := env.place("XDG_CONFIG_HOME", ".config")
	if folder == "" {
		return ""
	}
	return env.system().join(folder, fileName)
}

// stateFolder settles where this installation keeps its memory: as asked, or
// $XDG_STATE_HOME/agentsync, by default below ~/.local/state. On macOS and Windows
// it is the folder state beside the configuration.
func stateFolder(env Env) (string, error) {
	s := env.system()
	if asked := firstOf(env.State, env.getenv("AGENTSYNC_STATE")); asked != "" {
		folder, err := s.settle(asked, env.Dir, env.Home)
		if err != nil {
			return "", &SetupError{fmt.Errorf("place the state folder: %w", err), setStateHint + ", an absolute path"}
		}
		return folder, nil
	}
	folder := env.place("XDG_STATE_HOME", ".local/state")
	if folder == "" {
		return "", &SetupError{errors.New("place the state folder: there is no home folder"), setStateHint}
	}
	if (s == windows || s == "darwin") && !s.absolute(env.getenv("XDG_STATE_HOME")) {
		folder = s.join(folder, "state")
	}
	return folder, nil
}

// dataFolder is where the store lies when none is named: $XDG_DATA_HOME/agentsync, by
// default below ~/.local/share, apart from the state, so that the one can be deleted
// without the other. Whoever names a state folder keeps everything in it; so does a
// machine without a home.
func dataFolder(env Env, state string) string {
	folder := env.place("XDG_DATA_HOME", ".local/share")
	if folder == "" || firstOf(env.State, env.getenv("AGENTSYNC_STATE")) != "" {
		return state
	}
	return folder
}

func firstOf(values ...string) string {
	for _, value := range values {
		if value != "" {
			return value
		}
	}
	return ""
}
