//go:build !unix

package gitinfo

import "io/fs"

const nonBlocking = 0

// deviceOf treats all folders as one file system where there is no device number.
func deviceOf(fs.FileInfo) uint64 { return 0 }

// ownedByUs holds where files have no numeric owner: reading a repository there
// runs nothing of it.
func ownedByUs(...string) bool { return true }
