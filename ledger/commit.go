package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
)

const (
	maxGeneration = 1<<53 - 1 // the greatest number that every reader of JSON keeps
	// More settled receipts than settledHigh, and all but the newest settledLow move into
	// the archive: the file stays small, and a sync of the archive serves hundreds.
	settledHigh = 512
	settledLow  = 256
)

// errReadOnly is why a ledger that was opened to look at it does not change.
var errReadOnly = errors.New("the ledger was opened for reading")

var errClosed = errors.New("the ledger is closed")

// change is what one call wants written.
type change struct {
	apply func(*draft) error // an error leaves the draft as it was
	done  bool
	err   error
}

// draft is the ledger with changes that are not written yet.
type draft struct {
	kept  map[string]*entry
	edits map[string]*entry // nil removes an entry
}

func (d *draft) get(key string) *entry {
	if edited, found := d.edits[key]; found {
		return edited
	}
	return d.kept[key]
}

// put stores a receipt and marks it, unless just this awaits publication already.
func (d *draft) put(made *entry) {
	key := made.receipt.CommandID.Key()
	kept := d.get(key)
	if kept == nil {
		d.edits[key] = made
		return
	}
	if kept.pending && kept.says(made.receipt) {
		return
	}
	again := *made // the next try of the same call, after a failed write, finds made as it was
	again.published = kept.published || !kept.pending
	d.edits[key] = &again
}

// published clears the mark of a receipt that is stored just like this.
func (d *draft) published(r Receipt) {
	key := r.CommandID.Key()
	kept := d.get(key)
	if kept == nil || !kept.pending || !kept.says(r) {
		return
	}
	cleared := *kept
	cleared.pending = false
	d.edits[key] = &cleared
}

// commit makes a change durable. Whoever has the turn writes for all who wait, so that
// those who come after find their change written already.
func (c *Commands) commit(ctx context.Context, apply func(*draft) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if c.readOnly {
		return errReadOnly
	}
	mine := &change{apply: apply}
	c.mu.Lock()
	c.waiting = append(c.waiting, mine)
	c.mu.Unlock()

	c.turn.Lock()
	defer c.turn.Unlock()
	if mine.done {
		return mine.err
	}
	c.mu.Lock()
	batch := c.waiting
	c.waiting = nil
	c.mu.Unlock()
	c.run(batch)
	return mine.err
}

// run writes a batch of changes. Those that are refused do not keep the others.
func (c *Commands) run(batch []*change) {
	d := &draft{c.kept.entries, map[string]*entry{}}
	for _, one := range batch {
		one.err = errClosed
		if !c.closed {
			one.err = one.apply(d)
		}
	}
	var err error
	if !c.closed && (len(d.edits) > 0 || c.unsure) {
		err = c.write(d)
	}
	for _, one := range batch {
		if one.err == nil {
			one.err = err
		}
		one.done = true
	}
}

// write makes the draft the ledger: first the archive, then the file, then the memory.
func (c *Commands) write(d *draft) error {
	if c.attempt >= maxGeneration {
		return fmt.Errorf("generation %d is the last there is", c.attempt)
	}
	moved := c.settle(d)
	next := content{generation: c.attempt + 1, archived: moved.end, others: c.kept.others}
	if !c.archive.exists {
		next.archived = -1
	}
	next.order = editedOrder(c.kept.order, d)
	var err error
	if c.text, err = next.encode(c.text, d.get); err != nil {
		return err
	}
	c.attempt, c.unsure = next.generation, true
	if err := c.place.write(c.text); err != nil {
		return err
	}
	c.unsure = false
	c.mu.Lock()
	defer c.mu.Unlock()
	next.entries = c.kept.entries
	for key, edited := range d.edits {
		if edited == nil {
			delete(next.entries, key)
		} else {
			next.entries[key] = edited
		}
	}
	c.kept = next
	c.archive.adopt(moved)
	return nil
}

// settle appends receipts to the archive, when there are too many that are settled, and
// takes them from the draft. Where the archive cannot be written they stay, and where
// the file does not say yet how much of the archive it relies on, since half a line
// could not be told from a damaged one then.
func (c *Commands) settle(d *draft) appended {
	var settled []*entry
	for key, kept := range d.kept {
		if _, edited := d.edits[key]; !edited && kept.settled() {
			settled = append(settled, kept)
		}
	}
	for _, edited := range d.edits {
		if edited != nil && edited.settled() {
			settled = append(settled, edited)
		}
	}
	if len(settled) <= c.high || c.archive.exists && c.kept.archived < 0 {
		return appended{end: c.archive.end}
	}
	slices.SortFunc(settled, func(a, b *entry) int {
		return cmp.Or(cmp.Compare(a.receipt.CompletedAt, b.receipt.CompletedAt),
			cmp.Compare(a.receipt.CommandID.Key(), b.receipt.CommandID.Key()))
	})
	settled = settled[:len(settled)-c.low]
	moved, err := c.archive.append(settled)
	if err != nil {
		c.note(fmt.Sprintf("settled receipts stay in %s: %v", commandsFile, err))
		return appended{end: c.archive.end}
	}
	for _, one := range settled {
		d.edits[one.receipt.CommandID.Key()] = nil
	}
	return moved
}

// editedOrder returns the sorted keys with a draft's changes made.
func editedOrder(order []string, d *draft) []string {
	order = slices.Clone(order)
	var fresh []string
	for key, edited := range d.edits {
		at, found := slices.BinarySearch(order, key)
		switch {
		case edited != nil && !found:
			fresh = append(fresh, key)
		case edited == nil && found && len(d.edits) <= few:
			order = slices.Delete(order, at, at+1)
		}
	}
	if len(d.edits) > few {
		order = slices.DeleteFunc(order, func(key string) bool { return d.get(key) == nil })
	}
	if len(fresh) > few {
		order = append(order, fresh...)
		slices.Sort(order)
		return order
	}
	for _, key := range fresh {
		at, _ := slices.BinarySearch(order, key)
		order = slices.Insert(order, at, key)
	}
	return order
}

// few is the number of keys up to which each finds its place by itself.
const few = 32
