package publish

import (
	"errors"

	"agentsync/collect/value"
	"agentsync/hashgraph"
	"agentsync/publish/document"
	"agentsync/publish/store"
)

// element is an array element that is a cell of its own, and the document it lies in.
type element struct {
	hashgraph.Cell
	pack string
}

// cell renders an element: whole, or with the elements of its own arrays as links.
func (t *Target) cell(e element, linked bool) Cell {
	v := e.Value
	if linked {
		v = hashgraph.Linked(v, e.Cause, t.format.SpaceDID)
	}
	return Cell{ID: e.ID, Pack: e.pack, Text: value.AppendText([]byte(value.Prefix), v)}
}

// planned looks for a cell among the elements of a value's arrays.
func planned(id string, v, scope value.Value) (hashgraph.Cell, bool) {
	for _, cell := range hashgraph.Plan(v, scope) {
		if cell.ID == id {
			return cell, true
		}
	}
	return hashgraph.Cell{}, false
}

// sessionElement looks for an element of one session's arrays: its events, its messages,
// the descriptors of its chunks, what its summary lists.
func (t *Target) sessionElement(lib *library, id string, row *document.Row) (element, error) {
	s, err := openSession(lib, row)
	if err != nil {
		return element{}, err
	}
	causes := t.causes()
	var messages []value.Value
	for n := range s.Parts() {
		c, err := s.Part(n)
		if err != nil {
			return element{}, err
		}
		b := value.NewBuilder().Record().Key("events").Array()
		for i := range c.Events {
			b.Value(c.Events[i].Value)
		}
		scope := causes.EventScope(row.SourceID, row.NativeSessionID, c.Part, c.ContentHash)
		if cell, ok := planned(id, b.End().End().Finish(), scope); ok {
			return element{cell, store.PackName(s.table.Chunks[n].Pack.Name)}, nil
		}
		for _, v := range c.Normalized {
			messages = append(messages, value.NewBuilder().Value(v).Finish()) // the part's tape is used again
		}
	}
	scope := causes.SessionScope(row.SourceID, row.NativeSessionID, row.ManifestHash)
	if cell, ok := planned(id, logicalManifest(causes, s.Manifest, messages...), scope); ok {
		return element{cell, store.PackName(s.table.Manifest.Pack.Name)}, nil
	}
	return element{}, ErrNoCell
}

// indexElement looks for an element of the index: a session's row, a source, a checkout;
// and for those of the arrays within. The elements within a row are looked for in one of
// rows alone.
func (v *View) indexElement(id string, rows []*document.Row) (element, error) {
	root := v.Root()
	scope := v.target.causes().IndexScope()
	within := map[string]bool{}
	for _, row := range rows {
		within[row.Key] = true
	}
	found := element{pack: store.PackName(v.Head().Root.Pack.Name)}
	err := v.Rows(func(row *document.Row) error {
		own := hashgraph.CellID(hashgraph.ElementCause(scope, []string{"sessions"}, "key", row.Key))
		if own != id && !within[row.Key] {
			return nil
		}
		recent, err := v.Recent(row)
		if err != nil {
			return err
		}
		logical := v.logicalRow(row, recent)
		list := value.NewBuilder().Record().Key("sessions").Array().Value(logical).End().End().Finish()
		if cell, ok := planned(id, list, scope); ok {
			found.Cell = cell
			return errFound
		}
		return nil
	})
	if errors.Is(err, errFound) {
		return found, nil
	}
	if err != nil {
		return element{}, err
	}
	if cell, ok := planned(id, root.Lists(), scope); ok {
		found.Cell = cell
		return found, nil
	}
	return element{}, ErrNoCell
}

var errFound = errors.New("found")

// logicalRow is a row of the index as the schema of session indexes has it.
func (v *View) logicalRow(row *document.Row, recent []value.Value) value.Value {
	var capabilities []string
	for _, s := range v.Root().Sources {
		if s.ID == row.SourceID {
			capabilities = s.Capabilities
		}
	}
	b := value.NewBuilder()
	row.Logical(b, document.RowContext{OwnerDID: v.Root().OwnerDID, Capabilities: capabilities, Recent: recent,
		Manifest: func(b *value.Builder) { hashgraph.BuildLink(b, v.ManifestID(row), v.Root().SpaceDID) }})
	return b.Finish()
}
