package lines

import (
	"bytes"
	"errors"
	"io"
	"sync"
)

// windowSize is the buffer of an ordinary file, in bytes: large enough that system
// calls do not show, small enough to stay in the processor's cache.
const windowSize = 256 << 10

// buffers keeps windows of the ordinary size between files: fresh memory is paid for
// with zeroing and page faults, which for small files cost more than reading them.
var buffers = sync.Pool{New: func() any { b := make([]byte, windowSize); return &b }}

// window is a sliding view of a stream: buf[:start] was taken, and ends in the last
// fingerprintSize bytes taken; buf[start:end] is still to be taken.
type window struct {
	source     io.Reader
	left       int64 // bytes the source must still give; negative when unknown
	pooled     *[]byte
	buf        []byte
	start, end int
	scanned    int // pending bytes known to hold no line end
	ended      bool
}

func newWindow(source io.Reader, size int64) window {
	pooled := buffers.Get().(*[]byte)
	return window{source: source, left: size, pooled: pooled, buf: *pooled}
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

// skip takes the next n bytes unseen, at most fingerprintSize of them.
func (w *window) skip(n int) error {
	for w.end-w.start < n {
		if w.ended {
			return io.ErrUnexpectedEOF
		}
		if err := w.fill(); err != nil {
			return err
		}
	}
	w.take(n)
	return nil
}

// last returns the last bytes taken, at most fingerprintSize.
func (w *window) last() []byte { return w.buf[max(0, w.start-fingerprintSize):w.start] }

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
	from := max(0, w.start-fingerprintSize)
	target := w.buf
	if kept := w.end - from; kept > len(w.buf)/2 {
		target = make([]byte, 2*len(w.buf))
	}
	w.end = copy(target, w.buf[from:w.end])
	w.start -= from
	w.buf = target
}
