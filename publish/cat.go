package publish

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

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

// CatOptions say where to look for an array element, and how to print one.
type CatOptions struct {
	Rows   []*document.Row // sessions whose arrays are looked through
	Linked bool            // an element's own arrays hold links to their elements' cells
}

// Cat finds a document by its id, in the packs that a kept generation names: a cell id
// (of:fid1:…) or the sha256: id of a page. Array elements are cells too, and no documents of
// their own: those of the index are found by planning it anew, and those of sessions when
// their rows are given.
func (v *View) Cat(ctx context.Context, id string, o CatOptions) (Cell, error) {
	t := v.target
	lib := t.library(ctx)
	cell, err := t.catDocument(lib, id)
	if err == nil || !errors.Is(err, ErrNoCell) {
		return cell, err
	}
	found, err := v.indexElement(id, o.Rows)
	for i := 0; i < len(o.Rows) && errors.Is(err, ErrNoCell); i++ {
		found, err = t.sessionElement(lib, id, o.Rows[i])
	}
	if errors.Is(err, ErrNoCell) {
		return Cell{}, fmt.Errorf("%w: %s", ErrNoCell, id)
	}
	if err != nil {
		return Cell{}, err
	}
	return t.cell(found, o.Linked), nil
}

func (t *Target) catDocument(lib *library, id string) (Cell, error) {
	found := Cell{ID: id}
	done := errors.New("found")
	searched := map[digest.Digest]bool{}
	err := t.Log(lib.ctx, func(g LogEntry) error {
		packs := []*document.Pack{g.Head.Root.Pack}
		if g.Root != nil {
			for _, f := range g.Root.Files {
				packs = append(packs, f.Pack)
			}
		}
		for _, p := range packs {
			if searched[p.Name] {
				continue
			}
			searched[p.Name] = true
			at, ok, err := find(lib, p, id)
			if err != nil {
				return err
			}
			if ok {
				found.Pack = store.PackName(p.Name)
				found.Text, err = lib.text(at)
				return errors.Join(err, done)
			}
		}
		return nil
	})
	switch {
	case err == nil:
		err = ErrNoCell
	case errors.Is(err, done) && found.Text != nil:
		return found, nil
	}
	return Cell{}, err
}

// find looks for a document in a pack. One that is gone, as an old generation's may be,
// has none.
func find(lib *library, p *document.Pack, id string) (document.Link, bool, error) {
	entries, err := pack.ReadTable(lib.ctx, lib.store, p.Name)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return document.Link{}, false, unreadable(p, err)
	}
	for _, e := range entries {
		if e.ID == id {
			return document.Link{Pack: p, Offset: e.Offset, Length: e.Length}, true, nil
		}
	}
	return document.Link{}, false, nil
}

// copy returns the row of a session's kept copy, nil for none.
func (v *View) copy(key, number string) (*document.Row, error) {
	row, err := v.Find(key)
	if row == nil || err != nil {
		return nil, err
	}
	for i := range row.Copies {
		if strconv.Itoa(row.Copies[i].N) == number {
			return row.Copies[i].Of(row), nil
		}
	}
	return nil, nil
}

// FindKeys returns the rows that a typed key means: the key itself, a native session
// id, or the unambiguous start of either.
// A kept copy is KEY@N; it is never meant by anything shorter.
func (v *View) FindKeys(typed string) ([]*document.Row, error) {
	if key, number, ok := strings.Cut(typed, "@"); ok {
		if row, err := v.copy(key, number); row != nil || err != nil {
			return []*document.Row{row}, err
		}
	}
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
