package pack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync"

	"agentsync/hashgraph/digest"
	"agentsync/publish/store"
)

// bufferSize is how much a writer gathers before it writes: large enough that a write
// costs nothing beside its bytes.
const bufferSize = 256 << 10 // bytes

// Writer fills one pack. It serves many goroutines; frames lie in the order of Add.
type Writer struct {
	mu     sync.Mutex
	staged store.Staged
	buffer []byte
	start  int64 // bytes already in staged
	hash   hash.Hash
	table  []byte
	count  int
	err    error // the first failure to write, or errClosed; the pack is then lost
}

var errClosed = errors.New("pack is closed")

// NewWriter returns an empty pack that stages its bytes in staged and closes it.
func NewWriter(staged store.Staged) *Writer {
	return &Writer{staged: staged, buffer: make([]byte, 0, bufferSize), hash: digest.New()}
}

// Add appends a frame, plain bytes long before compression, under id and returns its
// place. Equal ids may be added; the caller knows what it has. After a failed write
// every later call fails; a refused argument changes nothing.
func (w *Writer) Add(id string, frame []byte, plain int) (Located, error) {
	if err := checkID(id); err != nil {
		return Located{}, fmt.Errorf("add to pack: %w", err)
	}
	if len(frame) == 0 || int64(len(frame)) > maxFrame || plain < 0 || int64(plain) > maxPlain {
		return Located{}, fmt.Errorf("add %s to pack: a frame of %d bytes for %d", id, len(frame), plain)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil && len(w.table)+len(id)+32 > maxTable {
		return Located{}, fmt.Errorf("add %s to pack: its table is full", id)
	}
	at := Located{Offset: w.size(), Length: int64(len(frame)), Plain: int64(plain)}
	if err := w.write(frame); err != nil {
		return Located{}, fmt.Errorf("add %s to pack: %w", id, err)
	}
	w.table = appendRow(w.table, Entry{ID: id, Located: at})
	w.count++
	return at, nil
}

// Size is the size of the file if it were committed now, in bytes.
func (w *Writer) Size() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.size() + int64(len(w.table)) + trailerSize64
}

const trailerSize64 = int64(trailerSize)

// Count is the number of frames added.
func (w *Writer) Count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.count
}

// ReadBack returns a copy of a frame that Add has placed.
func (w *Writer) ReadBack(at Located) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return nil, fmt.Errorf("read back from pack: %w", w.err)
	}
	if at.Offset < 0 || at.Length < 0 || at.Length > w.size()-at.Offset {
		return nil, fmt.Errorf("read back from pack: %d bytes at %d were not added", at.Length, at.Offset)
	}
	if at.Offset >= w.start {
		return bytes.Clone(w.buffer[at.Offset-w.start:][:at.Length]), nil
	}
	frame := make([]byte, at.Length)
	staged := frame[:min(at.Length, w.start-at.Offset)]
	if n, err := w.staged.ReadAt(staged, at.Offset); n < len(staged) {
		return nil, fmt.Errorf("read back from pack: %w", err)
	}
	copy(frame[len(staged):], w.buffer)
	return frame, nil
}

// Commit ends the pack and stores it, durably, under the digest it returns. A pack of
// that name already in s is read through: equal content is success, other content a
// *CorruptError of that pack. The writer is closed either way.
func (w *Writer) Commit(ctx context.Context, s store.Store) (digest.Digest, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.finish(); err != nil {
		return digest.Digest{}, fmt.Errorf("commit pack: %w", errors.Join(err, w.discard()))
	}
	size := w.start
	w.err = errClosed
	name := digest.Of(w.hash)
	err := w.staged.Commit(ctx, store.PackName(name))
	if errors.Is(err, store.ErrExists) {
		err = checkStored(ctx, s, name, size)
	}
	if err != nil {
		return digest.Digest{}, fmt.Errorf("commit pack: %w", err)
	}
	return name, nil
}

// Discard forgets the pack. After Commit it does nothing.
func (w *Writer) Discard() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.discard()
}

func (w *Writer) discard() error {
	if w.err == errClosed {
		return nil
	}
	w.err = errClosed
	return w.staged.Discard()
}

func (w *Writer) size() int64 { return w.start + int64(len(w.buffer)) }

// finish writes the table, the trailer and all that is buffered.
func (w *Writer) finish() error {
	if err := w.write(w.table); err != nil {
		return err
	}
	if err := w.write(appendTrailer(nil, w.table, w.count)); err != nil {
		return err
	}
	return w.flush()
}

func (w *Writer) write(p []byte) error {
	if w.err != nil {
		return w.err
	}
	for len(p) > 0 {
		if len(w.buffer) == 0 && len(p) >= bufferSize {
			return w.emit(p)
		}
		n := min(bufferSize-len(w.buffer), len(p))
		w.buffer = append(w.buffer, p[:n]...)
		p = p[n:]
		if len(w.buffer) == bufferSize {
			if err := w.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *Writer) flush() error {
	if err := w.emit(w.buffer); err != nil {
		return err
	}
	w.buffer = w.buffer[:0]
	return nil
}

func (w *Writer) emit(p []byte) error {
	n, err := w.staged.Write(p)
	if err == nil && n < len(p) {
		err = io.ErrShortWrite
	}
	if err != nil {
		w.err = err
		return err
	}
	w.hash.Write(p)
	w.start += int64(n)
	return nil
}
