// Command agentsync collects the sessions of coding agents, publishes them as a
// verifiable graph and brings them back. Everything it does is in package cli.
package main

import (
	"os"
	"runtime/debug"

	"agentsync/cmd/cli"
)

// garbagePercent lets the heap grow by so much of what is in use before garbage is
// collected: a pass should not take more from a machine on which agents work than it
// needs, and this costs it a few hundredths of its time. GOGC replaces it.
const garbagePercent = 70

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(garbagePercent)
	}
	os.Exit(cli.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
}
