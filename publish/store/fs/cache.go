package fs

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"agentsync/ledger/durable"
)

// maxOpen is how many files stay open between reads: enough for the packs that one
// pass reads in turn, few beside the system's limit.
const maxOpen = 16

// cache keeps files open between ranged reads. Only names whose content never changes
// are kept.
type cache struct {
	open func(name string) (durable.File, error)

	mu   sync.Mutex
	kept []*openFile // most recently used last
}

// openFile is a file and the number of its users. The cache itself is one of them.
type openFile struct {
	durable.File
	name  string
	size  int64 // bytes
	users int
}

// isImmutable reports whether a name can only ever have one content. Heads are
// immutable too, but small, read once, and beside a hint, which is not.
func isImmutable(name string) bool {
	return strings.HasPrefix(name, "packs/") || strings.HasPrefix(name, "objects/")
}

// acquire returns the open file of a name; release must follow.
func (c *cache) acquire(name string) (*openFile, error) {
	if file := c.find(name); file != nil {
		return file, nil
	}
	opened, err := c.open(name)
	if err != nil {
		return nil, err
	}
	info, err := opened.Stat()
	if err != nil {
		return nil, errors.Join(err, opened.Close())
	}
	file := &openFile{File: opened, name: name, size: info.Size(), users: 1}
	if isImmutable(name) {
		c.keep(file)
	}
	return file, nil
}

func (c *cache) find(name string) *openFile {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, file := range c.kept {
		if file.name == name {
			c.kept = append(slices.Delete(c.kept, i, i+1), file)
			file.users++
			return file
		}
	}
	return nil
}

func (c *cache) keep(file *openFile) {
	c.mu.Lock()
	defer c.mu.Unlock()
	file.users++
	c.kept = append(c.kept, file)
	if len(c.kept) > maxOpen {
		c.drop(0)
	}
}

// release ends one use. The last use closes the file; nothing was written through it,
// so its closing cannot lose anything.
func (c *cache) release(file *openFile) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leave(file)
}

// forget lets go of a name that is about to be removed.
func (c *cache) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.kept) - 1; i >= 0; i-- {
		if c.kept[i].name == name {
			c.drop(i)
		}
	}
}

func (c *cache) close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var err error
	for len(c.kept) > 0 {
		err = errors.Join(err, c.drop(0))
	}
	return err
}

func (c *cache) drop(i int) error {
	file := c.kept[i]
	c.kept = slices.Delete(c.kept, i, i+1)
	return c.leave(file)
}

func (c *cache) leave(file *openFile) error {
	file.users--
	if file.users > 0 {
		return nil
	}
	return file.Close()
}
