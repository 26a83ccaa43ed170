package cli

// This file holds verify: the store checked, and with --sources the agents' files compared with it.
