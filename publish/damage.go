package publish

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"

	"agentsync/hashgraph/digest"
	"agentsync/publish/document"
	"agentsync/publish/pack"
	"agentsync/publish/store"
)

// checkFrame checks one document of a pack, frame being nil when it is damaged. It
// unpacks into text, which is used again.
func (v *verification) checkFrame(lib *library, name digest.Digest, e pack.Entry, frame []byte, w *wanted, text *[]byte) error {
	if frame == nil {
		return &DamagedError{store.PackName(name), pack.Damaged(name, e.Located)}
	}
	got, err := lib.decode((*text)[:0], frame, e.Plain)
	if err != nil {
		return &DamagedError{store.PackName(name), fmt.Errorf("frame at %d: %w", e.Offset, err)}
	}
	*text = got
	return checkEntry(name, e, got, w)
}

// brokenRow is a row whose manifest cannot be read.
type brokenRow struct {
	row *document.Row
	err error
}

// noteBroken notes such a row, and where it says that its documents lie. An error that is
// no damage is returned.
func (v *verification) noteBroken(row *document.Row, table document.Table, err error) error {
	var damaged *DamagedError
	if !errors.As(err, &damaged) || v.ctx.Err() != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.broken = append(v.broken, brokenRow{row, err})
	links := append([]document.Link{row.TableAt, table.Manifest}, table.Chunks...)
	for _, at := range append(links, table.ChunkPages...) {
		if !at.IsZero() {
			v.want(at)
		}
	}
	return nil
}

// spoil notes that what lies at a place is damaged; nil where that is told already.
func (v *verification) spoil(name digest.Digest, offset, length int64, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.spoilt == nil {
		v.spoilt = map[document.Link]error{}
	}
	v.spoilt[document.Link{Pack: v.lib.packs.Of(name), Offset: offset, Length: length}] = err
}

// nameDamage tells of what is damaged in packs, and which sessions of the newest
// generation it belongs to.
func (v *verification) nameDamage() error {
	if len(v.spoilt)+len(v.broken) == 0 {
		return nil
	}
	needed := map[document.Link]bool{}
	readable := v.newest != nil && v.newest.root != nil
	if readable {
		if err := v.needs(needed); err != nil {
			return err
		}
	}
	for _, b := range v.broken {
		err := b.err
		if readable && !slices.Contains(v.report.Damaged, b.row.Key) {
			err = v.older(err)
		}
		v.problem(b.row.Key, err)
	}
	places := make([]document.Link, 0, len(v.spoilt))
	for at, err := range v.spoilt {
		if err != nil {
			places = append(places, at)
		}
	}
	slices.SortFunc(places, func(a, b document.Link) int {
		return cmp.Or(bytes.Compare(a.Pack.Name[:], b.Pack.Name[:]), cmp.Compare(a.Offset, b.Offset))
	})
	for _, at := range places {
		err := v.spoilt[at]
		switch {
		case v.links[at] == nil:
			continue // no kept generation needs it
		case readable && !needed[at]:
			err = v.older(err)
		}
		v.problem(store.PackName(at.Pack.Name), err)
	}
	return nil
}

// older says of damage that the newest generation is free of it.
func (v *verification) older(err error) error {
	return fmt.Errorf("%w; only generations before %d need it", err, v.newest.head.Generation)
}

// needs notes the damaged places that the newest generation links to, and whose sessions
// lie there. Index pages that cannot be read were told of before.
func (v *verification) needs(needed map[document.Link]bool) error {
	note := func(at document.Link) bool {
		at = v.canonical(at)
		_, damaged := v.spoilt[at]
		needed[at] = needed[at] || damaged
		return damaged
	}
	note(v.newest.head.Root)
	for _, nodes := range [][]document.Child{v.newest.root.All, v.newest.root.Recent} {
		for _, node := range nodes {
			note(node.Link)
			pages, err := v.lib.children(node.Link)
			if err := v.passOver(err); err != nil {
				return err
			}
			for _, page := range pages {
				note(page.Link)
			}
		}
	}
	brokenNow := map[string]bool{} // in the newest generation or an older one
	for _, b := range v.broken {
		brokenNow[b.row.Key] = true
	}
	check := func(row *document.Row) error {
		table, err := v.lib.table(row)
		if err == nil && brokenNow[row.Key] {
			_, _, err = v.lib.manifest(row)
		}
		damaged := err != nil
		if err := v.passOver(err); err != nil {
			return err
		}
		if !row.TableAt.IsZero() {
			note(row.TableAt)
		}
		if !damaged {
			damaged = note(table.Manifest)
			for _, links := range [][]document.Link{table.Chunks, table.ChunkPages} {
				for _, at := range links {
					damaged = note(at) || damaged
				}
			}
		}
		if damaged {
			v.report.Damaged = append(v.report.Damaged, row.Key)
		}
		return nil
	}
	return v.passOver(newIndex(v.lib, v.newest).each(func(row *document.Row) error {
		for _, state := range row.States() {
			if err := check(state); err != nil {
				return err
			}
		}
		return nil
	}))
}

// passOver returns errors that are no damage.
func (v *verification) passOver(err error) error {
	var damaged *DamagedError
	if errors.As(err, &damaged) {
		return nil
	}
	return err
}
