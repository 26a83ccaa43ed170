// Package lines reads a transcript file as a sequence of records, one a line, and
// recovers what a line that is not one JSON value still holds.
//
// It owns the byte-exact division of a file into events, the rule for a last line
// that is still being written, and the fingerprints that prove a file only grew. It
// knows no agent's record types and keeps no more of a file than its longest line.
package lines

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"agentsync/collect"
	"agentsync/collect/value"
)

// settleTime is how long an unfinished last line is left to its writer. Agents write
// a line at once; what stands torn for ten minutes is not going to be completed.
const settleTime = 10 * time.Minute

// Options say how a file is to be read. The zero value reads a plain file from its
// beginning and takes an unfinished last line for a torn one.
type Options struct {
	Now    time.Time       // for the rule of the unfinished last line
	Resume *collect.Resume // tried; used only if the file provably only grew. Its Taken counts in any case
	Zstd   bool            // the file is one zstd stream of the lines
	Follow bool            // the last path element may be a symbolic link
}

// Reader is one open transcript. It reads up to the size the file had when it was
// opened. It serves one goroutine.
type Reader struct {
	path    string
	file    *os.File
	opened  stat
	decoder io.Closer // of a zstd stream, else nil
	window  window
	at      collect.Position
	resumed bool
	live    bool  // the last line may still be in the writer's hands
	taken   int64 // an unfinished last line that begins before it is taken
	split   splitter
	text    []byte // of a synthesized record, reused
	damage  damageLog
	waiting int // bytes of an unfinished last line that was left alone
	ended   bool
	err     error // what ended the reading early
}

// NotRegularError reports a path that is no regular file.
type NotRegularError struct {
	Path string
	Type os.FileMode // type bits
}

func (e *NotRegularError) Error() string {
	return fmt.Sprintf("read transcript %s: not a regular file (%s)", e.Path, typeName(e.Type))
}

// Open opens a transcript without blocking and checks on the opened handle that it is
// a regular file; otherwise the error is a *NotRegularError. A missing file and a
// refused permission are found in the error by errors.Is.
func Open(path string, o Options) (*Reader, error) {
	file, err := openFile(path, o.Follow)
	if err != nil {
		return nil, openError(path, err)
	}
	r := &Reader{path: path, file: file}
	if err := r.begin(o); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// openError turns the refusal to open a link, a socket or the like into a *NotRegularError.
func openError(path string, err error) error {
	if info, e := os.Lstat(path); e == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return &NotRegularError{path, info.Mode().Type()}
	}
	return fmt.Errorf("read transcript: %w", err)
}

func (r *Reader) begin(o Options) (err error) {
	if r.opened, err = statFile(r.file); err != nil {
		return fmt.Errorf("read transcript: %w", err)
	}
	if r.opened.kind != 0 {
		return &NotRegularError{r.path, r.opened.kind}
	}
	if o.Zstd {
		return r.beginZstd()
	}
	r.live = settling(r.opened.modTime, o.Now)
	if o.Resume != nil {
		r.taken = o.Resume.Taken
	}
	before, err := r.accept(o.Resume)
	if err != nil {
		return fmt.Errorf("read transcript: %w", err)
	}
	start := r.at.Offset
	r.window = newWindow(io.NewSectionReader(r.file, start, r.opened.size-start), r.opened.size-start)
	if r.resumed {
		r.window.sum = before
	}
	return nil
}

// settling reports a change so near to now, before or after, that a writer may be at
// work. A time far in the future is a clock's fault and must not hold a line back for ever.
func settling(modTime int64, now time.Time) bool {
	age := now.Sub(time.Unix(0, modTime))
	return -settleTime < age && age < settleTime
}

// At is where the next event stands. State is "".
func (r *Reader) At() collect.Position { return r.at }

// Stamp is the file's as it was opened. Side is 0.
func (r *Reader) Stamp() collect.Stamp { return r.opened.stamp() }

