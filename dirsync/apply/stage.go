package apply

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"agentsync/dirsync"
	"agentsync/dirsync/tree"
	"agentsync/hashgraph/digest"
	"agentsync/ledger/durable"
)

// item is an action on its way.
type item struct {
	*dirsync.Action
	staged string     // name in the staging folder
	before tree.Stamp // of the file to be replaced, when its content was kept
	kept   bool
	// what was taken out of its place lies in the staging folder: nothing may end the item
	// before that is kept or back
	unsettled bool
	result    Result
}

func (i *item) end(state State, reason string) { i.result = Result{i.Path, state, reason} }

func (i *item) fail(err error) { i.end(Failed, ReasonOf(err)) }

// refuse ends an item that the system did not let be written, or whose target came or
// went in this very moment. A later pass tries again: a plan that waited for it would
// stand in the way of everything else.
func (i *item) refuse(err error) {
	for _, moved := range []error{fs.ErrNotExist, fs.ErrExist, syscall.ENOTDIR, syscall.EISDIR, tree.ErrUnstable} {
		if errors.Is(err, moved) {
			i.end(Drifted, "it was changed since the plan was made")
			return
		}
	}
	i.end(Refused, ReasonOf(err))
}

func (i *item) ended() bool { return i.result.State != "" }

// needsContent reports an action that puts bytes in place.
func (i *item) needsContent() bool {
	verb := i.Verb()
	return verb == "create" || verb == "replace"
}

// stageAll fetches the contents, several at once when the job has workers.
func (r *run) stageAll(ctx context.Context, items []item) error {
	var wait sync.WaitGroup
	room := make(chan struct{}, max(1, r.Workers))
	for i := range items {
		switch one := &items[i]; {
		case !one.needsContent():
		case r.Workers <= 1:
			r.fetch(ctx, one)
		default:
			room <- struct{}{}
			wait.Go(func() {
				r.fetch(ctx, one)
				<-room
			})
		}
	}
	wait.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	if !r.bulk {
		return nil
	}
	step("sync staged")
	return r.here.SyncAll(r.Root)
}

// source notes how reading ended, so that it is told from how writing did.
type source struct {
	io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// fetch stages one content, unless it is staged whole already.
func (r *run) fetch(ctx context.Context, i *item) {
	step("stage")
	if !r.project.fresh {
		has, err := r.isStaged(i)
		if err != nil {
			i.fail(err)
		}
		if has || err != nil {
			return
		}
	}
	from := &source{Reader: r.Content(ctx, i.After.Digest, i.After.Size)}
	err := r.stage(i, from)
	switch {
	case err == nil:
	case from.err == nil:
		i.refuse(err)
	case r.Judge == nil:
		i.fail(fmt.Errorf("fetch: %w", from.err))
	default:
		i.end(r.Judge(from.err), ReasonOf(fmt.Errorf("fetch: %w", from.err)))
	}
}

// stage writes a content under its name in the staging folder.
func (r *run) stage(i *item, from io.Reader) error {
	part := i.staged + ".part"
	if !r.project.fresh {
		if err := r.project.stage.RemoveAll(part); err != nil {
			return err
		}
	}
	mode := fs.FileMode(0o666) // under the umask
	if i.After.Executable {
		mode = 0o777
	}
	file, err := r.project.stage.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	if err == nil && !r.bulk {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return errors.Join(err, r.project.stage.Remove(part))
	}
	return r.project.stage.Rename(part, i.staged)
}

// isStaged reports a staged content that is whole. Another one under the name can only
// be a file that was taken out of its place just before a crash: it is kept.
func (r *run) isStaged(i *item) (bool, error) {
	info, err := r.project.stage.Lstat(i.staged)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if info.Mode().IsRegular() {
		sum, err := r.copyToKeep(r.project.stage, i.staged, info, i.After.Digest)
		if err != nil {
			return false, err
		}
		if sum == i.After.Digest && hasBit(info) == i.After.Executable {
			return true, nil
		}
	}
	return false, r.project.stage.RemoveAll(i.staged)
}

func hasBit(info fs.FileInfo) bool { return info.Mode()&0o100 != 0 }

// keepAll saves the contents that will be replaced, and looks at every target on the
// way: what is not as the plan saw it ends here.
func (r *run) keepAll(ctx context.Context, items []item) error {
	kept := false
	for i := range items {
		if err := ctx.Err(); err != nil {
			return err
		}
		if it := &items[i]; !it.ended() && it.Verb() == "replace" && it.Before.Kind == dirsync.File {
			if err := r.keep(it); err != nil {
				it.refuse(err)
			}
			kept = kept || it.kept
		}
	}
	if !kept {
		return nil
	}
	step("sync kept")
	if r.bulk {
		return r.kept.SyncAll(r.Keep)
	}
	return r.Disk.SyncDir(r.Keep)
}

// keep copies the content of a file that will be replaced, if it is what the plan saw,
// and gives the staged content its mode.
func (r *run) keep(i *item) error {
	dir, name, info, err := r.target(i)
	if err != nil || i.ended() {
		return err
	}
	step("keep")
	sum, err := r.copyToKeep(dir, name, info, i.After.Digest)
	switch {
	case errors.Is(err, tree.ErrUnstable):
		i.end(Drifted, "it is being written to")
		return nil
	case err != nil:
		return err
	case sum != i.Before.Digest || hasBit(info) != i.Before.Executable:
		r.judge(i, sum, info)
		return nil
	}
	i.before, i.kept = tree.StampOf(info), true
	return r.setMode(i, permOf(info.Mode().Perm(), i.After.Executable))
}

// copyToKeep reads a file and keeps its content under its digest, unless it is the one
// that is on its way.
func (r *run) copyToKeep(dir *folder, name string, info fs.FileInfo, coming digest.Digest) (digest.Digest, error) {
	temp, path, err := durable.CreateTemp(r.Disk, r.Keep, "kept", 0o600)
	if err != nil {
		return digest.Digest{}, err
	}
	sum, err := tree.HashFile(dir.Root, name, info, temp)
	if err == nil && !r.bulk {
		err = temp.Sync()
	}
	err = errors.Join(err, temp.Close())
	if err != nil || sum == coming {
		return sum, errors.Join(err, r.Disk.Remove(path))
	}
	return sum, r.Disk.Rename(path, filepath.Join(r.Keep, sum.Hex()))
}

// setMode gives a staged content the mode of the file that it replaces.
func (r *run) setMode(i *item, perm fs.FileMode) error {
	if err := r.project.stage.Chmod(i.staged, perm); err != nil || r.bulk {
		return err
	}
	file, err := r.project.stage.OpenFile(i.staged, os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// judge ends an action whose target has another content than the plan saw: it is done
// already, or it drifted.
func (r *run) judge(i *item, sum digest.Digest, info fs.FileInfo) {
	if i.After.Kind == dirsync.File && sum == i.After.Digest && hasBit(info) == i.After.Executable {
		i.end(Done, "")
		return
	}
	i.end(Drifted, "it was changed since the plan was made")
}
