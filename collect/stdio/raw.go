package stdio

import (
	"errors"
	"fmt"
	"io"
	"os"
)

// Raw carries a child's standard streams as bytes, for a protocol that is not one of
// lines. Whoever uses it reads no lines, and reads to the end or calls Stop.
func (p *Process) Raw() io.ReadWriteCloser { return raw{p} }

type raw struct{ p *Process }

// Read reads standard output; io.EOF when the child is done, ErrStopped after Stop.
func (r raw) Read(b []byte) (int, error) {
	n, err := counted(r).Read(b)
	if err == nil {
		return n, nil
	}
	r.p.readOnce.Do(func() { close(r.p.read) })
	switch {
	case r.p.stopped.Load():
		err = ErrStopped
	case errors.Is(err, os.ErrClosed):
		err = io.EOF
	}
	return n, err
}

// Write writes all of b to standard input. Like a line, it fails when the child has read
// nothing for half a minute, and then nothing more can be written.
func (r raw) Write(b []byte) (int, error) {
	r.p.input.Lock()
	defer r.p.input.Unlock()
	if r.p.inputErr != nil {
		return 0, fmt.Errorf("write to %s: %w: %w", r.p.name, ErrNotSent, r.p.inputErr)
	}
	sent, err := r.p.send(b)
	if err == nil {
		return sent, nil
	}
	if r.p.stopped.Load() {
		err = ErrStopped
	}
	r.p.inputErr = err
	return sent, fmt.Errorf("write to %s: %w", r.p.name, err)
}

// Close ends the child's standard input.
func (r raw) Close() error { return r.p.CloseInput() }
