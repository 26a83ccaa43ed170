package durable

// Flusher is an FS that can make everything durable that was written so far, at less
// cost than file by file.
type Flusher interface {
	// SyncAll returns once all contents and names of the file system that path lies on
	// are on the disk.
	SyncAll(path string) error
}
