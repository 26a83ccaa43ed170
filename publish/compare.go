package publish

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"agentsync/collect"
	"agentsync/collect/value"
	"agentsync/publish/document"
)

// What a source's session is, beside its published copy.
const (
	SourceSame        = "same"
	SourceGrown       = "grown"       // begins with the published bytes and goes on
	SourceShrunk      = "shrunk"      // ends before the published bytes do
	SourceChanged     = "changed"     // differs before either ends
	SourceUnpublished = "unpublished" // not in the store at all
	SourceMissing     = "missing"     // published, not marked deleted, and not in the source
	SourceUnreadable  = "unreadable"
)

// CompareOptions say how to compare.
type CompareOptions struct {
	Workers  int
	Progress func(done, total int, key string) // from several goroutines in turn
}

// CompareReport says what a comparison found. Same + len(Differing) are the sessions
// that the sources or the store have.
type CompareReport struct {
	Same      int
	Bytes     int64 // read from the sources
	Differing []Difference
	// Problems are parts of sources that could not be listed, by source id in Session
	// when the session is unknown.
	Problems []SourceProblem
}

// SourceProblem is a problem of one source's inventory.
type SourceProblem struct {
	Source string
	collect.Problem
}

// Difference is one session that is not what was published.
type Difference struct {
	Key    string
	Source string
	Status string
	Offset int64 // bytes that agree, for grown, shrunk and changed
	Err    error // for unreadable
}

// CompareSources reads every session of the sources and compares its bytes with the
// newest published copy: what a claim by size and time cannot see. It writes nothing
// and holds one event of each side at a time. An unfinished last line counts as it
// stands. Damage of the store is an error.
func (t *Target) CompareSources(ctx context.Context, sources []collect.Driver, o CompareOptions) (CompareReport, error) {
	view, err := t.View(ctx)
	if err != nil {
		return CompareReport{}, err
	}
	c := &comparison{Target: t, CompareOptions: o, view: view}
	for _, d := range sources {
		if err := c.source(ctx, d); err != nil {
			return c.report, err
		}
	}
	slices.SortFunc(c.report.Differing, func(a, b Difference) int { return strings.Compare(a.Key, b.Key) })
	return c.report, nil
}

type comparison struct {
	*Target
	CompareOptions
	view   *View
	mu     sync.Mutex
	done   int
	report CompareReport
}

