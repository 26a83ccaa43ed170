package claude

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"

	"agentsync/collect"
	"agentsync/collect/stdio"
)

// maxStreamLine is the longest line of the program that is read, in bytes. Longer ones are
// skipped: the transcript has what they say.
const maxStreamLine = 8 << 20

// patience is how long the program may take for what it is to do.
type patience struct {
	answer    time.Duration // to its first request, which it answers before it does anything
	cancel    time.Duration // to end a turn that somebody cancelled
	interrupt time.Duration // to end one because the pass ends
	linger    time.Duration // to end once its turn has
	appear    time.Duration // to write a new session's first line
	grace     time.Duration // to obey the end of its input, and then a signal
}

var ordinaryPatience = patience{
	answer: 2 * time.Minute, cancel: 20 * time.Second, interrupt: 4 * time.Second, linger: 10 * time.Second, appear: 2 * time.Second,
	grace: 2 * time.Second,
}

// query is what the program is to be run with.
type query struct {
	session string
	dir     string
	root    int      // index of the root that the session lies in
	args    []string // beside the protocol's
	title   string
	prompt  string
	appears string // the transcript that a start writes, "" for a prompt
}

// exchange is one run of the program.
type exchange struct {
	turn      *ownTurn
	query     query
	milestone collect.Milestones
	process   *stdio.Process
	patience  patience
	limit     *time.Timer // of the patience with what is awaited now
	looked    sync.WaitGroup
	order     sync.Mutex // an interruption goes out after its prompt
	facts     facts
	answered  bool // the initialize request was
	tasks     int  // background tasks that it waits for
}

// ask runs the program for a prompt and waits for its end.
func (d *Driver) ask(t *ownTurn, q query, m collect.Milestones) collect.Outcome {
	if !t.wanted() {
		return *cancelledEarly()
	}
	path, args, problem := d.program()
	if problem != nil {
		return *problem
	}
	process, err := stdio.Start(stdio.Command{Path: path, Dir: q.dir, MaxLine: maxStreamLine,
		Args: append(append(args, protocolArgs...), q.args...), Env: d.environment(q.root)})
	if errors.Is(err, fs.ErrNotExist) {
		return *notInstalled(path)
	}
	if err != nil {
		return *refused(collect.Failed, "claude-query-failed", "claude's program could not be started: "+reason(err).Error(), true)
	}
	c := &exchange{turn: t, query: q, milestone: m, process: process, patience: d.patience,
		limit: time.NewTimer(d.patience.answer), facts: facts{session: q.session, dir: q.dir, turn: t.id, begins: q.appears != ""}}
	c.hold()
	c.looked.Wait() // until then the session's state stays observable
	return judge(c.facts)
}

// hold speaks with the program until it has ended, and gathers the facts.
func (c *exchange) hold() {
	over, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		c.watch(over)
	}()
	if !c.turn.run(c.dismiss) || c.process.Write(initializeRequest(c.query.title)) != nil {
		c.dismiss()
	}
	c.listen()
	close(over)
	<-watched
	c.process.Stop(c.patience.grace)
	c.facts.exit, c.facts.signaled = c.process.Exit()
	c.facts.said = complaintIn(c.process.Stderr())
	c.facts.interrupted = !c.turn.wanted()
}

// listen reads what the program says to its end.
func (c *exchange) listen() {
	for {
		line, err := c.process.Read()
		if _, tooLong := errors.AsType[*stdio.LineError](err); tooLong {
			continue
		}
		if err != nil {
			return
		}
		if s, ok := readStreamLine(line); ok {
			c.hear(s)
		}
	}
}

// dismiss lets the program end: nothing more will be asked of it.
func (c *exchange) dismiss() {
	_ = c.process.CloseInput()
	c.expect(c.patience.linger)
}

// watch ends the program when it takes too long, and interrupts it when the turn is no
// longer wanted.
func (c *exchange) watch(over <-chan struct{}) {
	unwanted := c.turn.ctx.Done()
	var telling sync.WaitGroup
	defer telling.Wait()
	defer c.limit.Stop()
	for {
		select {
		case <-over:
			return
		case <-unwanted:
			unwanted = nil
			c.expect(c.patience.interrupt)
			telling.Go(func() { _ = c.turn.stop() }) // one that cannot be told is ended at the limit
		case <-c.limit.C:
			c.process.Stop(c.patience.grace)
			return
		}
	}
}

// expect sets how long the program is waited for from now on; 0 is for ever.
func (c *exchange) expect(d time.Duration) {
	if d == 0 {
		c.limit.Stop()
		return
	}
	c.limit.Reset(d)
}

// hear does what a line of the program asks for.
func (c *exchange) hear(s streamLine) {
	switch s.kind {
	case "control_response":
		if s.requestID == initializeID && !c.answered {
			c.answered = true
			c.begin(s.failed)
		}
	case "control_request":
		_ = c.process.Write(refusal(s)) // a program that hears nothing ends by itself
	case "system":
		c.hearSystem(s)
	case "result":
		if s.result != nil {
			c.facts.result = s.result
			_ = c.process.CloseInput()
			c.settle()
		}
	}
}

// begin sends the prompt, once the program is ready for it.
func (c *exchange) begin(failed bool) {
	interrupt := func() error {
		if c.turn.ctx.Err() == nil {
			c.expect(c.patience.cancel)
		}
		c.order.Lock()
		defer c.order.Unlock()
		return c.process.Write(interruptRequest())
	}
	c.expect(0)
	c.order.Lock()
	defer c.order.Unlock()
	if failed || !c.turn.send(interrupt) {
		c.dismiss()
		return
	}
	c.facts.prompted = true // from here on nobody knows what it did unless it says so
	if c.process.Write(userLineOf(c.turn.id, c.query.prompt)) != nil {
		c.dismiss()
	}
}

func (c *exchange) hearSystem(s streamLine) {
	switch {
	case s.subtype == "init" && c.facts.prompted && !c.facts.active:
		c.facts.active = true
		c.turn.setActive()
		c.looked.Go(c.tell)
	case s.subtype == "init": // background work came back, and the program goes on
		if c.turn.wanted() {
			c.expect(0)
		}
	case s.tasks >= 0:
		c.tasks = s.tasks
		c.settle()
	}
}

// tell says that the session is at work, once there is something of it to look at, while
// the turn goes on.
func (c *exchange) tell() {
	if c.query.appears != "" {
		c.awaitFile(c.query.appears)
	}
	// A session that could not be looked at now is looked at when the turn has ended.
	_ = c.milestone.SessionActive(c.turn.ctx, c.turn.session)
}

// awaitFile waits for a new session's transcript, which the program writes at once. One
// that it keeps in another place is not waited for long.
func (c *exchange) awaitFile(path string) {
	const step = 20 * time.Millisecond
	for waited := time.Duration(0); waited < c.patience.appear; waited += step {
		if info, err := os.Stat(path); err == nil && info.Size() > 0 {
			return
		}
		select {
		case <-c.turn.ctx.Done():
			return
		case <-time.After(step):
		}
	}
}

// settle lets the program end after its turn: at once, or when its background work is done.
func (c *exchange) settle() {
	switch {
	case c.facts.result == nil:
	case c.tasks > 0 && c.turn.wanted():
		c.expect(0)
	default:
		c.expect(c.patience.linger)
	}
}

// complaintIn recognizes what the program says before it gives up.
func complaintIn(stderr []byte) complaint {
	switch said := string(stderr); {
	case strings.Contains(said, "is already in use."):
		return idInUse
	case strings.Contains(said, "No conversation found with session ID:"):
		return noConversation
	}
	return noComplaint
}
