package pack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"agentsync/hashgraph/digest"
	"agentsync/publish/store"
)

const (
	endSize = 64 << 10 // bytes of the first read from the end; most tables fit
	window  = 4 << 20  // bytes of one read when a whole pack is read
)

// ReadTable returns the rows of a pack in the order of its frames. It reads the end of
// the file, and a second time when the table is long; the frames are not looked at. A
// table that is not the one the name vouches for, or does not fit its file exactly, is
// a *CorruptError, an absent pack store.ErrNotFound.
func ReadTable(ctx context.Context, s store.Store, name digest.Digest) ([]Entry, error) {
	size, err := s.Stat(ctx, store.PackName(name))
	if err != nil {
		return nil, fmt.Errorf("read table of pack %s: %w", name.Hex(), err)
	}
	return readTable(ctx, s, name, size)
}

func readTable(ctx context.Context, s store.Store, name digest.Digest, size int64) ([]Entry, error) {
	end, err := readEnd(ctx, s, name, size, min(size, endSize))
	if err != nil {
		return nil, err
	}
	t, err := parseTrailer(end[max(len(end)-trailerSize, 0):], size)
	if err != nil {
		return nil, asCorrupt(name, err)
	}
	whole := t.tableSize + trailerSize64
	if whole > int64(len(end)) {
		if end, err = readEnd(ctx, s, name, size, whole); err != nil {
			return nil, err
		}
	}
	end = end[int64(len(end))-whole:]
	if got := digest.Sum(end); got != name {
		return nil, &CorruptError{name, "table", fmt.Errorf("it is that of pack %s", got.Hex())}
	}
	entries, err := parseTable(end[:t.tableSize], t, size-whole)
	if err != nil {
		return nil, asCorrupt(name, err)
	}
	return entries, nil
}

// readEnd reads the last length bytes of a pack of the given size.
func readEnd(ctx context.Context, s store.Store, name digest.Digest, size, length int64) ([]byte, error) {
	end, err := s.Get(ctx, store.PackName(name), size-length, length, make([]byte, 0, length))
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, &CorruptError{name, "size", err}
	}
	if err != nil {
		return nil, fmt.Errorf("read table of pack %s: %w", name.Hex(), err)
	}
	return end, nil
}

// asCorrupt gives damage in a field the pack's name.
func asCorrupt(name digest.Digest, err error) error {
	var damage *fieldError
	if errors.As(err, &damage) {
		return &CorruptError{name, damage.field, damage.err}
	}
	return err
}

// Verify reads a whole pack and hands out each frame in order, once it has been compared
// with the table: of one that is damaged, nil. A frame is valid during the call only. It
// keeps a few MiB, or the longest frame if that is more. An error of each ends the
// reading and is returned.
func Verify(ctx context.Context, s store.Store, name digest.Digest, each func(e Entry, frame []byte) error) error {
	size, err := s.Stat(ctx, store.PackName(name))
	if err != nil {
		return fmt.Errorf("verify pack %s: %w", name.Hex(), err)
	}
	entries, err := readTable(ctx, s, name, size)
	if err != nil {
		return err
	}
	content := newStream(s, name, size)
	for _, e := range entries {
		frame, err := content.next(ctx, e.Length)
		if err != nil {
			return err
		}
		if check(name, e.Located, frame) != nil {
			frame = nil
		}
		if err := each(e, frame); err != nil {
			return err
		}
	}
	return nil
}

// stream reads a pack from start to end in windows.
type stream struct {
	store  store.Store
	name   digest.Digest
	size   int64
	read   int64  // bytes read so far
	unread []byte // read, but not handed out
	buffer []byte
}

func newStream(s store.Store, name digest.Digest, size int64) *stream {
	return &stream{store: s, name: name, size: size}
}

// next returns the next length bytes, valid until the next call.
func (c *stream) next(ctx context.Context, length int64) ([]byte, error) {
	if int64(len(c.unread)) < length {
		if err := c.fill(ctx, length); err != nil {
			return nil, err
		}
	}
	part := c.unread[:length]
	c.unread = c.unread[length:]
	return part, nil
}

// fill moves what is unread to the front of the buffer and reads behind it, until at
// least length bytes are there.
func (c *stream) fill(ctx context.Context, length int64) error {
	carried := len(c.unread)
	want := min(max(length, window), int64(carried)+c.size-c.read)
	c.buffer = append(c.buffer[:0], c.unread...)
	c.buffer = slices.Grow(c.buffer, int(want)-carried)
	var err error
	c.buffer, err = c.store.Get(ctx, store.PackName(c.name), c.read, want-int64(carried), c.buffer)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return &CorruptError{c.name, "content", err}
	}
	if err != nil {
		return fmt.Errorf("read pack %s: %w", c.name.Hex(), err)
	}
	c.read += int64(len(c.buffer) - carried)
	c.unread = c.buffer
	return nil
}
