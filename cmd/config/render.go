package config

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"agentsync/collect"
)

const renderHead = `# agentsync reads this file; every key is optional. Relative paths are relative to
# this folder, and ~/ is the home folder. A key that is not known is an error.

`

const renderStore = `# Where sessions are published to: a folder, file:///folder, or
# s3://bucket/prefix?endpoint=http://127.0.0.1:8333 (credentials come from the
# environment). Without it, a folder beside this installation's memory.
`

const renderSources = `
# The agents whose sessions are kept. An id names a source for good: two machines
# that publish to one store never share one. Reading needs no agent; remote commands
# run its program: command: [program, argument] says which when it is not on PATH.
# allowDangerFullAccess: true lets what they start do everything; opener: [xdg-open]
# starts sessions of Claude in its app.
`

const renderNoSources = `# sources:
#   - id: claude
#     driver: claude-agent-sdk
`

const renderCheckouts = `
# Folders below which Git checkouts are found.
`

const renderRedact = `
# Whether secrets are masked before anything is stored. This version masks nothing.
`

// Render writes a configuration file with comments, always the same for the same
// File; Parse reads it back as that File. Of a source only what differs from its
// defaults is written. Text that is not valid UTF-8 cannot be written in YAML; what
// is wrong in it is replaced.
func Render(file File) []byte {
	var b strings.Builder
	b.WriteString(renderHead + renderStore)
	if file.Store != "" {
		b.WriteString("store: " + scalar(file.Store) + "\n")
	} else {
		b.WriteString("# store: file:///srv/agent-sessions\n")
	}
	b.WriteString(renderSources)
	if len(file.Sources) == 0 {
		b.WriteString(renderNoSources)
	} else {
		b.WriteString("sources:\n")
		for _, source := range file.Sources {
			renderSource(&b, source)
		}
	}
	b.WriteString(renderCheckouts)
	if len(file.Checkouts) > 0 {
		b.WriteString("checkouts: " + flow(file.Checkouts) + "\n")
	} else {
		b.WriteString("# checkouts: [~/src]\n")
	}
	b.WriteString(renderRedact)
	if file.Redact != "" {
		b.WriteString("redact: " + scalar(file.Redact) + "\n")
	} else {
		b.WriteString("# redact: off\n")
	}
	return []byte(b.String())
}

func renderSource(b *strings.Builder, s collect.SourceConfig) {
	lead := "  - "
	line := func(key, value string) {
		if value != "" {
			b.WriteString(lead + key + ": " + value + "\n")
			lead = "    "
		}
	}
	text := func(key, value string) {
		if value != "" {
			line(key, scalar(value))
		}
	}
	list := func(key string, values []string) {
		if len(values) > 0 {
			line(key, flow(values))
		}
	}
	line("id", scalar(s.ID))
	line("driver", scalar(s.Driver))
	if !s.Enabled { // enabled is the default
		line("enabled", "false")
	}
	list("command", s.Command)
	text("cwd", s.Cwd)
	if len(s.Env) > 0 {
		var pairs []string
		for _, name := range slices.Sorted(maps.Keys(s.Env)) {
			pairs = append(pairs, scalar(name)+": "+scalar(s.Env[name]))
		}
		line("env", "{"+strings.Join(pairs, ", ")+"}")
	}
	text("configDir", s.ConfigDir)
	text("codexBin", s.CodexBin)
	text("codexHome", s.CodexHome)
	text("codexTransport", s.CodexTransport)
	text("codexSocket", s.CodexSocket)
	if s.AllowDangerFullAccess {
		line("allowDangerFullAccess", "true")
	}
	list("opener", s.Opener)
	list("roots", s.Roots)
	text("symlinks", s.Symlinks)
}

// flow writes a list on one line.
func flow(values []string) string {
	words := make([]string, len(values))
	for i, value := range values {
		words[i] = scalar(value)
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// scalar writes a text plainly where YAML reads that as the same text, else in
// double quotes.
func scalar(text string) string {
	if isPlain(text) {
		return text
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case strconv.IsPrint(r):
			b.WriteRune(r)
		case r <= 0xff:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func isPlain(text string) bool {
	if text == "" || strings.ContainsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/_.~:@%?=&+-", r))
	}) {
		return false
	}
	var inList []yaml.Node
	var asValue map[string]yaml.Node
	return yaml.Unmarshal([]byte("["+text+"]"), &inList) == nil && len(inList) == 1 && isText(inList[0], text) &&
		yaml.Unmarshal([]byte("key: "+text), &asValue) == nil && len(asValue) == 1 && isText(asValue["key"], text)
}

// isText reports that YAML reads a node as exactly this text.
func isText(node yaml.Node, text string) bool {
	return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!str" && node.Value == text
}
