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
	// Waiting packs are needed by nothing that is published, and too young to be removed: a
	// pass may be at work on them. Until is when the last of them is old enough.
	Waiting      int
	WaitingBytes int64
	Until        time.Time

	newest uint64 // number of the newest head that was looked at
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
	if err := t.settledCommands(ctx, o, &r); err != nil {
		return r, err
	}
	if err := t.pruneHealth(ctx, o, &r); err != nil {
		return r, err
	}
	if !o.Apply {
		return r, t.leftovers(ctx, o, &r)
	}
	if err := t.spare(ctx, &r); err != nil {
		return PruneReport{}, err
	}
	if err := t.remove(ctx, r.Removed); err != nil {
		return r, err
	}
	swept := PruneReport{}
	if err := t.leftovers(ctx, o, &swept); err != nil || len(swept.Removed) == 0 {
		return r, err
	}
	r.Removed = append(r.Removed, swept.Removed...)
	_, err = t.Store.(store.Sweeper).Sweep(ctx, o.Now)
	return r, err
}

// spare looks again, right before anything is removed, for generations that another
// machine has put since the look before, and keeps what they need. It ends when there is
// no further one.
func (t *Target) spare(ctx context.Context, r *PruneReport) error {
	seen := r.newest
	for {
		newest, err := store.Newest(ctx, t.Store, sessionsHead)
		if err != nil || newest <= seen {
			return err
		}
		needed, links := map[digest.Digest]bool{}, map[document.Link]bool{}
		for n := seen + 1; n <= newest; n++ {
			if err := t.mark(t.library(ctx), n, needed, links); err != nil {
				return fmt.Errorf("mark what generation %d needs: %w", n, err)
			}
		}
		seen = newest
		r.Removed = slices.DeleteFunc(r.Removed, func(p Pruned) bool {
			name, err := store.ParsePackName(p.Name)
			return err == nil && needed[name]
		})
	}
}

// leftovers lists what processes that died have left on its way into the store.
func (t *Target) leftovers(ctx context.Context, o PruneOptions, r *PruneReport) error {
	sweeper, ok := t.Store.(store.Sweeper)
	if !ok {
		return nil
	}
	left, err := sweeper.Leftovers(ctx, o.Now)
	for _, e := range left {
		r.Removed = append(r.Removed, Pruned{e.Name, e.Size, "left by a pass that died"})
	}
	return err
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
		r.newest = max(r.newest, n)
		if err := t.mark(lib, n, needed, links); err != nil {
			return fmt.Errorf("mark what generation %d needs: %w", n, err)
		}
	}
	r.Removed = removed
	return t.sweepable(ctx, o, needed, r)
}

func (r *PruneReport) wait(e store.Entry, grace time.Duration) {
	r.Waiting++
	r.WaitingBytes += e.Size
	if old := e.Modified.Add(grace); old.After(r.Until) {
		r.Until = old
	}
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
			for _, state := range row.States() {
				if err := markRow(lib, state, visit); err != nil {
					return err
				}
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
		if err != nil || e.Strange {
			return nil // not ours to judge
		}
		young := o.Now.Sub(e.Modified) < o.Grace
		if needed[name] || young {
			r.KeptPacks++
			r.KeptBytes += e.Size
			if !needed[name] {
				r.wait(e, o.Grace)
			}
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
