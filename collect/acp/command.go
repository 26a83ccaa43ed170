package acp

import (
	"slices"

	"agentsync/collect"
	"agentsync/collect/programs"
	"agentsync/collect/stdio"
)

// passed are the variables that an agent gets from the environment of the pass: where
// its files and programs are, how to reach the network, which language to speak. All
// others, credentials above all, stand in the source's configuration.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LC_ALL", "LC_CTYPE",
	"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	"SystemRoot", "SystemDrive", "ComSpec", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "APPDATA", "LOCALAPPDATA",
	"ProgramData", "ProgramFiles",
}

// commandOf is the source's program with a complete environment.
func commandOf(cfg collect.SourceConfig, env collect.Env) (stdio.Command, error) {
	variables := map[string]string{}
	for _, name := range passed {
		if env.Getenv == nil {
			break
		}
		if text := env.Getenv(name); text != "" {
			variables[name] = text
		}
	}
	for name, text := range cfg.Env {
		variables[name] = text
	}
	path, err := programs.Find(cfg.Command[0], variables["PATH"])
	if err != nil {
		return stdio.Command{}, err
	}
	c := stdio.Command{Path: path, Args: cfg.Command[1:], Dir: cfg.Cwd}
	if c.Dir == "" {
		c.Dir = env.Home
	}
	for name, text := range variables {
		c.Env = append(c.Env, name+"="+text)
	}
	slices.Sort(c.Env)
	return c, nil
}
