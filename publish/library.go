package publish

import (
	"context"
	"errors"
	"fmt"

	"agentsync/chunk"
	"agentsync/publish/document"
	"agentsync/publish/pack"
	"agentsync/publish/store"
)

// DamagedError reports stored data that does not read back as what it must be.
type DamagedError struct {
	What string // pack name or head name
	Err  error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("stored data damaged: %s: %v", e.What, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// library reads documents by their links, and nothing that the pack's name does not
// vouch for: whoever begins at a signed head gets what its writer wrote, or a
// *DamagedError. It serves one goroutine.
type library struct {
	ctx    context.Context
	store  store.Store
	tables *pack.Tables
	packs  *document.Packs
	codec  *chunk.Decoder
	frame  []byte
}

// text returns a document's text; it is the caller's to keep.
func (l *library) text(at document.Link) ([]byte, error) { return l.textInto(at, nil) }

// check reads a document's frame and compares it, without unpacking it.
func (l *library) check(at document.Link) (found pack.Located, err error) {
	found, err = l.tables.Find(l.ctx, l.store, at.Pack.Name, at.Offset, at.Length)
	if err == nil {
		l.frame, err = pack.Read(l.ctx, l.store, at.Pack.Name, found, l.frame[:0])
	}
	if err != nil {
		return found, unreadable(at.Pack, err)
	}
	return found, nil
}

// textInto appends a document's text to dst.
func (l *library) textInto(at document.Link, dst []byte) ([]byte, error) {
	found, err := l.check(at)
	if err != nil {
		return nil, err
	}
	text, err := l.decode(dst, l.frame, found.Plain)
	if err != nil {
		return nil, &DamagedError{store.PackName(at.Pack.Name), fmt.Errorf("frame at %d: %w", at.Offset, err)}
	}
	return text, nil
}

// unreadable tells a pack that is damaged or gone from one that could not be read.
func unreadable(p *document.Pack, err error) error {
	name := store.PackName(p.Name)
	var corrupt *pack.CorruptError
	if errors.As(err, &corrupt) || store.Spoilt(err) {
		return &DamagedError{name, err}
	}
	return fmt.Errorf("read %s: %w", name, err)
}

func (l *library) decode(dst, frame []byte, plain int64) ([]byte, error) {
	if l.codec == nil {
		l.codec = chunk.NewDecoder()
	}
	return l.codec.Decode(dst, frame, int(plain))
}

// parsed reads a document and parses it, marking what does not parse as damage.
func parsed[T any](l *library, at document.Link, parse func([]byte) (T, error)) (T, error) {
	text, err := l.text(at)
	if err != nil {
		var none T
		return none, err
	}
	got, err := parse(text)
	if err != nil {
		return got, &DamagedError{store.PackName(at.Pack.Name), fmt.Errorf("document at %d: %w", at.Offset, err)}
	}
	return got, nil
}

func (l *library) root(at document.Link) (*document.Root, error) {
	return parsed(l, at, func(text []byte) (*document.Root, error) {
		return document.ParseRoot(text, at.Pack, l.packs)
	})
}

func (l *library) children(at document.Link) ([]document.Child, error) {
	return parsed(l, at, func(text []byte) ([]document.Child, error) {
		return document.ParseNode(text, at.Pack, l.packs)
	})
}

func (l *library) rows(at document.Link) ([]*document.Row, error) {
	return parsed(l, at, func(text []byte) ([]*document.Row, error) {
		return document.ParseRowPage(text, at.Pack, l.packs)
	})
}

func (l *library) recent(at document.Link) ([]document.Recent, error) {
	return parsed(l, at, document.ParseRecentPage)
}

// table returns a row's table, wherever it stands.
func (l *library) table(row *document.Row) (document.Table, error) {
	if row.TableAt.IsZero() {
		return row.Table, nil
	}
	return parsed(l, row.TableAt, func(text []byte) (document.Table, error) {
		return document.ParseTable(text, row.Key, row.TableAt.Pack, l.packs)
	})
}

// manifest reads a session's manifest with all its chunk descriptors; its settled
// message pages stay where they are.
func (l *library) manifest(row *document.Row) (*document.Manifest, document.Table, error) {
	table, err := l.table(row)
	if err != nil {
		return nil, table, err
	}
	m, err := parsed(l, table.Manifest, document.ParseManifest)
	if err != nil {
		return nil, table, err
	}
	if m.Key != row.Key || m.ManifestHash != row.ManifestHash || len(table.Chunks) != m.ChunkCount() ||
		len(table.ChunkPages) != len(m.ChunkPages) {
		return nil, table, &DamagedError{store.PackName(table.Manifest.Pack.Name),
			fmt.Errorf("the index row of %s names another manifest", row.Key)}
	}
	var all []document.Descriptor
	for i, at := range table.ChunkPages {
		page, err := parsed(l, at, func(text []byte) ([]document.Descriptor, error) {
			return document.ParseChunkPage(text, row.Key, i*document.PageRows)
		})
		if err != nil {
			return nil, table, err
		}
		all = append(all, page...)
	}
	m.Chunks = append(all, m.Chunks...)
	return m, table, nil
}
