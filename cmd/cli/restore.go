package cli

// This file holds restore: published files written back into folders.
