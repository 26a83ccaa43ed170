package publish

import (
	"agentsync/collect"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"

	"agentsync/collect/value"
	"agentsync/hashgraph/digest"
	"agentsync/publish/document"
	"agentsync/publish/store"
)

// View is one generation, opened for reading. It serves one goroutine.
type View struct {
	target *Target
	lib    *library
	gen    *generation
	index  *index
}

// View opens the newest generation; ErrEmpty when there is none.
func (t *Target) View(ctx context.Context) (*View, error) {
	lib := t.library(ctx)
	g, err := t.newest(lib)
	if err != nil {
		return nil, err
	}
	if g == nil {
		return nil, fmt.Errorf("read %s: %w", t.Store.Location(), ErrEmpty)
	}
	return &View{t, lib, g, newIndex(lib, g)}, nil
}

// ErrNoGeneration reports a generation that never was, or that was pruned.
var ErrNoGeneration = errors.New("no such generation")

// ViewAt opens an older generation, which still holds what newer ones replaced; 0 is
// the newest. ErrNoGeneration when it is not kept.
func (t *Target) ViewAt(ctx context.Context, n uint64) (*View, error) {
	if n == 0 {
		return t.View(ctx)
	}
	lib := t.library(ctx)
	g, err := t.generation(lib, n)
	var damaged *DamagedError
	if errors.Is(err, store.ErrNotFound) && !errors.As(err, &damaged) {
		return nil, fmt.Errorf("%w: %d", ErrNoGeneration, n)
	}
	if err != nil {
		return nil, err
	}
	return &View{t, lib, g, newIndex(lib, g)}, nil
}

// Root returns the generation's root document.
func (v *View) Root() *document.Root { return v.gen.root }

// Head returns the generation's head.
func (v *View) Head() *document.Head { return v.gen.head }

// Rows calls fn for every session row in key order.
func (v *View) Rows(fn func(*document.Row) error) error { return v.index.each(fn) }

// Find returns the row with that key, nil when there is none.
func (v *View) Find(key string) (*document.Row, error) { return v.index.find(key) }

