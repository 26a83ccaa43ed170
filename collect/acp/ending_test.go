package acp

import (
	"runtime"
	"strings"
	"testing"

	"agentsync/collect"
)

func TestAnAgentThatEndsIsToldWithItsExitCodeAndLastWords(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the agent is a shell script")
	}
	for name, script := range map[string]string{
		"before it answers": `echo "cannot read agent.json, token=abc" >&2; exit 7`,
		"when it is asked":  `read request; echo "cannot read agent.json, token=abc" >&2; exit 7`,
	} {
		d, err := New(collect.SourceConfig{ID: "agent", Driver: Kind, Command: []string{"/bin/sh", "-c", script}},
			collect.Env{Now: now, Home: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		d.limits = newStage(t, "").limits
		err = d.Start(t.Context())
		if err == nil {
			t.Fatalf("%s: it is taken for an agent", name)
		}
		for _, want := range []string{"exit code 7", "cannot read agent.json"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q is not in: %v", name, want, err)
			}
		}
		if strings.Contains(err.Error(), "abc") {
			t.Errorf("%s: a credential stands in: %v", name, err)
		}
		if err := d.Stop(); err != nil {
			t.Error(err)
		}
	}
}
