//go:build !unix

package tree

import "io/fs"

const openFlags = 0

// stampOf knows no inode here; size and modification time have to do.
func stampOf(info fs.FileInfo) Stamp {
	return Stamp{Size: info.Size(), ModTime: info.ModTime().UnixNano()}
}
