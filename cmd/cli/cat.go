package cli

// This file holds cat: one cell, page, manifest or chunk as it is stored, or a session's own bytes.
