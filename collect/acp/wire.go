package acp

import (
	"bytes"
	"encoding/json"
	"sync"

	"agentsync/collect/stdio"
)

// wire is a connection that tells where in the stream a request goes out and where its
// answer comes in. Updates name no request, so only their place tells what they belong to.
type wire struct {
	stdio.Conn
	mu       sync.Mutex
	expected map[string]*mark // by method and session, not written yet
	open     map[string]*mark // by request id, not answered yet
}

// mark is told of one request. Each function may be nil, runs at most once, and in the
// order of the stream; none may call the wire.
type mark struct {
	begin    func() // before the request is written
	sent     func() // after it was written
	answered func() // when its answer was read, before anything after it is
}

func newWire(c stdio.Conn) *wire {
	return &wire{Conn: c, expected: map[string]*mark{}, open: map[string]*mark{}}
}

// expect announces the next request of a method for a session. Requests of one method
// and session are made one at a time.
func (w *wire) expect(method, session string, m *mark) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.expected[method+" "+session] = m
}

// forget withdraws an announcement whose request was never written.
func (w *wire) forget(method, session string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.expected, method+" "+session)
}

// envelope is what a message says of itself.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		SessionID string `json:"sessionId"`
	} `json:"params"`
}

// Write sends a message.
func (w *wire) Write(line []byte) error {
	m := w.outgoing(line)
	if m == nil {
		return w.Conn.Write(line)
	}
	run(m.begin)
	err := w.Conn.Write(line)
	if err == nil {
		run(m.sent)
	}
	return err
}

// outgoing finds the mark of a request, and waits for the answer from now on.
func (w *wire) outgoing(line []byte) *mark {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.expected) == 0 || !bytes.Contains(line, []byte(`"session/`)) {
		return nil
	}
	var e envelope
	if json.Unmarshal(line, &e) != nil || e.ID == nil {
		return nil
	}
	key := e.Method + " " + e.Params.SessionID
	m := w.expected[key]
	if m != nil {
		delete(w.expected, key)
		w.open[string(e.ID)] = m
	}
	return m
}

// Read returns the next message.
func (w *wire) Read() ([]byte, error) {
	line, err := w.Conn.Read()
	if err != nil {
		return line, err
	}
	if m := w.incoming(line); m != nil {
		run(m.answered)
	}
	return line, nil
}

// incoming finds the mark of the request that a message answers.
func (w *wire) incoming(line []byte) *mark {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.open) == 0 || member(line, "method") != "" {
		return nil
	}
	var e envelope
	if json.Unmarshal(line, &e) != nil || e.ID == nil {
		return nil
	}
	m := w.open[string(e.ID)]
	delete(w.open, string(e.ID))
	return m
}

func run(f func()) {
	if f != nil {
		f()
	}
}
