package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"agentsync/ledger/durable"
)

// previousSuffix names the second slot of a file.
const previousSuffix = ".previous"

// slots is where the ledger's file lies. On most systems it is one file, replaced in one
// step. Where a rename cannot replace, it is two that take turns: the one with the
// greater generation is the ledger, and a write only touches the other.
type slots struct {
	disk    durable.FS
	paths   []string
	current int    // index of the newest
	present []bool // the slot holds a valid ledger of the newest generation or the one before
	newest  []byte // the text of the newest, as it was read
	began   bool   // the folders above have been synced
	notes   []string
}

func newSlots(disk durable.FS, path string, twin bool) *slots {
	s := &slots{disk: disk, paths: []string{path}}
	if twin {
		s.paths = append(s.paths, path+previousSuffix)
	}
	s.present = make([]bool, len(s.paths))
	return s
}

// read returns the newest content; an empty one when no slot exists. A slot that is
// damaged is passed over when another one is not.
func (s *slots) read() (content, error) {
	newest := content{archived: -1, entries: map[string]*entry{}}
	var damage *CorruptError
	for i, path := range s.paths {
		text, err := readPrivate(s.disk, path, maxCommands)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return content{}, err
		}
		found, err := parseContent(path, text)
		if errors.As(err, &damage) {
			continue
		}
		if err != nil {
			return content{}, err
		}
		if err := s.consider(&newest, i, found, text); err != nil {
			return content{}, err
		}
	}
	switch {
	case damage != nil && s.newest == nil:
		return content{}, damage
	case damage != nil:
		s.notes = append(s.notes, fmt.Sprintf("%v; its other slot is generation %d and was taken", damage, newest.generation))
	}
	return newest, nil
}

// consider makes slot i the newest if it is.
func (s *slots) consider(newest *content, i int, found content, text []byte) error {
	s.present[i] = true
	if s.newest != nil && found.generation == newest.generation {
		one, err := newest.encode(nil, newest.entry)
		two, err2 := found.encode(nil, found.entry)
		if errors.Join(err, err2) != nil || !bytes.Equal(one, two) {
			return &CorruptError{Path: s.paths[i], Field: "generation", Err: errors.New("is that of the other slot, and the receipts are not")}
		}
	}
	if s.newest == nil || found.generation > newest.generation {
		*newest, s.current, s.newest = found, i, text
	}
	return nil
}

func (c content) entry(key string) *entry { return c.entries[key] }

// repair fills the second slot, so that every later write replaces the older of two.
func (s *slots) repair() error {
	text := s.newest
	s.newest = nil // not needed again
	if len(s.paths) == 1 || s.present[1-s.current] {
		return nil
	}
	if !s.present[s.current] {
		var err error
		empty := content{entries: map[string]*entry{}}
		if text, err = empty.encode(nil, empty.entry); err != nil {
			return err
		}
		s.current = 1
		if err := s.write(text); err != nil {
			return err
		}
	}
	current := s.current
	if err := s.write(text); err != nil {
		return err
	}
	s.current = current
	return nil
}

// write replaces the file, durably; of two slots the one that is not current, which
// becomes it.
func (s *slots) write(text []byte) error {
	path := s.paths[0]
	if !s.began { // whoever wrote before may have died before its own sync
		if err := durable.SyncParents(s.disk, path); err != nil {
			return err
		}
		s.began = true
	}
	if len(s.paths) == 1 {
		return durable.Replace(s.disk, path, text, privateFile, true)
	}
	other := 1 - s.current
	if err := s.disk.Remove(s.paths[other]); err != nil && !isNotExist(err) {
		return fmt.Errorf("replace %s: %w", s.paths[other], err)
	}
	if err := durable.Replace(s.disk, s.paths[other], text, privateFile, true); err != nil {
		return err
	}
	s.current, s.present[other] = other, true
	return nil
}

// sweepOwnTemps removes what writes of the ledger left that were cut off. Nobody else
// writes it while the drain lock is held.
func sweepOwnTemps(disk durable.FS, dir string) error {
	entries, err := disk.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, found := range entries {
		name := found.Name()
		if !durable.IsTemp(name) || !strings.HasPrefix(name, "."+commandsFile) && !strings.HasPrefix(name, "."+archiveFile) {
			continue
		}
		if err := disk.Remove(filepath.Join(dir, name)); err != nil && !isNotExist(err) {
			return err
		}
	}
	return nil
}

func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }
