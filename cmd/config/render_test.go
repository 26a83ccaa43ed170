package config

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"agentsync/collect"
)

var sample = File{
	Store: "s3://bucket/prefix?endpoint=http://127.0.0.1:8333",
	Sources: []collect.SourceConfig{
		{ID: "claude", Driver: "claude-agent-sdk", Enabled: true, Opener: []string{"xdg-open"}},
		{ID: "12", Driver: "codex-app-server", CodexHome: "/home/dev/.codex home", CodexBin: "codex", CodexTransport: "proxy",
			CodexSocket: "/run/x", AllowDangerFullAccess: true, Symlinks: "skip"},
		{ID: "opencode", Driver: "acp", Enabled: true, Command: []string{"opencode", "acp", "", "- x", "#", "on", "1.5", "~", "a: b", `"\`},
			Cwd: "~/src/app", ConfigDir: `C:\Users\dev`, Roots: []string{"/a,b", "/größe", "/\x7f\u2028\U0001F600\u0085"},
			Env: map[string]string{"B": "line\nbreak", "A": "null", "C": ""}},
	},
	Checkouts: []string{"~/src", "/srv/[x]"},
	Redact:    "off",
}

func TestARenderedFileReadsBackTheSame(t *testing.T) {
	for name, file := range map[string]File{"empty": {}, "all": sample} {
		t.Run(name, func(t *testing.T) {
			text := Render(file)
			got, err := Parse("config.yaml", text, Env{})
			if err != nil || !reflect.DeepEqual(got, file) {
				t.Errorf("%v\ngot  %+v\nwant %+v\n%s", err, got, file, text)
			}
			compareGolden(t, "testdata/render-"+name+".golden", string(text))
		})
	}
}

func FuzzRender(f *testing.F) {
	f.Add("claude", "~/src", "value", "program")
	f.Add("on", "2024-01-01", "0x1f", "<<")
	f.Add("\u00e9\x01", "\"\\\n", " lead and trail ", "!tag")
	f.Fuzz(func(t *testing.T, id, path, value, program string) {
		id, path = "a"+strings.Map(printable, id), "/"+path
		for _, text := range []string{id, path, value, program} {
			if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
				t.Skip("such a text is refused when it is read")
			}
		}
		if program == "" || len(id) > maxSourceID {
			t.Skip("such a text is refused when it is read")
		}
		file := File{Store: path, Checkouts: []string{path}, Sources: []collect.SourceConfig{
			{ID: id, Driver: "acp", Enabled: true, Command: []string{program, value}, Env: map[string]string{"A": value, "b" + strings.ReplaceAll(value, "=", ""): program}}}}
		text := Render(file)
		got, err := Parse("c", text, Env{})
		if err != nil || !reflect.DeepEqual(got, file) {
			t.Errorf("%v\n%s", err, text)
		}
	})
}

func printable(r rune) rune {
	if r < ' ' || r >= 0x7f && r < 0xa0 {
		return -1
	}
	return r
}

func FuzzParse(f *testing.F) {
	f.Add(string(Render(sample)))
	for _, seed := range []string{"", "---\n", "a: &x [*x]\n", "sources: [{id: a, driver: acp, command: [x]}]\n", "? [a]\n: b\n", "sources:\n- <<: {id: a}\n",
		"!!binary x: !!float y\n", "store: !!str\n", "\"\\x00\": 1\n", "sources: [[[[{{{", "%YAML 9.9\n---\na", "sources: &a\n  - *a\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse("c", []byte(text), Env{})
		if err != nil {
			for _, p := range err.(*InvalidError).Problems {
				if p.Message == "" || strings.ContainsFunc(p.Key, func(r rune) bool { return r < ' ' }) {
					t.Errorf("%q: %+v", text, p)
				}
			}
			return
		}
		again, err := Parse("c", Render(file), Env{})
		if err != nil || !reflect.DeepEqual(normal(again), normal(file)) {
			t.Errorf("%q reads as %+v, rendered as %+v, %v", text, file, again, err)
		}
	})
}

// normal takes away the difference between an empty list and none.
func normal(f File) File {
	f.Sources = append([]collect.SourceConfig(nil), f.Sources...)
	if len(f.Checkouts) == 0 {
		f.Checkouts = nil
	}
	for i := range f.Sources {
		s := &f.Sources[i]
		if len(s.Env) == 0 {
			s.Env = nil
		}
	}
	return f
}
