package stdio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	stallLimit = 30 * time.Second // without one byte of input taken, a child reads no more
	writePiece = 64 << 10         // bytes written before the stall limit begins anew; a pipe holds as many
)

// ErrStopped is what Read and Write return once Stop has ended the child.
var ErrStopped = errors.New("the program was stopped")

// Command is a program to run. Nothing is inherited: not the environment, and no file
// but the three standard streams.
type Command struct {
	Path    string   // the program's file; PATH is not searched
	Args    []string // without the program's name
	Dir     string   // "" is the folder of the calling process
	Env     []string // the complete environment
	MaxLine int      // bytes of the longest line that Read hands out; 0 is 64 MiB
}

// Process is a running child, the leader of a process group of its own. Somebody reads
// it to the end, or calls Stop.
type Process struct {
	cmd   *exec.Cmd
	name  string // of the program, for errors
	group *group

	stdin    *os.File
	input    sync.Mutex // one line at a time
	pending  []byte
	inputErr error // why nothing can be written any more
	stall    time.Duration

	stdout   *os.File
	lines    *lines
	calls    atomic.Int64 // reads of stdout begun
	waiting  atomic.Bool  // one of them has not returned
	outsider atomic.Bool  // stdout was closed: the child has ended, and who still holds it is none of ours
	stopped  atomic.Bool
	readOnce sync.Once
	read     chan struct{} // closed when nothing more comes from stdout

	stderr tail

	gone chan struct{} // closed when the child and its group have ended
	done chan struct{}
}

