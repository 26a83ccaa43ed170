package claude

import (
	"path/filepath"
	"time"

	"agentsync/collect/value"
)

// cleanUpDays is after how many days the client removes a transcript that is not written
// to, unless its settings say otherwise.
const cleanUpDays = 30

// CleanUpAfter is the age at which the client removes a transcript of a configuration
// folder, by the time of its file, when it starts.
func CleanUpAfter(dir string) time.Duration {
	days := float64(cleanUpDays)
	if content, err := readSmall(filepath.Join(dir, "settings.json")); err == nil {
		var p parser
		if settings, ok := p.parse(string(content)); ok && settings.Kind() == value.Record {
			if said, ok := settings.Get("cleanupPeriodDays"); ok && said.Kind() == value.Number && said.Float() >= 0 {
				days = min(said.Float(), maxCleanUpDays)
			}
		}
	}
	return time.Duration(days * float64(24*time.Hour))
}

// maxCleanUpDays keeps a period within what a duration can hold.
const maxCleanUpDays = 100_000
