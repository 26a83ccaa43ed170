package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"gopkg.in/yaml.v3"

	"agentsync/collect"
)

var (
	fileKeys   = []string{"store", "sources", "checkouts", "redact"}
	sourceKeys = []string{"id", "driver", "enabled", "command", "cwd", "env", "configDir", "codexBin", "codexHome",
		"codexTransport", "codexSocket", "allowDangerFullAccess", "opener", "roots", "symlinks"}
	transports = []string{"stdio", "managed", "proxy"}
	linkModes  = []string{"follow", "skip"}
	switches   = []string{"on", "off"}
	homeKeys   = []string{"store", "cwd", "configDir", "codexHome"} // where a bare ~ is the home folder
)

// reader takes one file apart and collects what is wrong with it.
type reader struct {
	name     string
	env      Env
	problems []Problem
	places   map[string]*yaml.Node // of every value read, by key
}

func newReader(name string, env Env) *reader {
	return &reader{name: name, env: env, places: map[string]*yaml.Node{}}
}

// problem notes a mistake at the place of key.
func (r *reader) problem(key, message, hint string) {
	p := Problem{File: r.name, Key: key, Message: message, Hint: hint}
	if node := r.places[key]; node != nil {
		p.Line, p.Column = node.Line, node.Column
	}
	r.problems = append(r.problems, p)
}

// file reads the whole text.
func (r *reader) file(text []byte) File {
	root, ok := r.document(text)
	if !ok {
		return File{}
	}
	values := r.mapping("", root, fileKeys)
	file := File{
		Store:  r.text("store", values["store"]),
		Redact: r.choice("redact", values["redact"], switches),
	}
	if file.Redact == "on" {
		r.problem("redact", "this version masks nothing, so it cannot promise to", "write redact: off, or leave the key out")
	}
	file.Checkouts = r.texts("checkouts", values["checkouts"], "checkouts: [~/src]")
	for i, node := range r.list("sources", values["sources"], "a list of sources, each with id and driver") {
		file.Sources = append(file.Sources, r.source("sources["+strconv.Itoa(i)+"]", node))
	}
	r.distinctSources(file.Sources)
	return file
}

