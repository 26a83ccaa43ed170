package claude

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"
	"time"

	"agentsync/collect"
)

// turns are the prompts that a driver runs, one a session.
type turns struct {
	mutex   sync.Mutex
	stopped bool
	begun   int // so far; makes turn ids differ
	running map[string]*ownTurn
	all     sync.WaitGroup
}

// ownTurn is one prompt or start from its admission to its outcome.
type ownTurn struct {
	session string
	id      string // of the user line that the prompt becomes
	ctx     context.Context
	end     context.CancelFunc
	done    chan struct{} // closed when the outcome stands
	outcome collect.Outcome

	mutex     sync.Mutex
	asked     bool         // to be interrupted
	interrupt func() error // set while a prompt that was sent can be interrupted
	abandon   func()       // set while the program runs and was sent no prompt
	active    bool
}

// admit begins a turn, or says why it cannot begin.
func (d *Driver) admit(ctx context.Context, session string, in collect.PromptInput) (*ownTurn, *collect.Outcome) {
	d.turns.mutex.Lock()
	defer d.turns.mutex.Unlock()
	if d.turns.stopped {
		return nil, refused(collect.Failed, "claude-driver-stopped", "the source was closed before the prompt was sent", true)
	}
	if d.turns.running[session] != nil {
		return nil, refused(collect.NeedsConfirmation, "already-active", "a prompt is already running in this session", true)
	}
	d.turns.begun++
	t := &ownTurn{session: session, done: make(chan struct{}),
		id: d.turnID(session, in)}
	t.ctx, t.end = context.WithCancel(ctx)
	if d.turns.running == nil {
		d.turns.running = map[string]*ownTurn{}
	}
	d.turns.running[session] = t
	d.turns.all.Add(1)
	return t, nil
}

// release ends a turn. Whoever waits for it finds its outcome.
func (d *Driver) release(t *ownTurn, o collect.Outcome) collect.Outcome {
	d.turns.mutex.Lock()
	defer d.turns.mutex.Unlock()
	delete(d.turns.running, t.session)
	t.outcome = o
	t.end()
	close(t.done)
	d.turns.all.Done()
	return o
}

// open lets turns begin.
func (s *turns) open() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.stopped = false
}

// close lets no further turn begin, ends those that run, and returns when they have.
func (s *turns) close() {
	s.mutex.Lock()
	s.stopped = true
	for _, t := range s.running {
		t.end()
	}
	s.mutex.Unlock()
	s.all.Wait()
}

func (s *turns) find(session string) *ownTurn {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.running[session]
}

// active reports that a prompt of this driver is at work in a session.
func (s *turns) active(session string) bool {
	t := s.find(session)
	if t == nil {
		return false
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.active
}

// setActive makes the session's state observable until the turn is released.
func (t *ownTurn) setActive() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.active = true
}

// stop interrupts the prompt, or keeps it from being sent.
func (t *ownTurn) stop() error {
	t.mutex.Lock()
	first, interrupt, abandon := !t.asked, t.interrupt, t.abandon
	t.asked = true
	t.mutex.Unlock()
	switch {
	case first && interrupt != nil:
		return interrupt()
	case first && abandon != nil:
		abandon()
	}
	return nil
}

// wanted reports that nobody asked to stop it.
func (t *ownTurn) wanted() bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return !t.asked && t.ctx.Err() == nil
}

// run tells the turn how to end the program that was sent no prompt yet. It is false
// when the turn is no longer wanted.
func (t *ownTurn) run(abandon func()) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.abandon = abandon
	return !t.asked
}

// send tells the turn that the prompt goes out now, and how to interrupt it. It is
// false when the turn is no longer wanted: then nothing may be sent.
func (t *ownTurn) send(interrupt func() error) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.asked || t.ctx.Err() != nil {
		return false
	}
	t.interrupt = interrupt
	return true
}

// turnID makes the uuid that the prompt's line gets. The client keeps it, so the line
// can be found again: by who knows the prompt's mark, even when nobody saw the uuid.
// Without a mark it differs for every prompt of every pass.
func (d *Driver) turnID(session string, in collect.PromptInput) string {
	if in.Mark != "" {
		return markedID(in.Mark)
	}
	return ownUUID(d.descriptor.ID, session, d.env.Now.UTC().Format(time.RFC3339Nano), fmt.Sprint(d.turns.begun), in.Text)
}

// markedID is the uuid of the prompt that has the mark.
func markedID(mark string) string { return ownUUID("mark", mark) }

func ownUUID(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // version 8: of our own making
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// refused is the outcome of an operation that did nothing.
func refused(status collect.Status, code, message string, retryable bool) *collect.Outcome {
	return &collect.Outcome{Status: status, Untouched: true,
		Problem: &collect.OperationProblem{Code: code, Message: message, Retryable: retryable}}
}
