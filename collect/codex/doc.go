// Package codex collects the sessions of the Codex agent from the files below its home
// folder: rollouts of live and archived threads, plain or compressed, and the names that
// people gave them.
//
// It knows where rollouts lie, how threads are named, forked and spawned, and which
// records are messages. Reading starts no process, opens no database, changes no file, and
// leaves the division of a file into records to package lines.
//
// Operations go through the agent's app server, which the first one of them starts. The
// driver refuses what only a person may allow, takes no answer for proof but the one that
// the server gave for the very turn, and passes on nothing of what agent and person said.
package codex
