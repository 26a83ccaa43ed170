// Package config reads the YAML configuration file, fills in defaults and settles
// every path, so that no one below needs the environment. It reports all mistakes of
// a file at once, each with its line. It opens no store, starts no driver, looks for
// no agents, and expands no variables in values.
//
// The file:
//
//	store: file:///srv/agent-sessions  # a folder, file:///folder, or
//	                                   # s3://bucket/prefix?endpoint=https://host&region=name
//	sources:
//	  - id: claude                     # unique once trimmed and lower-cased
//	    driver: claude-agent-sdk
//	    enabled: true                  # the default
//	    roots: [/mnt/old/.claude]      # instead of the driver's standard folder
//	    symlinks: skip                 # the default; or follow
//	  - id: opencode
//	    driver: acp
//	    command: [opencode, acp]
//	    cwd: ~/src/app
//	    env: {NAME: value}
//	checkouts: [~/src]                 # folders below which Git checkouts are found
//	redact: off                        # the default; on is refused, nothing masks yet
//
// Further keys of a source are configDir, codexBin, codexHome, codexTransport (stdio,
// managed or proxy), codexSocket, allowDangerFullAccess and opener (the program and the
// arguments that open a link, so that sessions of Claude start in its app). Every key is
// optional except a source's id and driver. A key without a value counts as absent. Aliases
// and merge keys are refused.
//
// Paths may start with ~/ for the home folder; relative ones are relative to the
// folder of the file. In command, opener and codexBin a word without a slash is a program to
// be found along PATH and stays as it is.
package config
