package publish

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"agentsync/chunk"
	"agentsync/collect"
	"agentsync/hashgraph"
	"agentsync/publish/document"
	"agentsync/publish/store"
)

// Pass is one publication.
type Pass struct {
	Sources  []collect.Driver
	Only     func(sourceID string, l collect.Listing) bool // nil for all; a part of a source deletes nothing
	Full     bool                                          // read every session, claimed or not
	Tails    bool                                          // take an unfinished last line as it stands, as Full does too
	Talk     bool                                          // find out whether there is a conversation among the sessions
	DryRun   bool                                          // prepare and compare, write nothing
	TakeOver bool                                          // publish sources that another installation owns
	// LeftOut reports a source that a person left out of the pass; nil for none. Any other
	// that this installation has published, and that is not among the sources, is absent.
	LeftOut func(sourceID string) bool
	// Keeps is how old the sessions of a source are when their agent removes them by itself,
	// 0 for never; nil for never.
	Keeps func(sourceID string) time.Duration
	// Gone reports a source of which a person said that what is not seen is gone; nil for
	// none.
	Gone func(sourceID string) bool
	Now  time.Time
	// Git observes a directory; nil leaves Git fields as they are.
	Git func(dir string) (now document.Git, failed bool)
	// Checkouts are the roots that a discovery found, nil when there was none.
	Checkouts []string
	// Pause says whether a pass that has written so many bytes of packs since its last
	// generation puts one on the way, so that whoever interrupts it loses little. It is
	// asked after every session that was read, by several goroutines in turn; nil is never.
	Pause func(written int64) bool
	// Progress is told of every session that is done, from several goroutines in turn.
	Progress func(Progress)
}

// Progress is how far a pass has come.
type Progress struct {
	Source  string
	Listed  int   // sessions the inventory gave so far
	Done    int   // of them, read or retained
	Bytes   int64 // read
	Session string
}

// work is the state of one running pass.
type work struct {
	*Target
	Pass
	ctx   context.Context
	base  *generation
	index *index
	// lostRecent says that the index of recent sessions is damaged.
	lostRecent bool
	claims     *claimBook
	packer     *packer
	number     int64 // of this observation
	benches    []*bench
	mu         sync.Mutex
	results    []result
	tallies    []tally
	paused     bool // the workers stop after the session they read
	report     Report
}

// result is one session that was read, or could not be.
type result struct {
	row     *document.Row // nil when it failed
	prior   *document.Row
	claim   claim
	failed  bool
	settled bool // it is in a generation on the way
	session SessionReport
}

// trusted is the row whose copy may stand in place of what was read, nil when its
// documents are damaged.
func (r *result) trusted() *document.Row {
	if r.session.Mended {
		return nil
	}
	return r.prior
}

// tally is one source's inventory after its sessions were read.
type tally struct {
	source   collect.Descriptor
	outcome  collect.Tally
	partial  bool // only some of its sessions were asked for
	unlisted bool // the pass does not look at it
	retained []string
	unseen   int // published, not deleted, and not seen
	verdict  verdict
}

// Publish runs one pass. The report is good as far as the pass came, whatever the
// error. A pass that finds nothing changed writes nothing. One that is interrupted
// leaves what it has read as a generation on the way.
func (t *Target) Publish(ctx context.Context, p Pass) (Report, error) {
	w := &work{Target: t, Pass: p, ctx: ctx}
	w.report.Store = t.Store.Location()
	lib := t.library(ctx)
	base, err := t.newest(lib)
	if err != nil {
		return w.report, err
	}
	if err := ownsSources(base, p, t.Installation); err != nil {
		return w.report, err
	}
	w.base, w.index = base, newIndex(lib, base)
	if p.Full {
		if err := w.checkIndex(); err != nil {
			return w.report, err
		}
	}
	if w.claims, err = t.openClaims(w.index, base); err != nil {
		return w.report, err
	}
	if w.number, err = w.draw(); err != nil {
		return w.report, err
	}
	w.packer = &packer{ctx: context.WithoutCancel(ctx), store: t.Store} // what was read is kept when the pass is interrupted
	if p.DryRun {
		w.packer.store = discarding{t.Store}
	}
	defer w.packer.discard()
	for _, d := range p.Sources {
		if err := w.source(d); err != nil {
			if ctx.Err() != nil {
				err = errors.Join(err, w.leave())
			}
			w.count()
			return w.report, err
		}
	}
	w.unlisted()
	if p.Talk {
		if w.report.Talk, err = w.talk(); err != nil {
			return w.report, err
		}
	}
	err = w.commit()
	w.count()
	w.sweep()
	return w.report, err
}

