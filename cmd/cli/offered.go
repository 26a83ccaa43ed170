package cli

import (
	"encoding/json"
	"slices"
	"strings"

	"agentsync/collect/value"
	"agentsync/ledger"
	"agentsync/publish/document"
)

// modeCapability begins what a source's row has for a mode.
const modeCapability = "mode:"

// publishedModes are the modes that a source's row tells of.
func publishedModes(source document.Source) (modes []string) {
	for _, one := range source.Capabilities {
		if mode, is := strings.CutPrefix(one, modeCapability); is {
			modes = append(modes, mode)
		}
	}
	return modes
}

// publishedOptions are the ids of the options that a source's row describes, sorted.
func publishedOptions(source document.Source) (ids []string) {
	for id := range source.Options.Members() {
		ids = append(ids, string(id))
	}
	slices.Sort(ids)
	return ids
}

// optionsObject renders option descriptions, nil for none.
func optionsObject(options value.Value) json.RawMessage {
	if options.Kind() != value.Record {
		return nil
	}
	return value.AppendText(nil, options)
}

// checkOffered refuses a setting that the command's source is known not to take. What a
// source does not tell of is not checked, nor a payload that is none.
func checkOffered(sources []document.Source, command ledger.Command) error {
	i := slices.IndexFunc(sources, func(s document.Source) bool { return s.ID == command.SourceID })
	if i < 0 {
		return nil
	}
	switch source := sources[i]; command.Type {
	case ledger.SetMode:
		if mode, err := command.Mode(); err == nil {
			return checkMode(source, string(command.Type), mode)
		}
	case ledger.Start:
		if in, err := command.StartInput(); err == nil && in.Mode != "" {
			return checkMode(source, "", in.Mode)
		}
	case ledger.SetConfigOption:
		if id, setting, err := command.Option(); err == nil {
			return checkOption(source, id, setting)
		}
	}
	return nil
}

// sendAnyway ends the hint of a setting that is refused.
const sendAnyway = "; to send it all the same, the whole key and --unchecked"

// checkMode refuses a mode, and a verb that the source does not have; "" is no verb.
func checkMode(source document.Source, verb, mode string) error {
	if verb != "" && !slices.Contains(source.Capabilities, verb) {
		return untaken(source, verb)
	}
	if modes := publishedModes(source); len(modes) > 0 && !slices.Contains(modes, mode) {
		return usageError("the modes of "+source.ID+" are "+joined(modes)+sendAnyway, "source %s has no mode %q", source.ID, mode)
	}
	return nil
}

func untaken(source document.Source, verb string) error {
	return usageError("what it takes: agentsync status --json"+sendAnyway, "source %s takes no %s", source.ID, verb)
}

// checkOption refuses an option that the source does not have, and a value it cannot take.
func checkOption(source document.Source, id string, setting value.Value) error {
	if !slices.Contains(source.Capabilities, string(ledger.SetConfigOption)) {
		return untaken(source, string(ledger.SetConfigOption))
	}
	if source.Options.Kind() != value.Record {
		return nil
	}
	described, found := source.Options.Get(id)
	if !found {
		return usageError("the options of "+source.ID+" are "+joined(publishedOptions(source))+sendAnyway, "source %s has no option %q", source.ID, id)
	}
	kind := setting.Kind()
	switch described.Path("type").Str() {
	case "boolean":
		if kind != value.True && kind != value.False {
			return usageError("true or false"+sendAnyway, "option %s of %s is on or off", id, source.ID)
		}
	case "string":
		if kind != value.String {
			return usageError("--string takes VALUE as text", "option %s of %s takes a text", id, source.ID)
		}
	case "select":
		if choices := choicesOf(nil, described); len(choices) > 0 && !slices.Contains(choices, setting.Str()) {
			return usageError("it takes "+joined(choices)+sendAnyway, "option %s of %s does not take that value", id, source.ID)
		}
	}
	return nil
}

// choicesOf are the values of a select, those of its groups among them.
func choicesOf(list []string, described value.Value) []string {
	for choice := range described.Path("options").Elements() {
		if v, found := choice.Get("value"); found && v.Kind() == value.String {
			list = append(list, v.Str())
		}
		list = choicesOf(list, choice)
	}
	return list
}
