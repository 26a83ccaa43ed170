package pack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
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
	table  []byte
	count  int
	err    error // the first failure to write, or errClosed; the pack is then lost
}

var errClosed = errors.New("pack is closed")

// NewWriter returns an empty pack that stages its bytes in staged and closes it.
func NewWriter(staged store.Staged) *Writer {
	return &Writer{staged: staged, buffer: make([]byte, 0, bufferSize)}
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
	sum := digest.Sum(frame)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil && len(w.table)+len(id)+64 > maxTable {
		return Located{}, fmt.Errorf("add %s to pack: its table is full", id)
	}
	at := Located{Offset: w.size(), Length: int64(len(frame)), Plain: int64(plain), Sum: sum}
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

// Commit ends the pack and stores it, durably, under the name it returns. A pack of that
// name already in s is left alone, and this one takes another name: the other may be
// damaged, or one that a killed pass left and that a prune is about to remove. The writer
// is closed either way.
func (w *Writer) Commit(ctx context.Context, s store.Store) (digest.Digest, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name, err := w.finish(ctx, s)
	if err != nil {
		err = errors.Join(err, w.discard())
	} else {
		w.err = errClosed
		if err = w.staged.Commit(ctx, store.PackName(name)); errors.Is(err, store.ErrExists) {
			_, err = stands(ctx, s, name)
		}
	}
	if err != nil {
		return digest.Digest{}, fmt.Errorf("commit pack: %w", err)
	}
	return name, nil
}

// variants is how many names a pack may have: passes that write the very same are few.
const variants = 1000

// finish names the pack by a name that s does not have, and writes its end.
func (w *Writer) finish(ctx context.Context, s store.Store) (name digest.Digest, err error) {
	if w.err != nil {
		return name, w.err
	}
	for variant := range uint64(variants) {
		end := appendTrailer(slices.Clip(w.table), len(w.table), w.count, variant)
		name = digest.Sum(end)
		_, err := s.Stat(ctx, store.PackName(name))
		if err == nil {
			continue
		}
		if !errors.Is(err, store.ErrNotFound) {
			return name, err
		}
		if err := w.write(end); err != nil {
			return name, err
		}
		return name, w.flush()
	}
	return name, fmt.Errorf("all %d names of it are taken", variants)
}

// stands reports whether a pack of that name is in s, and sound.
func stands(ctx context.Context, s store.Store, name digest.Digest) (bool, error) {
	err := Verify(ctx, s, name, func(e Entry, frame []byte) error {
		if frame == nil {
			return Damaged(name, e.Located)
		}
		return nil
	})
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
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
	w.start += int64(n)
	return nil
}
