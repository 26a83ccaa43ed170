// Command agentsync collects the sessions of coding agents, publishes them as a
// verifiable graph and brings them back. Everything it does is in package cli.
package main

import (
	"os"

	"agentsync/cmd/cli"
)

func main() {
	os.Exit(cli.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
}
