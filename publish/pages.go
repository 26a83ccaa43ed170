package publish

import (
	"slices"

	"github.com/cespare/xxhash/v2"

	"agentsync/publish/document"
)

// The page rule. A row whose order key hashes to a multiple of pageCut ends its
// page, so that where pages end depends on the rows alone: whoever writes the same
// rows cuts the same pages, and a changed row changes the page it stands in.
const (
	pageCut  = 64  // rows a page on average
	pageMost = 256 // rows; a page this long ends without a cut
)

func endsPage(order string) bool { return xxhash.Sum64String(order)%pageCut == 0 }

// leaves is a sorted list of rows cut into pages, of which only those that change
// or have to move are read. Its hooks are the only I/O.
type leaves[R any] struct {
	order func(R) string
	moves func(document.Child) bool // the page may not stay where it is
	load  func(document.Child) ([]R, error)
	save  func([]R) (document.Link, error)
}

// change is a row to insert or replace, or (when remove is set) to take out.
type change[R any] struct {
	order  string
	row    R
	remove bool
}

// apply returns the pages after the changes, which are sorted by order, one each.
// A page that no change touches keeps its link.
func (l leaves[R]) apply(pages []document.Child, changes []change[R]) ([]document.Child, error) {
	var out []document.Child
	var open []R // rows that have no page yet
	for i, page := range pages {
		mine := changes
		if i+1 < len(pages) {
			n, _ := slices.BinarySearchFunc(changes, pages[i+1].First, func(c change[R], first string) int {
				return compare(c.order, first)
			})
			mine = changes[:n]
		}
		changes = changes[len(mine):]
		if len(mine) == 0 && len(open) == 0 && !l.moves(page) {
			out = append(out, page)
			continue
		}
		rows, err := l.load(page)
		if err != nil {
			return nil, err
		}
		open = append(open, l.merge(rows, mine)...)
		if out, open, err = l.cut(out, open, i+1 == len(pages)); err != nil {
			return nil, err
		}
	}
	open = append(open, l.merge(nil, changes)...)
	out, _, err := l.cut(out, open, true)
	return out, err
}

func compare(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// merge applies sorted changes to sorted rows.
func (l leaves[R]) merge(rows []R, changes []change[R]) []R {
	out := make([]R, 0, len(rows)+len(changes))
	for _, row := range rows {
		order := l.order(row)
		for len(changes) > 0 && changes[0].order < order {
			out = appendKept(out, changes[0])
			changes = changes[1:]
		}
		if len(changes) > 0 && changes[0].order == order {
			out = appendKept(out, changes[0])
			changes = changes[1:]
			continue
		}
		out = append(out, row)
	}
	for _, c := range changes {
		out = appendKept(out, c)
	}
	return out
}

func appendKept[R any](rows []R, c change[R]) []R {
	if c.remove {
		return rows
	}
	return append(rows, c.row)
}

// cut saves every whole page at the start of rows, and all of rows when last.
func (l leaves[R]) cut(out []document.Child, rows []R, last bool) ([]document.Child, []R, error) {
	from := 0
	for i := range rows {
		n := i + 1 - from
		if !endsPage(l.order(rows[i])) && n < pageMost && !(last && i+1 == len(rows)) {
			continue
		}
		page := rows[from : i+1]
		link, err := l.save(page)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, document.Child{First: l.order(page[0]), Count: n, Link: link})
		from = i + 1
	}
	return out, rows[from:], nil
}

// group cuts a list of pages into runs for inner pages, by the same rule on the
// pages' first keys.
func group(pages []document.Child) [][]document.Child {
	var out [][]document.Child
	from := 0
	for i := range pages {
		if endsPage(pages[i].First) || i+1-from == pageMost || i+1 == len(pages) {
			out = append(out, pages[from:i+1])
			from = i + 1
		}
	}
	return out
}
