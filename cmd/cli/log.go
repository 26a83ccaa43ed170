package cli

// This file holds log: the generations of the store, newest first.
