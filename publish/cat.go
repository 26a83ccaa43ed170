package publish

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"agentsync/collect/value"
	"agentsync/hashgraph"
	"agentsync/hashgraph/digest"
	"agentsync/publish/document"
	"agentsync/publish/pack"
	"agentsync/publish/store"
)

// ErrNoCell reports an id that no kept document or event has.
var ErrNoCell = errors.New("no such cell")

// Cell is what an id names.
type Cell struct {
	ID   string
	Pack string // store name of the pack it lies in
	Text []byte // fvj1
}

// Cat finds a document by its id, in any pack of the store: a cell id (of:fid1:…)
// or the sha256: id of a page. With rows given, ids of array elements inside those
// sessions' chunks are found too, by planning them anew.
func (t *Target) Cat(ctx context.Context, id string, rows []*document.Row) (Cell, error) {
	lib := t.library(ctx)
	cell, err := t.catDocument(lib, id)
	if err == nil || !errors.Is(err, ErrNoCell) {
		return cell, err
	}
	for _, row := range rows {
		cell, err := t.catElement(lib, id, row)
		if err == nil || !errors.Is(err, ErrNoCell) {
			return cell, err
		}
	}
	return Cell{}, fmt.Errorf("%w: %s", ErrNoCell, id)
}

func (t *Target) catDocument(lib *library, id string) (Cell, error) {
	found := Cell{ID: id}
	done := errors.New("found")
	err := t.Store.List(lib.ctx, "packs/", func(e store.Entry) error {
		name, err := store.ParsePackName(e.Name)
		if err != nil {
			return nil
		}
		entries, err := pack.ReadTable(lib.ctx, t.Store, name)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			if entry.ID != id {
				continue
			}
			found.Pack = e.Name
			found.Text, err = lib.text(document.Link{Pack: &document.Pack{Name: name}, Offset: entry.Offset, Length: entry.Length})
			if err != nil {
				return err
			}
			return done
		}
		return nil
	})
	if errors.Is(err, done) {
		return found, nil
	}
	if err == nil {
		err = ErrNoCell
	}
	return Cell{}, err
}

// catElement looks for an element of one session's event lists.
func (t *Target) catElement(lib *library, id string, row *document.Row) (Cell, error) {
	s, err := openSession(lib, row)
	if err != nil {
		return Cell{}, err
	}
	for n := range s.Parts() {
		c, err := s.Part(n)
		if err != nil {
			return Cell{}, err
		}
		b := value.NewBuilder().Record().Key("events").Array()
		for i := range c.Events {
			b.Value(c.Events[i].Value)
		}
		whole := b.End().End().Finish()
		scope := t.causes().EventScope(row.SourceID, row.NativeSessionID, c.Part, c.ContentHash)
		for _, cell := range hashgraph.Plan(whole, scope) {
			if hashgraph.CellID(cell.Cause) == id {
				text := value.AppendText([]byte(value.Prefix), cell.Value)
				return Cell{ID: id, Pack: store.PackName(s.table.Chunks[n].Pack.Name), Text: text}, nil
			}
		}
	}
	return Cell{}, ErrNoCell
}

// FindKeys returns the rows that a typed key means: the key itself, a native session
// id, or the unambiguous start of either.
func (v *View) FindKeys(typed string) ([]*document.Row, error) {
	if row, err := v.Find(typed); row != nil || err != nil {
		return []*document.Row{row}, err
	}
	var exact, starts []*document.Row
	err := v.Rows(func(row *document.Row) error {
		switch {
		case row.NativeSessionID == typed:
			exact = append(exact, row)
		case strings.HasPrefix(row.NativeSessionID, typed) || strings.HasPrefix(row.Key, typed):
			starts = append(starts, row)
		}
		return nil
	})
	if len(exact) > 0 {
		return exact, err
	}
	return starts, err
}

// ManifestID is the cell id of a row's manifest.
func (v *View) ManifestID(row *document.Row) string {
	return hashgraph.CellID(v.target.causes().Session(row.SourceID, row.NativeSessionID, row.Driver, row.ManifestHash))
}

// ChunkID is the cell id of one chunk of a session.
func (v *View) ChunkID(row *document.Row, part int, content digest.Digest) string {
	return hashgraph.CellID(v.target.causes().Chunk(row.SourceID, row.NativeSessionID, part, content))
}
