//go:build !linux && !darwin && !windows

package cli

// freeSpace is not known on this system.
func freeSpace(string) (free int64, known bool) { return 0, false }
