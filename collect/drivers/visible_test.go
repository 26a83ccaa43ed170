package drivers_test

import (
	"path/filepath"
	"slices"
	"testing"

	"agentsync/collect"
	"agentsync/collect/drivers"
)

func TestOnlyAClientThatHidesMessagesHasAVisibleConversation(t *testing.T) {
	lines := []string{
		`{"type":"user","uuid":"1","parentUuid":null,"message":{"role":"user","content":"a"}}`,
		`{"type":"assistant","uuid":"2","parentUuid":"1","message":{"role":"assistant","content":"b"}}`,
		`{"type":"assistant","uuid":"3","parentUuid":"1","message":{"role":"assistant","content":"c"}}`,
		`{"type":"summary"}`,
	}
	events := func(yield func(int, []byte) bool) {
		for i, line := range lines {
			if !yield(i, []byte(line)) {
				return
			}
		}
	}
	visible, ok := drivers.VisibleOf(drivers.Claude, events, drivers.Transcript{Size: 400})
	if !ok || !slices.Equal(visible.Events, []int{0, 2}) || len(visible.Compacted) > 0 {
		t.Errorf("%+v, %v", visible, ok)
	}
	if _, ok := drivers.VisibleOf(drivers.Codex, events, drivers.Transcript{}); ok {
		t.Error("the other client hides nothing")
	}
}

func TestTheFolderOfASource(t *testing.T) {
	variables := map[string]string{"CLAUDE_CONFIG_DIR": "/env/claude", "CODEX_HOME": "/env/codex"}
	for _, row := range []struct {
		name      string
		cfg       collect.SourceConfig
		home      string
		variables map[string]string
		want      string
	}{
		{"the first root", collect.SourceConfig{Driver: drivers.Claude, Roots: []string{"/r1", "/r2"}, ConfigDir: "/c"}, "/home/dev", variables, "/r1"},
		{"the configured folder", collect.SourceConfig{Driver: drivers.Claude, ConfigDir: "/c"}, "/home/dev", variables, "/c"},
		{"the other's configured folder", collect.SourceConfig{Driver: drivers.Codex, CodexHome: "/x", ConfigDir: "/c"}, "/home/dev", variables, "/x"},
		{"the source's own variable", collect.SourceConfig{Driver: drivers.Codex, Env: map[string]string{"CODEX_HOME": "/own"}}, "/home/dev", variables, "/own"},
		{"the variable", collect.SourceConfig{Driver: drivers.Codex}, "/home/dev", variables, "/env/codex"},
		{"the standard one", collect.SourceConfig{Driver: drivers.Claude}, "/home/dev", nil, filepath.Join("/home/dev", ".claude")},
		{"none without a home", collect.SourceConfig{Driver: drivers.Claude}, "", nil, ""},
		{"none of an unknown agent", collect.SourceConfig{Driver: drivers.ACP}, "/home/dev", variables, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := drivers.Folder(row.cfg, env(row.home, row.variables)); got != row.want {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}
