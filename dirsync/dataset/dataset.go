// Package dataset is the published side of a binding: a manifest, the contents that it
// names, and a numbered head that says which manifest counts.
//
// A dataset changes only by putting the next head, once; whoever comes second learns
// it. It reads nothing that it does not check: heads by their signature, manifests and
// contents by their digest.
package dataset

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"agentsync/dirsync"
	"agentsync/hashgraph/digest"
	"agentsync/publish/store"
)

// Signer is whose name a head is written in.
type Signer interface {
	DID() string
	Sign(message []byte) []byte
}

// Options say where datasets lie and whose they are.
type Options struct {
	Store        store.Store
	Owner        string // did:key of the store's owner; only its heads count
	Signer       Signer // nil for reading only
	Installation string
	// Verify returns nil if the key of did made the signature over message.
	Verify func(did string, message, signature []byte) error
}

// Dataset is one named dataset of a store.
type Dataset struct {
	Options
	name string
}

// Open names a dataset; it need not exist.
func Open(o Options, name string) *Dataset { return &Dataset{o, name} }

// Head is one state of a dataset.
type Head struct {
	Generation   int64
	Manifest     digest.Digest
	Operation    string // the plan that published it
	Previous     string // digest of the head before, "" for the first
	Writer       string
	Installation string
	Time         string // YYYY-MM-DDTHH:MM:SS.mmmZ

	text digest.Digest
}

// DamagedError reports something stored that is not what its name or its signature says.
type DamagedError struct {
	Name string
	Err  error
}

func (e *DamagedError) Error() string { return fmt.Sprintf("damaged %s: %v", e.Name, e.Err) }

func (e *DamagedError) Unwrap() error { return e.Err }

const (
	// maxManifest is in bytes: what some millions of entries take.
	maxManifest = 1 << 30

	headSchema = "agentsync.dataset-head"
	headLead   = "dataset-"
	stampForm  = "2006-01-02T15:04:05.000Z"
)

// root is the name of the dataset's heads in the store.
func (d *Dataset) root() string { return headLead + d.name }

// headFields is a head as it is stored, canonical JSON and a newline.
type headFields struct {
	Schema       string `json:"schema"`
	Name         string `json:"name"`
	Generation   string `json:"generation"`
	Manifest     string `json:"manifest"`
	Operation    string `json:"operation"`
	Previous     string `json:"previous,omitempty"`
	Writer       string `json:"writer"`
	Installation string `json:"installation"`
	Time         string `json:"time"`
	Signature    string `json:"signature,omitempty"`
}

func (d *Dataset) fields(h *Head) headFields {
	return headFields{
		Schema: headSchema, Name: d.name, Generation: strconv.FormatInt(h.Generation, 10), Manifest: h.Manifest.String(),
		Operation: h.Operation, Previous: h.Previous, Writer: h.Writer, Installation: h.Installation, Time: h.Time,
	}
}

// Newest returns the newest head, nil when nothing was published.
func (d *Dataset) Newest(ctx context.Context) (*Head, error) {
	n, err := store.Newest(ctx, d.Store, d.root())
	if n == 0 || err != nil {
		return nil, err
	}
	return d.head(ctx, n)
}

// head reads and checks the n-th head.
func (d *Dataset) head(ctx context.Context, n uint64) (*Head, error) {
	name := store.HeadName(d.root(), n)
	text, err := store.ReadRecord(ctx, d.Store, name, store.MaxRecord)
	if errors.Is(err, store.ErrTooLarge) {
		return nil, &DamagedError{name, err}
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	h, err := d.parse(text)
	if err == nil && h.Generation != int64(n) {
		err = fmt.Errorf("it is number %d", h.Generation)
	}
	if err != nil {
		return nil, &DamagedError{name, err}
	}
	return h, nil
}

func (d *Dataset) parse(text []byte) (*Head, error) {
	var f headFields
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, err
	}
	if f.Schema != headSchema || f.Name != d.name || f.Writer != d.Owner {
		return nil, errors.New("not a head of this owner's dataset")
	}
	h := &Head{Operation: f.Operation, Previous: f.Previous, Writer: f.Writer, Installation: f.Installation, Time: f.Time, text: digest.Sum(text)}
	var err error
	if h.Generation, err = strconv.ParseInt(f.Generation, 10, 64); err != nil {
		return nil, fmt.Errorf("generation: %w", err)
	}
	if h.Manifest, err = digest.Parse(strings.TrimPrefix(f.Manifest, "sha256:")); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	signature, err := base64.RawURLEncoding.Strict().DecodeString(f.Signature)
	if err != nil {
		return nil, fmt.Errorf("signature: %w", err)
	}
	canonical := d.fields(h)
	signed, err := dirsync.Canonical(canonical)
	if err != nil {
		return nil, err
	}
	canonical.Signature = f.Signature
	if spelled, err := dirsync.Canonical(canonical); err != nil || string(text) != string(spelled)+"\n" {
		return nil, errors.New("not spelled as a head is")
	}
	return h, d.Verify(f.Writer, signed, signature)
}

