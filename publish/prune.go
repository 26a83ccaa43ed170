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

// Prune removes heads beyond those kept, packs that no kept head reaches, and commands
// whose outcome is known. It never removes anything younger than the grace period, since
// a publisher that is at work has packs that no head names yet. It never removes a claim
// or an outcome, so that nothing ever runs again. When anything that is kept cannot be
// read, nothing is removed. Only the owner removes: without the key it is ErrForeign.
func (t *Target) Prune(ctx context.Context, o PruneOptions) (PruneReport, error) {
	var r PruneReport
	if o.Apply && t.Signer == nil {
		return r, fmt.Errorf("prune %s: %w: %s", t.Store.Location(), ErrForeign, t.format.OwnerDID)
	}
	if err := t.Current(ctx); err != nil {
		return r, err
	}
	if err := t.pruneSessions(ctx, o, &r); err != nil {
		return PruneReport{}, err
	}
	lists, err := t.headNames(ctx, receiptsHead)
	if err != nil {
		return PruneReport{}, err
	}
	_, removed := thin(lists, o, "older list of receipts")
	r.Removed = append(r.Removed, removed...)
	if err := t.settledCommands(ctx, o, &r); err != nil || !o.Apply {
		return r, err
	}
	return r, t.remove(ctx, r.Removed)
}

// pruneSessions lists the generations and packs that go.
func (t *Target) pruneSessions(ctx context.Context, o PruneOptions, r *PruneReport) error {
	heads, err := t.headNames(ctx, sessionsHead)
	if err != nil || len(heads) == 0 {
		return err
	}
	lib := t.library(ctx)
	needed := map[digest.Digest]bool{}
	links := map[document.Link]bool{}
	kept, removed := thin(heads, o, "older generation")
	for _, n := range kept {
		r.KeptHeads++
		if err := t.mark(lib, n, needed, links); err != nil {
			return fmt.Errorf("mark what generation %d needs: %w", n, err)
		}
	}
	r.Removed = removed
	return t.sweepable(ctx, o, needed, r)
}

// thin decides which states of a head stay, and which go, the oldest first up to the
// first that stays, so that what is kept has no gap.
func thin(heads map[uint64]store.Entry, o PruneOptions, why string) (kept []uint64, removed []Pruned) {
	kept = slices.Sorted(maps.Keys(heads))
	for len(kept) > max(1, o.Keep) && o.Now.Sub(heads[kept[0]].Modified) >= o.Grace {
		entry := heads[kept[0]]
		removed = append(removed, Pruned{entry.Name, entry.Size, why})
		kept = kept[1:]
	}
	return kept, removed
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
