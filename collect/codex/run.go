package codex

import (
	"cmp"
	"context"
	"encoding/json"
	"sync"
	"time"

	"agentsync/collect/stdio"
)

// keptNews is how much news of turns a run keeps before it knows which turn is its own. A
// thread has one turn at a time; more are a server gone wrong.
const keptNews = 500

// ending is how a turn ended: completed, interrupted or failed, and for a failed one the
// server's word for why, "" for none.
type ending struct{ status, reason string }

// run is an operation on a thread, registered before its turn is started: whatever the
// server tells of the turn, however early, finds it.
type run struct {
	mu       sync.Mutex
	place    place
	turn     string // "" until the server named it
	early    []turnNews
	declined int // requests for a person that were refused
	end      ending
	begun    chan struct{} // closed when the turn is under way, or has ended: from then on it can be interrupted
	ended    chan struct{} // closed when the turn's end is known
	over     chan struct{} // closed when the operation has returned
}

// place is where a turn runs.
type place struct {
	server *server
	thread string
}

// turnNews is what the server tells of a turn: that it is under way, or its end.
type turnNews struct {
	turn string
	end  ending // status "" while it is under way
}

func newRun() *run {
	return &run{begun: make(chan struct{}), ended: make(chan struct{}), over: make(chan struct{})}
}

// expect names the turn of the run. Its end may be known already.
func (r *run) expect(s *server, thread, turn string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.place, r.turn = place{s, thread}, turn
	for _, news := range r.early {
		if news.turn == turn {
			r.take(news.end)
		}
	}
	r.early = nil
}

// observe takes news of a turn of the run's thread.
func (r *run) observe(news turnNews) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.turn == news.turn && r.turn != "":
		r.take(news.end)
	case r.turn == "":
		if len(r.early) == keptNews {
			r.early = append(r.early[:0], r.early[1:]...)
		}
		r.early = append(r.early, news)
	}
}

// take keeps news of the run's own turn: that it is under way, and the first end.
func (r *run) take(end ending) {
	closeOnce(r.begun)
	if end.status != "" && r.end.status == "" {
		r.end = end
		close(r.ended)
	}
}

// closeOnce closes a channel unless it is closed. One goroutine at a time calls it.
func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

// decline counts a request that only a person could have granted.
func (r *run) decline() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.declined++
}

// state returns what is known of the run's turn, the place once the turn has begun.
func (r *run) state() (at place, turn string, declined int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.place, r.turn, r.declined
}

// interrupt asks the server to end the run's turn. Before the turn is under way the server
// knows of none, so that is waited for as long as for any answer.
func (r *run) interrupt(ctx context.Context) error {
	at, turn, _ := r.state()
	patience := time.NewTimer(at.server.limits.interrupt)
	defer patience.Stop()
	select {
	case <-r.begun:
	case <-at.server.peer.Done():
	case <-patience.C:
	}
	return at.server.interruptTurn(ctx, at.thread, turn)
}

// runs are the operations of a driver, by the id of the thread that each works on. A
// start has the id that was asked for, too, until and after the thread's own is known.
type runs struct {
	mu   sync.Mutex
	byID map[string]*run
}

// admit registers a run under an id; ok is false while another one has it.
func (l *runs) admit(id string, r *run) (ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byID[id] != nil {
		return false
	}
	if l.byID == nil {
		l.byID = map[string]*run{}
	}
	l.byID[id] = r
	return true
}

// release takes a run away under every id.
func (l *runs) release(r *run) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, one := range l.byID {
		if one == r {
			delete(l.byID, id)
		}
	}
	close(r.over)
}

func (l *runs) find(id string) *run {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byID[id]
}

// all returns the runs, each once.
func (l *runs) all() []*run {
	l.mu.Lock()
	defer l.mu.Unlock()
	seen := map[*run]bool{}
	var list []*run
	for _, r := range l.byID {
		if !seen[r] {
			seen[r] = true
			list = append(list, r)
		}
	}
	return list
}

// turning reports that a turn of ours is under way in a thread.
func (l *runs) turning(thread string) bool {
	r := l.find(thread)
	if r == nil {
		return false
	}
	at, turn, _ := r.state()
	return turn != "" && at.thread == thread
}

// heard takes a notification. Of all that a server tells, the beginnings and ends of turns
// are kept, and of those the ones of threads that a run works on.
func (l *runs) heard(method string, params json.RawMessage) {
	if method != "turn/started" && method != "turn/completed" {
		return
	}
	var told struct {
		ThreadID string   `json:"threadId"`
		Turn     wireTurn `json:"turn"`
	}
	if json.Unmarshal(params, &told) != nil {
		return
	}
	news := turnNews{turn: told.Turn.ID}
	if method == "turn/completed" {
		news.end = ending{cmp.Or(told.Turn.Status, "unnamed"), told.Turn.reason()}
	}
	if r := l.find(told.ThreadID); r != nil {
		r.observe(news)
	}
}

// asked answers what the server asks of a person. There is none here: commands and
// changes are declined, and everything else is refused as an error.
func (l *runs) asked(method string, params json.RawMessage) (any, *stdio.RPCError) {
	var about struct {
		ThreadID string `json:"threadId"`
	}
	_ = json.Unmarshal(params, &about) // whatever it is, the answer is no
	if r := l.find(about.ThreadID); r != nil {
		r.decline()
	}
	switch method {
	case "item/commandExecution/requestApproval", "item/fileChange/requestApproval":
		return map[string]string{"decision": "decline"}, nil
	}
	return nil, &stdio.RPCError{Code: nobodyHere, Message: "nobody is here to answer"}
}

// nobodyHere is the standard's code of an internal error.
const nobodyHere = -32603

// reason is the server's word for why a turn failed: a name, never its message.
func (t wireTurn) reason() string {
	if t.Error == nil {
		return ""
	}
	switch info := t.Error.Info.(type) {
	case string:
		return wordOf(info)
	case map[string]any:
		for name := range info {
			return wordOf(name)
		}
	}
	return ""
}

// wordOf returns a text that is one plain word, "" for everything else.
func wordOf(text string) string {
	if len(text) > 64 {
		return ""
	}
	for _, c := range []byte(text) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' {
			return ""
		}
	}
	return text
}
