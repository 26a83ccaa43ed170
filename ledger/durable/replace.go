package durable

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Replace gives path a new content in one step: a reader sees the old or the new one,
// whole. With sync the new content survives a power failure once Replace returns.
// Without, two syncs are saved, and a power failure may bring back the old content or
// leave an empty or torn file; a killed process alone still loses nothing.
// On failure before the last step the old content stays.
func Replace(fsys FS, path string, content []byte, mode fs.FileMode, sync bool) error {
	temp, err := writeTemp(fsys, path, content, mode, sync)
	if err != nil {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	if err := fsys.Rename(temp, path); err != nil {
		return fmt.Errorf("replace %s: %w", path, errors.Join(err, fsys.Remove(temp)))
	}
	if !sync {
		return nil
	}
	if err := fsys.SyncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	return nil
}

// Create makes path with content, durable once Create returns, and only if nothing has
// that name: fs.ErrExist otherwise. Nobody ever sees a part of the content.
func Create(fsys FS, path string, content []byte, mode fs.FileMode) error {
	temp, err := writeTemp(fsys, path, content, mode, true)
	if err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	if err := Settle(fsys, temp, path); err != nil {
		return fmt.Errorf("create %s: %w", path, err)
	}
	return nil
}

// Append adds content to the end of a file that exists, durable with the file's name once
// Append returns. After an error any part of it may be there, and may be followed by
// nothing or by zeros.
func Append(fsys FS, path string, content []byte) error {
	file, err := fsys.Append(path)
	if err != nil {
		return fmt.Errorf("append to %s: %w", path, err)
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = fsys.SyncDir(filepath.Dir(path)) // its maker may have died before its own sync
	}
	if err != nil {
		return fmt.Errorf("append to %s: %w", path, err)
	}
	return nil
}

// Settle gives a finished, synced temporary file its name, once and durably, and
// removes the temporary name whatever happens. A taken name is fs.ErrExist. Then too
// the folder has been synced: the one who took the name may have died before its own
// sync, and a caller who finds its content there will rely on it.
// Where links cannot be made it is ErrNoLinks, and any other error leaves open whether
// the name exists.
func Settle(fsys FS, temp, path string) error {
	err := link(fsys, temp, path)
	if err == nil || isExist(err) {
		if syncErr := fsys.SyncDir(filepath.Dir(path)); syncErr != nil {
			err = syncErr
		}
	}
	// A temporary name that cannot be removed costs space until SweepTemps; the
	// outcome is decided already.
	_ = fsys.Remove(temp)
	return err
}

// ErrNoLinks reports a file system that refuses a second name for a file, as those of
// memory sticks do. Nothing can be created exactly once there.
var ErrNoLinks = errors.New("the file system makes no hard links")

func link(fsys FS, from, to string) error {
	err := fsys.Link(from, to)
	if errors.Is(err, syscall.EPERM) || errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("%w: %w", ErrNoLinks, err)
	}
	return err
}

// CreateTemp makes an empty file in dir, under a name that IsTemp knows and that holds
// base. The caller writes, closes, and renames, settles or removes it.
func CreateTemp(fsys FS, dir, base string, mode fs.FileMode) (File, string, error) {
	for {
		path := filepath.Join(dir, fmt.Sprintf(".%s.%016x%s", base, rand.Uint64(), tempSuffix))
		file, err := fsys.Create(path, mode)
		if isExist(err) {
			continue // a 64-bit name met its equal: draw again
		}
		return file, path, err
	}
}

const tempSuffix = ".tmp"

// IsTemp reports whether a file name is one that CreateTemp gives.
func IsTemp(name string) bool {
	return strings.HasPrefix(name, ".") && strings.HasSuffix(name, tempSuffix)
}

// SweepTemps removes the temporary files of dir that were last written before the
// given time, and returns how many. A live writer's file is younger than any sensible
// limit, so a day is safe. An absent folder holds none.
func SweepTemps(fsys FS, dir string, before time.Time) (int, error) {
	old, err := OldTemps(fsys, dir, before)
	if err != nil {
		return 0, err
	}
	for n, info := range old {
		if err := fsys.Remove(filepath.Join(dir, info.Name())); err != nil && !isNotExist(err) {
			return n, fmt.Errorf("sweep %s: %w", dir, err)
		}
	}
	return len(old), nil
}

// OldTemps lists what SweepTemps would remove.
func OldTemps(fsys FS, dir string, before time.Time) ([]fs.FileInfo, error) {
	entries, err := fsys.ReadDir(dir)
	if isNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", dir, err)
	}
	var old []fs.FileInfo
	for _, entry := range entries {
		if !IsTemp(entry.Name()) || !entry.Type().IsRegular() {
			continue
		}
		info, err := entry.Info()
		if err != nil || !info.ModTime().Before(before) {
			continue // gone meanwhile, or young
		}
		old = append(old, info)
	}
	return old, nil
}

// writeTemp writes content to a temporary file beside path and returns its name. On
// failure nothing is left.
func writeTemp(fsys FS, path string, content []byte, mode fs.FileMode, sync bool) (string, error) {
	file, temp, err := CreateTemp(fsys, filepath.Dir(path), filepath.Base(path), mode)
	if err != nil {
		return "", err
	}
	_, err = file.Write(content)
	if err == nil && sync {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err != nil {
		return "", errors.Join(err, fsys.Remove(temp))
	}
	return temp, nil
}

func isExist(err error) bool    { return errors.Is(err, fs.ErrExist) }
func isNotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }
