package durable

import (
	"context"
	"encoding/json"
	"fmt"
	"time"
)

// Holder says who holds a lock, for the message others get.
type Holder struct {
	PID   int       `json:"pid"`
	Verb  string    `json:"verb"`
	Since time.Time `json:"since"`
}

// HeldError reports a lock that stayed with somebody else for the whole wait.
type HeldError struct {
	Path   string
	Holder Holder // zero when unknown
}

func (e *HeldError) Error() string {
	if e.Holder == (Holder{}) {
		return fmt.Sprintf("%s is held by another pass", e.Path)
	}
	return fmt.Sprintf("%s is held by %s (process %d, since %s)",
		e.Path, e.Holder.Verb, e.Holder.PID, e.Holder.Since.UTC().Format(time.RFC3339))
}

const (
	firstPoll   = time.Millisecond
	slowestPoll = 50 * time.Millisecond
)

// Lock takes the exclusive lock of the file path, mode 0600, waiting at most wait (0
// tries once, negative waits until ctx ends). A lock that stays taken is a *HeldError
// naming its holder when known. release gives it back and may be called again.
//
// What counts is the kernel's lock alone: it ends with its process, so nothing is ever
// stale, nobody can steal it by age, and what the file contains does not matter. The
// file is never deleted. who, unless zero, is written into path + ".holder", which is
// read only for the message.
func Lock(ctx context.Context, fsys FS, path string, wait time.Duration, who Holder) (release func() error, err error) {
	unlock, err := waitForLock(ctx, fsys, path, wait)
	if err != nil {
		return nil, err
	}
	if who == (Holder{}) {
		return unlock, nil
	}
	nameHolder(fsys, path, who)
	released := false
	return func() error {
		if released {
			return nil
		}
		released = true
		_ = fsys.Remove(holderPath(path)) // only a message would be wrong
		return unlock()
	}, nil
}

func waitForLock(ctx context.Context, fsys FS, path string, wait time.Duration) (func() error, error) {
	var expired <-chan time.Time // never, when wait is negative
	if wait >= 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		expired = timer.C
	}
	for pause := firstPoll; ; pause = min(2*pause, slowestPoll) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		unlock, taken, err := fsys.TryLock(path)
		if err != nil {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if taken {
			return unlock, nil
		}
		if wait == 0 {
			return nil, &HeldError{Path: path, Holder: readHolder(fsys, path)}
		}
		again := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			again.Stop()
			return nil, ctx.Err()
		case <-expired:
			again.Stop()
			return nil, &HeldError{Path: path, Holder: readHolder(fsys, path)}
		case <-again.C:
		}
	}
}

func holderPath(path string) string { return path + ".holder" }

// nameHolder writes the holder's name. A failure must not cost the lock; then no name,
// rather than an earlier holder's, is shown.
func nameHolder(fsys FS, path string, who Holder) {
	content, err := json.Marshal(who)
	if err == nil {
		err = Replace(fsys, holderPath(path), content, 0o600, false)
	}
	if err != nil {
		_ = fsys.Remove(holderPath(path))
	}
}

const maxHolder = 4 << 10 // bytes; a holder's name takes about a hundred

func readHolder(fsys FS, path string) Holder {
	content, err := ReadFile(fsys, holderPath(path), maxHolder)
	if err != nil {
		return Holder{}
	}
	var who Holder
	if json.Unmarshal(content, &who) != nil {
		return Holder{}
	}
	return who
}
