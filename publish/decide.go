package publish

import (
	"reflect"
	"slices"
	"strings"
	"time"

	"agentsync/publish/document"
)

// recentWindow is how long a session stays in the recent index after its last change.
const recentWindow = 7 * 24 * time.Hour

// Everything in this file decides and does no I/O.

// newer reports that the row that another pass published meanwhile stands over the
// one this pass would put there: it was observed later. A row that this pass never saw
// is the other's alone; the number of an observation orders the passes of one
// installation, and a source has one installation.
func newer(theirs, mine *document.Row) bool { return theirs != nil && theirs.Observed > mine.Observed }

// adopt returns the row to publish for a session that was read, or nil when the
// index already says the same.
func adopt(prior, row *document.Row, generation int64) *document.Row {
	row.Revision = generation
	if prior != nil && prior.ManifestHash == row.ManifestHash {
		row.Revision, row.Observed = prior.Revision, prior.Observed
		if equalGit(prior.Git, row.Git) {
			row.Git.ObservedAt = prior.Git.ObservedAt
		}
		row.Table, row.TableAt, row.Copies = prior.Table, prior.TableAt, prior.Copies
		if sameRow(prior, row) {
			return nil
		}
	}
	return row
}

// sameRow compares what two rows say; fields of a later version are the prior row's
// and are not lost by keeping it.
func sameRow(a, b *document.Row) bool {
	x, y := a.Known(), b.Known()
	return reflect.DeepEqual(&x, &y)
}

// failed is the row of a session that could not be read: its published copy stays,
// marked partial.
func failed(prior *document.Row) *document.Row {
	if prior == nil || prior.Status == document.StatusPartial {
		return nil
	}
	row := *prior
	row.Status, row.DeletedAt = document.StatusPartial, nil
	return &row
}

// unseen is the row of a session that its source's inventory did not name: deleted when
// it is gone, and stale as long as that cannot be told. Nothing is ever removed.
func unseen(prior *document.Row, gone bool, now time.Time) *document.Row {
	row := *prior
	switch {
	case prior.Status == document.StatusDeleted:
		return nil
	case gone:
		at := stamp(now)
		row.Status, row.DeletedAt = document.StatusDeleted, &at
	case prior.Status == document.StatusStale:
		return nil
	default:
		row.Status = document.StatusStale
	}
	return &row
}

// retained is the row of a session whose claim was taken, with its directory's Git
// context refreshed; nil when nothing changed.
func retained(prior *document.Row, git document.Git, observed, failed bool) *document.Row {
	row := *prior
	if observed {
		git = keepGit(prior.Git, git, failed)
		if !equalGit(git, prior.Git) {
			row.Git = git
		}
	}
	row.Status = document.StatusComplete
	if row.Status == prior.Status && equalGit(row.Git, prior.Git) {
		return nil
	}
	return &row
}

// recentChanges turns changed rows into changes of the recent index.
func recentChanges(changed []rowChange, now time.Time) []change[document.Recent] {
	cutoff := stamp(now.Add(-recentWindow))
	var out []change[document.Recent]
	for _, c := range changed {
		before, after := recentOf(c.prior), recentOf(c.row)
		if before != nil && (after == nil || *before != *after) {
			out = append(out, change[document.Recent]{order: before.Order(), remove: true})
		}
		if after != nil && after.UpdatedAt >= cutoff && (before == nil || *before != *after) {
			out = append(out, change[document.Recent]{order: after.Order(), row: *after})
		}
	}
	slices.SortFunc(out, func(a, b change[document.Recent]) int { return strings.Compare(a.order, b.order) })
	return out
}

func recentOf(row *document.Row) *document.Recent {
	if row == nil || row.Status == document.StatusDeleted || row.UpdatedAt == nil {
		return nil
	}
	return &document.Recent{UpdatedAt: *row.UpdatedAt, Key: row.Key}
}

// rowChange is one row to publish and the one it replaces, nil for none.
type rowChange struct {
	prior, row *document.Row
	unseen     bool // the pass did not see the session
}

// overtaken is the row to publish when a newer observation saw all of the source: what is
// there and what is not is that one's to say. A session that it does not have is kept, as
// deleted; nil leaves the published row as it is.
func overtaken(c rowChange, now time.Time) *document.Row {
	if c.unseen {
		return nil
	}
	if c.prior == nil {
		at := stamp(now)
		c.row.Status, c.row.DeletedAt = document.StatusDeleted, &at
	}
	return c.row
}

// totalAfter counts the sessions that are not deleted.
func totalAfter(total int, changed []rowChange) int {
	alive := func(r *document.Row) int {
		if r == nil || r.Status == document.StatusDeleted {
			return 0
		}
		return 1
	}
	for _, c := range changed {
		total += alive(c.row) - alive(c.prior)
	}
	return total
}

// mergeSources puts this pass's source rows over the published ones, sorted by id.
func mergeSources(before, now []document.Source) []document.Source {
	out := slices.Clone(now)
	for _, s := range before {
		if !slices.ContainsFunc(now, func(n document.Source) bool { return n.ID == s.ID }) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b document.Source) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// mergeCheckouts puts what was observed over the published rows. An observation
// that says the same as the row before keeps that row, its time included. With
// whole set, this installation's rows that were not observed are dropped; otherwise a
// session that was not looked at may still name what only the discovery found.
func mergeCheckouts(before, now []document.Checkout, installation string, whole bool) []document.Checkout {
	byRoot := map[string]document.Checkout{}
	for _, c := range before {
		if c.Installation != installation || !whole {
			byRoot[c.Installation+"\x00"+c.Root] = c
		}
	}
	for _, c := range now {
		c.Installation = installation
		for _, old := range before {
			if old.Installation != installation || old.Root != c.Root {
				continue
			}
			c.Discovered = c.Discovered && (whole || old.Discovered)
			if sameCheckout(old, c) {
				c.ObservedAt = old.ObservedAt
			}
		}
		byRoot[installation+"\x00"+c.Root] = c
	}
	out := make([]document.Checkout, 0, len(byRoot))
	for _, k := range sortedKeys(byRoot) {
		out = append(out, byRoot[k])
	}
	return out
}

// sameCheckout compares all but the time of observation.
func sameCheckout(a, b document.Checkout) bool {
	return a.Root == b.Root && a.Installation == b.Installation && a.Discovered == b.Discovered &&
		equalText(a.Repo, b.Repo) && equalText(a.Branch, b.Branch) && equalText(a.HeadSHA, b.HeadSHA) &&
		slices.EqualFunc(a.Remotes, b.Remotes, equalRemote)
}