// Resumed reports that the resume's claim held, and that reading began at its position.
func (r *Reader) Resumed() bool { return r.resumed }

// Close gives the file back. It may be called more than once.
func (r *Reader) Close() error {
	r.window.release()
	if r.decoder != nil {
		r.decoder.Close()
		r.decoder = nil
	}
	if r.file == nil {
		return nil
	}
	file := r.file
	r.file = nil
	return file.Close()
}

// ReadAt reads the file's bytes as io.ReaderAt does, up to the size it had when it
// was opened. A zstd stream cannot be read so.
func (r *Reader) ReadAt(p []byte, offset int64) (int, error) {
	if r.decoder != nil {
		return 0, errors.ErrUnsupported
	}
	return io.NewSectionReader(r.file, 0, r.opened.size).ReadAt(p, offset)
}

// Next captures the next event on the tape; io.EOF ends the file. The event's Raw is
// good until the next call, and its Message is nil. The raws of all events, in order,
// are the bytes consumed.
func (r *Reader) Next(tape *value.Tape) (collect.Event, error) {
	if r.split.pending() {
		return r.nextSegment(tape)
	}
	line, terminated, err := r.nextLine()
	if err != nil {
		return collect.Event{}, err
	}
	captured, err := tape.Capture(trimBOM(line))
	sound := err == nil
	if !terminated && r.live && r.at.Offset >= r.taken && !(sound && closed(line)) {
		r.waiting, r.ended = len(line), true
		return collect.Event{}, io.EOF
	}
	if sound {
		return r.event(line, captured, collect.Sound, true), nil
	}
	r.split.begin(line, terminated)
	return r.nextSegment(tape)
}

// NextLine returns the next line as it stands, line end included, captured by nobody
// and its damage uncounted; io.EOF ends the file. It is good until the next call.
// Next and NextLine are not to be mixed within a line.
func (r *Reader) NextLine() ([]byte, error) {
	line, _, err := r.nextLine()
	if err == nil {
		r.consume(line, true)
	}
	return line, err
}

// nextLine looks at the next line without taking it.
func (r *Reader) nextLine() (line []byte, terminated bool, err error) {
	if r.ended {
		return nil, false, io.EOF
	}
	if r.err != nil {
		return nil, false, r.err
	}
	line, terminated, err = r.window.line()
	if err != nil {
		r.err = r.readError(err)
		return nil, false, r.err
	}
	if len(line) == 0 {
		r.ended = true
		return nil, false, io.EOF
	}
	return line, terminated, nil
}

func (r *Reader) readError(err error) error {
	if r.decoder == nil && errors.Is(err, io.ErrUnexpectedEOF) {
		return &collect.ChangedError{Path: r.path} // shorter than it was when opened
	}
	if r.decoder != nil {
		return fmt.Errorf("decompress transcript %s: %w", r.path, err)
	}
	return fmt.Errorf("read transcript: %w", err)
}

// event takes raw, the next bytes of the file, and makes an event of them.
func (r *Reader) event(raw []byte, c value.Captured, d collect.Damage, lineEnds bool) collect.Event {
	e := collect.Event{Captured: c, Raw: raw, Offset: r.at.Offset, Damage: d}
	r.damage.count(d, r.at.Line+1)
	r.consume(raw, lineEnds)
	r.at.Event++
	return e
}

func (r *Reader) consume(raw []byte, lineEnds bool) {
	r.window.take(len(raw))
	r.at.Offset += int64(len(raw))
	if lineEnds {
		r.at.Line++
	}
}

var bom = []byte("\xEF\xBB\xBF")

func trimBOM(line []byte) []byte { return bytes.TrimPrefix(line, bom) }

// closed reports that a whole value at the end of line cannot become another one when
// the writer goes on: 12 may become 123, but what ends in a bracket is finished.
func closed(line []byte) bool {
	line = bytes.TrimRight(line, blanks)
	return len(line) > 0 && bytes.IndexByte([]byte(`}]"`), line[len(line)-1]) >= 0
}