func (c *comparison) source(ctx context.Context, d collect.Driver) (err error) {
	id := d.Source().ID
	if err := d.Start(ctx); err != nil {
		c.problem(id, collect.Problem{Code: collect.CodeInventory, Message: "start: " + err.Error()})
		return ctx.Err()
	}
	defer func() {
		if stopped := d.Stop(); err == nil && stopped != nil {
			err = fmt.Errorf("stop source %s: %w", id, stopped)
		}
	}()
	if k, ok := d.(collect.Knower); ok {
		known, err := c.view.Known(id)
		if err != nil {
			return err
		}
		k.Know(known)
	}
	stream := collect.NewStream(d, func(collect.Listing) bool { return true })
	if _, err := stream.Next(ctx); !errors.Is(err, io.EOF) {
		return err
	}
	tally := stream.Outcome()
	for _, p := range tally.Problems {
		c.problem(id, p)
	}
	if err := c.missing(id, tally); err != nil {
		return err
	}
	return parallel(ctx, c.Workers, len(tally.Retained), func(ctx context.Context, next func() int) error {
		w := &comparer{lib: c.library(ctx), driver: d}
		for i := next(); i >= 0; i = next() {
			if err := c.session(ctx, w, tally.Retained[i].NativeSessionID, len(tally.Retained)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *comparison) problem(source string, p collect.Problem) {
	c.report.Problems = append(c.report.Problems, SourceProblem{source, p})
}

// missing notes the published sessions that a whole inventory does not name.
func (c *comparison) missing(source string, tally collect.Tally) error {
	if !tally.Complete || tally.Absent {
		return nil
	}
	listed := make(map[string]bool, len(tally.Retained))
	for _, l := range tally.Retained {
		listed[l.NativeSessionID] = true
	}
	return c.view.Rows(func(row *document.Row) error {
		if row.SourceID == source && row.Status != document.StatusDeleted && !listed[row.NativeSessionID] {
			c.report.Differing = append(c.report.Differing, Difference{Key: row.Key, Source: source, Status: SourceMissing})
		}
		return nil
	})
}

// session compares one session and notes what came of it.
func (c *comparison) session(ctx context.Context, w *comparer, nativeID string, total int) error {
	id := w.driver.Source().ID
	key, err := collect.SessionKey(id, nativeID)
	if err != nil {
		return err // the inventory has checked it
	}
	row, err := c.view.index.find(key)
	if err != nil {
		return err
	}
	d, read := Difference{Key: key, Source: id, Status: SourceUnpublished}, int64(0)
	if row != nil {
		if d, read, err = w.compare(ctx, d, row); err != nil {
			return err
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done++
	c.report.Bytes += read
	if d.Status == SourceSame {
		c.report.Same++
	} else {
		c.report.Differing = append(c.report.Differing, d)
	}
	if c.Progress != nil {
		c.Progress(c.done, total, key)
	}
	return nil
}

// comparer is what one worker keeps from session to session.
type comparer struct {
	lib    *library
	driver collect.Driver
	tape   value.Tape
}

// compare reads both sides event by event. Only damage of the store is an error.
func (w *comparer) compare(ctx context.Context, d Difference, row *document.Row) (Difference, int64, error) {
	published, err := openSession(w.lib, row)
	if err != nil {
		return d, 0, err
	}
	unreadable := func(err error) (Difference, int64, error) {
		d.Status, d.Err = SourceUnreadable, err
		return d, 0, ctx.Err()
	}
	live, err := w.driver.ReadSession(ctx, row.NativeSessionID, &collect.Resume{Taken: collect.TakeAll})
	if err != nil {
		return unreadable(err)
	}
	defer live.Close()
	m, side := &matcher{next: w.liveBytes(live)}, isSideSet(row)
	err = published.Events(func(_ int, e *document.ChunkEvent) error {
		return m.takeEvent(e, side)
	})
	switch {
	case errors.Is(err, errDiffers):
		d.Status = SourceChanged
	case errors.Is(err, errShorter):
		d.Status = SourceShrunk
	case m.failed != nil:
		return unreadable(m.failed)
	case err != nil:
		return d, m.agreed, err
	default:
		d.Status = SourceSame
	}
	more, err := m.drain()
	if err != nil {
		return unreadable(err)
	}
	if _, err := live.Finish(); err != nil {
		return unreadable(err)
	}
	if d.Status == SourceSame && more {
		d.Status = SourceGrown
	}
	d.Offset = m.agreed
	return d, m.read, nil
}

// liveBytes gives the source's bytes event by event; io.EOF ends them.
func (w *comparer) liveBytes(live collect.Snapshot) func() ([]byte, error) {
	var joined []byte
	return func() ([]byte, error) {
		w.tape.Reset()
		e, err := live.Next(&w.tape)
		if err != nil || e.Text == nil {
			return e.Raw, err
		}
		joined = append(pieceName(joined[:0], e.Captured.Value), e.Raw...)
		return joined, nil
	}
}

var newline = []byte("\n")

// pieceName stands before a piece of a side file, so that files are told apart.
func pieceName(dst []byte, record value.Value) []byte {
	return append(append(dst, piecePath(record)...), 0)
}

var (
	errDiffers = errors.New("the bytes differ")
	errShorter = errors.New("the source ends first")
)

// matcher compares published bytes with those of a source, whatever events either
// side cuts them into.
type matcher struct {
	next   func() ([]byte, error)
	rest   []byte // of the source's event, not yet compared
	agreed int64
	read   int64
	failed error // of the source
	name   []byte
}

// takeEvent compares a published event; one of a set of side files has its name first.
func (m *matcher) takeEvent(e *document.ChunkEvent, side bool) error {
	first, second := e.Raw, []byte(nil)
	switch {
	case e.Plain:
		first, second = e.Text, newline
	case side:
		m.name = pieceName(m.name[:0], e.Value)
		first, second = m.name, e.Raw
	}
	if err := m.take(first); err != nil {
		return err
	}
	return m.take(second)
}

func (m *matcher) take(published []byte) error {
	for len(published) > 0 {
		for len(m.rest) == 0 {
			event, err := m.next()
			if errors.Is(err, io.EOF) {
				return errShorter
			}
			if err != nil {
				m.failed = err
				return err
			}
			m.rest = event
			m.read += int64(len(event))
		}
		n := min(len(published), len(m.rest))
		if !bytes.Equal(published[:n], m.rest[:n]) {
			for published[0] == m.rest[0] {
				m.agreed++
				published, m.rest = published[1:], m.rest[1:]
			}
			return errDiffers
		}
		m.agreed += int64(n)
		published, m.rest = published[n:], m.rest[n:]
	}
	return nil
}

// drain reads the source to its end and reports whether anything was left.
func (m *matcher) drain() (more bool, err error) {
	more = len(m.rest) > 0
	for {
		event, err := m.next()
		if errors.Is(err, io.EOF) {
			return more, nil
		}
		if err != nil {
			return more, err
		}
		m.read += int64(len(event))
		more = more || len(event) > 0
	}
}
