package codex

import (
	"encoding/json"
	"sync"

	"agentsync/collect/stdio"
)

// keptEndings is how many ends of turns a run keeps before it knows which is its own. A
// thread has one turn at a time; more are a server gone wrong.
const keptEndings = 500

// ending is how a turn ended: completed, interrupted or failed, and for a failed one the
// server's word for why, "" for none.
type ending struct{ status, reason string }

// run is an operation on a thread, registered before its turn is started: whatever the
// server tells of the turn, however early, finds it.
type run struct {
	mu       sync.Mutex
	place    place
	turn     string // "" until the server named it
	early    []turnEnding
	declined int // requests for a person that were refused
	end      ending
	ended    chan struct{} // closed when the turn's end is known
	over     chan struct{} // closed when the operation has returned
}

// place is where a turn runs.
type place struct {
	server *server
	thread string
}

type turnEnding struct {
	turn string
	end  ending
}

func newRun() *run { return &run{ended: make(chan struct{}), over: make(chan struct{})} }

// expect names the turn of the run. Its end may be known already.
func (r *run) expect(s *server, thread, turn string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.place, r.turn = place{s, thread}, turn
	for _, e := range r.early {
		if e.turn == turn {
			r.finish(e.end)
		}
	}
	r.early = nil
}

// observe takes the end of a turn of the run's thread.
func (r *run) observe(turn string, end ending) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.turn == turn && turn != "":
		r.finish(end)
	case r.turn == "":
		if len(r.early) == keptEndings {
			r.early = append(r.early[:0], r.early[1:]...)
		}
		r.early = append(r.early, turnEnding{turn, end})
	}
}

// finish keeps the first end that is told.
func (r *run) finish(end ending) {
	select {
	case <-r.ended:
	default:
		r.end = end
		close(r.ended)
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

// heard takes a notification. Of all that a server tells, the ends of turns are kept, and
// of those the ones of threads that a run works on.
func (l *runs) heard(method string, params json.RawMessage) {
	if method != "turn/completed" {
		return
	}
	var told struct {
		ThreadID string   `json:"threadId"`
		Turn     wireTurn `json:"turn"`
	}
	if json.Unmarshal(params, &told) != nil {
		return
	}
	if r := l.find(told.ThreadID); r != nil {
		r.observe(told.Turn.ID, ending{told.Turn.Status, told.Turn.reason()})
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
