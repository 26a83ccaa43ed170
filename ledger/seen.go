package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"strconv"
	"sync"

	"agentsync/ledger/durable"
)

const (
	seenFile    = "seen.json"
	seenVersion = 1
	maxSeen     = 1 << 20 // bytes; a head takes some hundred
)

// SeenHead is the newest state of a named head that was seen.
type SeenHead struct {
	Number uint64
	Digest string // "sha256:" and digits of the head's bytes
}

// Sight is what was seen of one store; the zero Sight when nothing was.
type Sight struct {
	OwnerDID string
	SpaceDID string
	Heads    map[string]SeenHead // by name
}

// Seen remembers across passes what this installation has seen of one store, so that
// time never runs backwards unseen. It serves many goroutines. What another process saw
// meanwhile stays; only of two that write at the very same time the file may keep the
// older sight, never one of neither.
type Seen struct {
	disk durable.FS
	path string

	mu     sync.Mutex
	sight  Sight
	frozen bool
	err    error
}

// OpenSeen reads what was seen of the store whose private folder is dir. A file that is
// not as it was written is a *CorruptError: it is never taken for nothing. With frozen
// nothing is ever written.
func OpenSeen(disk durable.FS, dir string, frozen bool) (*Seen, error) {
	s := &Seen{disk: disk, path: filepath.Join(dir, seenFile), frozen: frozen}
	content, err := readPrivate(disk, s.path, maxSeen)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		s.sight, err = parseSeen(s.path, content)
	}
	if err != nil {
		return s, fmt.Errorf("read what was seen of the store: %w", err)
	}
	return s, nil
}

// Sight returns what was seen so far.
func (s *Seen) Sight() Sight {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Sight{s.sight.OwnerDID, s.sight.SpaceDID, maps.Clone(s.sight.Heads)}
}

// Add takes in what was seen now: the store's owner and space, and one head, "" for none.
// It writes only when something moved. A failure to write is kept for Err: what was seen
// is no less true for it.
func (s *Seen) Add(owner, space, name string, head SeenHead) {
	s.mu.Lock()
	defer s.mu.Unlock()
	same := s.sight.OwnerDID == owner && s.sight.SpaceDID == space
	if same && (name == "" || s.sight.Heads[name] == head) {
		return
	}
	next := Sight{OwnerDID: owner, SpaceDID: space, Heads: map[string]SeenHead{}}
	if same {
		maps.Copy(next.Heads, s.sight.Heads)
	}
	if name != "" {
		next.Heads[name] = head
	}
	s.keepLater(next)
	s.sight = next
	s.err = errors.Join(s.err, s.write())
}

// keepLater takes over from the file the later states of the same store's heads, which
// another process saw meanwhile.
func (s *Seen) keepLater(next Sight) {
	content, err := readPrivate(s.disk, s.path, maxSeen)
	if err != nil {
		return // there is none, or it is about to be replaced by a whole one
	}
	kept, err := parseSeen(s.path, content)
	if err != nil || kept.OwnerDID != next.OwnerDID || kept.SpaceDID != next.SpaceDID {
		return
	}
	for other, head := range kept.Heads {
		if head.Number > next.Heads[other].Number {
			next.Heads[other] = head
		}
	}
}

// Replace makes the sight all that was seen; the zero Sight forgets.
func (s *Seen) Replace(sight Sight) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sight = sight
	return s.write()
}

// Err returns why what was seen could not be kept, nil when it could.
func (s *Seen) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *Seen) write() error {
	if s.frozen {
		return nil
	}
	content, err := s.sight.encode()
	if err == nil {
		err = durable.MkdirPrivate(s.disk, filepath.Dir(s.path))
	}
	if err == nil {
		err = durable.Replace(s.disk, s.path, content, privateFile, true)
	}
	return err
}

// seenFields are those of the file.
type seenFields struct {
	Version  uint64                    `json:"version"`
	OwnerDID string                    `json:"ownerDid"`
	SpaceDID string                    `json:"spaceDid"`
	Heads    map[string]seenHeadFields `json:"heads"`
}

type seenHeadFields struct {
	Number string `json:"number"`
	Digest string `json:"digest"`
}

func (s Sight) encode() ([]byte, error) {
	f := seenFields{seenVersion, s.OwnerDID, s.SpaceDID, map[string]seenHeadFields{}}
	for name, head := range s.Heads {
		f.Heads[name] = seenHeadFields{strconv.FormatUint(head.Number, 10), head.Digest}
	}
	content, err := json.MarshalIndent(f, "", "  ")
	return append(content, '\n'), err
}

func parseSeen(path string, content []byte) (Sight, error) {
	damaged := func(field string, err error) (Sight, error) {
		return Sight{}, &CorruptError{Path: path, Field: field, Err: err}
	}
	var f seenFields
	if err := json.Unmarshal(content, &f); err != nil {
		return damaged("content", err)
	}
	if f.Version == 0 {
		return damaged("version", errors.New("is no number above 0"))
	}
	if err := checkVersion(path, f.Version, seenVersion); err != nil {
		return Sight{}, err
	}
	if (f.OwnerDID == "") != (f.SpaceDID == "") || f.OwnerDID == "" && len(f.Heads) > 0 {
		return damaged("ownerDid", errors.New("is missing"))
	}
	s := Sight{OwnerDID: f.OwnerDID, SpaceDID: f.SpaceDID, Heads: map[string]SeenHead{}}
	for name, head := range f.Heads {
		n, err := parseNumber(head.Number)
		if err == nil && (n == 0 || head.Digest == "") {
			err = errors.New("has no number or no digest")
		}
		if err != nil {
			return damaged("heads", err)
		}
		s.Heads[name] = SeenHead{n, head.Digest}
	}
	return s, nil
}
