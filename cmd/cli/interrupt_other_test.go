//go:build !unix

package cli

// interruptSelf is for the systems that can: scripts skip it elsewhere.
func interruptSelf() { panic("no signal to send") }