// sweep removes what passes that died have left in the store, when this one wrote into it.
func (w *work) sweep() {
	sweeper, ok := w.Store.(store.Sweeper)
	if !ok || w.DryRun || w.packer.documents == 0 {
		return
	}
	if _, err := sweeper.Sweep(w.ctx, w.Now); err != nil {
		w.report.Notes = append(w.report.Notes, collect.Problem{Code: "sweep", Message: err.Error()})
	}
}

// draw takes the number of this observation, above all that are published.
func (w *work) draw() (int64, error) {
	floor := int64(0)
	if w.base != nil {
		for _, s := range w.base.root.Sources {
			floor = max(floor, s.Observed)
		}
	}
	if w.Observations == nil || w.DryRun {
		return floor + 1, nil
	}
	n, err := w.Observations.Next(w.ctx, uint64(floor))
	return int64(n), err
}

// ownsSources refuses a source that another installation publishes.
func ownsSources(base *generation, p Pass, installation string) error {
	if base == nil || p.TakeOver {
		return nil
	}
	for _, s := range base.root.Sources {
		for _, d := range p.Sources {
			if d.Source().ID == s.ID && s.Installation != installation {
				return &OwnedError{Source: s.ID, Installation: s.Installation}
			}
		}
	}
	return nil
}

// OwnedError refuses to publish a source that another installation publishes.
type OwnedError struct{ Source, Installation string }

func (e *OwnedError) Error() string {
	return fmt.Sprintf("source %q is published by installation %s", e.Source, e.Installation)
}

// source reads one source's inventory and every session of it that is not retained.
func (w *work) source(d collect.Driver) error {
	id := d.Source().ID
	if err := d.Start(w.ctx); err != nil {
		if w.ctx.Err() != nil {
			return w.ctx.Err()
		}
		w.tallies = append(w.tallies, unstarted(d.Source(), err, w.Only != nil))
		return nil
	}
	if k, ok := d.(collect.Knower); ok {
		k.Know(w.claims.places(id))
	}
	var retained []string
	stream := collect.NewStream(d, func(l collect.Listing) bool {
		if w.Only != nil && !w.Only(id, l) {
			return true
		}
		keep := !w.Full && w.claims.holds(id, l)
		if keep {
			retained = append(retained, l.NativeSessionID)
		}
		return keep
	})
	err := w.readAll(d, stream)
	for err == nil && w.paused {
		if err = w.onTheWay(d.Source()); err == nil {
			err = w.readAll(d, stream)
		}
	}
	if stop := d.Stop(); err == nil && stop != nil {
		err = fmt.Errorf("stop source %s: %w", id, stop)
	}
	w.tallies = append(w.tallies, tally{source: d.Source(), outcome: stream.Outcome(), partial: w.Only != nil, retained: retained})
	return err
}

// unstarted is the tally of a source that could not be started: of its sessions nothing
// is known, and the other sources are published.
func unstarted(source collect.Descriptor, err error, partial bool) tally {
	return tally{source: source, partial: partial, outcome: collect.Tally{
		Problems: []collect.Problem{{Code: "source-unavailable", Message: err.Error()}}}}
}

// readAll lets the workers pull sessions until the inventory ends.
func (w *work) readAll(d collect.Driver, stream *collect.Stream) error {
	ctx, cancel := context.WithCancel(w.ctx)
	defer cancel()
	errs := make(chan error)
	workers := max(1, w.Workers)
	for i := range workers {
		go func() { errs <- w.pull(ctx, w.bench(i), d, stream) }()
	}
	var first error
	for range workers {
		if err := <-errs; err != nil && first == nil {
			first = err
			cancel()
		}
	}
	return first
}

// bench returns the i-th worker's, which goes from source to source.
func (w *work) bench(i int) *bench {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.benches) <= i {
		b := &bench{encoder: chunk.NewEncoder(), disk: w.FS}
		if !w.DryRun {
			b.state = w.State
		}
		w.benches = append(w.benches, b)
	}
	return w.benches[i]
}

// pull reads sessions one after the other. A session that fails is recorded and the
// next one read; only what concerns the whole pass is an error.
func (w *work) pull(ctx context.Context, b *bench, d collect.Driver, stream *collect.Stream) error {
	b.library = w.library(ctx)
	for !w.pausing() {
		l, err := stream.Next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		r, err := w.session(ctx, b, d, l)
		var stored *storeError
		if errors.As(err, &stored) || ctx.Err() != nil {
			return err
		}
		if err != nil {
			stream.Failed(l, err)
		} else {
			stream.Read(l, r.row.Status == document.StatusComplete)
		}
		w.took(r, Progress{Source: d.Source().ID, Listed: stream.Outcome().Found, Session: r.session.Key})
	}
	return nil
}

