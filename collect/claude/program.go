package claude

import (
	"maps"
	"path/filepath"
	"slices"

	"golang.org/x/text/unicode/norm"

	"agentsync/collect"
	"agentsync/collect/programs"
)

// protocolArgs make the program speak lines of JSON on its standard streams. Without
// --permission-prompt-tool it refuses by itself what would need somebody's permission.
var protocolArgs = []string{"--output-format", "stream-json", "--verbose", "--input-format", "stream-json"}

// entrypoint is what sessions record as the way they were begun. The client leaves
// sessions of sdk-ts, sdk-py and sdk-cli out of its lists for people; a session that a
// person began from afar belongs into them, and the client takes any other word.
const entrypoint = "sdk-go"

// passed are the variables that the program may need: where it lives, how it reaches the
// model's server, and as whom. A terminal is none of them.
var passed = []string{
	"HOME", "PATH", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "SSH_AUTH_SOCK",
	"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS",
	"SystemRoot", "SystemDrive", "ComSpec", "PATHEXT", "USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH",
	"APPDATA", "LOCALAPPDATA", "ProgramData", "ProgramFiles", "TEMP", "TMP",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS",
	"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_BETAS", "ANTHROPIC_CUSTOM_HEADERS",
	"ANTHROPIC_MODEL", "ANTHROPIC_SMALL_FAST_MODEL", "ANTHROPIC_DEFAULT_OPUS_MODEL",
	"ANTHROPIC_DEFAULT_SONNET_MODEL", "ANTHROPIC_DEFAULT_HAIKU_MODEL",
	"ANTHROPIC_BEDROCK_BASE_URL", "ANTHROPIC_VERTEX_BASE_URL", "ANTHROPIC_VERTEX_PROJECT_ID",
	"ANTHROPIC_FOUNDRY_API_KEY", "ANTHROPIC_FOUNDRY_BASE_URL", "ANTHROPIC_FOUNDRY_RESOURCE",
	"AWS_REGION", "AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
	"AWS_BEARER_TOKEN_BEDROCK", "CLOUD_ML_REGION", "GOOGLE_APPLICATION_CREDENTIALS",
	"CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX", "CLAUDE_CODE_USE_FOUNDRY",
	"CLAUDE_CODE_SKIP_BEDROCK_AUTH", "CLAUDE_CODE_SKIP_VERTEX_AUTH", "CLAUDE_CODE_MAX_OUTPUT_TOKENS",
	"CLAUDE_CODE_API_KEY_HELPER_TTL_MS", "CLAUDE_CODE_CLIENT_CERT", "CLAUDE_CODE_CLIENT_KEY",
	"CLAUDE_CODE_CLIENT_KEY_PASSPHRASE", "CLAUDE_CODE_PROJECT_DIR_NAME", "CLAUDE_CODE_GIT_BASH_PATH",
	"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER", "DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING",
	"API_TIMEOUT_MS", "IS_SANDBOX",
}

// environment is the program's, complete. What the configuration sets counts before what
// this process was given, and the folder that the source reads before both.
func (d *Driver) environment(root int) []string {
	vars := map[string]string{"CLAUDE_CODE_ENTRYPOINT": entrypoint}
	for _, name := range passed {
		if s := d.getenv(name); s != "" {
			vars[name] = s
		}
	}
	if d.env.Home != "" {
		vars["HOME"] = d.env.Home
	}
	maps.Copy(vars, d.config.Env)
	if dir, ok := d.folderToName(root); ok {
		vars["CLAUDE_CONFIG_DIR"] = dir
	}
	list := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		list = append(list, name+"="+vars[name])
	}
	return list
}

// folderToName is the configuration folder that the program must be told. Its standard
// one is not named: the client keeps its accounts elsewhere when it is.
func (d *Driver) folderToName(root int) (string, bool) {
	dir := d.roots[root].dir
	for _, set := range []string{d.config.Env["CLAUDE_CONFIG_DIR"], d.getenv("CLAUDE_CONFIG_DIR")} {
		if set != "" {
			return dir, true
		}
	}
	standard := d.env.Home != "" && dir == norm.NFC.String(filepath.Join(d.env.Home, ".claude"))
	return dir, !standard
}

func (d *Driver) getenv(name string) string {
	if d.env.Getenv == nil {
		return ""
	}
	return d.env.Getenv(name)
}

// program finds the program: the configured command, else claude in the search path.
func (d *Driver) program() (path string, args []string, problem *collect.Outcome) {
	name := "claude"
	if len(d.config.Command) > 0 {
		name, args = d.config.Command[0], slices.Clone(d.config.Command[1:])
	}
	if path = d.lookUp(name); path == "" {
		return "", nil, notInstalled(name)
	}
	return path, args, nil
}

// lookUp finds a program's file, "" for none.
func (d *Driver) lookUp(name string) string {
	search, ok := d.config.Env["PATH"]
	if !ok {
		search = d.getenv("PATH")
	}
	path, _ := programs.Find(name, search)
	return path
}

func notInstalled(name string) *collect.Outcome {
	return refused(collect.Failed, "claude-not-installed",
		"the program "+name+" was not found; name it with the source's key command:", true)
}
