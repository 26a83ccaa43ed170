package store

import "strings"

// HealthPrefix is the folder of the installations' health records, for List.
const HealthPrefix = "health/"

// HealthName is the name of an installation's record of its last pass of a verb. Unlike all
// else in a store it is overwritten.
func HealthName(installation, verb string) string {
	return HealthPrefix + installation + "/" + verb + ".json"
}

// IsHealthName reports a name that HealthName gives for some installation and verb.
func IsHealthName(name string) bool {
	rest, below := strings.CutPrefix(name, HealthPrefix)
	installation, file, nested := strings.Cut(rest, "/")
	verb, ends := strings.CutSuffix(file, ".json")
	return below && nested && ends && installation != "" && verb != "" && !strings.Contains(verb, "/") && CheckName(name) == nil
}
