package codex

import (
	"errors"
	"io"

	"agentsync/collect"
	"agentsync/collect/lines"
	"agentsync/collect/value"
)

// snapshot reads one rollout.
type snapshot struct {
	driver  *Driver
	catalog *catalog
	file    file
	reader  *lines.Reader
	head    head
	track   track
}

// At is where the next event stands; its state holds the track up to there.
func (s *snapshot) At() collect.Position {
	at := s.reader.At()
	at.State = s.track.state()
	return at
}

// Grown reports that the file is what was read before, and perhaps more.
func (s *snapshot) Grown() bool { return s.reader.Resumed() }

// Next captures the next record, and makes a message of it if it is one.
func (s *snapshot) Next(tape *value.Tape) (collect.Event, error) {
	at := s.reader.At()
	e, err := s.reader.Next(tape)
	if err != nil {
		return e, err
	}
	r := recordOf(e.Captured.Value)
	s.head.observe(r, at.Offset)
	s.track.observe(r, s.head.own)
	e.Message = s.track.message(r, at.Event)
	return e, nil
}

// Finish says what was read. The revision is the text of the time of the last record.
func (s *snapshot) Finish() (collect.Trailer, error) {
	t, err := s.reader.Finish()
	if err != nil {
		return t, err
	}
	for i := range t.Problems {
		t.Problems[i].Session = s.file.id
	}
	if s.file.broken {
		t.Problems = append([]collect.Problem{{Code: codeNotZstd, Session: s.file.id, Path: s.file.path(s.driver.homes),
			Message: "not a whole zstd stream, kept as the bytes it has"}}, t.Problems...)
	}
	t.Problems = append(t.Problems, s.missingBase()...)
	t.Resume.At.State = s.track.state()
	t.Resume.Stamp.Side = s.file.stamp.Side
	t.Revision = s.track.updatedAt(t.Resume.Stamp.ModTime)
	t.Summary = s.driver.summary(s.catalog, s.file, s.head, t.Revision)
	return t, nil
}

// codeNotZstd marks a file that is named like a compressed one and is none.
const codeNotZstd = "not-zstd"

// codeMissingBase marks a thread whose history begins in a file that is not there.
const codeMissingBase = "missing-base"

// missingBase reports a thread that continues another one without a copy of it, when
// that one is not among the files. What its own file holds is whole all the same.
func (s *snapshot) missingBase() []collect.Problem {
	if s.head.own == nil || s.head.own.base == "" {
		return nil
	}
	if _, found := s.catalog.find(s.head.own.base); found {
		return nil
	}
	return []collect.Problem{{Code: codeMissingBase, Session: s.file.id, Path: s.file.path(s.driver.homes),
		Message: "continues thread " + s.head.own.base + ", whose file is not there"}}
}

// Close gives the file back.
func (s *snapshot) Close() error { return s.reader.Close() }

// readHead reads a file's records up to its header and first prompt.
func (d *Driver) readHead(f file) (head, error) {
	var h head
	_, r, err := d.openFile(f, nil)
	if err != nil {
		return h, err
	}
	defer r.Close()
	for tape := new(value.Tape); !h.done(); tape.Reset() {
		offset := r.At().Offset
		e, err := r.Next(tape)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return h, err
		}
		h.observe(recordOf(e.Captured.Value), offset)
	}
	return h, nil
}
