package life

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"agentsync/dirsync"
	"agentsync/dirsync/dataset"
	"agentsync/dirsync/tree"
)

// Body is what one side of an item has. Text is nil where Note says why: absent, binary,
// too large, or not available.
type Body struct {
	Entry dirsync.Entry
	Text  []byte
	Note  string
}

// Diff is an item of a plan with the contents of all sides.
type Diff struct {
	Path     string
	Conflict dirsync.ConflictCode // "" for an action
	Ancestor Body
	Project  Body
	Dataset  Body
}

// maxText is how much of a text is shown.
const maxText = 256 << 10 // bytes

// Diff shows what the sides of a conflict or an action of the ready plan hold. The
// project's side must still be what the plan saw.
func (b *Bound) Diff(ctx context.Context, planID, path string) (*Diff, error) {
	plan, s, err := b.current(planID)
	if err != nil {
		return nil, err
	}
	if s.Phase != Ready {
		return nil, fmt.Errorf("plan %.80s is %s: %w", planID, s.Phase, ErrPlanChanged)
	}
	ancestor, err := b.ancestor()
	if err != nil {
		return nil, err
	}
	d, disk, found := itemOf(plan, path, ancestor.Find(path))
	if !found {
		return nil, &NoConflictError{Path: path}
	}
	set := b.open()
	for _, body := range []*Body{&d.Ancestor, &d.Dataset} {
		if err := fromDataset(ctx, set, body); err != nil {
			return nil, err
		}
	}
	return d, b.fromProject(&d.Project, disk)
}

func itemOf(plan *dirsync.Plan, path string, ancestor dirsync.Entry) (d *Diff, disk string, found bool) {
	d = &Diff{Path: path, Ancestor: Body{Entry: ancestor}}
	for _, c := range plan.Conflicts {
		if c.Path == path {
			d.Conflict, d.Project.Entry, d.Dataset.Entry = c.Code, c.Project, c.Dataset
			return d, path, true
		}
	}
	for i := range plan.Actions {
		if a := &plan.Actions[i]; a.Path == path {
			d.Project.Entry, d.Dataset.Entry = a.Before, a.After
			if a.Side == dirsync.Dataset {
				d.Project.Entry, d.Dataset.Entry = a.After, a.Before
			}
			return d, a.OnDisk(), true
		}
	}
	return nil, "", false
}

// fill reads a body's text, if it is one.
func (b *Body) fill(open func() (io.ReadCloser, error)) error {
	switch {
	case b.Entry.Kind != dirsync.File:
		b.Note = b.Entry.Kind.String()
		return nil
	case b.Entry.Size > maxText:
		b.Note = "too large"
		return nil
	}
	r, err := open()
	if err != nil {
		return err
	}
	if r == nil {
		b.Note = "unavailable"
		return nil
	}
	text, err := io.ReadAll(r)
	if err = errors.Join(err, r.Close()); err != nil {
		return err
	}
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		b.Note = "binary"
		return nil
	}
	b.Text = text
	return nil
}

// fromDataset fills a body from the stored contents, where the ancestor's may be gone.
func fromDataset(ctx context.Context, set *dataset.Dataset, b *Body) error {
	return b.fill(func() (io.ReadCloser, error) {
		has, err := set.Has(ctx, b.Entry.Digest, b.Entry.Size)
		if !has || err != nil {
			return nil, err
		}
		return io.NopCloser(set.Content(ctx, b.Entry.Digest, b.Entry.Size)), nil
	})
}

func (b *Bound) fromProject(body *Body, disk string) error {
	return body.fill(func() (io.ReadCloser, error) {
		root, err := tree.OpenRoot(b.Root, b.Identity)
		if err != nil {
			return nil, err
		}
		o := tree.Opener{Root: root}
		file, err := o.Open(disk)
		if err = errors.Join(err, o.Close(), root.Close()); err != nil {
			return nil, fmt.Errorf("read %.200q: %w", disk, err)
		}
		checked := dataset.Checked(file, body.Entry.Digest, body.Entry.Size, disk)
		return struct {
			io.Reader
			io.Closer
		}{checked, file}, nil
	})
}
