package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"agentsync/collect"
	"agentsync/ledger"
	"agentsync/ledger/worker"
)

// workInterval is the time between two lines of plain progress about a running command.
const workInterval = 15 * time.Second

// board takes what the worker and the agents tell, from any goroutine, and prints it
// when its one reader asks.
type board struct {
	v *invocation

	mu       sync.Mutex
	begun    map[ledger.CommandID]running
	receipts []ledger.Receipt
	failures []*failure
	notes    []string
	refusals []collect.Problem
}

// running is a command that an agent is at work on.
type running struct {
	what         string
	since, shown time.Time
}

func newBoard(v *invocation) *board {
	return &board{v: v, begun: map[ledger.CommandID]running{}}
}

func (b *board) put(change func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change()
}

func (b *board) settled(r ledger.Receipt) { b.put(func() { b.receipts = append(b.receipts, r) }) }
func (b *board) failed(f *failure)        { b.put(func() { b.failures = append(b.failures, f) }) }
func (b *board) refuse(p collect.Problem) { b.put(func() { b.refusals = append(b.refusals, p) }) }

// missing notes a session that its source does not list, as after a start that failed.
func (b *board) missing(key string) {
	text := "its source lists no session " + key + ", so nothing of it was published"
	b.put(func() {
		if !slices.Contains(b.notes, text) {
			b.notes = append(b.notes, text)
		}
	})
}

// unrecorded takes a command whose bookkeeping failed.
func (b *board) unrecorded(f worker.Failure) {
	key, _ := collect.SessionKey(f.SourceID, f.NativeSessionID)
	b.failed(&failure{exit: exitPartial, code: "not-recorded", source: f.SourceID, session: key, retryable: true,
		hint: "the next agentsync drain goes on from there", err: &f})
}

// running takes note that an agent begins to work on a command, or is done with it.
func (b *board) running(q worker.Queued, begun bool) {
	key, _ := collect.SessionKey(q.SourceID, q.NativeSessionID)
	b.put(func() {
		if !begun {
			delete(b.begun, q.ID())
			return
		}
		b.begun[q.ID()] = running{what: fmt.Sprintf("%s %s in %s", q.Type, q.Command.ID, key), since: b.v.env.Now()}
	})
}

// tell prints what has come together.
func (b *board) tell() {
	var receipts []ledger.Receipt
	var failures []*failure
	var refusals []collect.Problem
	var notes []string
	b.put(func() {
		receipts, failures, refusals, notes = b.receipts, b.failures, b.refusals, b.notes
		b.receipts, b.failures, b.refusals, b.notes = nil, nil, nil, nil
	})
	for _, p := range refusals {
		b.showRefused(p)
	}
	for _, r := range receipts {
		_ = b.showReceipt(r) // an output that nobody reads any more is noticed at the end
	}
	for _, f := range failures {
		b.v.out.problem(f)
	}
	for _, text := range notes {
		b.v.out.warn("%s", text)
	}
	b.showRunning()
}

func (b *board) showRefused(p collect.Problem) {
	if b.v.out.asJSON {
		_ = b.v.out.object(refusedObject{"refused", p.Code, p.Message, p.Path})
		return
	}
	b.v.out.warn("refused: %s", withPath(p.Message, p.Path))
}

func (b *board) showReceipt(r ledger.Receipt) error {
	o := receiptOf(r, "")
	if b.v.out.asJSON {
		return b.v.out.object(o)
	}
	text := fmt.Sprintf("%-11s  %s  %s", o.Status, o.ID, o.Key)
	if o.Error != nil {
		text += fmt.Sprintf("  %s (%s)", o.Error.Message, o.Error.Code)
	}
	return b.v.out.note("%s", text)
}

// showRunning tells of commands that agents are at work on: once on a terminal, and from
// time to time with --progress=plain.
func (b *board) showRunning() {
	g := b.v.globals
	plain := g.progress == progressPlain
	if g.quiet || !plain && (g.progress == progressNone || !b.v.env.StderrTerminal) {
		return
	}
	now := b.v.env.Now()
	var lines []string
	b.put(func() {
		for _, id := range slices.SortedFunc(maps.Keys(b.begun), func(x, y ledger.CommandID) int { return strings.Compare(x.Key(), y.Key()) }) {
			r := b.begun[id]
			if !r.shown.IsZero() && (!plain || now.Sub(r.shown) < workInterval) {
				continue
			}
			r.shown = now
			b.begun[id] = r
			lines = append(lines, fmt.Sprintf("%s, %v", r.what, now.Sub(r.since).Round(time.Second)))
		}
	})
	for _, line := range lines {
		b.v.out.diagnose("progress", line)
	}
}
