package cli

import (
	"slices"

	"agentsync/collect"
	"agentsync/collect/drivers"
	"agentsync/publish"
	"agentsync/publish/document"
)

// isPart reports a row of a file that its agent went on with a thread in: it belongs to
// the thread's own row.
func isPart(row *document.Row) bool {
	thread, ok := drivers.ThreadOf(row.Driver, row.NativeSessionID)
	if !ok || row.Parent == "" {
		return false
	}
	of, _ := drivers.ThreadOf(row.Driver, row.Parent)
	return of == thread
}

// fold adds to the rows of threads what lies in further files: a thread changed when the
// last of them did, and its counts are those of all. A thread that is in the choice by
// them alone is added.
func (got *found) fold(view *publish.View, w *choice) error {
	whole := map[string]*document.Row{}
	for _, row := range got.rows {
		whole[row.Key] = row
	}
	var late []*document.Row
	for _, part := range got.parts {
		key, err := collect.SessionKey(part.SourceID, part.Parent)
		if err != nil {
			continue
		}
		row := whole[key]
		if row == nil {
			own, err := view.Find(key)
			if err != nil {
				return err
			}
			if own == nil {
				continue
			}
			row = w.slim(own)
			whole[key] = row
			late = append(late, row)
		}
		if text(part.UpdatedAt) > text(row.UpdatedAt) {
			row.UpdatedAt = part.UpdatedAt
		}
		row.Size, row.Events, row.Messages, row.Damaged = row.Size+part.Size, row.Events+part.Events, row.Messages+part.Messages, row.Damaged+part.Damaged
	}
	for _, row := range late {
		if w.matches(row) && !w.hides(row) {
			got.rows, got.keys = append(got.rows, row), append(got.keys, row.Key)
		}
	}
	slices.SortStableFunc(got.rows, newestRow)
	return nil
}
