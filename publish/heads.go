package publish

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"agentsync/hashgraph/digest"
	"agentsync/ledger"
	"agentsync/publish/document"
	"agentsync/publish/store"
)

// Names of heads.
const (
	sessionsHead = "sessions"
	receiptsHead = "receipts"
)

// generation is one published state: a head and the root it names.
type generation struct {
	head *document.Head
	text digest.Digest // of the head's bytes
	root *document.Root
}

// newest returns the newest generation of the sessions, or nil when nothing was published.
func (t *Target) newest(lib *library) (*generation, error) {
	g, err := t.newestHead(lib, sessionsHead)
	if g == nil || err != nil {
		return nil, err
	}
	return g, t.readRoot(lib, g)
}

// headNames lists the states of a head by their numbers.
func (t *Target) headNames(ctx context.Context, head string) (map[uint64]store.Entry, error) {
	heads := map[uint64]store.Entry{}
	err := t.Store.List(ctx, store.HeadPrefix(head), func(e store.Entry) error {
		if _, n, err := store.ParseHeadName(e.Name); err == nil {
			heads[n] = e
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list heads: %w", err)
	}
	return heads, nil
}

// generation reads and checks the n-th head of the sessions, and reads its root.
func (t *Target) generation(lib *library, n uint64) (*generation, error) {
	g, err := t.readHead(lib, sessionsHead, n)
	if err != nil {
		return nil, err
	}
	return g, t.readRoot(lib, g)
}

// readRoot reads a generation's root, which must be of this store.
func (t *Target) readRoot(lib *library, g *generation) (err error) {
	if g.root, err = lib.root(g.head.Root); err != nil {
		return err
	}
	if g.root.Generation != g.head.Generation || g.root.OwnerDID != t.format.OwnerDID || g.root.SpaceDID != t.format.SpaceDID {
		return &DamagedError{store.HeadName(sessionsHead, uint64(g.head.Generation)), errors.New("its root is another's")}
	}
	return nil
}

// readHead reads and checks the n-th state of a head.
func (t *Target) readHead(lib *library, which string, n uint64) (*generation, error) {
	name := store.HeadName(which, n)
	text, err := readRecord(lib.ctx, t.Store, name)
	if err != nil {
		return nil, err
	}
	head, err := document.ParseHead(text, lib.packs)
	if err != nil {
		return nil, &DamagedError{name, err}
	}
	if head.Name != which || head.Generation != int64(n) || head.Writer != t.format.OwnerDID {
		return nil, &DamagedError{name, errors.New("not this owner's head of that number")}
	}
	if head.Root.IsZero() != (which == receiptsHead) {
		return nil, &DamagedError{name, errors.New("its root lies where that of another head does")}
	}
	if err := ledger.VerifyDID(head.Writer, head.Signed(), head.Signature); err != nil {
		return nil, &DamagedError{name, err}
	}
	return &generation{head: head, text: digest.Sum(text)}, nil
}

// readRecord reads a small record whole. One that is too large to be any is damaged.
func readRecord(ctx context.Context, s store.Store, name string) ([]byte, error) {
	text, err := store.ReadRecord(ctx, s, name, store.MaxRecord)
	switch {
	case errors.Is(err, store.ErrTooLarge), errors.Is(err, store.ErrStrange):
		return nil, &DamagedError{name, err}
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return text, nil
}

// putHead writes the state after base of the head whose name, root and time are given.
// store.ErrExists means that somebody else did first.
func (t *Target) putHead(ctx context.Context, base *generation, head *document.Head) (*generation, error) {
	nonce, err := t.nonce()
	if err != nil {
		return nil, err
	}
	head.Nonce, head.Generation = nonce, 1
	head.Writer, head.Installation = t.Signer.DID(), t.Installation
	if base != nil {
		head.Generation = base.head.Generation + 1
		head.Previous = base.text.String()
	}
	head.Signature = t.Signer.Sign(head.Signed())
	text := head.Text()
	name := store.HeadName(head.Name, uint64(head.Generation))
	if err := store.PutOnce(ctx, t.Store, name, text); err != nil {
		return nil, fmt.Errorf("put %s: %w", name, err)
	}
	// The head is the truth; a hint that cannot be written only costs a listing.
	_ = t.Store.Hint(ctx, store.HintName(head.Name), fmt.Appendf(nil, "%d\n", head.Generation))
	g := &generation{head: head, text: digest.Sum(text)}
	t.sees(g)
	return g, nil
}

// nonce draws what tells one's own put from another's. It may be called at the same time.
func (t *Target) nonce() (string, error) {
	t.random.Lock()
	defer t.random.Unlock()
	nonce := make([]byte, 16)
	if _, err := io.ReadFull(t.Rand, nonce); err != nil {
		return "", fmt.Errorf("draw a nonce: %w", err)
	}
	return hex.EncodeToString(nonce), nil
}
