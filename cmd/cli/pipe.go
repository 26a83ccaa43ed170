package cli

import (
	"bufio"
	"errors"
	"io"
)

// errOutputClosed reports that whoever read the output has left, as head does. It
// ends a listing early and is no failure.
var errOutputClosed = errors.New("output closed by its reader")

// resultWriter is standard output. It keeps its first error: after a broken pipe
// everything else is dropped without a word, so that a pass still ends as it should.
type resultWriter struct {
	buffer *bufio.Writer
	err    error
}

func newResultWriter(w io.Writer) *resultWriter {
	return &resultWriter{buffer: bufio.NewWriterSize(w, 32<<10)}
}

// Write buffers p. It fails with errOutputClosed once the reader has left.
func (w *resultWriter) Write(p []byte) (int, error) {
	if w.err != nil {
		return 0, w.err
	}
	n, err := w.buffer.Write(p)
	return n, w.keep(err)
}

// Flush writes out what is buffered.
func (w *resultWriter) Flush() error {
	if w.err != nil {
		return w.err
	}
	return w.keep(w.buffer.Flush())
}

func (w *resultWriter) keep(err error) error {
	if err == nil {
		return nil
	}
	if isBrokenPipe(err) || errors.Is(err, io.ErrClosedPipe) {
		err = errOutputClosed
	}
	w.err = err
	return err
}
