package drivers_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/collect/drivers"
)

func env(home string, variables map[string]string) collect.Env {
	return collect.Env{Home: home, Now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC),
		Getenv: func(name string) string { return variables[name] }}
}

func TestADriverForEveryKnownKind(t *testing.T) {
	for _, kind := range drivers.Kinds() {
		d, err := drivers.New(collect.SourceConfig{ID: " My:Source ", Driver: kind, Command: []string{"agent"}}, env(t.TempDir(), nil))
		if err != nil {
			t.Fatal(kind, err)
		}
		if s := d.Source(); s.ID != "my:source" || s.Driver != kind || !s.Capabilities.Inventory || !s.Capabilities.Read {
			t.Errorf("%s: source %+v", kind, s)
		}
	}
	if !slices.Equal(drivers.Kinds(), []string{"acp", "claude-agent-sdk", "codex-app-server"}) {
		t.Errorf("kinds %q", drivers.Kinds())
	}
}

func TestEveryDriverNamesASourceByTheOneRule(t *testing.T) {
	for _, kind := range drivers.Kinds() {
		for _, id := range []string{"claude", " Claude\u00a0", "ΟΔΟΣ", "İstanbul", "ΑΣ ΒΣ", "Straße", "\ufeffa", "", " ", "a\x00b", "\xff"} {
			want, wrong := collect.SourceID(id)
			d, err := drivers.New(collect.SourceConfig{ID: id, Driver: kind, Command: []string{"agent"}}, env(t.TempDir(), nil))
			if (err != nil) != (wrong != nil) {
				t.Errorf("%s, %q: %v; the rule says %v", kind, id, err, wrong)
			} else if err == nil && d.Source().ID != want {
				t.Errorf("%s, %q: is %q, want %q", kind, id, d.Source().ID, want)
			}
		}
	}
}

func TestAnUnknownDriverIsAnErrorThatNamesTheKnownOnes(t *testing.T) {
	for _, row := range []struct {
		kind    string
		planned bool
		says    string
	}{
		{"dsh", true, "not yet supported"}, {"cells", true, "not yet supported"},
		{"codex", false, "unknown driver"}, {"", false, "unknown driver"},
	} {
		d, err := drivers.New(collect.SourceConfig{ID: "s", Driver: row.kind}, env("/home/dev", nil))
		var unknown *drivers.UnknownError
		if d != nil || !errors.As(err, &unknown) || unknown.Planned != row.planned {
			t.Errorf("%q: %v, %v", row.kind, d, err)
			continue
		}
		if text := err.Error(); !strings.Contains(text, row.says) || !strings.Contains(text, "acp, claude-agent-sdk, codex-app-server") {
			t.Errorf("%q: %s", row.kind, text)
		}
	}
}

func TestADriverThatCannotBeConfiguredIsNil(t *testing.T) {
	for _, kind := range drivers.Kinds() {
		if d, err := drivers.New(collect.SourceConfig{ID: "\x00", Driver: kind}, env("/home/dev", nil)); err == nil || d != nil {
			t.Errorf("%s: %v, %v", kind, d, err)
		}
	}
}