// Start runs the command in a process group of its own, without a terminal. When the
// calling process is killed, the system ends the child too: on Linux by a signal to the
// child, and on Windows to the whole job. What the child started sees the end of its
// input.
func Start(c Command) (*Process, error) {
	if c.Path == "" {
		return nil, errors.New("start a program: no program named")
	}
	p := &Process{name: filepath.Base(c.Path), stall: stallLimit,
		read: make(chan struct{}), gone: make(chan struct{}), done: make(chan struct{})}
	p.cmd = &exec.Cmd{Path: c.Path, Args: append([]string{c.Path}, c.Args...), Dir: c.Dir,
		Env: append([]string{}, c.Env...)} // not nil: nil would inherit
	theirs, stderr, err := p.pipes()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	p.lines = newLines(counted{p}, c.MaxLine)
	started := make(chan error)
	go p.run(stderr, started)
	err = <-started
	closeAll(theirs...)
	if err != nil {
		<-p.done
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	return p, nil
}

// pipes gives the command its three streams. It returns the child's ends, to be closed
// here once the child has them, and our end of its stderr.
func (p *Process) pipes() (theirs []*os.File, stderr *os.File, err error) {
	var open []*os.File
	pipe := func() (r, w *os.File) {
		if err != nil {
			return nil, nil
		}
		if r, w, err = os.Pipe(); err == nil {
			open = append(open, r, w)
		}
		return r, w
	}
	childIn, in := pipe()
	out, childOut := pipe()
	errors, childErr := pipe()
	if err != nil {
		closeAll(open...)
		return nil, nil, fmt.Errorf("open pipes: %w", err)
	}
	p.stdin, p.stdout = in, out
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = childIn, childOut, childErr
	return []*os.File{childIn, childOut, childErr}, errors, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// run lives as long as the child. Linux sends the signal of a dead parent when the
// thread that forked ends, whatever becomes of the process: so this goroutine keeps one
// thread for itself until the child has been waited for.
func (p *Process) run(stderr *os.File, started chan<- error) {
	defer close(p.done)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var err error
	if p.group, err = startGroup(p.cmd); err != nil {
		closeAll(p.stdin, p.stdout, stderr)
		started <- err
		return
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(&p.stderr, stderr) // until nobody holds it, or it is closed
	}()
	started <- nil
	_ = p.cmd.Wait() // how it ended stands in ProcessState
	p.group.finish()
	close(p.gone)
	_ = p.stdin.Close()
	p.awaitReader()
	if !within(drained, outsiderWait) {
		_ = stderr.SetReadDeadline(past)
	}
	closeAll(p.stdout, stderr)
	<-drained
}

// past is a moment long ago: as a deadline it ends a pending call.
var past = time.Unix(1, 0)

// Read returns the next line of standard output without its end, good until the next
// Read. Errors: io.EOF after the last line; io.ErrUnexpectedEOF, wrapped, when the
// output broke off inside a line, which is not handed out; *LineError for a line that is
// too long, after which the next line can be read; ErrStopped. One goroutine reads.
func (p *Process) Read() ([]byte, error) {
	line, err := p.lines.next()
	if err == nil {
		return line, nil
	}
	var long *LineError
	if errors.As(err, &long) {
		return nil, err
	}
	p.readOnce.Do(func() { close(p.read) })
	switch {
	case p.stopped.Load():
		err = ErrStopped
	case p.outsider.Load() && errors.Is(err, os.ErrClosed):
		return nil, io.EOF
	case err == io.EOF:
		return nil, io.EOF
	}
	return nil, fmt.Errorf("read from %s: %w", p.name, err)
}

// counted reads a child's stdout and says when it waits.
type counted struct{ p *Process }

func (c counted) Read(b []byte) (int, error) {
	c.p.calls.Add(1)
	c.p.waiting.Store(true)
	defer c.p.waiting.Store(false)
	return c.p.stdout.Read(b)
}

// Write sends one line, which holds no line end itself. It fails when the child has
// ended or was stopped, and when it has read nothing for half a minute; after that nothing
// more can be sent. ErrNotSent tells that none of the line was.
func (p *Process) Write(line []byte) error {
	if bytes.IndexByte(line, '\n') >= 0 {
		return fmt.Errorf("write to %s: a line end within the line", p.name)
	}
	p.input.Lock()
	defer p.input.Unlock()
	if p.inputErr != nil {
		return fmt.Errorf("write to %s: %w: %w", p.name, ErrNotSent, p.inputErr)
	}
	p.pending = append(append(p.pending[:0], line...), '\n')
	sent, err := p.send(p.pending)
	if cap(p.pending) > keptBuffer {
		p.pending = nil
	}
	if err == nil {
		return nil
	}
	if p.stopped.Load() {
		err = ErrStopped
	}
	p.inputErr = err
	if sent == 0 {
		return fmt.Errorf("write to %s: %w: %w", p.name, ErrNotSent, err)
	}
	return fmt.Errorf("write to %s, of which it got a part: %w", p.name, err)
}

// send writes all of b while the child goes on reading, and returns how much it wrote.
func (p *Process) send(b []byte) (sent int, err error) {
	_ = p.stdin.SetWriteDeadline(time.Time{}) // a timer that fired while it was stopped may have left one
	stalled := time.AfterFunc(p.stall, func() {
		if p.stdin.SetWriteDeadline(past) != nil {
			p.group.kill() // no deadlines here: a dead child's pipe breaks
		}
	})
	defer stalled.Stop()
	for sent < len(b) {
		stalled.Reset(p.stall)
		n, err := p.stdin.Write(b[sent:min(len(b), sent+writePiece)])
		sent += n
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return sent, fmt.Errorf("it read nothing for %s: %w", p.stall, err)
		}
		if err != nil {
			return sent, err
		}
	}
	return sent, nil
}

// CloseInput ends the child's standard input, which asks most agents to end. A line that
// is being written is cut off.
func (p *Process) CloseInput() error {
	if err := p.stdin.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("close the input of %s: %w", p.name, err)
	}
	return nil
}

// Done is closed when the child and its group have ended and its output was read.
func (p *Process) Done() <-chan struct{} { return p.done }

// Exit returns the child's exit code, or -1 when a signal ended it. It may be called
// after Done.
func (p *Process) Exit() (code int, signaled bool) {
	state := p.cmd.ProcessState
	if state == nil {
		return -1, false
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok {
		signaled = status.Signaled()
	}
	return state.ExitCode(), signaled
}

// Stderr returns the last 8 KiB that the child wrote to standard error. They are for
// matching known messages, never for showing: anything can stand there. Ending makes them
// fit for that.
func (p *Process) Stderr() []byte { return p.stderr.kept() }