// Newest calls fn for the rows of the recent index, the last changed first, until
// it returns an error. It reads no page that it does not need.
func (v *View) Newest(fn func(*document.Row) error) error {
	nodes := v.gen.root.Recent
	for i := len(nodes) - 1; i >= 0; i-- {
		pages, err := v.lib.children(nodes[i].Link)
		if err != nil {
			return err
		}
		for j := len(pages) - 1; j >= 0; j-- {
			if err := v.newestOf(pages[j], fn); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v *View) newestOf(page document.Child, fn func(*document.Row) error) error {
	rows, err := v.lib.recent(page.Link)
	if err != nil {
		return err
	}
	for k := len(rows) - 1; k >= 0; k-- {
		row, err := v.index.find(rows[k].Key)
		if err != nil {
			return err
		}
		if row == nil {
			return &DamagedError{store.PackName(page.Link.Pack.Name),
				fmt.Errorf("recent index names %s, the complete one does not", rows[k].Key)}
		}
		if err := fn(row); err != nil {
			return err
		}
	}
	return nil
}

// Session is one published session, opened for reading.
type Session struct {
	Row      *document.Row
	Manifest *document.Manifest
	table    document.Table
	lib      *library
	tape     value.Tape
	bare     bool          // only the events' bytes are wanted, not their values
	frame    document.Link // that text holds, the zero link for none
	text     []byte
}

// Session opens the session of a row.
func (v *View) Session(row *document.Row) (*Session, error) { return openSession(v.lib, row) }

func openSession(lib *library, row *document.Row) (*Session, error) {
	m, table, err := lib.manifest(row)
	if err != nil {
		return nil, err
	}
	return &Session{Row: row, Manifest: m, table: table, lib: lib}, nil
}

// Messages calls fn for the normalized messages from index from on. Parts before
// that message are not read.
func (s *Session) Messages(from int, fn func(i int, v value.Value) error) error {
	for n := range s.Parts() {
		if n+1 < s.Parts() && s.Manifest.Chunks[n+1].Messages <= from {
			continue
		}
		c, err := s.Part(n)
		if err != nil {
			return err
		}
		for k, v := range c.Normalized {
			if i := s.Manifest.Chunks[n].Messages + k; i >= from {
				if err := fn(i, v); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Parts counts the session's chunks.
func (s *Session) Parts() int { return len(s.Manifest.Chunks) }

// Part reads one chunk. It is good until the next call.
func (s *Session) Part(n int) (*document.Chunk, error) {
	at, d := s.table.Chunks[n], s.Manifest.Chunks[n]
	damaged := func(err error) error { return &DamagedError{store.PackName(at.Pack.Name), err} }
	if s.frame != at {
		s.frame = document.Link{} // until the text is whole
		text, err := s.lib.textInto(at, s.text[:0])
		if err != nil {
			return nil, err
		}
		s.frame, s.text = at, text
	}
	var own []byte
	err := document.EachChunk(s.text, func(hash digest.Digest, text []byte) bool {
		if hash == d.ContentHash {
			own = text
		}
		return xxhash.Sum64(own) != d.Check
	})
	if err != nil {
		return nil, damaged(err)
	}
	tape := &s.tape
	if s.bare {
		tape = nil
	} else {
		tape.Reset()
	}
	c, err := document.ParseChunk(own, tape)
	if err != nil {
		return nil, damaged(fmt.Errorf("part %d of %s: %w", n, s.Row.Key, err))
	}
	if c.Key != s.Row.Key || c.Part != d.Part || c.ContentHash != d.ContentHash ||
		len(c.Events) != d.EventCount || d.Messages+len(c.Normalized) != s.messagesAfter(n) {
		return nil, damaged(fmt.Errorf("part %d of %s is another chunk", n, s.Row.Key))
	}
	return c, nil
}

// messagesAfter counts the messages up to the end of part n.
func (s *Session) messagesAfter(n int) int {
	if n+1 < s.Parts() {
		return s.Manifest.Chunks[n+1].Messages
	}
	return s.Manifest.Messages
}

// Events calls fn for every native event, in order. Event and bytes are good until
// fn returns.
func (s *Session) Events(fn func(i int, e *document.ChunkEvent) error) error {
	i := 0
	for n := range s.Parts() {
		c, err := s.Part(n)
		if err != nil {
			return err
		}
		for k := range c.Events {
			if err := fn(i, &c.Events[k]); err != nil {
				return err
			}
			i++
		}
	}
	return nil
}

// SideFile is one file of a set of side files.
type SideFile struct {
	Path string // relative to the set's folder, with slashes
	Size int64  // bytes
}

// SideFiles lists the files of a session that is a set of side files, in order; ok is
// false for any other session.
func (s *Session) SideFiles() (files []SideFile, ok bool, err error) {
	if !isSideSet(s.Row) {
		return nil, false, nil
	}
	err = s.Events(func(_ int, e *document.ChunkEvent) error {
		path := piecePath(e.Value)
		if n := len(files); n == 0 || files[n-1].Path != path {
			files = append(files, SideFile{Path: path})
		}
		files[len(files)-1].Size += int64(len(e.Raw))
		return nil
	})
	return files, true, err
}

// piecePath is the path of the side file that a record stands for a piece of: its own
// bytes, where they are not UTF-8.
func piecePath(record value.Value) string {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(record.Path("pathBytes").Str())
	if err != nil || utf8.Valid(raw) {
		return record.Path("path").Str()
	}
	return string(raw)
}

// LogEntry is one generation of the chain.
type LogEntry struct {
	Head *document.Head
	Root *document.Root // nil when its pack is gone
}

// Log calls fn for every kept generation, newest first, until fn returns an error.
func (t *Target) Log(ctx context.Context, fn func(LogEntry) error) error {
	lib := t.library(ctx)
	g, err := t.newest(lib)
	if err != nil || g == nil {
		return err
	}
	numbers, err := store.Numbers(ctx, t.Store, sessionsHead)
	if err != nil {
		return fmt.Errorf("list generations: %w", err)
	}
	slices.Sort(numbers)
	for _, n := range slices.Backward(numbers) {
		if n > uint64(g.head.Generation) {
			continue // put since
		}
		one, err := t.readHead(lib, sessionsHead, n)
		if errors.Is(err, store.ErrNotFound) {
			continue // pruned since
		}
		if err != nil {
			return err
		}
		one.root, err = lib.root(one.head.Root)
		var damaged *DamagedError
		if err != nil && (!errors.As(err, &damaged) || !errors.Is(err, store.ErrNotFound)) {
			return err
		}
		if err := fn(LogEntry{one.head, one.root}); err != nil {
			return err
		}
	}
	return nil
}

// Known tells where the sessions of a source were published from, for drivers that ask.
func (v *View) Known(sourceID string) ([]collect.Known, error) {
	var known []collect.Known
	err := v.Rows(func(row *document.Row) error {
		if row.SourceID == sourceID {
			known = append(known, collect.Known{Placement: collect.Placement(row.Placement), NativeSessionID: row.NativeSessionID})
		}
		return nil
	})
	return known, err
}
