package drivers

import (
	"path/filepath"
	"time"

	"agentsync/collect"
	"agentsync/collect/claude"
)

// Folder is where the agent of a source keeps its files: the first folder that the
// configuration names, or the one that the environment names, or the standard one.
// It is "" when no place is known or this version cannot read the source. Nothing is
// looked at on the disk.
func Folder(cfg collect.SourceConfig, env collect.Env) string {
	for _, a := range agents {
		if a.driver == cfg.Driver {
			return a.folder(cfg, env)
		}
	}
	return ""
}

// CleanUpAfter is the age at which the agent of a driver kind removes a session's files by
// itself, when they lie in its folder; 0 when it removes none.
func CleanUpAfter(kind, folder string) time.Duration {
	if kind != Claude {
		return 0
	}
	return claude.CleanUpAfter(folder)
}

// Named reports that a source's configuration names its folders itself. It is true of every
// source whose folder this version does not look for.
func Named(cfg collect.SourceConfig) bool {
	for _, a := range agents {
		if a.driver == cfg.Driver {
			return a.folder(cfg, collect.Env{}) != ""
		}
	}
	return true
}

// At returns the source with folders for its own.
func At(cfg collect.SourceConfig, folders []string) collect.SourceConfig {
	for _, a := range agents {
		if a.driver == cfg.Driver && len(folders) == 1 {
			a.place(&cfg, folders[0])
			return cfg
		}
	}
	cfg.Roots = folders
	return cfg
}

func (a agent) folder(cfg collect.SourceConfig, env collect.Env) string {
	if len(cfg.Roots) > 0 {
		return cfg.Roots[0]
	}
	named := []string{cfg.ConfigDir, cfg.Env[a.variable]}
	if a.driver == Codex {
		named[0] = cfg.CodexHome
	}
	if env.Getenv != nil {
		named = append(named, env.Getenv(a.variable))
	}
	for _, folder := range named {
		if folder != "" {
			return folder
		}
	}
	if env.Home == "" {
		return ""
	}
	return filepath.Join(env.Home, a.standard)
}
