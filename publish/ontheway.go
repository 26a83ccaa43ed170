package publish

import (
	"context"
	"slices"

	"agentsync/collect"
	"agentsync/publish/document"
)

// A long pass puts generations on the way: they hold the sessions that were read so far
// over everything that was published before. They mark nothing deleted or stale, and say
// of the sources of the pass that they are not whole. A pass that is killed loses what it
// read after the last of them, and the next one goes on from there.

// unfinished is the problem of a source that a generation on the way does not know whole.
var unfinished = document.Problem{Code: "unfinished", Message: "the pass that published this did not come to its end"}

// onTheWay makes what was read so far the next generation. The workers stand still.
func (w *work) onTheWay(current collect.Descriptor) error {
	w.paused = false
	next := int64(1)
	if w.base != nil {
		next = w.base.root.Generation + 1
	}
	var changed []rowChange
	for i := range w.results {
		if r := &w.results[i]; !r.settled {
			r.settled = true
			if row := r.outcome(next); row != nil {
				changed = append(changed, w.change(r.prior, row))
			}
			if !r.failed {
				w.claims.put(&r.claim)
			}
		}
	}
	if len(changed) == 0 {
		return nil
	}
	changed, err := w.ordered(changed)
	if err != nil {
		return err
	}
	w.claimChanged(changed)
	sources := func() []document.Source { return w.unfinishedSources(current) }
	if err := w.put(changed, sources, nil, true); err != nil {
		return err
	}
	w.index = newIndex(w.library(w.ctx), w.base)
	w.packer.next()
	w.report.Unfinished = true
	return nil
}

// leave puts what an interrupted pass has read, while the program may still write.
func (w *work) leave() error {
	if w.DryRun || len(w.tallies) == 0 {
		return nil
	}
	w.ctx = context.WithoutCancel(w.ctx)
	w.index = newIndex(w.library(w.ctx), w.base)
	return w.onTheWay(w.tallies[len(w.tallies)-1].source)
}

// unfinishedSources are the rows of the sources that this pass has come to: as they were,
// but for their sessions, and not whole.
func (w *work) unfinishedSources(current collect.Descriptor) []document.Source {
	come := []collect.Descriptor{current}
	for _, t := range w.tallies {
		if t.source.ID != current.ID {
			come = append(come, t.source)
		}
	}
	var out []document.Source
	for _, d := range come {
		row := document.Source{ID: d.ID, Driver: d.Driver, Installation: w.Installation, Capabilities: w.capabilities(d), Options: w.options(d)}
		if old := w.sourceBefore(d.ID); old != nil {
			row.Observed, row.Errors, row.Dangling = old.Observed, slices.Clone(old.Errors), old.Dangling
		}
		if !slices.Contains(row.Errors, unfinished) {
			row.Errors = append(row.Errors, unfinished)
		}
		row.SessionCount = w.claims.alive(d.ID)
		out = append(out, row)
	}
	return out
}