func TestAgentsAreFoundInTheirStandardFolders(t *testing.T) {
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, ".codex"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Run("below the home folder", func(t *testing.T) {
		list := drivers.Detect(env(home, nil))
		if len(list) != 2 || list[0].Config.ID != "claude" || list[1].Config.ID != "codex" {
			t.Fatalf("found %+v", list)
		}
		if list[0].Exists || list[0].Folder != filepath.Join(home, ".claude") || list[0].Err != nil {
			t.Errorf("claude %+v", list[0])
		}
		if !list[1].Exists || list[1].Config.CodexHome != "" || !list[1].Config.Enabled {
			t.Errorf("codex %+v", list[1])
		}
	})
	t.Run("where the environment says", func(t *testing.T) {
		list := drivers.Detect(env(home, map[string]string{"CLAUDE_CONFIG_DIR": home, "CODEX_HOME": filepath.Join(home, "none")}))
		if !list[0].Exists || list[0].Config.ConfigDir != home {
			t.Errorf("claude %+v", list[0])
		}
		if list[1].Exists || list[1].Config.CodexHome != filepath.Join(home, "none") {
			t.Errorf("codex %+v", list[1])
		}
	})
	t.Run("nowhere without a home", func(t *testing.T) {
		for _, f := range drivers.Detect(env("", nil)) {
			if f.Exists || f.Folder != "" {
				t.Errorf("found %+v", f)
			}
		}
	})
	t.Run("behind a link, which is followed", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("links need a privilege here")
		}
		other := t.TempDir()
		if err := os.Symlink(filepath.Join(home, ".codex"), filepath.Join(other, ".codex")); err != nil {
			t.Fatal(err)
		}
		f := drivers.Detect(env(other, nil))[1]
		if !f.Exists || f.Err != nil {
			t.Errorf("found %+v", f)
		}
		if err := os.Symlink(filepath.Join(other, "unmounted"), filepath.Join(other, ".claude")); err != nil {
			t.Fatal(err)
		}
		if f := drivers.Detect(env(other, nil))[0]; f.Exists || f.Err == nil {
			t.Errorf("behind a link to nothing: found %+v", f)
		}
	})
	t.Run("a file is no folder", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if f := drivers.Detect(env("", map[string]string{"CODEX_HOME": file}))[1]; f.Exists {
			t.Errorf("found %+v", f)
		}
	})
}

func TestASourceIsPutWhereItLies(t *testing.T) {
	for _, c := range []struct {
		cfg  collect.SourceConfig
		want bool
	}{
		{collect.SourceConfig{Driver: drivers.Claude}, false},
		{collect.SourceConfig{Driver: drivers.Claude, ConfigDir: "/a"}, true},
		{collect.SourceConfig{Driver: drivers.Codex, CodexHome: "/a"}, true},
		{collect.SourceConfig{Driver: drivers.Codex, Env: map[string]string{"CODEX_HOME": "/a"}}, true},
		{collect.SourceConfig{Driver: drivers.Claude, Roots: []string{"/a"}}, true},
		{collect.SourceConfig{Driver: drivers.ACP}, true},
	} {
		if got := drivers.Named(c.cfg); got != c.want {
			t.Errorf("%+v: named %v", c.cfg, got)
		}
	}
	one := drivers.At(collect.SourceConfig{Driver: drivers.Claude}, []string{"/a"})
	two := drivers.At(collect.SourceConfig{Driver: drivers.Codex}, []string{"/a", "/b"})
	if one.ConfigDir != "/a" || len(one.Roots) != 0 || !slices.Equal(two.Roots, []string{"/a", "/b"}) {
		t.Errorf("one %+v, two %+v", one, two)
	}
}

func TestADriverNamesThePlacesItRestoresTo(t *testing.T) {
	for _, kind := range drivers.Kinds() {
		restores := drivers.Restores(kind)
		if restores == nil {
			t.Fatalf("%s names none", kind)
		}
		for path, want := range map[string]string{
			"projects/-a/x.jsonl":                 drivers.Claude,
			"projects/-a/x/tool-results/y.txt":    drivers.Claude,
			"projects/-a/memory/notes.md":         drivers.Claude,
			"projects/x.jsonl":                    "",
			"projects/":                           "",
			"projects":                            "",
			"settings.json":                       "",
			".credentials.json":                   "",
			"sessions/2026/01/02/rollout-a.jsonl": drivers.Codex,
			"archived_sessions/rollout-a.jsonl":   drivers.Codex,
			"session_index.jsonl":                 drivers.Codex + drivers.ACP,
			"sessions":                            "",
			"auth.json":                           "",
			"config.toml":                         "",
			"one.jsonl":                           drivers.ACP,
			"%2F..%2Fone.jsonl":                   drivers.ACP,
			"%6Fne.jsonl":                         "",
			"a b.jsonl":                           "",
			"one.txt":                             "",
		} {
			if restores(path) != strings.Contains(want, kind) {
				t.Errorf("%s restores to %s: %t", kind, path, restores(path))
			}
		}
	}
	if drivers.Restores("unknown") != nil {
		t.Error("a driver that is not there names places")
	}
}
