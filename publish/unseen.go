package publish

import (
	"slices"
	"time"

	"agentsync/collect"
	"agentsync/publish/document"
)

// missing returns the rows of a source's published sessions that the pass did not see,
// and judges what became of them.
func (w *work) missing(t *tally, seen map[string]bool) ([]*document.Row, error) {
	var rows []*document.Row
	for _, native := range sortedKeys(w.claims.bySource[t.source.ID]) {
		if seen[t.source.ID+"\x00"+native] || w.claims.get(t.source.ID, native).Status == document.StatusDeleted {
			continue
		}
		row, err := w.published(t, native)
		if err != nil {
			return nil, err
		}
		if row != nil && row.Status != document.StatusDeleted {
			rows = append(rows, row)
		}
	}
	keeps := time.Duration(0)
	if w.Keeps != nil && len(rows) > 0 {
		keeps = w.Keeps(t.source.ID)
	}
	var told []string
	if before := w.sourceBefore(t.source.ID); before != nil {
		told = before.Dangling
	}
	talk := len(rows) == 0
	if !talk {
		var err error
		if talk, err = w.talks(t); err != nil {
			return nil, err
		}
	}
	t.verdict = judge(sight{
		unlisted: t.unlisted, absent: t.outcome.Absent, complete: t.outcome.Complete, problems: t.outcome.Problems,
		leftOut: t.outcome.Notes, aside: t.outcome.Aside, told: told, accepted: w.Gone != nil && w.Gone(t.source.ID), keeps: keeps, now: w.Now,
		seen: func() []document.Placement { return w.seenPlaces(t) }, talk: talk,
	}, rows)
	t.unseen = len(rows) - len(t.verdict.deleted)
	return rows, nil
}

// talk reports that one of the sessions that were seen has a message: side files, lists of
// names and empty transcripts are no conversation.
func (w *work) talk() (bool, error) {
	for i := range w.tallies {
		if talk, err := w.talks(&w.tallies[i]); talk || err != nil {
			return talk, err
		}
	}
	return false, nil
}

// talks reports the same of one source.
func (w *work) talks(t *tally) (bool, error) {
	for i := range w.results {
		r := &w.results[i]
		if r.session.Source == t.source.ID && (r.row != nil && r.row.Messages > 0 || r.failed && r.prior != nil && r.prior.Messages > 0) {
			return true, nil
		}
	}
	for _, native := range t.retained {
		row, err := w.published(t, native)
		if err != nil || row != nil && row.Messages > 0 {
			return err == nil, err
		}
	}
	return false, nil
}

// seenPlaces are where the sessions of a source lie that the pass saw.
func (w *work) seenPlaces(t *tally) (places []document.Placement) {
	for _, native := range t.retained {
		places = append(places, w.claims.get(t.source.ID, native).Place)
	}
	for i := range w.results {
		switch r := &w.results[i]; {
		case r.session.Source != t.source.ID:
		case r.row != nil:
			places = append(places, r.row.Placement)
		case r.prior != nil:
			places = append(places, r.prior.Placement)
		default:
			places = append(places, document.Placement{})
		}
	}
	return places
}

// recordComplete remembers that this pass saw all of its sources, for those passes that
// began before it and are published later.
func (w *work) recordComplete() error {
	var sources []string
	for i := range w.tallies {
		if t := &w.tallies[i]; !t.partial && !t.unlisted && t.whole() {
			sources = append(sources, w.observed(t.source.ID))
		}
	}
	if w.Observations == nil || w.DryRun || len(sources) == 0 {
		return nil
	}
	return w.Observations.Complete(w.ctx, uint64(w.number), sources...)
}

// observed names a source of this store among the observations: what a pass saw for another
// store is not published here.
func (w *work) observed(sourceID string) string { return w.format.SpaceDID + " " + sourceID }

// ordered leaves out what a newer observation, which saw all of a source, knows better.
func (w *work) ordered(changed []rowChange) ([]rowChange, error) {
	newest := map[string]int64{}
	out := changed[:0:0]
	for _, c := range changed {
		id := c.row.SourceID
		if _, known := newest[id]; !known {
			if before := w.sourceBefore(id); before != nil {
				newest[id] = before.Observed
			}
			if w.Observations != nil {
				n, err := w.Observations.NewestComplete(w.observed(id))
				if err != nil {
					return nil, err
				}
				newest[id] = max(newest[id], int64(n))
			}
		}
		if newest[id] > w.number {
			c.row = overtaken(c, w.Now)
		}
		if c.row != nil {
			out = append(out, c)
		}
	}
	return out, nil
}

// unlisted adds the sources that were published from here and that the pass does not look
// at, though nobody left them out.
func (w *work) unlisted() {
	if w.base == nil || w.Only != nil {
		return
	}
	for _, s := range w.base.root.Sources {
		listed := slices.ContainsFunc(w.tallies, func(t tally) bool { return t.source.ID == s.ID })
		if listed || s.Installation != w.Installation || s.SessionCount == 0 || w.LeftOut != nil && w.LeftOut(s.ID) {
			continue
		}
		w.tallies = append(w.tallies, tally{source: collect.Descriptor{ID: s.ID, Driver: s.Driver}, unlisted: true,
			outcome: collect.Tally{Absent: true}})
	}
}

// whole reports that the source gave all that it has, and nothing published is missing.
func (t *tally) whole() bool {
	return t.verdict.settled || t.outcome.Complete && !t.outcome.Absent && len(t.verdict.problems) == 0
}
