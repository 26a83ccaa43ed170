// Package ledger is the local memory that outlives any crash: the state folder and its
// format, the installation's identity, and the numbers that order observations. It
// knows nothing of publishing. It refuses a folder that others can read or have put
// there and a format that is newer than the program, and never repairs by overwriting:
// what cannot be read is set aside under another name.
package ledger

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"agentsync/ledger/durable"
)

// stateVersion is the format of the state folder that this program writes.
const stateVersion = 1

const (
	versionFile  = "version"
	maxVersion   = 64 // bytes of the version file
	privateFile  = 0o600
	stateLock    = "state.lock"
	brokenSuffix = ".broken-"
)

// VersionError reports a file or folder of a format that this program does not know.
// Nothing has been changed.
type VersionError struct {
	Path  string
	Found uint64 // the format that is there
	Known uint64 // the newest format that this program knows
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("%s has format %d, and this program knows formats up to %d: a newer program is needed",
		e.Path, e.Found, e.Known)
}

// CorruptError reports a stored file that is not what it should be. Nothing has been
// changed.
type CorruptError struct {
	Path  string // "" when it is not known to whoever found the damage
	Field string
	Err   error
}

func (e *CorruptError) Error() string {
	if e.Path == "" {
		return fmt.Sprintf("damaged %s: %v", e.Field, e.Err)
	}
	return fmt.Sprintf("%s: damaged %s: %v", e.Path, e.Field, e.Err)
}

func (e *CorruptError) Unwrap() error { return e.Err }

// State is the state folder. It serves many goroutines.
type State struct {
	disk durable.FS
	dir  string

	mu    sync.Mutex
	notes []string
}

// OpenState opens the folder dir, absolute and mode 0700, and makes it when absent. A
// link, or a folder of another user or open to others, is a *durable.NotPrivateError;
// one of a newer format a *VersionError. A version file that says nothing is set aside
// and noted: every file in the folder carries its own version too. A folder that is in
// order is opened without writing.
func OpenState(disk durable.FS, dir string) (*State, error) {
	if !filepath.IsAbs(dir) {
		return nil, fmt.Errorf("open state %s: the folder must be absolute", dir)
	}
	if err := durable.MkdirPrivate(disk, dir); err != nil {
		return nil, fmt.Errorf("open state: %w", err)
	}
	s := &State{disk: disk, dir: dir}
	path := s.Path(versionFile)
	err := s.checkFolder(path)
	var corrupt *CorruptError
	if errors.As(err, &corrupt) {
		err = s.setAside(path, corrupt)
		if err == nil {
			err = fs.ErrNotExist
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = s.begin(path)
	}
	if err != nil {
		return nil, fmt.Errorf("open state: %w", err)
	}
	return s, nil
}

// checkFolder returns nil if the version file names a format that this program knows.
func (s *State) checkFolder(path string) error {
	content, err := readPrivate(s.disk, path, maxVersion)
	if err != nil {
		return err
	}
	found, err := parseVersion(content)
	if err != nil {
		return &CorruptError{Path: path, Field: "version", Err: err}
	}
	return checkVersion(path, found, stateVersion)
}

// begin writes the version of a new folder, durably with the folder itself.
func (s *State) begin(path string) error {
	if err := durable.SyncParents(s.disk, path); err != nil {
		return err
	}
	err := durable.Create(s.disk, path, fmt.Appendln(nil, stateVersion), privateFile)
	if errors.Is(err, fs.ErrExist) {
		return nil // another process began at the same time
	}
	return err
}

func parseVersion(content []byte) (uint64, error) {
	n, err := strconv.ParseUint(strings.TrimSuffix(string(content), "\n"), 10, 64)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%.20q is no version", content)
	}
	return n, nil
}

func checkVersion(path string, found, known uint64) error {
	if found > known {
		return &VersionError{Path: path, Found: found, Known: known}
	}
	return nil
}

// Path returns the path of a name inside the state folder.
func (s *State) Path(names ...string) string {
	return filepath.Join(append([]string{s.dir}, names...)...)
}

// Disk returns the file system that the state folder lies on.
func (s *State) Disk() durable.FS { return s.disk }

// Notes returns what a person should hear about: files that were set aside and why.
func (s *State) Notes() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.notes)
}

func (s *State) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// setAside gives a file that cannot be read the first free name path.broken-<n> and
// notes the reason.
func (s *State) setAside(path string, reason error) error {
	for n := 1; ; n++ {
		aside := path + brokenSuffix + strconv.Itoa(n)
		_, err := s.disk.Lstat(aside)
		if err == nil {
			continue
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = s.disk.Rename(path, aside)
		}
		if err != nil {
			return fmt.Errorf("set %s aside: %w", path, err)
		}
		s.note("%s could not be read (%v); it was set aside as %s", path, reason, filepath.Base(aside))
		return nil
	}
}

// readPrivate reads a file that nobody else may read or have written. One that is too
// large to be what it should is a *CorruptError.
func readPrivate(disk durable.FS, path string, limit int64) ([]byte, error) {
	if err := durable.CheckPrivate(disk, path); err != nil {
		return nil, err
	}
	content, err := durable.ReadFile(disk, path, limit)
	if errors.Is(err, durable.ErrTooLarge) {
		return nil, &CorruptError{Path: path, Field: "size", Err: durable.ErrTooLarge}
	}
	return content, err
}
