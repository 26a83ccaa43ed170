package config

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"agentsync/collect"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// at is an environment with the given variables, as NAME=value.
func at(home string, variables ...string) Env {
	return Env{Home: home, Goos: "linux", Dir: "/folder", Getenv: func(name string) string {
		for _, variable := range variables {
			if key, value, _ := strings.Cut(variable, "="); key == name {
				return value
			}
		}
		return ""
	}}
}

func write(t testing.TB, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestEveryMistakeIsReportedWithItsLine(t *testing.T) {
	inputs, err := filepath.Glob("testdata/invalid/*.yaml")
	if err != nil || len(inputs) < 15 {
		t.Fatalf("%d inputs, %v", len(inputs), err)
	}
	for _, input := range inputs {
		t.Run(strings.TrimSuffix(filepath.Base(input), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(input)
			if err != nil {
				t.Fatal(err)
			}
			name := write(t, string(text))
			_, err = Load(name, at("/home/dev"))
			var invalid *InvalidError
			if !errors.As(err, &invalid) {
				t.Fatalf("no *InvalidError but %v", err)
			}
			got := strings.ReplaceAll(err.Error(), name, "config.yaml") + "\n"
			if strings.Contains(got, "secret") || strings.ContainsRune(got, 0x1b) {
				t.Errorf("a value or a control character shows:\n%s", got)
			}
			compareGolden(t, strings.TrimSuffix(input, ".yaml")+".golden", got)
		})
	}
}

func compareGolden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}

