package lines

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/cespare/xxhash/v2"
)

// windowSize is the buffer of an ordinary file, in bytes: large enough that system
// calls do not show, small enough to stay in the processor's cache.
const windowSize = 256 << 10

// buffers keeps windows of the ordinary size between files: fresh memory is paid for
// with zeroing and page faults, which for small files cost more than reading them.
var buffers = sync.Pool{New: func() any { b := make([]byte, windowSize); return &b }}

// window is a sliding view of a stream: buf[:start] was taken, buf[start:end] is still to
// be taken.
type window struct {
	source     io.Reader
	left       int64 // bytes the source must still give; negative when unknown
	pooled     *[]byte
	buf        []byte
	start, end int
	hashed     int           // up to where what was taken is in sum
	sum        xxhash.Digest // of all bytes taken and let go, and those before the stream
	scanned    int           // pending bytes known to hold no line end
	ended      bool
}

func newWindow(source io.Reader, size int64) window {
	pooled := buffers.Get().(*[]byte)
	w := window{source: source, left: size, pooled: pooled, buf: *pooled}
	w.sum.Reset()
	return w
}

// release gives the buffer back; the window is unusable afterwards.
func (w *window) release() {
	if w.pooled != nil {
		buffers.Put(w.pooled)
	}
	*w = window{ended: true}
}

// line returns the next line, its end included, without taking it; terminated is
// false for a last line without an end. An empty line is the end of the stream.
func (w *window) line() (line []byte, terminated bool, err error) {
	for {
		pending := w.buf[w.start:w.end]
		if i := bytes.IndexByte(pending[w.scanned:], '\n'); i >= 0 {
			return pending[:w.scanned+i+1], true, nil
		}
		w.scanned = len(pending)
		if w.ended {
			return pending, false, nil
		}
		if err := w.fill(); err != nil {
			return nil, false, err
		}
	}
}

// take moves n bytes of the line just seen to those taken.
func (w *window) take(n int) {
	w.start += n
	w.scanned = 0
}

// prefix is the hash of all bytes taken.
func (w *window) prefix() uint64 {
	_, _ = w.sum.Write(w.buf[w.hashed:w.start])
	w.hashed = w.start
	return w.sum.Sum64()
}

// fill reads more of the source. It reports a source that ends too early.
func (w *window) fill() error {
	if w.left == 0 {
		w.ended = true
		return nil
	}
	w.makeRoom()
	n, err := w.source.Read(w.buf[w.end:])
	w.end += n
	if w.left > 0 {
		w.left -= int64(n)
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	if w.left > 0 {
		return io.ErrUnexpectedEOF
	}
	w.ended = true
	return nil
}

// makeRoom frees at least half of the buffer, which grows only for a longer line.
func (w *window) makeRoom() {
	if w.end < len(w.buf) {
		return
	}
	_, _ = w.sum.Write(w.buf[w.hashed:w.start])
	target := w.buf
	if kept := w.end - w.start; kept > len(w.buf)/2 {
		target = make([]byte, 2*len(w.buf))
	}
	w.end = copy(target, w.buf[w.start:w.end])
	w.start, w.hashed = 0, 0
	w.buf = target
}
