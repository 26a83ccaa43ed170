package stdio

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

const (
	maxLine    = 64 << 20 // bytes of a line when the command says nothing
	keptBuffer = 1 << 20  // bytes of a buffer that is kept for the next line
	firstFill  = 64 << 10 // bytes; a pipe holds as many
	stderrKept = 8 << 10  // bytes
)

// LineError reports a line that is longer than it may be. None of it was handed out.
type LineError struct {
	Max int // bytes that a line may have
}

func (e *LineError) Error() string { return fmt.Sprintf("a line of more than %d bytes", e.Max) }

// lines cuts a stream into lines, with one buffer that never holds more than the longest
// line and one piece.
type lines struct {
	source     io.Reader
	max        int
	buffer     []byte
	start, end int  // what was read and not yet handed out
	scanned    int  // no line end stands before it
	skipping   bool // the rest of a line that is too long
	err        error
}

func newLines(source io.Reader, longest int) *lines {
	if longest <= 0 {
		longest = maxLine
	}
	return &lines{source: source, max: longest}
}

// next returns the next line without its end, good until the next call. A line that the
// stream's end cuts off is io.ErrUnexpectedEOF.
func (l *lines) next() ([]byte, error) {
	if unread := l.buffer[l.start:l.end]; len(l.buffer) > keptBuffer && len(unread) < firstFill {
		l.buffer = make([]byte, firstFill)
		l.start, l.end, l.scanned = 0, copy(l.buffer, unread), 0
	}
	for {
		if at := bytes.IndexByte(l.buffer[l.scanned:l.end], '\n'); at >= 0 {
			line := l.buffer[l.start : l.scanned+at]
			l.scanned += at + 1
			l.start = l.scanned
			if l.skipping {
				l.skipping = false
				continue
			}
			line = bytes.TrimSuffix(line, []byte{'\r'})
			if len(line) > l.max {
				return nil, &LineError{l.max}
			}
			return line, nil
		}
		l.scanned = l.end
		if l.skipping || l.start == l.end {
			l.start, l.end, l.scanned = 0, 0, 0
		}
		if l.end-l.start > l.max+1 { // a carriage return may still belong to the end
			l.skipping, l.start = true, l.end
			return nil, &LineError{l.max}
		}
		if err := l.fill(); err == io.EOF && l.end > l.start {
			return nil, io.ErrUnexpectedEOF
		} else if err != nil {
			return nil, err
		}
	}
}

// fill reads more into the buffer, and makes room when there is none.
func (l *lines) fill() error {
	if l.err != nil {
		return l.err
	}
	if l.end == len(l.buffer) {
		l.makeRoom()
	}
	n, err := l.source.Read(l.buffer[l.end:])
	l.end += n
	if err != nil {
		l.err = err
	}
	if n > 0 {
		return nil // first what was read, then the error
	}
	return err
}

// makeRoom moves what is unread to the buffer's beginning, or to a larger buffer when it
// fills more than half of this one.
func (l *lines) makeRoom() {
	room, unread := l.buffer, l.buffer[l.start:l.end]
	if len(unread) >= len(room)/2 {
		if size := min(max(2*len(room), firstFill), l.max+firstFill); size > len(room) {
			room = make([]byte, size)
		}
	}
	l.end = copy(room, unread)
	l.scanned -= l.start
	l.buffer, l.start = room, 0
}

// tail keeps the end of a stream.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b[max(0, len(b)-stderrKept):]...)
	if extra := len(t.text) - stderrKept; extra > 0 {
		t.text = t.text[:copy(t.text, t.text[extra:])]
	}
	return len(b), nil
}

func (t *tail) kept() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.text)
}
