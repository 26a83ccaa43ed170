// Package hashgraph turns a captured value into a graph of cells with deterministic
// causes, and computes the canonical hashes: of a value, of a cell's cause, and the
// stable hash of a value whose array elements are cells of their own.
//
// It is pure: no file, no clock, no network. It compares nothing with a store and
// never changes a value.
package hashgraph
