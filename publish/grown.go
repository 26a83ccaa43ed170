package publish

import (
	"bytes"
	"errors"

	"agentsync/hashgraph"
	"agentsync/publish/document"
)

// Why a copy was kept: the session was replaced by one that lacks records of it.
const (
	keptShortened = "shortened" // the new state ends within the old one
	keptDiverged  = "diverged"  // it is another one from some byte on
)

// growth finds out whether a session that is read anew begins with all bytes of its
// published copy. Parts that are equal cost nothing; from the first other one on, the old
// bytes are read from the store.
type growth struct {
	old     Session
	next    int // part of the old copy that comes next
	reading bool
	rest    []byte // old bytes still to be met
	other   bool
}

var errOldEnds = errors.New("the old copy ends")

// take meets the next new part; same says that the old copy has it at its place.
func (g *growth) take(p *hashgraph.Part, same bool) error {
	if !g.reading && same && p.Index == g.next {
		g.next++
		return nil
	}
	g.reading = true
	for _, e := range p.Events {
		first, second := e.Raw, []byte(nil)
		if e.Plain {
			first, second = e.Text, newline
		}
		for _, piece := range [][]byte{first, second} {
			if err := g.meet(piece); errors.Is(err, errOldEnds) {
				return nil
			} else if err != nil {
				return err
			}
		}
	}
	return nil
}

func (g *growth) meet(now []byte) error {
	for len(now) > 0 && !g.other {
		for len(g.rest) == 0 {
			if err := g.load(); err != nil {
				return err
			}
		}
		n := min(len(now), len(g.rest))
		g.other = !bytes.Equal(now[:n], g.rest[:n])
		now, g.rest = now[n:], g.rest[n:]
	}
	return nil
}

// load reads the bytes of the old copy's next part.
func (g *growth) load() error {
	if g.next == g.old.Parts() {
		return errOldEnds
	}
	c, err := g.old.Part(g.next)
	if err != nil {
		return err
	}
	g.next++
	g.rest = g.rest[:0]
	for _, e := range c.Events {
		if e.Plain {
			g.rest = append(append(g.rest, e.Text...), '\n')
		} else {
			g.rest = append(g.rest, e.Raw...)
		}
	}
	return nil
}

// lost says why the old copy is to be kept, "" when the new one holds all of it.
func (g *growth) lost() string {
	switch {
	case g.other:
		return keptDiverged
	case len(g.rest) > 0 || g.next < g.old.Parts():
		return keptShortened
	}
	return ""
}

// watch lets the writer compare with the prior copy. Sets of side files are rewritten by
// design, and what is no file is told anew each time: their earlier states are history.
func (w *writer) watch(proven bool) {
	if w.prior == nil || proven || isSideSet(w.prior.row) || w.prior.row.Placement == (document.Placement{}) {
		return
	}
	w.growth = &growth{old: Session{Row: w.prior.row, Manifest: w.prior.manifest, table: w.prior.table, lib: w.library, bare: true}}
}

// keepCopy gives the row the kept copies of the one it replaces, and that one itself when
// the row lacks records of it. It returns the number of the new copy, 0 for none.
func (w *writer) keepCopy(row, before *document.Row, at string) (n int, why string) {
	if before == nil {
		return 0, ""
	}
	row.Copies = before.Copies
	if w.growth == nil || w.growth.lost() == "" {
		return 0, ""
	}
	c := document.CopyOf(before, w.growth.lost(), at)
	row.Copies = append(row.Copies[:len(row.Copies):len(row.Copies)], c)
	return c.N, c.Why
}