// took records a session that was read, and tells of it.
func (w *work) took(r result, p Progress) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.results = append(w.results, r)
	w.report.BytesRead += r.session.Bytes
	if w.Progress != nil {
		p.Done, p.Bytes = len(w.results), w.report.BytesRead
		w.Progress(p)
	}
	if w.Pause != nil && !w.DryRun && w.Pause(w.packer.since()) {
		w.paused = true
	}
}

func (w *work) pausing() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.paused
}

// storeError marks a failure of the store, which ends the pass.
type storeError struct{ err error }

func (e *storeError) Error() string { return e.err.Error() }
func (e *storeError) Unwrap() error { return e.err }

// attempts is how often a session is read that changes while it is read.
const attempts = 3

// session reads one session and writes what changed of it.
func (w *work) session(ctx context.Context, b *bench, d collect.Driver, l collect.Listing) (result, error) {
	source := d.Source()
	key, err := collect.SessionKey(source.ID, l.NativeSessionID)
	r := result{failed: true, session: SessionReport{Key: key, Source: source.ID, NativeID: l.NativeSessionID, Status: SessionFailed}}
	if err != nil {
		return r, err
	}
	id := identity{w.causes(), key, source.ID, source.Driver, l.NativeSessionID}
	before, err := w.prior(b, key)
	if err != nil {
		return r, err
	}
	if before != nil {
		r.prior = before.row
	}
	resume := w.known(id, before)
	for n := 1; ; n++ {
		err = w.read(ctx, b, d, id, before, resume, &r)
		var changed *collect.ChangedError
		var damaged *DamagedError
		if errors.As(err, &damaged) && before != nil && before.manifest != nil {
			before = &prior{row: before.row} // the session is written anew
			resume = w.known(id, before)
			continue
		}
		if !errors.As(err, &changed) || n == attempts {
			break
		}
	}
	if err == nil {
		r.failed = false
		r.claim.Stamp.Side = l.Stamp.Side
	}
	return r, err
}

// known is what the pass knows of a session's published copy.
func (w *work) known(id identity, before *prior) *collect.Resume {
	resume := &collect.Resume{}
	if claimed := w.claims.resume(id, before); claimed != nil && !w.Full {
		resume = claimed
	}
	switch {
	case w.Full || w.Tails:
		resume.Taken = collect.TakeAll
	case before != nil:
		resume.Taken = before.row.Size
	}
	return resume
}

// prior loads the published copy of a session, nil for none.
func (w *work) prior(b *bench, key string) (*prior, error) {
	row, err := w.index.find(key)
	if err != nil || row == nil {
		return nil, err
	}
	m, table, err := b.library.manifest(row)
	var damaged *DamagedError
	if errors.As(err, &damaged) {
		return &prior{row: row}, nil // the session is written anew
	}
	if err != nil {
		return nil, err
	}
	return &prior{row, m, table}, nil
}

// read makes one attempt at a session.
func (w *work) read(ctx context.Context, b *bench, d collect.Driver, id identity, before *prior, resume *collect.Resume, r *result) error {
	snap, err := d.ReadSession(ctx, id.nativeID, resume)
	if err != nil {
		return err
	}
	defer snap.Close()
	copied := before
	if copied != nil && copied.manifest == nil {
		copied = nil
	}
	if carrier, ok := snap.(collect.Carrier); ok && copied != nil {
		if err := carrier.Carry(newCarried(b.library, copied)); err != nil {
			return err
		}
	}
	out := newWriter(b, id, w.packer, copied)
	out.doubts = w.Full
	r.session.Resumed = snap.At().Event > 0
	out.watch(snap.Grown())
	parts, messages, err := out.goOn(snap.At())
	if err != nil {
		return err
	}
	got, err := b.prepare.Run(ctx, snap, parts, messages, out)
	if err != nil {
		return err
	}
	row, err := w.finish(out, got, r.prior)
	if err != nil {
		return err
	}
	r.session.Copy, r.session.Why = out.keepCopy(row, r.prior, stamp(w.Now))
	r.row = row
	r.claim = claimOf(row, got.Trailer)
	r.session.fill(row, got, r.prior)
	if r.session.Mended = before != nil && copied == nil || out.mended > 0; r.session.Mended {
		r.session.Status = SessionPublished
	}
	return nil
}

// finish observes the session's directory and closes its writer. Which start a session
// was paired with was seen once: where nobody remembers it, the published row does.
func (w *work) finish(out *writer, got hashgraph.Prepared, before *document.Row) (*document.Row, error) {
	if before != nil && got.Trailer.Summary.StartedAs == "" {
		got.Trailer.Summary.StartedAs = before.StartedAs
	}
	var git document.Git
	if cwd := got.Trailer.Summary.Cwd; cwd != nil && w.Git != nil {
		now, failed := w.Git(*cwd)
		git = now
		if before != nil {
			git = keepGit(before.Git, now, failed)
		}
	}
	return out.finish(got, git, stamp(w.Now))
}
