package collect

import "strings"

// Unfinished begins the name of a file that a restore has not finished, and digits end
// it. It is short, whatever the file will be called, since file systems limit names.
const Unfinished = ".agentsync-restore-"

// IsUnfinished reports such a name. No driver collects a file of that name.
func IsUnfinished(name string) bool {
	digits, ok := strings.CutPrefix(name, Unfinished)
	return ok && strings.Trim(digits, "0123456789") == ""
}
