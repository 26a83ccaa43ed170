// Command agentsync collects the sessions of coding agents, publishes them as a
// verifiable graph and brings them back. Everything it does is in package cli.
package main

import (
	"os"
	"runtime/debug"

	"agentsync/cmd/cli"
)

// memoryGoal is where the collector of garbage begins to work harder, in bytes: a
// pass needs some tens of MiB whatever it reads, and should not take more from a
// machine on which agents work. It is no limit; GOMEMLIMIT replaces it.
const memoryGoal = 88 << 20

func main() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryGoal)
	}
	os.Exit(cli.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
}
