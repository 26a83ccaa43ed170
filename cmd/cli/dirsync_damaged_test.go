package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestADamagedBindingIsItsOwnMatter(t *testing.T) {
	for _, row := range []struct {
		file, content string
		applying      bool // a plan is applying when the file is damaged
	}{
		{file: "binding.json", content: "{"},
		{file: "binding.json", content: ""},
		{file: "binding.json", content: `{"id":"another"}`},
		{file: "state.json", content: "{"},
		{file: "plan.json", content: "{", applying: true},
		{file: "progress.log", content: "{\n", applying: true},
	} {
		t.Run(strings.TrimSpace(row.file+" "+row.content), func(t *testing.T) {
			b := newBench(t)
			fill(t, b.here, 5, 0)
			b.bind()
			p := b.run(0, "preview", "here")
			folder := filepath.Join(b.dir, "state", "dirsync", "here")
			if row.applying {
				b.damage(filepath.Join(folder, "state.json"), `{"plan":"`+p.Plan+`","phase":"applying","upload":"pending"}`)
				b.run(6, "unbind", "here")
			}
			b.damage(filepath.Join(folder, row.file), row.content)

			b.run(0, "preview", "there")
			third := filepath.Join(b.dir, "third")
			if err := os.Mkdir(third, 0o755); err != nil {
				t.Fatal(err)
			}
			b.run(0, "bind", third, "notes", "--id", "third", "--direction", "both")
			b.run(0, "preview", "third")
			if !row.applying {
				if s := b.run(12, "preview", "here"); !strings.Contains(s.text, row.file) || !strings.Contains(s.text, `agentsync dirsync unbind here"`) {
					t.Errorf("%s%s", s.text, s.errors)
				}
			}
			if row.file != "progress.log" { // which is read where something is carried out
				for _, verb := range []string{"ls", "status"} {
					if s := b.run(12, verb); !strings.Contains(s.text, `"damaged"`) || strings.Count(s.text, `"message_type":"binding"`) != 3 {
						t.Errorf("%s: %s%s", verb, s.text, s.errors)
					}
				}
				if s := b.run(12, "status", "here"); !strings.Contains(s.text, "unbind here") {
					t.Errorf("%s", s.text)
				}
				b.doctor("agentsync dirsync unbind here")
			}

			b.run(0, "unbind", "here")
			b.run(0, "bind", b.here, "notes", "--id", "here", "--direction", "both")
			b.run(0, "apply", b.run(0, "preview", "here").Plan)
			b.run(0, "ls")
		})
	}
}

func TestAnIDIsNoPath(t *testing.T) {
	b := newBench(t)
	b.bind()
	b.run(1, "unbind", "here/../there")
	b.run(1, "status", "../dirsync/here")
	b.run(0, "status", "here")
}

func (b *bench) damage(path, content string) {
	b.t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// doctor looks for a hint among the checks of a doctor.
func (b *bench) doctor(hint string) {
	b.t.Helper()
	cmd := b.command(b.t.Context())
	cmd.Args[len(cmd.Args)-1] = "doctor"
	var out bytes.Buffer
	cmd.Stdout = &out
	_ = cmd.Run() // what a doctor finds is its exit code
	for line := range strings.Lines(out.String()) {
		var check struct{ Hint string }
		if json.Unmarshal([]byte(line), &check) == nil && strings.HasSuffix(check.Hint, hint) {
			return
		}
	}
	b.t.Errorf("no check says %q:\n%s", hint, out.String())
}
