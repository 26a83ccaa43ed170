package publish

import (
	"errors"
	"slices"

	"agentsync/publish/document"
	"agentsync/publish/store"
)

// overtaken reports that the base is not the newest generation any more: what could not be
// read of it may have been pruned since.
func (w *work) overtaken() bool {
	n, err := store.Newest(w.ctx, w.Store, sessionsHead)
	return err == nil && w.base != nil && n > uint64(w.base.head.Generation)
}

// rebase reads the generation that another publisher put meanwhile, and keeps the
// changes to rows of which it does not hold a newer observation.
func (w *work) rebase(changed []rowChange) ([]rowChange, error) {
	lib := w.library(w.ctx)
	base, err := w.newest(lib)
	if err != nil {
		return nil, err
	}
	if err := ownsSources(base, w.Pass, w.Installation); err != nil {
		return nil, err
	}
	w.base, w.index = base, newIndex(lib, base)
	var out []rowChange
	for _, c := range changed {
		theirs, err := w.index.find(c.row.Key)
		if err != nil {
			return nil, err
		}
		if newer(theirs, c.row) {
			w.overtook(theirs)
			w.claims.put(rowClaim(theirs, nil))
			continue
		}
		var damaged *DamagedError
		if err := w.relink(c, theirs); errors.As(err, &damaged) { // where they were is gone: the next pass reads it
			w.claims.put(rowClaim(theirs, nil))
			continue
		} else if err != nil {
			return nil, err
		}
		c.prior = theirs
		c.row.Revision = base.root.Generation + 1
		out = append(out, c)
	}
	return w.ordered(out)
}

// relink takes over where the documents of a session lie by now, that the changed row has
// from the row it was made from: the other publisher may have moved them into a pack of its
// own, and a prune may then remove those where they were.
func (w *work) relink(c rowChange, theirs *document.Row) error {
	if c.prior == nil || theirs == nil || c.prior.ManifestHash != theirs.ManifestHash {
		return nil
	}
	var tables [3]document.Table
	for i, row := range []*document.Row{c.prior, theirs, c.row} {
		var err error
		if tables[i], err = w.index.lib.table(row); err != nil {
			return err
		}
	}
	was, now, mine := tables[0].Links(), tables[1].Links(), tables[2].Clone()
	moved := map[document.Place]document.Link{}
	for i, l := range was {
		moved[l.Place()] = *now[i]
	}
	relinked := false
	for _, l := range mine.Links() {
		if to, ok := moved[l.Place()]; ok && to.Place() != l.Place() {
			*l, relinked = to, true
		}
	}
	if relinked {
		c.row.Table, c.row.TableAt = mine, document.Link{}
	}
	c.row.Copies = slices.Clone(c.row.Copies)
	for i := range c.row.Copies {
		one := &c.row.Copies[i]
		if one.ManifestHash == theirs.ManifestHash {
			one.Table, one.TableAt = theirs.Table, theirs.TableAt
		}
		for _, moved := range theirs.Copies {
			if moved.N == one.N && moved.ManifestHash == one.ManifestHash {
				one.Table, one.TableAt = moved.Table, moved.TableAt
			}
		}
	}
	return nil
}

// overtook makes the report say of a session what the index holds of it: a newer pass put
// that meanwhile.
func (w *work) overtook(theirs *document.Row) {
	for i := range w.results {
		if s := &w.results[i].session; s.Key == theirs.Key && !w.results[i].failed {
			s.Status = SessionUnchanged
			s.SnapshotHash, s.ManifestHash = theirs.ContentHash.String(), theirs.ManifestHash.String()
			s.Events, s.Messages, s.Size, s.Damaged = theirs.Events, theirs.Messages, theirs.Size, theirs.Damaged
		}
	}
}
