package acp

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"

	"agentsync/collect"
	"agentsync/collect/value"
)

// ReadSession loads a session. It returns when the whole history has arrived, and reads
// it from the beginning always: nothing tells where a former reading ended. A session
// that the agent does not have is fs.ErrNotExist.
func (d *Driver) ReadSession(ctx context.Context, nativeSessionID string, _ *collect.Resume) (collect.Snapshot, error) {
	r, err := d.find(ctx, nativeSessionID)
	if err != nil {
		return nil, err
	}
	s := &spool{folder: d.env.Temp}
	err = d.read(ctx, r, s)
	if err == nil {
		var lines *bufio.Reader
		if lines, err = s.reader(); err == nil {
			return &snapshot{row: r, spool: s, lines: lines, summary: d.summary(r), stamp: r.stamp(d.env.Now)}, nil
		}
	}
	return nil, errors.Join(fmt.Errorf("read session %s: %w", r.id, err), s.close())
}

// read loads a session into a spool, in an agent in which no prompt of ours runs in it.
func (d *Driver) read(ctx context.Context, r row, s *spool) error {
	for _, choose := range []func(context.Context) (*agent, error){d.live, d.reader} {
		a, err := choose(ctx)
		if err != nil {
			return err
		}
		if err := a.acquire(ctx, r.native); err != nil {
			return err
		}
		if a == d.mainAgent() && d.runs(r.native) {
			a.release(r.native)
			continue
		}
		return d.readIn(ctx, a, r, s)
	}
	return errStopped // not reached: the second agent runs no prompts
}

func (d *Driver) mainAgent() *agent {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.main
}

// readIn loads a session whose turn is held, and gives the turn back.
func (d *Driver) readIn(ctx context.Context, a *agent, r row, s *spool) error {
	result, kept, err := a.load(ctx, r.native, d.cwd(r), s)
	if kept {
		return err
	}
	defer a.release(r.native)
	if err != nil {
		return d.absent(ctx, r, err)
	}
	d.controls.learn(r.native, result)
	a.letGo(ctx, r.native)
	return nil
}

// cwd is a session's directory, or the source's own for one that has none.
func (d *Driver) cwd(r row) string {
	if r.cwd != "" {
		return r.cwd
	}
	return d.cfg.Cwd
}

// absent finds out whether a refused load means that the session is gone. Agents answer
// with a code for that, or with the one for any fault: then the list decides.
func (d *Driver) absent(ctx context.Context, r row, err error) error {
	refused, ok := errors.AsType[*refusal](err)
	if !ok {
		return err
	}
	gone := refused.code == codeNotFound
	if !gone && d.relist(ctx) == nil {
		_, listed := d.known(r.id)
		gone = !listed
	}
	if gone {
		return fmt.Errorf("%w: %w", err, fs.ErrNotExist)
	}
	return err
}

// snapshot is a loaded history.
type snapshot struct {
	row     row
	summary collect.Summary
	stamp   collect.Stamp
	spool   *spool
	lines   *bufio.Reader
	long    []byte // a line longer than the reader's buffer
	text    []byte // of a record made for bytes that are no value
	at      collect.Position
	damaged []collect.Problem
	lost    int
}

// At is where the next event stands.
func (s *snapshot) At() collect.Position { return s.at }

// Grown is false: the program tells its sessions anew each time.
func (s *snapshot) Grown() bool { return false }

// Next captures the next update.
func (s *snapshot) Next(tape *value.Tape) (collect.Event, error) {
	line, err := s.line()
	if err != nil {
		return collect.Event{}, err
	}
	e := collect.Event{Raw: line, Offset: s.at.Offset}
	e.Captured, err = tape.Capture(line[:len(line)-1])
	if err != nil {
		if e.Captured, err = s.unparsed(tape, line); err != nil {
			return collect.Event{}, err
		}
		e.Damage = collect.Unparsed
	} else {
		e.Message = message(e.Captured.Value, s.at.Event)
	}
	s.at.Offset += int64(len(line))
	s.at.Event++
	s.at.Line++
	return e, nil
}

// line returns the next line with its end.
func (s *snapshot) line() ([]byte, error) {
	s.long = s.long[:0]
	for {
		piece, err := s.lines.ReadSlice('\n')
		switch {
		case err == nil && len(s.long) == 0:
			return piece, nil
		case err == nil:
			s.long = append(s.long, piece...)
			return s.long, nil
		case errors.Is(err, bufio.ErrBufferFull):
			s.long = append(s.long, piece...)
		case errors.Is(err, io.EOF) && len(piece)+len(s.long) == 0:
			return nil, io.EOF
		default:
			return nil, fmt.Errorf("read the loaded history of %s: %w", s.row.id, io.ErrUnexpectedEOF)
		}
	}
}

// mostLocated is how many damaged updates a trailer lists one by one.
const mostLocated = 20

// unparsed captures the record that stands for an update which is no strict JSON.
func (s *snapshot) unparsed(tape *value.Tape, line []byte) (value.Captured, error) {
	sum := sha256.Sum256(line)
	s.text = append(s.text[:0], `{"agentsync":"unparsed","bytes":`...)
	s.text = strconv.AppendInt(s.text, int64(len(line)), 10)
	s.text = hex.AppendEncode(append(s.text, `,"sha256":"`...), sum[:])
	s.text = append(s.text, `"}`...)
	if s.lost++; s.lost <= mostLocated {
		s.damaged = append(s.damaged, collect.Problem{Code: codeDamaged, Session: s.row.native, Line: s.at.Line + 1,
			Message: "an update holds bytes that are no JSON value"})
	}
	return tape.Capture(s.text)
}

// Codes of the problems in a trailer; they are those of transcripts read from files.
const (
	codeDamaged = "damaged-line"
	codeMore    = "more-damage"
)

// Finish says what was read. The load was answered, so the history is complete.
func (s *snapshot) Finish() (collect.Trailer, error) {
	t := collect.Trailer{Summary: s.summary, Complete: true, Revision: s.row.updated, Problems: s.damaged}
	t.Resume.Stamp = s.stamp
	t.Resume.At = s.at
	if s.lost > 0 {
		t.Damaged = map[collect.Damage]int{collect.Unparsed: s.lost}
	}
	if more := s.lost - mostLocated; more > 0 {
		t.Problems = append(t.Problems, collect.Problem{Code: codeMore, Session: s.row.native,
			Message: fmt.Sprintf("%d more damaged records not listed", more)})
	}
	return t, nil
}

// Close forgets the history.
func (s *snapshot) Close() error { return s.spool.close() }
