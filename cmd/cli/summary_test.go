package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"agentsync/ledger/durable"
)

// TestEveryRunEndsWithOneSummary types what fails early, late and not at all.
func TestEveryRunEndsWithOneSummary(t *testing.T) {
	s := newShelf(t)
	s.write("empty/config.yaml", "sources: []\n")
	locked := func() func() {
		release, err := durable.Lock(t.Context(), durable.OS(), s.dir+"/state/"+publishLock, 0, durable.Holder{Verb: "another"})
		if err != nil {
			t.Fatal(err)
		}
		return func() { _ = release() }
	}
	for _, test := range []struct {
		typed string
		want  exitCode
		first func() func()
	}{
		{"publish", exitDone, nil},
		{"publish", exitLocked, locked},
		{"publish --session nosuch", exitFailed, nil},
		{"publish --require-nonempty --config " + s.dir + "/empty/config.yaml --state " + s.dir + "/other", exitFailed, nil},
		{"show nosuch", exitFailed, nil},
		{"nosuch", exitUsage, nil},
		{"ls --nosuch", exitUsage, nil},
		{"", exitUsage, nil},
		{"ls --state " + s.dir + "/none", exitNotSetUp, nil},
		{"version", exitDone, nil},
		{"docs markdown", exitDone, nil},
		{"completion bash", exitDone, nil},
		{"ls --help", exitDone, nil},
		{"doctor", exitDone, nil},
		{"init --dry-run", exitDone, nil},
	} {
		t.Run(test.typed, func(t *testing.T) {
			if test.first != nil {
				defer test.first()()
			}
			code, stdout, stderr := s.run(append(strings.Fields(test.typed), "--json")...)
			if code != test.want {
				t.Fatalf("exit %d, want %d: %s", code, test.want, stderr)
			}
			types := s.objects(stdout)
			lines := strings.Split(strings.TrimSpace(stdout), "\n")
			var last struct {
				Exit *exitCode `json:"exit"`
			}
			if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || last.Exit == nil || *last.Exit != code {
				t.Errorf("the last line is %s", lines[len(lines)-1])
			}
			for i, kind := range types {
				if (kind == "summary") != (i == len(types)-1) {
					t.Errorf("objects %q", types)
				}
			}
			if code != exitDone && !strings.Contains(stdout, `"message_type":"error"`) {
				t.Errorf("exit %d without an error object: %s", code, stdout)
			}
		})
	}
}
