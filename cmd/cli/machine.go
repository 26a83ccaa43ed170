package cli

import (
	"os"
	"strings"
)

// testOnlyMachine stands for the machine's own facts in script tests.
var testOnlyMachine func() string

// thisMachine is what tells this machine from others: the system's id of it and its host
// name; "" where the system gives no id.
func thisMachine() string {
	if testOnlyMachine != nil {
		return testOnlyMachine()
	}
	id, host := strings.TrimSpace(machineID()), ""
	if name, err := os.Hostname(); err == nil {
		host = name
	}
	if id == "" || id == "uninitialized" || host == "" {
		return ""
	}
	return id + "\n" + host
}
