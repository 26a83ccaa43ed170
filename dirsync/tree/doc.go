// Package tree reads a project directory: what stands at every path, and the digest of
// every file. It writes nothing below the root but the probe of a binding, follows no
// link, enters no other file system, and tells what it could not read apart from what
// is not there.
package tree
