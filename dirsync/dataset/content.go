package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash"
	"io"

	"agentsync/dirsync"
	"agentsync/hashgraph/digest"
	"agentsync/publish/store"
)

var errDigest = errors.New("the content is not what its name says")

// Content opens a content for reading. The end of it comes only if it has the size and
// the digest; otherwise reading ends with a *DamagedError.
func (d *Dataset) Content(ctx context.Context, sum digest.Digest, size int64) io.Reader {
	name := store.ObjectName(sum)
	return Checked(&ranged{ctx: ctx, store: d.Store, name: name, left: size}, sum, size, name)
}

// Checked reads from r and fails at the end with a *DamagedError for name unless what
// was read has the size and the digest.
func Checked(r io.Reader, sum digest.Digest, size int64, name string) io.Reader {
	return &checked{r: r, hash: digest.New(), want: sum, left: size, name: name}
}

type checked struct {
	r    io.Reader
	hash hash.Hash
	want digest.Digest
	left int64
	name string
}

func (c *checked) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.hash.Write(p[:n])
	c.left -= int64(n)
	switch {
	case c.left < 0:
		return n, &DamagedError{c.name, errDigest}
	case errors.Is(err, io.EOF) && (c.left != 0 || digest.Of(c.hash) != c.want):
		return n, &DamagedError{c.name, errDigest}
	}
	return n, err
}

// pieceSize is how much of a content is asked for at once.
const pieceSize = 1 << 20 // bytes

// ranged reads a content piece by piece.
type ranged struct {
	ctx    context.Context
	store  store.Store
	name   string
	offset int64
	left   int64
	begun  bool
	piece  []byte
	rest   []byte
}

func (r *ranged) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.left == 0 && r.begun {
			return 0, io.EOF
		}
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// next asks for the next piece. An empty content is asked for too: it must be there.
func (r *ranged) next() error {
	r.begun = true
	if r.left == 0 {
		if _, err := r.store.Stat(r.ctx, r.name); err != nil {
			return unreadable(r.name, err)
		}
		return io.EOF
	}
	var err error
	r.piece, err = r.store.Get(r.ctx, r.name, r.offset, min(r.left, pieceSize), r.piece[:0])
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return &DamagedError{r.name, errDigest}
	}
	if err != nil {
		return unreadable(r.name, err)
	}
	r.rest = r.piece
	r.offset += int64(len(r.piece))
	r.left -= int64(len(r.piece))
	return nil
}

// RestOn is Has for an upload: a content that is stored is made young first, so that no
// prune takes for unneeded what is about to be published.
func (d *Dataset) RestOn(ctx context.Context, sum digest.Digest, size int64) (bool, error) {
	err := store.Renew(ctx, d.Store, store.ObjectName(sum))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return d.Has(ctx, sum, size)
}

// unreadable is an error of reading what a head or a manifest names: that it is not there,
// or is no content, is damage.
func unreadable(name string, err error) error {
	if store.Spoilt(err) {
		return &DamagedError{name, err}
	}
	return fmt.Errorf("read %s: %w", name, err)
}

// Has reports whether a content is stored. It is read: a file of that name and size is
// no proof, and what is damaged is put anew.
func (d *Dataset) Has(ctx context.Context, sum digest.Digest, size int64) (bool, error) {
	stored, err := d.Store.Stat(ctx, store.ObjectName(sum))
	if err == nil && stored == size {
		_, err = io.Copy(io.Discard, d.Content(ctx, sum, size))
	}
	var damaged *DamagedError
	if errors.Is(err, store.ErrNotFound) || errors.As(err, &damaged) {
		return false, nil
	}
	return err == nil && stored == size, err
}

// Upload takes contents into the store, durable together at Commit.
type Upload struct {
	batch store.Batch
}

// NewUpload begins an upload. Put may be called by several goroutines.
func (d *Dataset) NewUpload(ctx context.Context) (*Upload, error) {
	batch, err := store.NewBatch(ctx, d.Store)
	if err != nil {
		return nil, err
	}
	return &Upload{batch}, nil
}

// Put takes a content. One that does not have the size and the digest is a
// *DamagedError, and nothing of it is kept.
func (u *Upload) Put(ctx context.Context, sum digest.Digest, size int64, r io.Reader) error {
	name := store.ObjectName(sum)
	return u.batch.Put(ctx, name, Checked(r, sum, size, name))
}

// PutManifest takes a tree's manifest and returns its digest.
func (u *Upload) PutManifest(ctx context.Context, t dirsync.Tree) (digest.Digest, error) {
	text := dirsync.EncodeManifest(t)
	sum := digest.Sum(text)
	return sum, u.Put(ctx, sum, int64(len(text)), bytes.NewReader(text))
}

// Commit makes everything durable.
func (u *Upload) Commit(ctx context.Context) error { return u.batch.Commit(ctx) }

// Discard forgets what was not committed.
func (u *Upload) Discard() error { return u.batch.Discard() }
