package life

import (
	"errors"
	"fmt"

	"agentsync/dirsync"
)

// Broken is a binding that cannot be read. Of its facts only the id is known for sure.
type Broken struct {
	dirsync.Binding
	Err error
}

// CorruptError reports a file of a binding that cannot be read. Nothing has been changed.
type CorruptError struct {
	Binding string // its id
	Path    string
	Err     error
}

func (e *CorruptError) Error() string { return fmt.Sprintf("%s: damaged: %v", e.Path, e.Err) }

func (e *CorruptError) Unwrap() error { return e.Err }

func (b *Bound) corrupt(name string, err error) error {
	return &CorruptError{b.ID, b.path(name), err}
}

func isCorrupt(err error) bool {
	var corrupt *CorruptError
	return errors.As(err, &corrupt)
}

// OpenBroken is Open for a binding that is to be forgotten: one that is damaged opens too,
// with its id alone.
func (o *Options) OpenBroken(id string) (*Bound, error) {
	b, err := o.Open(id)
	if isCorrupt(err) {
		return &Bound{Options: *o, Binding: dirsync.Binding{ID: id}}, nil
	}
	return b, err
}

// readable reports that what is needed to go on with an applying plan can be read.
func (b *Bound) readable(plan string) bool {
	_, _, err := b.current(plan)
	if err == nil {
		_, err = b.outcomes(plan)
	}
	return err == nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
