package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"agentsync/ledger/durable"
)

const (
	storeFile   = "store"
	maxLocation = 16 << 10 // bytes
)

// OtherStoreError reports a state folder that belongs to another store. What it
// remembers, retained claims and observations above all, says nothing about this one.
type OtherStoreError struct {
	Path  string // the file that says so
	Bound string // location of the store the folder belongs to
	Asked string // location of the store that was asked for
}

func (e *OtherStoreError) Error() string {
	return fmt.Sprintf("%s: the state belongs to the store %s, not to %s", e.Path, e.Bound, e.Asked)
}

// BindStore ties the state folder to the store at location, a URL without credentials,
// the first time, durably. Later it returns nil for the same location and an
// *OtherStoreError for another: a store that was changed in the configuration must not
// be taken for one whose sessions have all vanished.
func (s *State) BindStore(location string) error {
	if location == "" || len(location) > maxLocation || strings.ContainsAny(location, "\r\n") {
		return fmt.Errorf("bind state to store %.80q: not a location", location)
	}
	path := s.Path(storeFile)
	bound, err := readPrivate(s.disk, path, maxLocation+1)
	if errors.Is(err, fs.ErrNotExist) {
		err = durable.Create(s.disk, path, []byte(location+"\n"), privateFile)
		if errors.Is(err, fs.ErrExist) {
			return s.BindStore(location) // another process was faster: see to what it bound us
		}
		return err
	}
	if err != nil {
		return fmt.Errorf("bind state to store: %w", err)
	}
	text, whole := strings.CutSuffix(string(bound), "\n")
	if !whole || text == "" {
		return &CorruptError{Path: path, Field: "location", Err: errors.New("is not one line")}
	}
	if text != location {
		return &OtherStoreError{Path: path, Bound: text, Asked: location}
	}
	return nil
}
