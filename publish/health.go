package publish

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"agentsync/collect"
	"agentsync/publish/document"
	"agentsync/publish/store"
)

// Health is how an installation's last pass of a verb ended.
type Health = document.Health

const (
	// healthPause is how long a record stands while nothing changes.
	healthPause = time.Hour
	// healthAge is when the record of an installation that publishes nothing any more may be pruned.
	healthAge = 90 * 24 * time.Hour
)

// Ended is how one pass of this installation ended.
type Ended struct {
	Host    string
	Verb    string
	Exit    int
	Changed bool // the pass wrote something, which is told whatever was told before
	Counts  map[string]int64
	Now     time.Time
}

// RecordHealth overwrites this installation's record of a verb, unless the one that stands
// says the same and is younger than an hour. It is no error of the pass when it cannot.
func (t *Target) RecordHealth(ctx context.Context, e Ended) error {
	if t.Signer == nil || t.Signer.DID() != t.format.OwnerDID {
		return fmt.Errorf("record the pass: %w", errUnsignable)
	}
	next := &Health{OwnerDID: t.format.OwnerDID, Installation: t.Installation, Host: e.Host, Verb: e.Verb,
		Time: stamp(e.Now), Exit: int64(e.Exit), Counts: e.Counts}
	name := store.HealthName(t.Installation, e.Verb)
	before, err := t.readHealth(ctx, name)
	if err := ignoreDamage(err); err != nil {
		return fmt.Errorf("record the pass: %w", err)
	}
	if before != nil {
		if !e.Changed && told(before, next, e.Now) {
			return nil
		}
		next.Good = before.Good
	}
	if e.Exit == 0 {
		next.Good = next.Time
	}
	return t.Store.Hint(ctx, name, t.seal(next.Seal(t.Signer.DID()), t.Signer, ""))
}

// told reports a record that need not be written anew.
func told(before, next *Health, now time.Time) bool {
	at, err := time.Parse(stampForm, before.Time)
	age := now.Sub(at)
	return err == nil && age >= 0 && age < healthPause && before.Exit == next.Exit && before.Host == next.Host
}

// Healths returns the records of all installations, the newest first, and what does not
// hold. It serves a target without a signer.
func (t *Target) Healths(ctx context.Context) (found []Health, refused []collect.Problem, err error) {
	err = t.eachHealth(ctx, func(_ store.Entry, h *Health, err error) error {
		if err != nil {
			var damaged *DamagedError
			if !errors.As(err, &damaged) {
				return err
			}
			refused = append(refused, collect.Problem{Code: "damaged", Message: damaged.Err.Error(), Path: damaged.What})
			return nil
		}
		found = append(found, *h)
		return nil
	})
	slices.SortFunc(found, func(a, b Health) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.Installation, b.Installation), cmp.Compare(a.Verb, b.Verb))
	})
	return found, refused, err
}

// eachHealth hands over every record, or what is wrong with it. One that is gone by the time
// it is read is passed over.
func (t *Target) eachHealth(ctx context.Context, each func(store.Entry, *Health, error) error) error {
	var entries []store.Entry
	err := t.Store.List(ctx, store.HealthPrefix, func(e store.Entry) error {
		entries = append(entries, e)
		return nil
	})
	if err != nil {
		return fmt.Errorf("list health records: %w", err)
	}
	for _, e := range entries {
		h, err := t.readHealth(ctx, e.Name)
		if errors.Is(err, store.ErrNotFound) {
			continue
		}
		if err := each(e, h, err); err != nil {
			return err
		}
	}
	return nil
}

// readHealth reads and checks a record.
func (t *Target) readHealth(ctx context.Context, name string) (*Health, error) {
	if !store.IsHealthName(name) {
		return nil, &DamagedError{name, errors.New("is not the name of a health record")}
	}
	text, err := readRecord(ctx, t.Store, name)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, &DamagedError{name, err}
	}
	if err != nil {
		return nil, err
	}
	s, err := document.ParseSealed(text, document.SchemaHealth)
	if err != nil {
		return nil, &DamagedError{name, err}
	}
	h, err := document.ParseHealth(s)
	switch {
	case err != nil:
	case h.OwnerDID != t.format.OwnerDID:
		err = errOwner
	case store.HealthName(h.Installation, h.Verb) != name:
		err = errMisnamed
	default:
		err = t.checkSeal(s, t.format.OwnerDID, "")
	}
	if err != nil {
		return nil, &DamagedError{name, err}
	}
	return h, nil
}

// health checks every record.
func (v *verification) health() error {
	return v.eachHealth(v.ctx, func(e store.Entry, _ *Health, err error) error {
		if err == nil {
			v.report.Healths++
		}
		return v.tolerate(e.Name, err)
	})
}

// pruneHealth lists the records that do not hold, and the old ones of installations that
// publish nothing of the newest generation.
func (t *Target) pruneHealth(ctx context.Context, o PruneOptions, r *PruneReport) error {
	lib := t.library(ctx)
	publishes := map[string]bool{}
	newest, err := t.newest(lib)
	if err != nil {
		return err
	}
	if newest != nil {
		for _, s := range newest.root.Sources {
			publishes[s.Installation] = true
		}
	}
	return t.eachHealth(ctx, func(e store.Entry, h *Health, err error) error {
		age := o.Now.Sub(e.Modified)
		switch {
		case err != nil && ignoreDamage(err) != nil:
			return err
		case e.Strange || age < o.Grace:
		case err != nil:
			r.Removed = append(r.Removed, Pruned{e.Name, e.Size, "a health record that does not hold"})
		case !publishes[h.Installation] && age >= healthAge:
			r.Removed = append(r.Removed, Pruned{e.Name, e.Size, "an installation that is gone"})
		}
		return nil
	})
}
