//go:build unix

package cli

import "syscall"

// interruptSelf sends this process what a terminal sends at Ctrl-C.
func interruptSelf() { _ = syscall.Kill(syscall.Getpid(), syscall.SIGINT) }