// Digest is the digest of the head's bytes, sha256: and digits.
func (h *Head) Digest() string { return h.text.String() }

// Sight tells what the store shows of the heads about the number n.
func (d *Dataset) Sight(ctx context.Context, n int64) (dirsync.Sight, error) {
	newest, err := store.Newest(ctx, d.Store, d.root())
	s := dirsync.Sight{Newest: int64(newest)}
	if err != nil || n == 0 || s.Newest < n {
		return s, err
	}
	for _, one := range []struct {
		n    int64
		take func(*Head)
	}{{n, func(h *Head) { s.There = h.Digest() }}, {n + 1, func(h *Head) { s.Before = h.Previous }}} {
		h, err := d.head(ctx, uint64(one.n))
		switch {
		case errors.Is(err, store.ErrNotFound):
		case err != nil:
			return s, err
		default:
			one.take(h)
			return s, nil
		}
	}
	return s, nil
}

// Tree reads the manifest that a head names; nil stands for a dataset that holds nothing.
func (d *Dataset) Tree(ctx context.Context, h *Head) (dirsync.Tree, error) {
	if h == nil {
		return dirsync.Tree{}, nil
	}
	name := store.ObjectName(h.Manifest)
	text, err := store.ReadRecord(ctx, d.Store, name, maxManifest)
	if errors.Is(err, store.ErrTooLarge) {
		return dirsync.Tree{}, &DamagedError{name, err}
	}
	if err != nil {
		return dirsync.Tree{}, fmt.Errorf("the manifest of dataset %s: %w", d.name, unreadable(name, err))
	}
	if digest.Sum(text) != h.Manifest {
		return dirsync.Tree{}, &DamagedError{name, errDigest}
	}
	t, err := dirsync.ParseManifest(text)
	if err != nil {
		return dirsync.Tree{}, &DamagedError{name, err}
	}
	return t, nil
}

// ErrMoved reports a dataset whose head is no longer the one that a plan was made from.
var ErrMoved = errors.New("the dataset has moved on")

// Publish makes the manifest the dataset's next state after base, nil for the first.
// The operation names the plan. ErrMoved says that another head came first; any other
// error leaves open whether the head is there: Published tells.
func (d *Dataset) Publish(ctx context.Context, base *Head, manifest digest.Digest, operation string, now time.Time) (*Head, error) {
	h := &Head{Generation: 1, Manifest: manifest, Operation: operation, Writer: d.Signer.DID(),
		Installation: d.Installation, Time: now.UTC().Format(stampForm)}
	if base != nil {
		h.Generation, h.Previous = base.Generation+1, base.text.String()
	}
	f := d.fields(h)
	signed, err := dirsync.Canonical(f)
	if err != nil {
		return nil, err
	}
	f.Signature = base64.RawURLEncoding.EncodeToString(d.Signer.Sign(signed))
	text, err := dirsync.Canonical(f)
	if err != nil {
		return nil, err
	}
	text = append(text, '\n')
	h.text = digest.Sum(text)
	name := store.HeadName(d.root(), uint64(h.Generation))
	err = store.PutOnce(ctx, d.Store, name, text)
	if errors.Is(err, store.ErrExists) {
		return nil, fmt.Errorf("publish dataset %s: %w", d.name, ErrMoved)
	}
	if err != nil {
		return nil, fmt.Errorf("publish dataset %s: %w", d.name, err)
	}
	_ = d.Store.Hint(ctx, store.HintName(d.root()), fmt.Appendf(nil, "%d\n", h.Generation)) // costs a listing
	return h, nil
}

// Published returns the head that an operation put after the number base, and whether
// that number is taken at all: a nil head and taken mean that somebody else came first.
func (d *Dataset) Published(ctx context.Context, base int64, operation string) (h *Head, taken bool, err error) {
	h, err = d.head(ctx, uint64(base)+1)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, false, nil
	case err != nil:
		return nil, false, err
	case h.Operation != operation || h.Installation != d.Installation:
		return nil, true, nil
	}
	return h, true, nil
}

// At returns the head of a number; nil for number 0.
func (d *Dataset) At(ctx context.Context, n int64) (*Head, error) {
	if n == 0 {
		return nil, nil
	}
	return d.head(ctx, uint64(n))
}

// List names the datasets of a store, in order.
func List(ctx context.Context, s store.Store) ([]string, error) {
	seen := map[string]bool{}
	var names []string
	err := s.List(ctx, "heads/", func(e store.Entry) error {
		root, _, err := store.ParseHeadName(e.Name)
		name, ours := strings.CutPrefix(root, headLead)
		if err == nil && ours && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list datasets: %w", err)
	}
	return names, nil
}
