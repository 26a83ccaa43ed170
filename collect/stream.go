package collect

import (
	"cmp"
	"context"
	"io"
	"slices"
	"sync"
)

// Stream hands out the sessions of one source to those who read them, page by page: the
// next page is listed when every session of the former one was handed out. Its methods
// may be called by several goroutines.
type Stream struct {
	driver Driver
	retain func(Listing) bool

	mu    sync.Mutex
	pages *inventory
	page  []Listing // still to be handed out
	tally Tally
}

// Tally says what came of a source's collection.
type Tally struct {
	Found      int       // sessions listed, each counted once
	Read       int       // sessions read
	Failed     int       // sessions that could not be read
	Retained   []Listing // sessions whose published copy is kept, unread
	Incomplete []string  // native ids of sessions read whose history is not whole
	Problems   []Problem // what could not be listed or read
	Notes      []Problem // what was seen and left out on purpose
	Aside      []Problem // places that the configuration leaves aside
	Absent     bool      // the source has nothing on this machine
	// Complete reports that the enumeration came to its end without a problem and that
	// every session was retained, or read with its whole history. Only a complete tally
	// may mark sessions deleted that it does not hold, and not when the source is absent.
	Complete bool
}

// NewStream reads the inventory of a started driver. The predicate retain sees every
// listing once, before it would be handed out; a session that it accepts is not read.
// Nil retains none.
func NewStream(d Driver, retain func(Listing) bool) *Stream {
	return &Stream{driver: d, retain: retain, pages: newInventory()}
}

// Next returns the next session to read, and io.EOF when the inventory is at its end
// or cannot go on: Outcome tells which. Any other error is the context's. Each session
// is to be reported back once, by Read or Failed.
func (s *Stream) Next(ctx context.Context) (Listing, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if err := ctx.Err(); err != nil {
			return Listing{}, err
		}
		if l, ok := s.handOut(); ok {
			return l, nil
		}
		if s.pages.ended {
			return Listing{}, io.EOF
		}
		if err := s.turn(ctx); err != nil {
			return Listing{}, err
		}
	}
}

// handOut returns the next session of the page that is not retained.
func (s *Stream) handOut() (Listing, bool) {
	for len(s.page) > 0 {
		l := s.page[0]
		s.page = s.page[1:]
		if s.retain == nil || !s.retain(l) {
			return l, true
		}
		s.tally.Retained = append(s.tally.Retained, l)
	}
	return Listing{}, false
}

// turn lists the next page. A page that cannot be listed ends the inventory with a
// problem; only the context's end is an error, and then nothing has been taken.
func (s *Stream) turn(ctx context.Context) error {
	page, err := s.driver.ListSessions(ctx, s.pages.cursor)
	if stopped := ctx.Err(); stopped != nil {
		return stopped
	}
	if err != nil {
		s.pages.fail(CodeInventory, "list sessions: "+err.Error())
		return nil
	}
	s.page = s.pages.take(page)
	// The longest first, so that those who read in parallel end together.
	slices.SortStableFunc(s.page, func(a, b Listing) int { return cmp.Compare(b.Stamp.Size, a.Stamp.Size) })
	s.tally.Found += len(s.page)
	return nil
}

// Read reports a session that was read, and whether its history is complete.
func (s *Stream) Read(l Listing, complete bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tally.Read++
	if !complete {
		s.tally.Incomplete = append(s.tally.Incomplete, l.NativeSessionID)
	}
}

// Failed reports a session that could not be read. The error becomes a problem with
// one of the codes of this package.
func (s *Stream) Failed(l Listing, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tally.Failed++
	s.pages.problems = append(s.pages.problems, readProblem(l, err))
}

// Outcome returns the tally so far. It is final once Next has returned io.EOF and every
// session was reported back.
func (s *Stream) Outcome() Tally {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tally
	t.Retained, t.Incomplete = slices.Clip(t.Retained), slices.Clip(t.Incomplete)
	t.Problems, t.Notes = slices.Clip(s.pages.problems), slices.Clip(s.pages.notes)
	t.Absent, t.Aside = s.pages.absent, s.pages.aside
	settled := t.Read+t.Failed+len(t.Retained) == t.Found
	t.Complete = s.pages.whole && settled && len(t.Problems) == 0 && len(t.Incomplete) == 0
	return t
}
