package cli

import (
	"context"
	"fmt"

	"agentsync/publish"
)

// droppedObject is one kept copy that is given up, in JSON.
type droppedObject struct {
	Type   string `json:"message_type"`
	Key    string `json:"key"`
	Copy   int    `json:"copy"`
	Size   int64  `json:"size"`
	Events int    `json:"events"`
}

// dropSummary ends it. Generation is the one without the copies, 0 when none was written.
type dropSummary struct {
	Type       string `json:"message_type"`
	Applied    bool   `json:"applied"`
	Removed    int    `json:"removed"`
	Generation int64  `json:"generation"`
	Store      string `json:"store"`
}

// dropCopies gives up kept copies that are named, or shows what they are.
func (v *invocation) dropCopies(ctx context.Context, s *settings, o publish.PruneOptions, names []string) error {
	target, done, err := v.openPruner(ctx, s, o.Apply)
	if err != nil {
		return err
	}
	defer done()
	dropped, generation, err := target.DropCopies(ctx, names, o.Apply, o.Now)
	if err != nil {
		return err
	}
	t := newTable(column{title: "COPY", flexible: true}, column{title: "SIZE", right: true}, column{title: "EVENTS", right: true})
	for _, row := range dropped {
		t.row(fmt.Sprintf("%s@%d", row.Key, row.CopyN), bytesText(row.Size), number(row.Events))
		if v.out.asJSON {
			if err := v.out.object(droppedObject{Type: "dropped", Key: row.Key, Copy: row.CopyN, Size: row.Size, Events: row.Events}); err != nil {
				return err
			}
		}
	}
	if v.out.asJSON {
		return v.out.object(dropSummary{Type: "summary", Applied: o.Apply, Removed: len(dropped), Generation: generation, Store: target.Store.Location()})
	}
	if err := v.out.table(t); err != nil {
		return err
	}
	if o.Apply {
		return v.out.note("%s given up in generation %d; a later prune removes the bytes", counted(len(dropped), "copy", "copies"), generation)
	}
	return v.out.note("would give up %s; to do it, add --apply", counted(len(dropped), "copy", "copies"))
}
