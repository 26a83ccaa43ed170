//go:build !unix

package tree

import "io/fs"

const openFlags = 0

// StampOf knows no inode here; size and modification time have to do.
func StampOf(info fs.FileInfo) Stamp {
	return Stamp{Size: info.Size(), ModTime: info.ModTime().UnixNano()}
}
