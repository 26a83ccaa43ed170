//go:build !unix && !windows

package cli

// surviveBrokenPipe does nothing where a closed pipe is an error already.
func surviveBrokenPipe() func() { return func() {} }

// isBrokenPipe knows no such error on this system.
func isBrokenPipe(error) bool { return false }
