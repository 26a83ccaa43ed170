//go:build !windows

package claude

// A program's file is named like the program, and may be run when its permissions say so.
var programSuffixes = []string{""}

const anyFileRuns = false
