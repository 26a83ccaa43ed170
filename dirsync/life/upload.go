package life

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"agentsync/dirsync"
	"agentsync/dirsync/apply"
	"agentsync/dirsync/dataset"
	"agentsync/dirsync/tree"
	"agentsync/hashgraph/digest"
	"agentsync/publish/store"
)

// upload publishes the dataset's side of the plan, once: after a crash the dataset is
// asked what became of it before anything is sent again.
func (x *execution) upload(ctx context.Context) error {
	switch x.state.Upload {
	case NoUpload, Committed:
		return nil
	case NotCommitted:
		return x.reject(ctx)
	}
	if x.state.Manifest != "" {
		if err := x.ask(ctx); err != nil {
			return fmt.Errorf("ask what became of the upload of plan %.80s: %w", x.state.Plan, err)
		}
		switch x.state.Upload {
		case Committed:
			return x.save()
		case NotCommitted:
			return x.reject(ctx)
		}
	}
	base, err := x.base(ctx)
	if errors.Is(err, dataset.ErrMoved) {
		return x.reject(ctx)
	}
	if err != nil {
		return err
	}
	// What an earlier run sent is named by no head: a prune may have taken it since.
	if err := x.send(ctx, base); err != nil {
		return err
	}
	return x.publish(ctx, base)
}

// base is the head that the plan was made from; dataset.ErrMoved when it is gone or
// another one, as after a store was put back: what was merged with it would revert others.
func (x *execution) base(ctx context.Context) (*dataset.Head, error) {
	h, err := x.open().At(ctx, x.plan.Head)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && h != nil && h.Manifest.String() != x.plan.Manifest:
		return nil, dataset.ErrMoved
	}
	return h, err
}

// restsOnNewest reports that the dataset's newest head is the one that the plan goes by.
func (x *execution) restsOnNewest(ctx context.Context) (bool, error) {
	want := x.plan.Manifest
	if x.state.Upload == Committed {
		want = x.state.Manifest
	}
	h, err := x.open().Newest(ctx)
	return h != nil && h.Manifest.String() == want, err
}

// ask finds out whether the upload was published.
func (x *execution) ask(ctx context.Context) error {
	h, taken, err := x.open().Published(ctx, x.plan.Head, x.state.Plan)
	switch {
	case err != nil:
		return err
	case h != nil:
		x.state.Upload, x.state.Head, x.state.Manifest = Committed, h.Generation, h.Manifest.String()
	case taken:
		x.state.Upload = NotCommitted
	}
	return nil
}

// reject ends a plan whose dataset moved on. The project was not touched.
func (x *execution) reject(context.Context) error {
	x.state.Phase, x.state.Upload, x.state.Ended = Rejected, NotCommitted, stamp(x.Now())
	if err := x.save(); err != nil {
		return err
	}
	return fmt.Errorf("plan %.80s was rejected: %w", x.state.Plan, dataset.ErrMoved)
}

// publish puts the head. What it will be is durable before.
func (x *execution) publish(ctx context.Context, base *dataset.Head) error {
	set := x.open()
	manifest, err := parseDigest(x.state.Manifest)
	if err != nil {
		return x.corrupt(stateFile, err)
	}
	h, err := set.Publish(ctx, base, manifest, x.state.Plan, x.Now())
	switch {
	case errors.Is(err, dataset.ErrMoved):
		// An own head whose answer was lost looks the same: ask.
		if err := x.ask(ctx); err != nil {
			return err
		}
		if x.state.Upload != Committed {
			return x.reject(ctx)
		}
		return x.save()
	case err != nil:
		x.state.Upload = Unknown
		return errors.Join(err, x.save())
	}
	x.state.Upload, x.state.Head = Committed, h.Generation
	return x.save()
}

// send stores the contents and the new manifest, and remembers which manifest it is.
func (x *execution) send(ctx context.Context, base *dataset.Head) error {
	set := x.open()
	before, err := x.published(ctx, base)
	if err != nil {
		return err
	}
	up, err := set.NewUpload(ctx)
	if err != nil {
		return err
	}
	left, err := x.putFiles(ctx, set, up)
	if err == nil {
		err = x.record(x.state.Plan, dirsync.Dataset, left)
	}
	var manifest digest.Digest
	if err == nil {
		manifest, err = up.PutManifest(ctx, x.merged(before, left))
	}
	if err == nil {
		err = up.Commit(ctx)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("upload plan %.80s: %w", x.state.Plan, err), up.Discard())
	}
	x.state.Manifest = manifest.String()
	return x.save()
}

