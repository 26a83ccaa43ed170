package cli

// This file holds prune: packs that no kept generation needs.
