package codex

import (
	"errors"
	"io"
	"io/fs"
	"path/filepath"

	"agentsync/collect/lines"
	"agentsync/collect/value"
)

// indexFile is where the client appends a line whenever a thread is named.
const indexFile = "session_index.jsonl"

// names maps thread ids to the names that people gave them.
type names map[string]string

// readNames reads a home's index of names; the last name of a thread counts. A missing
// index has no names. Lines that are damaged or still being written are passed over.
func readNames(h home, options lines.Options) (names, error) {
	options.Follow = h.follow
	r, err := lines.Open(filepath.Join(h.dir, indexFile), options)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer r.Close()
	list := names{}
	for tape := new(value.Tape); ; tape.Reset() {
		e, err := r.Next(tape)
		if errors.Is(err, io.EOF) {
			return list, nil
		}
		if err != nil {
			return nil, err
		}
		v := e.Captured.Value
		if id := v.Path("id").Str(); id != "" && v.Path("thread_name").Kind() == value.String {
			list[id] = v.Path("thread_name").Str()
		}
	}
}
