package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
)

// answersWaiting is how many answers to the other side's requests wait to be written
// before its messages are no longer read.
const answersWaiting = 64

// ErrClosed is wrapped by the errors of calls that the connection's end left without an
// answer, together with the reason of the end.
var ErrClosed = errors.New("the connection has ended")

// ErrNotSent is wrapped, too, by the error of a call of which nothing was sent: the other
// side cannot have done it. Without it, nobody knows.
var ErrNotSent = errors.New("nothing was sent")

// Handler takes what the other side sends by itself. Both functions run in the order of
// arrival, on the goroutine that reads: while one runs, nothing is read, and the other
// side waits when its pipe is full. They must not wait for a Call. What they are given is
// theirs to keep.
type Handler struct {
	// Notification has returned before any later answer is handed out; nil drops them.
	Notification func(method string, params json.RawMessage)
	// Request returns the answer, or a problem; nil answers each with "method not found".
	Request func(method string, params json.RawMessage) (result any, problem *RPCError)
}

// Peer is one side of a JSON-RPC connection. Direction decides what a message is: one
// with a method and an id is the other side's request, even when we gave out the same id.
type Peer struct {
	conn    Conn
	jsonrpc bool
	handler Handler

	outgoing chan outgoing // calls and notifications: whoever sends waits for the writer
	answers  chan []byte
	ended    chan struct{} // closed when reading has ended; no more is written
	done     chan struct{}

	mu      sync.Mutex
	last    int64
	pending map[int64]chan incoming
	strays  int
	err     error
}

// outgoing is a message on its way to the writer.
type outgoing struct {
	message []byte
	written chan<- error // gets one value
}

// NewPeer speaks JSON-RPC over c until reading from it fails. With jsonrpc, each message
// says so in a member of that name, as the standard wants; Codex wants none. The owner of
// c ends it and waits for Done.
func NewPeer(c Conn, jsonrpc bool, h Handler) *Peer {
	p := &Peer{conn: c, jsonrpc: jsonrpc, handler: h, outgoing: make(chan outgoing),
		answers: make(chan []byte, answersWaiting), ended: make(chan struct{}), done: make(chan struct{}),
		pending: map[int64]chan incoming{}}
	written := make(chan struct{})
	go func() {
		defer close(written)
		p.write()
	}()
	go func() {
		defer close(p.done)
		p.end(p.readAll())
		<-written
	}()
	return p
}

// Call sends a request and returns the result of its answer. Errors: *RPCError when the
// other side answered with one; the context's, after which a late answer is a stray; and
// ErrClosed with the reason. ErrNotSent tells that nothing was sent.
func (p *Peer) Call(ctx context.Context, method string, params any) (json.RawMessage, error) {
	id, answer := p.expect()
	result, err := p.call(ctx, id, answer, method, params)
	if err != nil {
		return nil, fmt.Errorf("call %s: %w", method, err)
	}
	return result, nil
}

func (p *Peer) call(ctx context.Context, id int64, answer <-chan incoming, method string, params any) (json.RawMessage, error) {
	message, err := encode(envelope{ID: id, Method: method, Params: params}, p.jsonrpc)
	if err == nil {
		err = p.send(ctx, message)
	}
	if err != nil && p.forget(id) {
		return nil, err
	}
	select {
	case a := <-answer:
		return a.outcome()
	case <-ctx.Done():
		if p.forget(id) {
			return nil, ctx.Err()
		}
		return (<-answer).outcome() // it came at the same moment
	}
}

// Notify sends a message that has no answer, and returns when it was written.
func (p *Peer) Notify(method string, params any) error {
	message, err := encode(envelope{Method: method, Params: params}, p.jsonrpc)
	if err == nil {
		err = p.send(context.Background(), message)
	}
	if err != nil {
		return fmt.Errorf("notify %s: %w", method, err)
	}
	return nil
}

// Done is closed when the connection has ended and nothing of the peer runs any more.
func (p *Peer) Done() <-chan struct{} { return p.done }

// Err returns why the connection ended, nil while it has not: io.EOF, wrapped, when the
// other side closed it.
func (p *Peer) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Strays counts what was ignored: answers to nothing that is asked, and lines that are no
// message at all.
func (p *Peer) Strays() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.strays
}

// expect gives out an id and the channel on which its answer will come.
func (p *Peer) expect() (int64, <-chan incoming) {
	answer := make(chan incoming, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last++
	if p.err != nil {
		answer <- incoming{failure: fmt.Errorf("%w: %w: %w", ErrClosed, p.err, ErrNotSent)}
		return p.last, answer
	}
	p.pending[p.last] = answer
	return p.last, answer
}

// forget reports whether an id still waited for its answer.
func (p *Peer) forget(id int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, waiting := p.pending[id]
	delete(p.pending, id)
	return waiting
}

// send hands a message to the writer and waits until it was written.
func (p *Peer) send(ctx context.Context, message []byte) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrNotSent, ctx.Err())
	}
	written := make(chan error, 1)
	select {
	case p.outgoing <- outgoing{message, written}:
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", ErrNotSent, ctx.Err())
	case <-p.ended:
		return fmt.Errorf("%w: %w: %w", ErrClosed, p.Err(), ErrNotSent)
	}
	select {
	case err := <-written:
		return err
	case <-ctx.Done():
		return ctx.Err()
	case <-p.ended:
		return fmt.Errorf("%w: %w", ErrClosed, p.Err())
	}
}

// write writes messages one after another until reading has ended.
func (p *Peer) write() {
	for {
		select {
		case o := <-p.outgoing:
			o.written <- p.conn.Write(o.message)
		case message := <-p.answers:
			_ = p.conn.Write(message) // a side that takes no answer is seen to end by the reader
		case <-p.ended:
			return
		}
	}
}

// readAll handles message after message and returns why there are no more.
func (p *Peer) readAll() error {
	for {
		message, err := p.conn.Read()
		if err != nil {
			return err
		}
		if err := p.handle(message); err != nil {
			return err
		}
	}
}

// end fails every call that still waits.
func (p *Peer) end(reason error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.err = reason
	for id, answer := range p.pending {
		answer <- incoming{failure: fmt.Errorf("%w: %w", ErrClosed, reason)}
		delete(p.pending, id)
	}
	close(p.ended)
}

// handle takes one message. An error says that the connection cannot go on.
func (p *Peer) handle(message []byte) error {
	m, err := decode(message)
	switch {
	case err != nil:
		return err
	case m.Method == "":
		p.take(m)
	case !m.asks():
		if p.handler.Notification != nil {
			p.handler.Notification(m.Method, m.Params)
		}
	default:
		p.answers <- p.answer(m)
	}
	return nil
}

// take hands an answer to the call that waits for it.
func (p *Peer) take(m incoming) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id, ok := m.number()
	answer, waiting := p.pending[id]
	if !ok || !waiting {
		p.strays++
		return
	}
	delete(p.pending, id)
	answer <- m
}

// answer has a request of the other side answered, and returns the answer's message.
func (p *Peer) answer(m incoming) []byte {
	var result any
	problem := &RPCError{Code: methodNotFound, Message: "method not found"}
	if p.handler.Request != nil {
		result, problem = p.handler.Request(m.Method, m.Params)
	}
	message, err := encodeAnswer(m.ID, result, problem, p.jsonrpc)
	if err != nil {
		message, _ = encodeAnswer(m.ID, nil, &RPCError{Code: internalError, Message: "the answer is no JSON"}, p.jsonrpc)
	}
	return message
}
