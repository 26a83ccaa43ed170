// Package life takes a binding from bind to unbind: it keeps what both sides last
// agreed on, makes plans and carries them out.
//
// It owns the files of a binding and the order in which they change: a plan is written
// before it is shown, its application before its first effect, an outcome after it is
// durable, the ancestor after all of them. Whoever calls it holds the binding's lock.
package life

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"agentsync/dirsync"
	"agentsync/dirsync/dataset"
	"agentsync/dirsync/tree"
	"agentsync/ledger/durable"
)

// Options say where bindings are kept and what they work with.
type Options struct {
	Disk      durable.FS
	Dir       string          // private folder of all bindings
	Location  string          // of the store
	Datasets  dataset.Options // the store, opened; not needed to list bindings
	Forbidden []string        // folders that no project may contain or lie in
	Names     dirsync.NameRules
	Now       func() time.Time
	Workers   int
	// Progress is told how far a long step came; total is 0 where it is not known.
	Progress func(step string, done, total int)
}

func (o *Options) progress(step string, done, total int) {
	if o.Progress != nil {
		o.Progress(step, done, total)
	}
}

// What a caller asks of a failure.
var (
	ErrUnknownBinding = errors.New("there is no such binding")
	ErrBindingChanged = errors.New("the binding has other facts")
	ErrPlanChanged    = errors.New("the plan is not the binding's current one")
	ErrRejected       = errors.New("the plan was rejected")
	ErrOtherStore     = errors.New("the binding belongs to another store")
)

const (
	bindingFile  = "binding.json"
	ancestorFile = "ancestor.json"
	planFile     = "plan.json"
	stateFile    = "state.json"
	choicesFile  = "choices.json"
	progressFile = "progress.log"
	scanFile     = "scan"
	keepFolder   = "keep"
	private      = 0o600
	maxFile      = 256 << 20 // bytes of a binding's file
)

// Bound is one binding and its files.
type Bound struct {
	Options
	dirsync.Binding
	notes []string
}

// Notes are what a person should hear about: files that were set aside and why.
func (b *Bound) Notes() []string { return b.notes }

func (b *Bound) path(name string) string { return filepath.Join(b.Dir, b.ID, name) }

// LockPath is the file whose lock a caller holds while it works on a binding. The
// binding's folder is made when absent.
func (o *Options) LockPath(id string) (string, error) {
	folder := filepath.Join(o.Dir, id)
	if err := durable.MkdirPrivate(o.Disk, folder); err != nil {
		return "", err
	}
	return filepath.Join(folder, "lock"), nil
}

// List returns all bindings by id, and beside them those that cannot be read.
func (o *Options) List() (list []dirsync.Binding, broken []Broken, err error) {
	entries, err := o.Disk.ReadDir(o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("list bindings: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		b, err := o.Open(e.Name())
		if errors.Is(err, ErrUnknownBinding) {
			continue
		}
		if err != nil {
			broken = append(broken, Broken{dirsync.Binding{ID: e.Name()}, err})
			continue
		}
		list = append(list, b.Binding)
	}
	return list, broken, nil
}

// Open reads a binding; ErrUnknownBinding when there is none of the id.
func (o *Options) Open(id string) (*Bound, error) {
	b := &Bound{Options: *o, Binding: dirsync.Binding{ID: id}}
	if !dirsync.IsID(id) {
		return nil, fmt.Errorf("binding %.140q: %w", id, ErrUnknownBinding)
	}
	var read dirsync.Binding
	found, err := b.readJSON(bindingFile, &read)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, fmt.Errorf("binding %.140q: %w", id, ErrUnknownBinding)
	}
	if err := read.Check(); err != nil || read.ID != id {
		return nil, b.corrupt(bindingFile, firstOf(err, fmt.Errorf("it names itself %.140q", read.ID)))
	}
	b.Binding = read
	return b, nil
}

// Bind makes a binding, or returns the one of its id when that has the same facts;
// other facts are ErrBindingChanged. The project directory must exist; it is probed,
// and nothing stays in it.
func (o *Options) Bind(want dirsync.Binding) (b *Bound, created bool, err error) {
	want.Root = filepath.Clean(want.Root)
	want.Store = o.Location
	if err := want.Check(); err != nil {
		return nil, false, err
	}
	known, err := o.Open(want.ID)
	if err == nil {
		return known, false, known.sameFacts(want)
	}
	if !errors.Is(err, ErrUnknownBinding) {
		return nil, false, err
	}
	b = &Bound{Options: *o, Binding: want}
	if b.Identity, err = tree.IdentityOf(b.Root); err != nil {
		return nil, false, err
	}
	if stop := b.overlap(); stop != nil {
		return nil, false, stop
	}
	if b.Folding, b.NoExecutable, err = tree.Probe(b.Root); err != nil {
		b.notes = append(b.notes, "the directory cannot be written, so how it treats names was not probed: "+err.Error())
	}
	b.Revision = 1
	if err := durable.MkdirPrivate(o.Disk, b.path("")); err != nil {
		return nil, false, err
	}
	// An unbinding that died has left what another pair agreed on.
	if err := b.forget(); err != nil {
		return nil, false, fmt.Errorf("bind %s: %w", b.ID, err)
	}
	return b, true, b.writeJSON(bindingFile, b.Binding)
}

