package publish

import (
	"slices"
	"strings"
	"sync"

	"agentsync/chunk"
	"agentsync/hashgraph/digest"
	"agentsync/publish/document"
)

// index is the complete index of one generation, read page by page as it is asked.
// It is safe for several goroutines.
type index struct {
	mu     sync.Mutex
	lib    *library
	nodes  []document.Child
	pages  map[document.Link][]document.Child
	rows   map[document.Link][]*document.Row
	leaves []document.Child // all pages, once asked for
}

func newIndex(lib *library, g *generation) *index {
	ix := &index{lib: lib, pages: map[document.Link][]document.Child{}, rows: map[document.Link][]*document.Row{}}
	if g != nil {
		ix.nodes = g.root.All
	}
	return ix
}

// find returns the row with that key, or nil.
func (ix *index) find(key string) (*document.Row, error) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	node, ok := covering(ix.nodes, key)
	if !ok {
		return nil, nil
	}
	pages, err := ix.children(node)
	if err != nil {
		return nil, err
	}
	page, ok := covering(pages, key)
	if !ok {
		return nil, nil
	}
	rows, err := ix.page(page)
	if err != nil {
		return nil, err
	}
	i, found := slices.BinarySearchFunc(rows, key, func(r *document.Row, key string) int {
		return strings.Compare(r.Key, key)
	})
	if !found {
		return nil, nil
	}
	return rows[i], nil
}

// covering returns the child whose range a key falls in.
func covering(children []document.Child, key string) (document.Child, bool) {
	i, found := slices.BinarySearchFunc(children, key, func(c document.Child, key string) int {
		return strings.Compare(c.First, key)
	})
	if !found {
		i--
	}
	if i < 0 {
		return document.Child{}, false
	}
	return children[i], true
}

func (ix *index) children(node document.Child) ([]document.Child, error) {
	if got, ok := ix.pages[node.Link]; ok {
		return got, nil
	}
	got, err := ix.lib.children(node.Link)
	if err == nil {
		ix.pages[node.Link] = got
	}
	return got, err
}

func (ix *index) page(page document.Child) ([]*document.Row, error) {
	if got, ok := ix.rows[page.Link]; ok {
		return got, nil
	}
	got, err := ix.lib.rows(page.Link)
	if err == nil {
		ix.rows[page.Link] = got
	}
	return got, err
}

// all returns the list of all pages.
func (ix *index) all() ([]document.Child, error) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.leaves == nil {
		for _, node := range ix.nodes {
			pages, err := ix.children(node)
			if err != nil {
				return nil, err
			}
			ix.leaves = append(ix.leaves, pages...)
		}
	}
	return ix.leaves, nil
}

// each calls fn for every row in key order, without keeping pages.
func (ix *index) each(fn func(*document.Row) error) error {
	pages, err := ix.all()
	if err != nil {
		return err
	}
	for _, page := range pages {
		rows, err := ix.lib.rows(page.Link)
		if err != nil {
			return err
		}
		for _, row := range rows {
			if err := fn(row); err != nil {
				return err
			}
		}
	}
	return nil
}

// shelf writes index pages.
type shelf struct {
	packer *packer
	enc    *chunk.Encoder
	merged map[digest.Digest]bool // packs that the new generation does without
}

func (s shelf) moves(c document.Child) bool { return s.merged[c.Link.Pack.Name] }

func (s shelf) rows(ix *index) leaves[*document.Row] {
	return leaves[*document.Row]{
		order: func(r *document.Row) string { return r.Key },
		moves: s.moves,
		load:  func(c document.Child) ([]*document.Row, error) { return ix.page(c) },
		save: func(rows []*document.Row) (document.Link, error) {
			return s.packer.write(s.enc, document.RowPage(rows))
		},
	}
}

func (s shelf) recent(lib *library) leaves[document.Recent] {
	return leaves[document.Recent]{
		order: document.Recent.Order,
		moves: s.moves,
		load:  func(c document.Child) ([]document.Recent, error) { return lib.recent(c.Link) },
		save: func(rows []document.Recent) (document.Link, error) {
			return s.packer.write(s.enc, document.RecentPage(rows))
		},
	}
}

// nodes writes the inner pages above a list of pages, keeping those of before whose
// children did not change.
func (s shelf) nodes(lib *library, before, pages []document.Child) ([]document.Child, error) {
	known := map[string]document.Child{}
	for _, node := range before {
		known[node.First] = node
	}
	var out []document.Child
	for _, run := range group(pages) {
		node := document.Child{First: run[0].First}
		for _, page := range run {
			node.Count += page.Count
		}
		if old, ok := known[node.First]; ok && old.Count == node.Count && !s.moves(old) {
			children, err := lib.children(old.Link)
			if err != nil {
				return nil, err
			}
			if slices.Equal(children, run) {
				out = append(out, old)
				continue
			}
		}
		link, err := s.packer.write(s.enc, document.Node(run))
		if err != nil {
			return nil, err
		}
		node.Link = link
		out = append(out, node)
	}
	return out, nil
}
