package claude

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strconv"

	"agentsync/collect"
	"agentsync/collect/lines"
	"agentsync/collect/value"
)

// transcript is the history of a session that is one file: every line, in file order.
type transcript struct {
	driver  *Driver
	session session
	reader  *lines.Reader
	side    uint64           // state of the side files that the summary is read from
	active  *collect.Summary // that it was at work when it was opened, nil when nobody knows
}

var _ collect.Snapshot = (*transcript)(nil)

func (d *Driver) openTranscript(s session, from *collect.Resume) (*transcript, error) {
	active := d.atWork(s.id)
	side, err := d.sideState(s) // before the files are read, so that a later change shows
	if err != nil {
		return nil, sessionError(s, "read", err)
	}
	reader, err := lines.Open(d.file(s), lines.Options{Now: d.env.Now, Resume: from})
	if err != nil {
		return nil, sessionError(s, "read", err)
	}
	return &transcript{driver: d, session: s, reader: reader, side: side, active: active}, nil
}

// sideState is what a listing would now put into the stamp's Side.
func (d *Driver) sideState(s session) (uint64, error) {
	switch s.kind {
	case mainSession:
		var there []entry
		for _, name := range sidecars {
			if err := lookIfThere(&there, filepath.Join(d.sidecarFolder(s), name)); err != nil {
				return 0, err
			}
		}
		return sidecarDigest(there), nil
	case subagent:
		var there []entry
		if err := lookIfThere(&there, metaName(d.file(s))); err != nil || len(there) == 0 {
			return 0, err
		}
		return digestOf(there[0]), nil
	}
	return 0, nil
}

// lookIfThere appends the entry of a file that need not exist.
func lookIfThere(entries *[]entry, path string) error {
	e, err := look(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		*entries = append(*entries, e)
	}
	return err
}

// At is where the next event stands.
func (t *transcript) At() collect.Position { return t.reader.At() }

// Grown reports that the file is what was read before, and perhaps more.
func (t *transcript) Grown() bool { return t.reader.Resumed() }

// Next captures the next line; user, assistant and system lines with an id are messages.
func (t *transcript) Next(tape *value.Tape) (collect.Event, error) {
	index := t.reader.At().Event
	e, err := t.reader.Next(tape)
	if err != nil {
		return e, err
	}
	e.Message = message(e.Captured.Value, index)
	return e, nil
}

// Finish reads the summary from the same open file and says what was read.
func (t *transcript) Finish() (collect.Trailer, error) {
	trailer, err := t.reader.Finish()
	if err != nil {
		return collect.Trailer{}, err
	}
	trailer.Summary, err = t.driver.summarize(t.session, t.reader, trailer.Resume.At.Offset)
	if err != nil {
		return collect.Trailer{}, sessionError(t.session, "summarize", err)
	}
	collect.FillLifecycle(&trailer.Summary, t.active)
	for i := range trailer.Problems {
		trailer.Problems[i].Session = t.session.id
	}
	trailer.Resume.Stamp.Side = t.side
	trailer.Revision = strconv.FormatInt(roundMillis(trailer.Resume.Stamp.ModTime), 10)
	return trailer, nil
}

// Close gives the file back.
func (t *transcript) Close() error { return t.reader.Close() }
