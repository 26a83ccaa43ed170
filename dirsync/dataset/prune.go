package dataset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"agentsync/dirsync"
	"agentsync/hashgraph/digest"
	"agentsync/publish/store"
)

// PruneOptions say what to keep.
type PruneOptions struct {
	Keep  int           // newest heads of each dataset that stay; at least 1
	Grace time.Duration // nothing younger is removed
	Apply bool          // without it, only tell
	Now   time.Time
}

// Pruned is one name that is removed, or would be.
type Pruned struct {
	Name  string
	Bytes int64
	Why   string
}

// PruneReport says what a prune did, or would do.
type PruneReport struct {
	Heads, Objects int   // that stay
	Bytes          int64 // of those objects
	Removed        []Pruned
}

// Prune removes the heads of each dataset beyond those kept, and the contents and
// manifests that no kept head needs. Nothing younger than the grace period is removed,
// since an upload has contents that no head names yet. When anything that is kept cannot
// be read, nothing is removed.
func Prune(ctx context.Context, o Options, p PruneOptions) (PruneReport, error) {
	var r PruneReport
	kept, err := states(ctx, o.Store)
	if err != nil {
		return r, err
	}
	needed := map[digest.Digest]bool{}
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		stay, removed := thin(kept[name], p)
		r.Removed = append(r.Removed, removed...)
		r.Heads += len(stay)
		for _, n := range stay {
			if err := mark(ctx, Open(o, name), n, needed); err != nil {
				return PruneReport{}, fmt.Errorf("mark what head %d of dataset %s needs: %w", n, name, err)
			}
		}
	}
	if err := sweepable(ctx, o.Store, p, needed, &r); err != nil || !p.Apply {
		return r, err
	}
	return r, remove(ctx, o, p, kept, &r)
}

// remove deletes what is listed, but for what an upload elsewhere has come to rest on
// since: such a content is young again, or a head names it by now. Both are looked at right
// before each deletion.
func remove(ctx context.Context, o Options, p PruneOptions, kept map[string]map[uint64]store.Entry, r *PruneReport) error {
	since := &later{o: o, newest: map[string]uint64{}, needed: map[digest.Digest]bool{}}
	for name, heads := range kept {
		since.newest[name] = slices.Max(slices.Collect(maps.Keys(heads)))
	}
	var removed []Pruned
	for _, one := range r.Removed {
		stays, err := since.stays(ctx, p, one.Name)
		if err != nil {
			return err
		}
		if stays {
			continue
		}
		if err := o.Store.Delete(ctx, one.Name); err != nil {
			return fmt.Errorf("remove %s: %w", one.Name, err)
		}
		removed = append(removed, one)
	}
	r.Removed = removed
	return nil
}

// later knows what heads that were put since a prune began need.
type later struct {
	o      Options
	newest map[string]uint64 // of each dataset, the newest head that was looked at
	needed map[digest.Digest]bool
}

// stays reports a content that must not go any more. A manifest that became the first of a
// new dataset is young.
func (l *later) stays(ctx context.Context, p PruneOptions, name string) (bool, error) {
	sum, err := store.ParseObjectName(name)
	if err != nil {
		return false, nil // a head
	}
	now, err := store.Look(ctx, l.o.Store, name)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look at %s: %w", name, err)
	}
	if p.Now.Sub(now.Modified) < p.Grace {
		return true, nil
	}
	for set := range l.newest {
		for {
			d := Open(l.o, set)
			err := mark(ctx, d, l.newest[set]+1, l.needed)
			if errors.Is(err, store.ErrNotFound) {
				break
			}
			if err != nil {
				return false, fmt.Errorf("look at what dataset %s needs by now: %w", set, err)
			}
			l.newest[set]++
		}
	}
	return l.needed[sum], nil
}

// thin decides which heads stay, and which go, the oldest first, so that no gap is left.
func thin(heads map[uint64]store.Entry, p PruneOptions) (stay []uint64, removed []Pruned) {
	sorted := slices.Sorted(maps.Keys(heads))
	for i, n := range sorted {
		e := heads[n]
		if len(sorted)-i <= max(1, p.Keep) || p.Now.Sub(e.Modified) < p.Grace {
			return sorted[i:], removed
		}
		removed = append(removed, Pruned{e.Name, e.Size, "older head of a dataset"})
	}
	return nil, removed
}

func mark(ctx context.Context, d *Dataset, n uint64, needed map[digest.Digest]bool) error {
	h, err := d.head(ctx, n)
	if err != nil || needed[h.Manifest] {
		return err
	}
	t, err := d.Tree(ctx, h)
	if err != nil {
		return err
	}
	needed[h.Manifest] = true
	for i := range t.Nodes {
		if t.Nodes[i].Kind == dirsync.File {
			needed[t.Nodes[i].Digest] = true
		}
	}
	return nil
}

// sweepable lists the contents that nothing kept needs.
func sweepable(ctx context.Context, s store.Store, p PruneOptions, needed map[digest.Digest]bool, r *PruneReport) error {
	err := s.List(ctx, "objects/", func(e store.Entry) error {
		sum, err := store.ParseObjectName(e.Name)
		if err != nil || e.Strange {
			return nil // not ours to judge
		}
		if needed[sum] || p.Now.Sub(e.Modified) < p.Grace {
			r.Objects++
			r.Bytes += e.Size
			return nil
		}
		r.Removed = append(r.Removed, Pruned{e.Name, e.Size, "no kept head of a dataset needs it"})
		return nil
	})
	if err != nil {
		return fmt.Errorf("list contents of datasets: %w", err)
	}
	return nil
}
