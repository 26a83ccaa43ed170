package config

import (
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// mapping reads a mapping with the known keys; nil when node is none. Keys without
// a value are left out.
func (r *reader) mapping(key string, node *yaml.Node, known []string) map[string]*yaml.Node {
	if !r.is(key, node, yaml.MappingNode, "!!map", "keys and values") {
		return nil
	}
	values, seen := map[string]*yaml.Node{}, map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, value := node.Content[i], node.Content[i+1]
		below := joined(key, name)
		r.places[below] = name
		switch {
		case name.Kind != yaml.ScalarNode:
			r.problem(below, "a key is one word", "")
			continue
		case name.ShortTag() == "!!merge":
			r.problem(below, "merge keys are not read", "write the keys out")
			continue
		case seen[name.Value] != 0:
			r.problem(below, "given again; first on line "+strconv.Itoa(seen[name.Value]), "keep one of them")
			continue
		case !slices.Contains(known, name.Value):
			r.problem(below, "unknown key", meant(name.Value, known))
		case slices.Contains(homeKeys, name.Value) && meansHome(value), value.ShortTag() != "!!null" || value.Kind == yaml.AliasNode:
			values[name.Value] = value
		default:
			delete(r.places, below)
		}
		seen[name.Value] = name.Line
	}
	return values
}

// meansHome reports a bare ~, which is YAML's nothing, and turns it into the text
// that whoever writes it in the place of a path means.
func meansHome(node *yaml.Node) bool {
	if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!null" || node.Value != "~" {
		return false
	}
	node.Tag = "!!str"
	return true
}

// joined extends a key by the name of one below it, made fit for a message.
func joined(key string, name *yaml.Node) string {
	word := name.Value
	if len(word) > 60 || strings.ContainsFunc(word, func(r rune) bool { return !strconv.IsPrint(r) }) {
		word = quoted(word)
	}
	if key == "" {
		return word
	}
	return key + "." + word
}

// is checks a node's kind, and notes its place.
func (r *reader) is(key string, node *yaml.Node, kind yaml.Kind, tag, wanted string) bool {
	r.places[key] = node
	if node.Kind == yaml.AliasNode {
		r.problem(key, "aliases are not read", "write the value out")
		return false
	}
	if node.Kind == kind && node.ShortTag() == tag {
		return true
	}
	hint := ""
	if wanted == "text" && node.Kind == yaml.ScalarNode {
		hint = "put it in quotes"
	}
	r.problem(key, "needs "+wanted+", not "+described(node), hint)
	return false
}

// described words what a node is, for somebody who does not know YAML's names.
func described(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "keys and values"
	case yaml.SequenceNode:
		return "a list"
	}
	switch node.ShortTag() {
	case "!!str":
		return "text"
	case "!!int", "!!float":
		return "a number"
	case "!!bool":
		return "true or false"
	case "!!null":
		return "nothing"
	case "!!timestamp":
		return "a date"
	}
	return "a value of the type " + node.ShortTag()
}

// text reads a text; "" when node is nil.
func (r *reader) text(key string, node *yaml.Node) string {
	if node == nil || !r.is(key, node, yaml.ScalarNode, "!!str", "text") {
		return ""
	}
	if node.Value == "" {
		r.problem(key, "is empty", "")
	}
	return node.Value
}

// required reads a text that must be there.
func (r *reader) required(key, parent string, node *yaml.Node) string {
	if node == nil {
		r.places[key] = r.places[parent]
		r.problem(key, "is missing", "")
		delete(r.places, key)
		return ""
	}
	return r.text(key, node)
}

// choice reads one of the given words; "" when node is nil or another.
func (r *reader) choice(key string, node *yaml.Node, words []string) string {
	if node == nil {
		return ""
	}
	wanted := strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
	if !r.is(key, node, yaml.ScalarNode, "!!str", wanted) {
		return ""
	}
	if !slices.Contains(words, node.Value) {
		r.problem(key, "needs "+wanted+", not "+quoted(node.Value), "")
		return ""
	}
	return node.Value
}

// boolean reads true or false.
func (r *reader) boolean(key string, node *yaml.Node, otherwise bool) bool {
	if node == nil || !r.is(key, node, yaml.ScalarNode, "!!bool", "true or false") {
		return otherwise
	}
	return strings.EqualFold(node.Value, "true")
}

// list reads a list's elements; nil when node is nil.
func (r *reader) list(key string, node *yaml.Node, wanted string) []*yaml.Node {
	if node == nil || !r.is(key, node, yaml.SequenceNode, "!!seq", wanted) {
		return nil
	}
	return node.Content
}

// texts reads a list of texts. Example shows how one is written.
func (r *reader) texts(key string, node *yaml.Node, example string) []string {
	var texts []string
	for i, element := range r.list(key, node, "a list such as "+example) {
		below := key + "[" + strconv.Itoa(i) + "]"
		meansHome(element)
		if !r.is(below, element, yaml.ScalarNode, "!!str", "text") {
			delete(r.places, below) // nothing to settle
		}
		texts = append(texts, element.Value)
	}
	return texts
}

// variables reads names and values of an environment. Values are never repeated in
// a message: they are where tokens stand.
func (r *reader) variables(key string, node *yaml.Node) map[string]string {
	if node == nil || !r.is(key, node, yaml.MappingNode, "!!map", "names and values") {
		return nil
	}
	variables, seen := map[string]string{}, map[string]int{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, value := node.Content[i], node.Content[i+1]
		below := joined(key, name)
		r.places[below] = name
		switch {
		case name.Kind != yaml.ScalarNode || name.Value == "" || strings.ContainsAny(name.Value, "=\x00"):
			r.problem(below, "not a variable's name", "")
		case seen[name.Value] != 0:
			r.problem(below, "given again; first on line "+strconv.Itoa(seen[name.Value]), "keep one of them")
		case r.is(below, value, yaml.ScalarNode, "!!str", "text"):
			if strings.ContainsRune(value.Value, 0) {
				r.problem(below, "holds a NUL character", "")
			}
			variables[name.Value] = value.Value
		}
		seen[name.Value] = name.Line
	}
	return variables
}