func (b *Bound) sameFacts(want dirsync.Binding) error {
	same := b.Root == want.Root && b.Store == want.Store && b.Dataset == want.Dataset && b.Direction == want.Direction &&
		b.Links == want.Links && slices.Equal(b.Ignore, want.Ignore)
	if !same {
		return fmt.Errorf("bind %s: %w", want.ID, ErrBindingChanged)
	}
	if id, err := tree.IdentityOf(b.Root); err == nil && !b.Identity.Same(id) {
		return fmt.Errorf("bind %s: another directory stands at %s now: %w", want.ID, b.Root, ErrBindingChanged)
	}
	return nil
}

// overlap returns the guard that fires when the project contains, or lies in, a folder
// that is none of its business, or another binding's project.
func (b *Bound) overlap() *dirsync.StopError {
	for _, other := range b.Forbidden {
		if nested(b.Root, other) {
			return &dirsync.StopError{Guard: dirsync.Overlap, Detail: b.Root + " and " + other + " lie in each other"}
		}
	}
	// One that cannot be read does not stop the others: nothing works on it either, and once
	// it is mended both are stopped if they overlap.
	others, _, err := b.List()
	if err != nil {
		return &dirsync.StopError{Guard: dirsync.Overlap, Detail: "other bindings cannot be read: " + err.Error()}
	}
	for _, other := range others {
		if other.ID != b.ID && nested(b.Root, other.Root) {
			return &dirsync.StopError{Guard: dirsync.Overlap, Detail: b.Root + " and the project of binding " + other.ID + " lie in each other"}
		}
	}
	return nil
}

// nested reports folders that are the same or one in the other, links resolved.
func nested(a, b string) bool {
	a, b = real(a), real(b)
	return below(a, b) || below(b, a)
}

func below(inner, outer string) bool {
	rel, err := filepath.Rel(outer, inner)
	return err == nil && filepath.IsLocal(rel)
}

// real resolves the links of the longest part of a path that exists.
func real(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	up := filepath.Dir(path)
	if up == path {
		return path
	}
	return filepath.Join(real(up), filepath.Base(path))
}

// SetDirection changes which way contents travel, if the binding still has the revision.
// The plan is dropped; one that is applying is a *dirsync.StopError.
func (b *Bound) SetDirection(to dirsync.Direction, revision int64) error {
	if !to.Valid() {
		return fmt.Errorf("direction %.40q: both, to-project or to-dataset", to)
	}
	if err := b.idle(); err != nil {
		return err
	}
	if b.Revision != revision {
		return fmt.Errorf("binding %s has revision %d, not %d: %w", b.ID, b.Revision, revision, ErrBindingChanged)
	}
	if err := b.dropPlan(); err != nil {
		return err
	}
	b.Direction = to
	b.Revision++
	return b.writeJSON(bindingFile, b.Binding)
}

// Unbind forgets the binding. The files of the project, the dataset, and what was kept
// of replaced files stay; kept names the folder of the latter, "" for none. A plan that
// is applying, and can be gone on with, is a *dirsync.StopError.
func (b *Bound) Unbind() (kept string, err error) {
	var stop *dirsync.StopError
	switch err := b.idle(); {
	case errors.As(err, &stop) && !b.readable(stop.Detail), isCorrupt(err):
	case err != nil:
		return "", err
	}
	if err := b.forget(); err != nil {
		return "", fmt.Errorf("unbind %s: %w", b.ID, err)
	}
	if files, _, err := b.Kept(); files > 0 || err != nil {
		return b.path(keepFolder), nil // what cannot be counted may be there
	}
	return "", nil
}

// forget removes every file of the binding but what is kept of replaced files, durably.
func (b *Bound) forget() error {
	for _, name := range []string{bindingFile, ancestorFile, planFile, stateFile, choicesFile, progressFile, scanFile} {
		if err := b.Disk.Remove(b.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return b.Disk.SyncDir(b.path(""))
}

// idle is a *dirsync.StopError while a plan is applying.
func (b *Bound) idle() error {
	s, err := b.State()
	if err != nil {
		return err
	}
	if s.Phase == Applying {
		return &dirsync.StopError{Guard: dirsync.PlanApplying, Detail: s.Plan}
	}
	return nil
}

func (b *Bound) dropPlan() error {
	for _, name := range []string{stateFile, planFile, progressFile} {
		if err := b.Disk.Remove(b.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("drop the plan of %s: %w", b.ID, err)
		}
	}
	return nil
}

// readJSON reads a file of the binding; found is false when it is absent.
func (b *Bound) readJSON(name string, into any) (found bool, err error) {
	text, err := b.read(name)
	if text == nil || err != nil {
		return false, err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return false, b.corrupt(name, err)
	}
	return true, nil
}

// read returns a file's content, nil when it is absent.
func (b *Bound) read(name string) ([]byte, error) {
	path := b.path(name)
	err := durable.CheckPrivate(b.Disk, path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	text, err := durable.ReadFile(b.Disk, path, maxFile)
	if errors.Is(err, durable.ErrTooLarge) {
		return nil, b.corrupt(name, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return text, nil
}

func (b *Bound) writeJSON(name string, document any) error {
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", b.path(name), err)
	}
	return b.write(name, append(text, '\n'))
}

func (b *Bound) write(name string, text []byte) error {
	return durable.Replace(b.Disk, b.path(name), text, private, true)
}

// SystemNames are the rules of this system's names.
func SystemNames() dirsync.NameRules {
	if os.PathSeparator == '\\' {
		return dirsync.WindowsNames
	}
	return dirsync.UnixNames
}
