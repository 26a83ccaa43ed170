//go:build !windows

package programs

// A program's file is named like the program, and may be run when its permissions say so.
var endings = []string{""}

const everyFileRuns = false
