package cli

// This file holds status: one screen about store, sources and locks.
