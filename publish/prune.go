package publish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"agentsync/hashgraph/digest"
	"agentsync/publish/document"
	"agentsync/publish/store"
)

// PruneOptions say what to keep.
type PruneOptions struct {
	Keep  int           // newest generations that stay; at least 1
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
	KeptHeads, KeptPacks int
	KeptBytes            int64
	Removed              []Pruned
}

// Prune removes heads beyond those kept, and packs that no kept head reaches. It
// never removes anything younger than the grace period, since a publisher that is
// at work has packs that no head names yet. When anything that is kept cannot be
// read, nothing is removed.
func (t *Target) Prune(ctx context.Context, o PruneOptions) (PruneReport, error) {
	var r PruneReport
	lib := t.library(ctx)
	heads, err := t.headNames(ctx)
	if err != nil || len(heads) == 0 {
		return r, err
	}
	needed := map[digest.Digest]bool{}
	links := map[document.Link]bool{}
	for age, n := range slices.Backward(slices.Sorted(maps.Keys(heads))) {
		entry := heads[n]
		if len(heads)-age > max(1, o.Keep) && o.Now.Sub(entry.Modified) >= o.Grace {
			r.Removed = append(r.Removed, Pruned{entry.Name, entry.Size, "older generation"})
			continue
		}
		r.KeptHeads++
		if err := t.mark(lib, n, needed, links); err != nil {
			return PruneReport{}, fmt.Errorf("mark what generation %d needs: %w", n, err)
		}
	}
	slices.Reverse(r.Removed) // the oldest goes first, so that no gap is ever left
	if err := t.sweepable(ctx, o, needed, &r); err != nil || !o.Apply {
		return r, err
	}
	return r, t.remove(ctx, r.Removed)
}

func (t *Target) headNames(ctx context.Context) (map[uint64]store.Entry, error) {
	heads := map[uint64]store.Entry{}
	err := t.Store.List(ctx, store.HeadPrefix(sessionsHead), func(e store.Entry) error {
		if _, n, err := store.ParseHeadName(e.Name); err == nil {
			heads[n] = e
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list heads: %w", err)
	}
	return heads, nil
}

// mark notes every pack that a generation links into. The root's list of packs may
// name more than it needs, so the links themselves are followed.
func (t *Target) mark(lib *library, n uint64, needed map[digest.Digest]bool, seen map[document.Link]bool) error {
	g, err := t.generation(lib, n)
	if err != nil {
		return err
	}
	visit := func(l document.Link) bool {
		needed[l.Pack.Name] = true
		fresh := !seen[l]
		seen[l] = true
		return fresh
	}
	visit(g.head.Root)
	for _, node := range g.root.Recent {
		if err := t.markPages(lib, node, visit, nil); err != nil {
			return err
		}
	}
	for _, node := range g.root.All {
		if err := t.markPages(lib, node, visit, lib.rows); err != nil {
			return err
		}
	}
	return nil
}

func (t *Target) markPages(lib *library, node document.Child, visit func(document.Link) bool,
	rows func(document.Link) ([]*document.Row, error)) error {
	if !visit(node.Link) {
		return nil
	}
	pages, err := lib.children(node.Link)
	if err != nil {
		return err
	}
	for _, page := range pages {
		if !visit(page.Link) || rows == nil {
			continue
		}
		found, err := rows(page.Link)
		if err != nil {
			return err
		}
		for _, row := range found {
			if err := markRow(lib, row, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

func markRow(lib *library, row *document.Row, visit func(document.Link) bool) error {
	if !row.TableAt.IsZero() && !visit(row.TableAt) {
		return nil
	}
	table, err := lib.table(row)
	if err != nil {
		return err
	}
	visit(table.Manifest)
	for _, links := range [][]document.Link{table.Chunks, table.ChunkPages} {
		for _, l := range links {
			visit(l)
		}
	}
	return nil
}

// sweepable lists the packs that nothing kept needs.
func (t *Target) sweepable(ctx context.Context, o PruneOptions, needed map[digest.Digest]bool, r *PruneReport) error {
	err := t.Store.List(ctx, "packs/", func(e store.Entry) error {
		name, err := store.ParsePackName(e.Name)
		if err != nil {
			return nil // not ours to judge
		}
		if needed[name] || o.Now.Sub(e.Modified) < o.Grace {
			r.KeptPacks++
			r.KeptBytes += e.Size
			return nil
		}
		r.Removed = append(r.Removed, Pruned{e.Name, e.Size, "no kept generation needs it"})
		return nil
	})
	if err != nil {
		return fmt.Errorf("list packs: %w", err)
	}
	return nil
}

// remove deletes heads before packs, so that no head is left whose packs are gone.
func (t *Target) remove(ctx context.Context, names []Pruned) error {
	var errs []error
	for _, p := range names {
		if err := t.Store.Delete(ctx, p.Name); err != nil {
			errs = append(errs, fmt.Errorf("remove %s: %w", p.Name, err))
			break
		}
	}
	return errors.Join(errs...)
}
