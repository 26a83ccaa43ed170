package publish

import (
	"agentsync/collect"
	"agentsync/publish/document"
)

// carried is the published copy of a set of side files, from which a driver takes what it
// cannot read now. The copy is read when the driver first asks.
type carried struct {
	session Session
	order   []string
	pieces  map[string][]pieceAt
	part    int // that chunk holds, -1 for none
	chunk   *document.Chunk
}

// pieceAt is where a piece lies: a part, and an event within it.
type pieceAt struct{ part, event int }

var _ collect.Published = (*carried)(nil)

func newCarried(lib *library, before *prior) *carried {
	return &carried{part: -1, session: Session{Row: before.row, Manifest: before.manifest, table: before.table, lib: lib}}
}

// Files lists the copy's files.
func (c *carried) Files() ([]string, error) {
	if c.pieces != nil {
		return c.order, nil
	}
	pieces := map[string][]pieceAt{}
	for part := range c.session.Parts() {
		if err := c.read(part); err != nil {
			return nil, err
		}
		for i := range c.chunk.Events {
			path := piecePath(c.chunk.Events[i].Value)
			if len(pieces[path]) == 0 {
				c.order = append(c.order, path)
			}
			pieces[path] = append(pieces[path], pieceAt{part, i})
		}
	}
	c.pieces = pieces
	return c.order, nil
}

// Piece returns one piece of a file.
func (c *carried) Piece(path string, n int) ([]byte, error) {
	at := c.pieces[path]
	if n >= len(at) {
		return nil, nil
	}
	if err := c.read(at[n].part); err != nil {
		return nil, err
	}
	raw := c.chunk.Events[at[n].event].Raw
	if raw == nil {
		raw = []byte{} // an empty file is one piece of no bytes
	}
	return raw, nil
}

func (c *carried) read(part int) (err error) {
	if c.part == part {
		return nil
	}
	c.part = -1
	if c.chunk, err = c.session.Part(part); err == nil {
		c.part = part
	}
	return err
}