// published is the tree that the plan was made from, what is ignored included.
func (x *execution) published(ctx context.Context, base *dataset.Head) (dirsync.Tree, error) {
	if x.seen != nil {
		return x.seen.published, nil
	}
	return x.open().Tree(ctx, base)
}

// merged is the dataset's tree with what the plan uploads. What the project lacks stays.
func (x *execution) merged(before dirsync.Tree, left []apply.Result) dirsync.Tree {
	skip := map[string]bool{}
	for _, r := range left {
		skip[r.Path] = true
	}
	var done []dirsync.Action
	for _, a := range x.plan.Actions {
		if a.Side == dirsync.Dataset && !skip[a.Path] {
			done = append(done, a)
		}
	}
	base := dirsync.Ancestor{Tree: before}
	return base.Moved(dirsync.Folding{}, nil, done).Tree
}

// putFiles sends every file that the plan uploads, if it still has the content that the
// plan saw; those that have not are returned.
func (x *execution) putFiles(ctx context.Context, set *dataset.Dataset, up *dataset.Upload) ([]apply.Result, error) {
	root, err := tree.OpenRoot(x.Root, x.Identity)
	if err != nil {
		return nil, err
	}
	s := &sender{execution: x, ctx: ctx, set: set, up: up, root: root, sent: map[digest.Digest]bool{}}
	queue := make(chan *dirsync.Action)
	var wait sync.WaitGroup
	for range max(1, x.Workers) {
		wait.Go(func() { s.files(queue) })
	}
	total := x.plan.Writes(dirsync.Dataset)
	for i := range x.plan.Actions {
		if a := &x.plan.Actions[i]; a.Side == dirsync.Dataset && a.After.Kind == dirsync.File && !s.failed() {
			queue <- a
			x.progress("send contents", i, total)
		}
	}
	close(queue)
	wait.Wait()
	return s.left, errors.Join(s.err, ctx.Err(), root.Close())
}

// sender sends files, several at once.
type sender struct {
	*execution
	ctx  context.Context
	set  *dataset.Dataset
	up   *dataset.Upload
	root *os.Root

	mu   sync.Mutex
	sent map[digest.Digest]bool
	left []apply.Result
	err  error
}

func (s *sender) failed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err != nil || s.ctx.Err() != nil
}

// isSent reports a content that was sent already.
func (s *sender) isSent(sum digest.Digest) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent[sum]
}

// files sends files until the queue ends.
func (s *sender) files(queue <-chan *dirsync.Action) {
	from := tree.Opener{Root: s.root}
	for a := range queue {
		s.end(a, s.file(&from, a))
	}
	s.end(nil, from.Close())
}

// unreadError is a failure of the project's file, not of the store.
type unreadError struct{ error }

func (e *unreadError) Unwrap() error { return e.error }

// unread notes how reading a file ended.
type unread struct {
	io.Reader
}

func (r unread) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = &unreadError{err}
	}
	return n, err
}

// end takes note of what became of a file. The content that counts is the one that the
// plan saw: a file that is another one by now, or cannot be read any more, is left for
// the next plan.
func (s *sender) end(a *dirsync.Action, err error) {
	if err == nil {
		return
	}
	var other *dataset.DamagedError
	var local *unreadError
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case a != nil && (errors.As(err, &other) || errors.Is(err, tree.ErrUnstable) || errors.Is(err, os.ErrNotExist)):
		s.left = append(s.left, apply.Result{Path: a.Path, State: apply.Drifted, Reason: "it was changed since the plan was made"})
	case a != nil && errors.As(err, &local):
		s.left = append(s.left, apply.Result{Path: a.Path, State: apply.Refused, Reason: apply.ReasonOf(local)})
	case s.err == nil && a != nil:
		s.err = fmt.Errorf("send %.200q: %w", a.Path, err)
	case s.err == nil:
		s.err = err
	}
}

// file sends one file, unless its content is stored.
func (s *sender) file(from *tree.Opener, a *dirsync.Action) error {
	if s.isSent(a.After.Digest) {
		return nil
	}
	has, err := s.set.RestOn(s.ctx, a.After.Digest, a.After.Size)
	if err != nil {
		return err
	}
	if !has {
		if err := s.put(from, a); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent[a.After.Digest] = true
	return nil
}

func (s *sender) put(from *tree.Opener, a *dirsync.Action) error {
	file, err := from.Open(a.OnDisk())
	if err != nil {
		return &unreadError{err}
	}
	return errors.Join(s.up.Put(s.ctx, a.After.Digest, a.After.Size, unread{file}), file.Close())
}
