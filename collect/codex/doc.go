// Package codex collects the sessions of the Codex agent from the files below its home
// folder: rollouts of live and archived threads, plain or compressed, and the names that
// people gave them.
//
// It knows where rollouts lie, how threads are named, forked and spawned, and which
// records are messages. It starts no process, opens no database, changes no file, and
// leaves the division of a file into records to package lines.
package codex
