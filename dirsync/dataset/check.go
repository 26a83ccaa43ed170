package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"agentsync/dirsync"
	"agentsync/hashgraph/digest"
	"agentsync/publish/store"
)

// Problem is one stored thing that is not what it must be.
type Problem struct {
	Name string // in the store
	Err  error
}

// CheckReport says what was checked. Nothing is damaged when Problems is empty.
type CheckReport struct {
	Datasets, Heads, Objects int
	Bytes                    int64 // of the objects
	Problems                 []Problem
}

// Check checks every dataset of a store: the signature of each kept head and that it was
// put over the one before, each manifest to the byte, and that every content is there
// with its size; with deep also every byte of it. It changes nothing and goes on after
// damage; an error means that the check itself could not be done.
func Check(ctx context.Context, o Options, deep bool, progress func(done, total int)) (CheckReport, error) {
	c := &checker{Options: o, ctx: ctx, wanted: map[digest.Digest]want{}, manifests: map[digest.Digest]bool{}}
	kept, err := states(ctx, o.Store)
	if err != nil {
		return c.report, err
	}
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		if err := c.dataset(Open(o, name), kept[name]); err != nil {
			return c.report, err
		}
	}
	c.report.Datasets = len(kept)
	return c.report, c.objects(deep, progress)
}

// states lists the kept heads of every dataset, by name and number.
func states(ctx context.Context, s store.Store) (map[string]map[uint64]store.Entry, error) {
	kept := map[string]map[uint64]store.Entry{}
	err := s.List(ctx, "heads/", func(e store.Entry) error {
		root, n, err := store.ParseHeadName(e.Name)
		name, ours := strings.CutPrefix(root, headLead)
		if err != nil || !ours {
			return nil
		}
		if kept[name] == nil {
			kept[name] = map[uint64]store.Entry{}
		}
		kept[name][n] = e
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list datasets: %w", err)
	}
	return kept, nil
}

// checker is a running check.
type checker struct {
	Options
	ctx       context.Context
	wanted    map[digest.Digest]want
	manifests map[digest.Digest]bool
	report    CheckReport
}

// want is a content that a manifest names.
type want struct {
	size int64
	set  *Dataset
}

// tolerate notes damage and returns nil; any other error is returned.
func (c *checker) tolerate(name string, err error) error {
	if err == nil || c.ctx.Err() != nil {
		return err
	}
	var damaged *DamagedError
	if errors.As(err, &damaged) || store.Spoilt(err) {
		c.report.Problems = append(c.report.Problems, Problem{name, err})
		return nil
	}
	return err
}

func (c *checker) dataset(d *Dataset, kept map[uint64]store.Entry) error {
	var after *Head
	above := uint64(0)
	for _, n := range slices.Backward(slices.Sorted(maps.Keys(kept))) {
		name := kept[n].Name
		h, err := d.head(c.ctx, n)
		if after != nil && n+1 < above {
			c.report.Problems = append(c.report.Problems, Problem{name,
				fmt.Errorf("%d between it and the next one, number %d, are missing", above-n-1, above)})
		}
		above = n
		if err := c.tolerate(name, err); err != nil {
			return err
		}
		if h == nil {
			after = nil
			continue
		}
		c.report.Heads++
		if after != nil && after.Generation == h.Generation+1 && after.Previous != h.text.String() {
			c.report.Problems = append(c.report.Problems, Problem{name, &DamagedError{name, errors.New("the next head was put over another one")}})
		}
		after = h
		if err := c.tolerate(name, c.manifest(d, h)); err != nil {
			return err
		}
	}
	return nil
}

// manifest notes what a head's manifest names.
func (c *checker) manifest(d *Dataset, h *Head) error {
	if c.manifests[h.Manifest] {
		return nil
	}
	c.manifests[h.Manifest] = true
	t, err := d.Tree(c.ctx, h)
	if err != nil {
		return err
	}
	c.report.Objects++
	c.report.Bytes += int64(len(dirsync.EncodeManifest(t)))
	for i := range t.Nodes {
		n := &t.Nodes[i]
		if n.Kind != dirsync.File {
			continue
		}
		if w, known := c.wanted[n.Digest]; known && w.size != n.Size {
			return &DamagedError{store.ObjectName(h.Manifest), fmt.Errorf("%.200q has another size than an equal content", n.Path)}
		}
		c.wanted[n.Digest] = want{n.Size, d}
	}
	return nil
}

// objects looks for every content.
func (c *checker) objects(deep bool, progress func(done, total int)) error {
	done := 0
	for _, sum := range slices.SortedFunc(maps.Keys(c.wanted), func(a, b digest.Digest) int { return strings.Compare(a.Hex(), b.Hex()) }) {
		w := c.wanted[sum]
		name := store.ObjectName(sum)
		if err := c.tolerate(name, c.content(w, sum, name, deep)); err != nil {
			return err
		}
		done++
		if progress != nil {
			progress(done, len(c.wanted))
		}
	}
	return c.ctx.Err()
}

func (c *checker) content(w want, sum digest.Digest, name string, deep bool) error {
	if deep {
		if _, err := io.Copy(io.Discard, w.set.Content(c.ctx, sum, w.size)); err != nil {
			return err
		}
	}
	size, err := c.Store.Stat(c.ctx, name)
	if err != nil {
		return fmt.Errorf("look for %s: %w", name, err)
	}
	if size != w.size {
		return &DamagedError{name, fmt.Errorf("it has %d bytes, its manifest says %d", size, w.size)}
	}
	c.report.Objects++
	c.report.Bytes += size
	return nil
}