func TestAWholeFileIsReadAndSettled(t *testing.T) {
	name := write(t, `# every key
store: ../store
sources:
  - id: Claude
    driver: claude-agent-sdk
    enabled: false
    configDir: ~/.claude-work
    cwd: ~
    roots: [~/old/.claude, relative/./x, /mnt/../srv/y]
    symlinks: follow
    opener: [tools/open, --new]
    env: {A_TOKEN: "${HOME}", B: ""}
  - id: codex
    driver: codex-app-server
    codexBin: codex
    codexHome: /srv/codex/
    codexTransport: proxy
    codexSocket: run/codex.sock
    allowDangerFullAccess: true
  - id: opencode
    driver: acp
    command: [bin/opencode, acp, ~/untouched, ""]
    cwd:
checkouts: [~/src, .]
redact: off
`)
	folder := filepath.Dir(name)
	got, err := Load(name, at("/home/dev"))
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		File: name, State: "/home/dev/.local/state/agentsync",
		Store: StoreURL{Scheme: "file", Path: filepath.Join(filepath.Dir(folder), "store")},
		Sources: []collect.SourceConfig{
			{ID: "Claude", Driver: "claude-agent-sdk", ConfigDir: "/home/dev/.claude-work", Cwd: "/home/dev",
				Roots: []string{"/home/dev/old/.claude", folder + "/relative/x", "/srv/y"}, Symlinks: "follow",
				Opener: []string{folder + "/tools/open", "--new"},
				Env:    map[string]string{"A_TOKEN": "${HOME}", "B": ""}},
			{ID: "codex", Driver: "codex-app-server", Enabled: true, CodexBin: "codex", CodexHome: "/srv/codex",
				CodexTransport: "proxy", CodexSocket: folder + "/run/codex.sock", AllowDangerFullAccess: true},
			{ID: "opencode", Driver: "acp", Enabled: true, Command: []string{folder + "/bin/opencode", "acp", "~/untouched", ""}},
		},
		Checkouts: []string{"/home/dev/src", folder},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestAnEmptyFileIsAConfigurationWithoutSources(t *testing.T) {
	for _, text := range []string{"", "# only a comment\n", "---\n", "{}", "sources:\nstore:\nredact: ~\ncheckouts: null\n", "\xef\xbb\xbfredact: off\n"} {
		name := write(t, text)
		got, err := Load(name, at("/home/dev"))
		if err != nil || got.File != name || got.Sources != nil || got.Redact || got.Store.Path != "/home/dev/.local/share/agentsync/store" {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestWhereTheFileIsLookedFor(t *testing.T) {
	home := t.TempDir()
	place := filepath.Join(home, ".config", "agentsync", "config.yaml")
	named := write(t, "store: /named\n")
	t.Run("without a file there are no sources and no error", func(t *testing.T) {
		got, err := Load("", at(home))
		if err != nil || got.File != "" || got.Sources != nil || got.Redact {
			t.Errorf("%+v, %v", got, err)
		}
	})
	if err := os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(place, []byte("store: /standard\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct{ name, path, variable, wantStore string }{
		{"the standard place", "", "", "/standard"},
		{"the variable before the standard place", "", "AGENTSYNC_CONFIG=" + named, "/named"},
		{"the flag before the variable", place, "AGENTSYNC_CONFIG=" + named, "/standard"},
		{"the XDG folder", "", "XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "/standard"},
		{"a relative XDG folder is ignored", "", "XDG_CONFIG_HOME=other", "/standard"},
		{"below the home folder", "~/.config/agentsync/config.yaml", "", "/standard"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Load(c.path, at(home, c.variable))
			if err != nil || got.Store.Path != c.wantStore {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	t.Run("a relative name is relative to the working folder", func(t *testing.T) {
		env := at(home)
		env.Dir = filepath.Dir(named)
		if got, err := Load("config.yaml", env); err != nil || got.File != named {
			t.Errorf("%+v, %v", got, err)
		}
	})
}

func TestWhatCannotBeSetUpSaysWhatToType(t *testing.T) {
	ofStore := at("/home/dev", "AGENTSYNC_STORE=https://u:secret@example.com/x")
	noHome := at("")
	noDir := at("/home/dev", "AGENTSYNC_STATE=state")
	noDir.Dir = ""
	cases := []struct {
		name, path      string
		env             Env
		want, wantHint  string
		wantNotExisting bool
	}{
		{"a named file that is not there", "/nonexistent/c.yaml", at("/home/dev"),
			"read configuration: open /nonexistent/c.yaml: no such file or directory", "agentsync init --config /nonexistent/c.yaml", true},
		{"a variable that names no file", "", at("/home/dev", "AGENTSYNC_CONFIG=gone.yaml"),
			"read configuration: open /folder/gone.yaml: no such file or directory", "agentsync init --config /folder/gone.yaml", true},
		{"no home for the state", "", noHome, "place the state folder: there is no home folder", "--state DIR or AGENTSYNC_STATE=DIR", false},
		{"a relative state and no working folder", "", noDir,
			"place the state folder: a relative path, and no folder that it is relative to", "--state DIR or AGENTSYNC_STATE=DIR, an absolute path", false},
		{"a store that cannot be", "", ofStore,
			"name the store: an address holds no user or password; credentials come from the environment",
			"--store is a folder, file:///folder, or s3://bucket/prefix", false},
		{"a file below no home", "~/c.yaml", noHome, "read configuration ~/c.yaml: needs a home folder, and there is none", "--config FILE, an absolute path", false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load(c.path, c.env)
			var setup *SetupError
			if !errors.As(err, &setup) || err.Error() != c.want || setup.Hint != c.wantHint || errors.Is(err, fs.ErrNotExist) != c.wantNotExisting {
				t.Errorf("got %#v: %v\nhint %q", err, err, setup.Hint)
			}
		})
	}
}

func TestNoHomeIsNeededWhenStateAndStoreAreGiven(t *testing.T) {
	env := at("")
	env.State, env.Store = "state", "/srv/store"
	got, err := Load("", env)
	if err != nil || got.State != "/folder/state" || got.Store.Path != "/srv/store" || got.File != "" {
		t.Errorf("%+v, %v", got, err)
	}
	env = at("", "AGENTSYNC_STATE=/s")
	if got, err = Load("", env); err != nil || got.Store.Path != "/s/store" {
		t.Errorf("%+v, %v", got, err)
	}
	name := write(t, "checkouts: [~/src, /ok]\n")
	_, err = Load(name, env)
	if err == nil || !strings.HasSuffix(err.Error(), "config.yaml:1: checkouts[0]: needs a home folder, and there is none") {
		t.Errorf("a path below no home: %v", err)
	}
}

func TestTheFlagGoesBeforeTheVariableAndThatBeforeTheFile(t *testing.T) {
	name := write(t, "store: /file\n")
	env := at("/home/dev", "AGENTSYNC_STORE=rel", "AGENTSYNC_STATE=/variable")
	got, err := Load(name, env)
	if err != nil || got.Store.Path != "/folder/rel" || got.State != "/variable" {
		t.Errorf("variables: %+v, %v", got, err)
	}
	env.Store, env.State = "s3://bucket", "~/flag"
	got, err = Load(name, env)
	if err != nil || got.Store.Bucket != "bucket" || got.State != "/home/dev/flag" {
		t.Errorf("flags: %+v, %v", got, err)
	}
}

func TestAFileThatIsNoConfigurationIsRefused(t *testing.T) {
	if _, err := Load(t.TempDir(), at("/home/dev")); err == nil {
		t.Error("a folder was read")
	}
	name := write(t, "# "+strings.Repeat("x", maxFile)+"\n")
	if _, err := Load(name, at("/home/dev")); err == nil || !strings.Contains(err.Error(), "is larger than 1048576 bytes") {
		t.Errorf("a huge file: %v", err)
	}
}

func TestTheCallerMayNameItsDrivers(t *testing.T) {
	name := write(t, "sources: [{id: a, driver: dsh}]\n")
	env := at("/home/dev")
	if _, err := Load(name, env); err == nil {
		t.Error("an unknown driver was taken")
	}
	env.Drivers = []string{"dsh"}
	if _, err := Load(name, env); err != nil {
		t.Error(err)
	}
}

func BenchmarkLoad(b *testing.B) {
	text := Render(sample)
	name := write(b, string(text))
	env := at("/home/dev")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Load(name, env); err != nil {
			b.Fatal(err)
		}
	}
}
