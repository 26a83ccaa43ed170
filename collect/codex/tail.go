package codex

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"agentsync/collect/lines"
	"agentsync/collect/value"
)

// tailWindow is how much of a file's end is read at first to find its last timed
// record, in bytes; it doubles until one is found or maxTail is passed. Most records
// are smaller than the first window, and the largest seen are below the last.
const (
	tailWindow = 64 << 10
	maxTail    = 16 << 20
)

// lastRecord finds when the last timed record of a freshly opened file was written. A
// compressed file is read through.
func lastRecord(r *lines.Reader, zstd bool) (track, error) {
	if zstd {
		return throughToEnd(r)
	}
	size := r.Stamp().Size
	tape := new(value.Tape)
	for window := int64(tailWindow); ; window *= 2 {
		start := max(0, size-window)
		text := make([]byte, size-start)
		if n, err := r.ReadAt(text, start); err != nil && !errors.Is(err, io.EOF) {
			return track{}, fmt.Errorf("read the end of a rollout: %w", err)
		} else {
			text = text[:n]
		}
		if start > 0 {
			_, text, _ = bytes.Cut(text, []byte{'\n'})
		}
		if t := lastTimed(text, tape); t.timed || start == 0 || window >= maxTail {
			return t, nil
		}
	}
}

// lastTimed looks through whole lines from the last one up.
func lastTimed(text []byte, tape *value.Tape) track {
	for len(text) > 0 {
		body := bytes.TrimRight(text, "\n")
		start := bytes.LastIndexByte(body, '\n') + 1
		tape.Reset()
		if c, err := tape.Capture(body[start:]); err == nil {
			if r := recordOf(c.Value); r.timed {
				return track{last: r.at, timed: true}
			}
		}
		text = body[:start]
	}
	return track{}
}

func throughToEnd(r *lines.Reader) (track, error) {
	var t track
	for tape := new(value.Tape); ; tape.Reset() {
		e, err := r.Next(tape)
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return t, err
		}
		if r := recordOf(e.Captured.Value); r.timed {
			t.last, t.timed = r.at, true
		}
	}
}
