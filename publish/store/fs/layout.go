package fs

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"path/filepath"
	"strings"

	"agentsync/ledger/durable"
)

// layOut makes the folders that every store has, durable. They are made together, so
// that a publish pays no sync for a folder. The staging folder comes last: where it
// exists, the others have been synced before, whatever became of their maker.
func (s *Store) layOut() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.laidOut {
		return nil
	}
	err := s.checkFolder(stagingFolder)
	if errors.Is(err, iofs.ErrNotExist) {
		err = s.makeLayout()
	}
	if err != nil {
		return writeError(err)
	}
	s.laidOut = true
	return nil
}

func (s *Store) makeLayout() error {
	for _, name := range []string{"packs", "heads", "heads/sessions", "queues", "receipts"} {
		if err := s.makeFolder(name); err != nil {
			return err
		}
	}
	for i := range 256 {
		if err := s.makeFolder(fmt.Sprintf("packs/%02x", i)); err != nil {
			return err
		}
	}
	for _, name := range []string{"packs", "heads"} {
		if err := s.disk.SyncDir(filepath.Join(s.root, name)); err != nil {
			return err
		}
	}
	if err := durable.SyncParents(s.disk, filepath.Join(s.root, stagingFolder)); err != nil {
		return err
	}
	if err := s.makeFolder(stagingFolder); err != nil {
		return err
	}
	return s.disk.SyncDir(s.root)
}

// makeFolder makes one folder without a sync; an existing folder is fine, a link is not.
func (s *Store) makeFolder(name string) error {
	err := s.disk.Mkdir(filepath.Join(s.root, filepath.FromSlash(name)), s.mode)
	if errors.Is(err, iofs.ErrExist) {
		return s.checkFolder(name)
	}
	return err
}

// makeFolders makes the folders on the way to name. Those of the layout are durable
// already; any other is synced in its parent the first time this process meets it, even
// if it exists: its maker may have died before the sync.
func (s *Store) makeFolders(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range len(name) {
		if name[i] != '/' {
			continue
		}
		if err := s.settleFolder(name[:i]); err != nil {
			return writeError(err)
		}
	}
	return nil
}

func (s *Store) settleFolder(name string) error {
	err := s.checkFolder(name)
	if err == nil && (s.settled[name] || isLayout(name)) {
		return nil
	}
	if errors.Is(err, iofs.ErrNotExist) {
		err = s.makeFolder(name)
	}
	if err != nil {
		return err
	}
	parent := filepath.Dir(filepath.Join(s.root, filepath.FromSlash(name)))
	if err := s.disk.SyncDir(parent); err != nil {
		return err
	}
	s.settled[name] = true
	return nil
}

// isLayout reports whether name is one of the folders that makeLayout makes.
func isLayout(name string) bool {
	switch name {
	case "packs", "heads", "heads/sessions", "queues", "receipts":
		return true
	}
	digits, below := strings.CutPrefix(name, "packs/")
	return below && len(digits) == 2 && isHex(digits[0]) && isHex(digits[1])
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' }
