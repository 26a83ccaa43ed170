package publish

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"agentsync/publish/document"
)

// NoCopyError reports that nothing kept is named so.
type NoCopyError struct{ Typed string }

func (e *NoCopyError) Error() string { return fmt.Sprintf("%s is no kept copy", e.Typed) }

// ErrOvertaken reports that another machine published meanwhile, and nothing was changed.
var ErrOvertaken = errors.New("another machine published meanwhile")

// DropCopies publishes a generation without the kept copies that are named, each as KEY@N,
// and returns what they were, and the number of that generation. Their bytes go with a
// later prune, once no kept generation has them. Without apply it only looks. A name that
// is no kept copy is a *NoCopyError, and then nothing is dropped.
func (t *Target) DropCopies(ctx context.Context, names []string, apply bool, now time.Time) ([]*document.Row, int64, error) {
	lib := t.library(ctx)
	base, err := t.newest(lib)
	if err != nil {
		return nil, 0, err
	}
	w := &work{Target: t, Pass: Pass{Now: now}, ctx: ctx, base: base, index: newIndex(lib, base)}
	var dropped []*document.Row
	var changed []rowChange
	for _, name := range names {
		one, err := w.dropCopy(&changed, name)
		if err != nil {
			return nil, 0, err
		}
		dropped = append(dropped, one)
	}
	if !apply || len(changed) == 0 {
		return dropped, 0, nil
	}
	if w.claims, err = t.openClaims(w.index, base); err != nil {
		return nil, 0, err
	}
	w.packer = &packer{ctx: ctx, store: t.Store}
	defer w.packer.discard()
	done, err := w.tryCommit(changed, nil, nil, base.root.Unfinished)
	if err == nil && !done {
		err = ErrOvertaken
	}
	return dropped, w.report.Generation, err
}

// dropCopy takes one kept copy out of its session's row.
func (w *work) dropCopy(changed *[]rowChange, name string) (*document.Row, error) {
	key, number, _ := strings.Cut(name, "@")
	i := slices.IndexFunc(*changed, func(c rowChange) bool { return c.row.Key == key })
	if i < 0 {
		prior, err := w.index.find(key)
		if err != nil {
			return nil, err
		}
		if prior == nil {
			return nil, &NoCopyError{name}
		}
		row := *prior
		i, *changed = len(*changed), append(*changed, rowChange{prior: prior, row: &row})
	}
	row := (*changed)[i].row
	n := slices.IndexFunc(row.Copies, func(c document.Copy) bool { return strconv.Itoa(c.N) == number })
	if n < 0 {
		return nil, &NoCopyError{name}
	}
	was := row.Copies[n].Of(row)
	row.Copies = slices.Delete(slices.Clone(row.Copies), n, n+1)
	return was, nil
}
