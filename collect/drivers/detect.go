package drivers

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"agentsync/collect"
)

// Found is one agent's standard folder on this machine.
type Found struct {
	Config collect.SourceConfig // a source that reads it
	Folder string               // where it was looked for, "" when no place is known
	Exists bool
	Err    error // why it cannot be told whether the folder exists, nil if it can
}

// agent is where one agent keeps its sessions.
type agent struct {
	id, driver string
	variable   string // environment variable that names the folder
	standard   string // below the person's home folder
	place      func(*collect.SourceConfig, string)
}

var agents = []agent{
	{"claude", Claude, "CLAUDE_CONFIG_DIR", ".claude", func(c *collect.SourceConfig, dir string) { c.ConfigDir = dir }},
	{"codex", Codex, "CODEX_HOME", ".codex", func(c *collect.SourceConfig, dir string) { c.CodexHome = dir }},
}

// Detect looks for the folders of all agents that this version can read, in a fixed
// order, whether they exist or not. A folder that an environment variable names is
// written into the source, so that the source means the same without the variable. A
// folder that is a link to nothing cannot be read: its target may be a missing mount.
func Detect(env collect.Env) []Found {
	list := make([]Found, len(agents))
	for i, a := range agents {
		list[i] = a.look(env)
	}
	return list
}

func (a agent) look(env collect.Env) Found {
	f := Found{Config: collect.SourceConfig{ID: a.id, Driver: a.driver, Enabled: true}}
	if env.Getenv != nil {
		f.Folder = env.Getenv(a.variable)
	}
	switch {
	case f.Folder != "":
		a.place(&f.Config, f.Folder)
	case env.Home != "":
		f.Folder = filepath.Join(env.Home, a.standard)
	default:
		return f
	}
	info, err := os.Stat(f.Folder)
	if errors.Is(err, fs.ErrNotExist) {
		if _, broken := os.Lstat(f.Folder); broken != nil {
			return f
		}
	}
	f.Exists, f.Err = err == nil && info.IsDir(), err
	return f
}
