//go:build !darwin && !windows

package cli

import "agentsync/ledger/durable"

// machineID is the id in one of the files that hold one, "" where none does.
func machineID() string {
	for _, path := range []string{"/etc/machine-id", "/var/lib/dbus/machine-id", "/etc/hostid"} {
		if text, err := durable.ReadFile(durable.OS(), path, 256); err == nil && len(text) > 1 {
			return string(text)
		}
	}
	return ""
}
