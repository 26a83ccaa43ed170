//go:build !unix

package cli

// surviveBrokenPipe does nothing where a closed pipe is an error already.
func surviveBrokenPipe() func() { return func() {} }
