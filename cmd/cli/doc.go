// Package cli turns the words of a command line into one pass of one room, and
// the result into lines and an exit code. It takes the pass locks, reads the
// clock and the environment, and shows what happened. It holds no rule about
// sessions: a line that a server would need too belongs to another room.
package cli