// yamlLine finds the line that a message of the YAML library begins with.
var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)`)

// document parses the text; false when there is nothing to read in it.
func (r *reader) document(text []byte) (*yaml.Node, bool) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, more yaml.Node
	err := decoder.Decode(&document)
	if errors.Is(err, io.EOF) {
		return nil, false
	}
	if err == nil {
		if err = decoder.Decode(&more); errors.Is(err, io.EOF) {
			err = nil
		} else if err == nil {
			r.places[""] = &more
			r.problem("", "a second document; one file holds one configuration", "remove the line ---")
			return nil, false
		}
	}
	if err != nil {
		m := yamlLine.FindStringSubmatch(err.Error())
		p := Problem{File: r.name, Message: "not valid YAML"}
		if m != nil {
			p.Line, _ = strconv.Atoi(m[1])
			p.Message += ": " + m[2]
		}
		r.problems = append(r.problems, p)
		return nil, false
	}
	if len(document.Content) == 0 || document.Content[0].ShortTag() == "!!null" {
		return nil, false
	}
	return document.Content[0], true
}

// source reads one entry of sources.
func (r *reader) source(key string, node *yaml.Node) collect.SourceConfig {
	before := len(r.problems)
	v := r.mapping(key, node, sourceKeys)
	if len(r.problems) > before && v == nil {
		return collect.SourceConfig{} // no source at all; its keys are not missed one by one
	}
	at := func(name string) string { return key + "." + name }
	s := collect.SourceConfig{
		ID:                    r.required(at("id"), key, v["id"]),
		Driver:                r.required(at("driver"), key, v["driver"]),
		Enabled:               r.boolean(at("enabled"), v["enabled"], enabledDefault),
		Command:               r.texts(at("command"), v["command"], "command: [program, argument]"),
		Cwd:                   r.text(at("cwd"), v["cwd"]),
		Env:                   r.variables(at("env"), v["env"]),
		ConfigDir:             r.text(at("configDir"), v["configDir"]),
		CodexBin:              r.text(at("codexBin"), v["codexBin"]),
		CodexHome:             r.text(at("codexHome"), v["codexHome"]),
		CodexTransport:        r.choice(at("codexTransport"), v["codexTransport"], transports),
		CodexSocket:           r.text(at("codexSocket"), v["codexSocket"]),
		AllowDangerFullAccess: r.boolean(at("allowDangerFullAccess"), v["allowDangerFullAccess"], false),
		Opener:                r.texts(at("opener"), v["opener"], "opener: [xdg-open]"),
		Roots:                 r.texts(at("roots"), v["roots"], "roots: [/folder, /other]"),
		Symlinks:              r.choice(at("symlinks"), v["symlinks"], linkModes),
	}
	r.checkDriver(at, s)
	return s
}

// checkDriver checks what one driver asks of its source.
func (r *reader) checkDriver(at func(string) string, s collect.SourceConfig) {
	known := r.env.Drivers
	if known == nil {
		known = knownDrivers
	}
	if s.Driver != "" && !slices.Contains(known, s.Driver) {
		r.problem(at("driver"), "unknown driver "+quoted(s.Driver), meant(s.Driver, known))
	}
	if s.Driver == "acp" && len(s.Command) == 0 && r.places[at("command")] == nil {
		r.places[at("command")] = r.places[at("driver")]
		r.problem(at("command"), "the driver acp needs the agent's command", "for example command: [opencode, acp]")
	}
	if len(s.Command) > 0 && s.Command[0] == "" {
		r.problem(at("command"), "the program's name is empty", "command: [program, argument]")
	}
	if len(s.Opener) == 0 {
		return
	}
	if s.Opener[0] == "" {
		r.problem(at("opener"), "the program's name is empty", "opener: [xdg-open]")
	}
	if s.Driver != "" && s.Driver != openingDriver {
		r.problem(at("opener"), "only the driver "+openingDriver+" starts sessions in an app", "leave the key out")
	}
}

// distinctSources checks the ids, alone and against each other.
func (r *reader) distinctSources(sources []collect.SourceConfig) {
	first := map[string]int{}
	for i, s := range sources {
		key := "sources[" + strconv.Itoa(i) + "].id"
		if r.places[key] == nil || s.ID == "" {
			continue // missing, and said so
		}
		id, err := collect.SourceID(s.ID)
		switch {
		case err != nil:
			r.problem(key, reason(err), "")
			continue
		case len(utf16.Encode([]rune(id))) > maxSourceID:
			r.problem(key, fmt.Sprintf("longer than %d characters", maxSourceID), "")
			continue
		}
		if other, taken := first[id]; taken {
			line := r.places["sources["+strconv.Itoa(other)+"].id"].Line
			r.problem(key, fmt.Sprintf("names the same source as line %d, once trimmed and lower-cased", line), "give each source an id of its own")
			continue
		}
		first[id] = i
	}
}

// reason is what a refused id is refused for; the key says already that it is an id.
func reason(err error) string {
	var refused *collect.KeyError
	if errors.As(err, &refused) {
		return refused.Reason.Error()
	}
	return err.Error()
}

// settleFile makes the paths of a file absolute, by the folder it stands in.
func (r *reader) settleFile(file *File, folder string) {
	s, home := r.env.system(), r.env.Home
	settle := func(key string, p *string, by func(p, folder, home string) (string, error)) {
		if r.places[key] == nil || *p == "" && !strings.HasSuffix(key, "]") {
			return // absent, or empty and said so
		}
		settled, err := by(*p, folder, home)
		if err != nil {
			r.problem(key, err.Error(), "")
			return
		}
		*p = settled
	}
	for i := range file.Checkouts {
		settle(fmt.Sprintf("checkouts[%d]", i), &file.Checkouts[i], s.settle)
	}
	for i := range file.Sources {
		source, key := &file.Sources[i], fmt.Sprintf("sources[%d].", i)
		settle(key+"cwd", &source.Cwd, s.settle)
		settle(key+"configDir", &source.ConfigDir, s.settle)
		settle(key+"codexHome", &source.CodexHome, s.settle)
		settle(key+"codexSocket", &source.CodexSocket, s.settle)
		settle(key+"codexBin", &source.CodexBin, s.settleProgram)
		if len(source.Command) > 0 && source.Command[0] != "" {
			settle(key+"command[0]", &source.Command[0], s.settleProgram)
		}
		if len(source.Opener) > 0 && source.Opener[0] != "" {
			settle(key+"opener[0]", &source.Opener[0], s.settleProgram)
		}
		for j := range source.Roots {
			settle(fmt.Sprintf("%sroots[%d]", key, j), &source.Roots[j], s.settle)
		}
	}
}

// quoted shows a value of the file, shortened.
func quoted(text string) string {
	const most = 60 // characters; enough to recognize it
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return strconv.Quote(strings.ToValidUTF8(text, "\uFFFD"))
}
