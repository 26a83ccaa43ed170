package codex

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"

	"agentsync/collect"
	"agentsync/collect/stdio"
)

// How the app server is reached (seed: launch modes).
const (
	transportStdio   = "stdio"   // a server of our own, newline JSON on its streams
	transportManaged = "managed" // the person's daemon, started when it is not running
	transportProxy   = "proxy"   // a server that is running already
)

// launch says how to reach the app server. Looking for the program is left to the
// moment of starting it.
type launch struct {
	transport string
	home      string   // of the agent
	program   string   // a path, or a name to look for
	args      []string // of the program that is spoken with
	prepare   []string // arguments of a run that must succeed before; nil for none
	framed    bool     // its streams carry WebSocket frames, not lines
	dir       string
	env       []string // complete
	search    string   // list of folders that a name is looked for in
	hint      string   // what a person runs to see why it does not start
}

// newLaunch derives the launch of a source. Its first root is the agent's home where none
// is configured. It looks at no file.
func newLaunch(cfg collect.SourceConfig, env collect.Env, root string) (launch, error) {
	l := launch{transport: cfg.CodexTransport, program: "codex", dir: cfg.Cwd, hint: "codex app-server", home: root}
	if cfg.CodexHome != "" {
		l.home = filepath.Clean(cfg.CodexHome)
	}
	if cfg.CodexBin != "" {
		l.program = cfg.CodexBin
	}
	l.env, l.search = environment(cfg, env, l.home)
	if l.dir == "" {
		l.dir = env.Home
	}
	switch l.transport {
	case "", transportStdio:
		l.transport = transportStdio
		l.args = []string{"app-server", "--listen", "stdio://"}
	case transportManaged:
		l.prepare = []string{"app-server", "daemon", "start"}
		l.args, l.framed, l.hint = []string{"app-server", "proxy"}, true, "codex app-server daemon start"
	case transportProxy:
		l.args, l.framed, l.hint = []string{"app-server", "proxy"}, true, "codex app-server daemon version"
		if cfg.CodexSocket != "" {
			l.args = append(l.args, "--sock", cfg.CodexSocket)
		}
	default:
		return launch{}, fmt.Errorf("codexTransport is %q, not stdio, managed or proxy", l.transport)
	}
	if len(cfg.Command) > 0 {
		l.transport, l.framed, l.prepare = transportStdio, false, nil
		l.program, l.args, l.hint = cfg.Command[0], cfg.Command[1:], "the source's command"
	}
	return l, nil
}

// shared reports a server that is not ours alone: it outlives the connection, and other
// programs use it.
func (l launch) shared() bool { return l.transport != transportStdio }

// passed are the variables that the agent may see of the process's environment. All
// others have to stand in the source's own env: a variable that a provider's env_key
// names, for one.
var passed = []string{
	"HOME", "PATH", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LC_ALL", "LC_CTYPE",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR",
	"OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORGANIZATION", "OPENAI_PROJECT",
	"CODEX_API_KEY", "CODEX_ACCESS_TOKEN", "CODEX_CA_CERTIFICATE", "CODEX_SQLITE_HOME", "CODEX_OSS_PORT", "CODEX_OSS_BASE_URL",
}

// passedWindows are those without which no program runs on Windows.
var passedWindows = []string{
	"SystemRoot", "SystemDrive", "ComSpec", "PATHEXT", "TEMP", "TMP", "USERPROFILE", "APPDATA", "LOCALAPPDATA",
	"ProgramData", "ProgramFiles",
}

// environment is the agent's complete environment, and its list of folders of programs.
func environment(cfg collect.SourceConfig, env collect.Env, home string) (list []string, search string) {
	entries := map[string]string{}
	names := passed
	if runtime.GOOS == "windows" {
		names = append(slices.Clone(passed), passedWindows...)
	}
	for _, name := range names {
		if env.Getenv == nil {
			break
		}
		if text := env.Getenv(name); text != "" {
			entries[name] = text
		}
	}
	if entries["HOME"] == "" && env.Home != "" {
		entries["HOME"] = env.Home
	}
	for name, text := range cfg.Env {
		entries[name] = text
	}
	// A home that is named must exist; the standard one the agent makes by itself.
	if env.Home == "" || home != filepath.Join(env.Home, ".codex") {
		entries["CODEX_HOME"] = home
	}
	for name, text := range entries {
		list = append(list, name+"="+text)
	}
	slices.Sort(list)
	return list, entries["PATH"]
}

// command is the program to run with some arguments.
func (l launch) command(path string, args []string) stdio.Command {
	return stdio.Command{Path: path, Args: args, Dir: l.dir, Env: l.env}
}
