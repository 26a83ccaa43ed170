package publish

import (
	"errors"
	"fmt"
	"slices"

	"agentsync/hashgraph/digest"
	"agentsync/publish/document"
	"agentsync/publish/pack"
	"agentsync/publish/store"
)

// Small packs are merged as they accumulate: sizes fall into tiers, each eight
// times the one before, and when a tier holds eight packs, it and the tiers below
// become part of the pack that is written anyway. So the packs that an index needs
// stay logarithmic in the number of publications.
const (
	tierBase  = 32 << 10 // bytes; every pack up to this size is in the lowest tier
	tierRatio = 8
	tierFull  = 8
	tierMost  = 32 << 20 // bytes; larger packs stay as they are
)

// sweepTier is the tier whose merges also look which of the listed packs are still
// linked: what that costs is divided among sixty-four publications or more.
const sweepTier = 1

// chooseMerge returns the packs to merge, none when no tier is full, and the highest tier
// that is.
func chooseMerge(files []document.File) (chosen map[digest.Digest]bool, full int) {
	counts := map[int]int{}
	full = -1
	for _, f := range files {
		if t := tier(f.Size); t >= 0 {
			if counts[t]++; counts[t] >= tierFull {
				full = max(full, t)
			}
		}
	}
	chosen = map[digest.Digest]bool{}
	for _, f := range files {
		if t := tier(f.Size); t >= 0 && t <= full {
			chosen[f.Pack.Name] = true
		}
	}
	return chosen, full
}

// tier returns a size's tier, -1 for a pack that stays as it is.
func tier(size int64) int {
	if size > tierMost {
		return -1
	}
	t := 0
	for limit := int64(tierBase); size > limit; limit *= tierRatio {
		t++
	}
	return t
}

// merge copies what the index still needs from the chosen packs into the open one,
// and returns the changes with the rows added whose documents moved. Moving changes
// no document, only where rows say that it lies. A chosen pack that cannot be read is
// passed over and not chosen any more, and noted as gone when it is: whoever needs it will
// say so.
func (w *work) merge(chosen, gone map[digest.Digest]bool, changed []rowChange) ([]rowChange, error) {
	if len(chosen) == 0 {
		return changed, nil
	}
	m := mover{work: w, chosen: chosen, gone: gone, entries: map[document.Link]pack.Entry{}, moved: map[document.Link]document.Link{}, packs: &document.Packs{}}
	keys, err := m.survey()
	if err != nil {
		return nil, err
	}
	for i := range changed {
		if err := m.move(changed[i].row); err != nil {
			return nil, err
		}
		delete(keys, changed[i].row.Key)
	}
	for _, key := range sortedKeys(keys) {
		prior, err := w.index.find(key)
		if err != nil {
			return nil, err
		}
		if prior == nil {
			continue // written by a publication that lost its race
		}
		row := *prior
		if err := m.move(&row); err != nil {
			return nil, err
		}
		changed = append(changed, rowChange{prior: prior, row: &row})
	}
	return changed, nil
}

type mover struct {
	*work
	chosen  map[digest.Digest]bool
	gone    map[digest.Digest]bool
	entries map[document.Link]pack.Entry
	moved   map[document.Link]document.Link // a frame of several chunks moves once
	packs   *document.Packs
}

// survey reads the chosen packs and finds whose documents they hold. One that is damaged
// is not merged: what is sound in it stays where it is.
func (m *mover) survey() (map[string]bool, error) {
	keys := map[string]bool{}
	for name := range m.chosen {
		err := m.surveyPack(name, keys)
		var damaged *DamagedError
		if errors.As(err, &damaged) {
			delete(m.chosen, name)
			m.gone[name] = errors.Is(err, store.ErrNotFound)
		} else if err != nil {
			return nil, fmt.Errorf("merge small packs: %w", err)
		}
	}
	return keys, nil
}

func (m *mover) surveyPack(name digest.Digest, keys map[string]bool) error {
	p := m.packs.Of(name)
	rows, err := pack.ReadTable(m.ctx, m.Store, name)
	if err != nil {
		return unreadable(p, err)
	}
	for _, e := range rows {
		at := document.Link{Pack: p, Offset: e.Offset, Length: e.Length}
		m.entries[at] = e
		text, err := m.index.lib.text(at)
		if err != nil {
			return err
		}
		if key, ok := document.KeyOf(text); ok {
			keys[key] = true
		}
	}
	return nil
}

// move copies the documents of a row that lie in chosen packs. A row whose table is
// damaged stays as it is.
func (m *mover) move(row *document.Row) error {
	row.Copies = slices.Clone(row.Copies)
	for i := range row.Copies {
		c := &row.Copies[i]
		was := c.Of(row)
		if err := m.moveTable(was); err != nil {
			return err
		}
		c.Table, c.TableAt = was.Table, was.TableAt
	}
	return m.moveTable(row)
}

// moveTable moves the documents of one state of a session.
func (m *mover) moveTable(row *document.Row) error {
	table, err := m.index.lib.table(row)
	var damaged *DamagedError
	if errors.As(err, &damaged) {
		return nil
	}
	if err != nil {
		return err
	}
	row.Table, row.TableAt = table.Clone(), document.Link{}
	for _, links := range [][]document.Link{row.Table.Chunks, row.Table.ChunkPages} {
		for i := range links {
			if links[i], err = m.copy(links[i]); err != nil {
				return err
			}
		}
	}
	row.Table.Manifest, err = m.copy(row.Table.Manifest)
	return err
}

func (m *mover) copy(from document.Link) (document.Link, error) {
	if !m.chosen[from.Pack.Name] {
		return from, nil
	}
	from.Pack = m.packs.Of(from.Pack.Name)
	if to, done := m.moved[from]; done {
		return to, nil
	}
	e, ok := m.entries[from]
	if !ok {
		return from, &DamagedError{store.PackName(from.Pack.Name), fmt.Errorf("no document at %d, where one is linked", from.Offset)}
	}
	frame, err := pack.Read(m.ctx, m.Store, from.Pack.Name, e.Located, nil)
	if err != nil {
		return from, &storeError{fmt.Errorf("merge small packs: %w", unreadable(from.Pack, err))}
	}
	to, err := m.packer.add(e.ID, frame, int(e.Plain))
	m.moved[from] = to
	return to, err
}

// drop returns the files without those that the new generation does without: merged into
// its own pack, gone, and, where a sweep is due, linked by nothing any more. A list that
// names one too many is no harm but that it counts too much.
func (w *work) drop(files []document.File, merged, gone map[digest.Digest]bool, sweep bool, changed []rowChange) []document.File {
	needed := map[digest.Digest]bool{}
	if sweep = sweep && w.base != nil; sweep {
		seen := map[document.Link]bool{}
		if err := w.mark(w.library(w.ctx), uint64(w.base.head.Generation), needed, seen); err != nil {
			sweep = false // verify is who complains
		}
		for _, c := range changed {
			for _, state := range c.row.States() {
				for _, l := range append(state.Table.Links(), &state.TableAt) {
					if l.Pack != nil {
						needed[l.Pack.Name] = true
					}
				}
			}
		}
		for _, f := range w.packer.files {
			needed[f.Pack.Name] = true
		}
	}
	return slices.DeleteFunc(files, func(f document.File) bool {
		name := f.Pack.Name
		return merged[name] || gone[name] || sweep && !needed[name]
	})
}
