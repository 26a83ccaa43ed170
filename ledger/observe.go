package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strconv"
	"time"

	"agentsync/ledger/durable"
)

const (
	observationsFile    = "observations.json"
	observationsVersion = 1
	maxObservations     = 16 << 20 // bytes; a source takes some tens
	stateWait           = 30 * time.Second
)

// Observations numbers the collections of this installation, so that an older inventory
// never overwrites what a newer one saw. It serves many goroutines and processes.
//
// The file is replaced in one step but not synced, because nothing rests on it after a
// loss of power: that ends every pass that drew a number, and a pass draws its next one
// above the newest number it finds published (the floor of Next), so a number that
// counts is never given twice. A lost "newest complete" only makes the next full
// collection the first one again.
type Observations struct{ state *State }

// Observations returns the observation numbers kept in the state folder.
func (s *State) Observations() *Observations { return &Observations{s} }

// Next draws a number for a collection that is about to begin: greater than every number
// drawn before and than floor, the newest number that the caller knows to be published
// by this installation, 0 for none.
func (o *Observations) Next(ctx context.Context, floor uint64) (uint64, error) {
	var drawn uint64
	err := o.update(ctx, func(kept *observations) error {
		if max(kept.last, floor) == math.MaxUint64 {
			return errors.New("there is no number left")
		}
		kept.last = max(kept.last, floor) + 1
		drawn = kept.last
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("draw an observation number: %w", err)
	}
	return drawn, nil
}

// Complete records that the collection with number n saw all of some sources. An older
// number than the recorded one changes nothing.
func (o *Observations) Complete(ctx context.Context, n uint64, sources ...string) error {
	if n == 0 {
		return fmt.Errorf("record complete observation of %q: 0 is no number", sources)
	}
	err := o.update(ctx, func(kept *observations) error {
		kept.last = max(kept.last, n) // n was drawn, whatever became of the file since
		for _, source := range sources {
			kept.complete[source] = max(kept.complete[source], n)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("record complete observation of %q: %w", sources, err)
	}
	return nil
}

// NewestComplete returns the newest number recorded by Complete for a source, 0 when
// there is none. It takes no lock and writes nothing.
func (o *Observations) NewestComplete(source string) (uint64, error) {
	kept, err := o.read()
	if err != nil {
		var corrupt *CorruptError
		if !errors.As(err, &corrupt) {
			return 0, fmt.Errorf("read observation numbers: %w", err)
		}
		return 0, nil // the next update sets the file aside
	}
	return kept.complete[source], nil
}

// update changes the file under the state lock. A file that cannot be understood is set
// aside and begun anew; one of a newer format is left alone.
func (o *Observations) update(ctx context.Context, change func(*observations) error) error {
	s := o.state
	release, err := durable.Lock(ctx, s.disk, s.Path(stateLock), stateWait, durable.Holder{})
	if err != nil {
		return err
	}
	err = o.updateLocked(change)
	return errors.Join(err, release())
}

func (o *Observations) updateLocked(change func(*observations) error) error {
	kept, err := o.read()
	var corrupt *CorruptError
	if errors.As(err, &corrupt) {
		err = o.state.setAside(corrupt.Path, corrupt)
		kept = newObservations()
	}
	if err != nil {
		return err
	}
	if err := change(&kept); err != nil {
		return err
	}
	content, err := kept.encode()
	if err != nil {
		return err
	}
	return durable.Replace(o.state.disk, o.state.Path(observationsFile), content, privateFile, false)
}

// read returns what the file says; an absent file says nothing.
func (o *Observations) read() (observations, error) {
	path := o.state.Path(observationsFile)
	content, err := readPrivate(o.state.disk, path, maxObservations)
	if errors.Is(err, fs.ErrNotExist) {
		return newObservations(), nil
	}
	if err != nil {
		return observations{}, err
	}
	return parseObservations(path, content)
}

// observations is the content of the file.
type observations struct {
	last     uint64            // the last number drawn, 0 for none
	complete map[string]uint64 // the newest complete observation of each source
	unknown  map[string]json.RawMessage
}

func newObservations() observations {
	return observations{complete: map[string]uint64{}, unknown: map[string]json.RawMessage{}}
}

// observationFields are those of the file that this version knows. Numbers are strings, since many
// readers of JSON lose the last digits of large ones.
type observationFields struct {
	Last     string            `json:"last"`
	Complete map[string]string `json:"complete"`
}

// parseObservations reads the file at path: a *VersionError for a newer format, a
// *CorruptError for whatever is not of this one.
func parseObservations(path string, content []byte) (observations, error) {
	kept := newObservations()
	damaged := func(field string, err error) (observations, error) {
		return observations{}, &CorruptError{Path: path, Field: field, Err: err}
	}
	if err := json.Unmarshal(content, &kept.unknown); err != nil {
		return damaged("content", err)
	}
	var version uint64
	if err := json.Unmarshal(kept.unknown["version"], &version); err != nil || version == 0 {
		return damaged("version", errors.New("is no number above 0"))
	}
	if err := checkVersion(path, version, observationsVersion); err != nil {
		return observations{}, err
	}
	var fields observationFields
	if err := json.Unmarshal(content, &fields); err != nil {
		return damaged("content", err)
	}
	var err error
	if kept.last, err = parseNumber(fields.Last); err != nil {
		return damaged("last", err)
	}
	for source, text := range fields.Complete {
		n, err := parseNumber(text)
		if err == nil && (n == 0 || n > kept.last) {
			err = fmt.Errorf("%d was never drawn", n)
		}
		if err != nil {
			return damaged("complete", err)
		}
		kept.complete[source] = n
	}
	return kept, nil
}

// parseNumber reads a number in its one spelling.
func parseNumber(text string) (uint64, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || strconv.FormatUint(n, 10) != text {
		return 0, fmt.Errorf("%.40q is no number", text)
	}
	return n, nil
}

// encode returns the file's content. Fields of others are kept as they were.
func (o observations) encode() ([]byte, error) {
	complete := make(map[string]string, len(o.complete))
	for source, n := range o.complete {
		complete[source] = strconv.FormatUint(n, 10)
	}
	all := make(map[string]any, len(o.unknown)+3)
	for field, value := range o.unknown {
		all[field] = value
	}
	all["version"] = observationsVersion
	all["last"] = strconv.FormatUint(o.last, 10)
	all["complete"] = complete
	content, err := json.MarshalIndent(all, "", "  ")
	return append(content, '\n'), err
}
