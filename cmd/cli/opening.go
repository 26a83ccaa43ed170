package cli

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"agentsync/collect/gitinfo"
	"agentsync/hashgraph/digest"
	"agentsync/ledger"
	"agentsync/ledger/durable"
	"agentsync/publish"
	"agentsync/publish/document"
	"agentsync/publish/store"
	folder "agentsync/publish/store/fs"
	"agentsync/publish/store/mem"
)

// openStore opens the place that the store's address names.
func openStore(s *settings, create bool) (store.Store, func(), error) {
	if s.Store.Scheme != "file" {
		return nil, nil, usageError("--store with a folder, or file:///folder", "stores of the kind %s cannot be opened", s.Store.Scheme)
	}
	place, err := folder.Open(s.Store.Path, create)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil, fmt.Errorf("open %s: %w", s.Store, publish.ErrNoStore)
	}
	if err != nil {
		return nil, nil, err
	}
	return place, func() { _ = place.Close() }, nil // nothing is written by closing
}

// localFolder is what this installation keeps of one store. Folders are told apart
// by the store's address.
func (s *settings) localFolder() string {
	return filepath.Join(s.State, "stores", digest.Sum([]byte(s.Store.String())).Hex()[:16])
}

// openReader opens the store for a verb that only reads. It needs no identity.
func (v *invocation) openReader(ctx context.Context, s *settings) (*publish.Target, func(), error) {
	seen, err := seenBefore(s)
	if err != nil {
		return nil, nil, err
	}
	return v.openAs(ctx, s, publish.Options{FS: durable.OS(), Workers: workers(), Seen: seen})
}

// openAs opens an existing store, compares it with what was seen of it, and says whose it
// is when that is news.
func (v *invocation) openAs(ctx context.Context, s *settings, o publish.Options) (*publish.Target, func(), error) {
	first := o.Seen == nil || o.Seen.Sight().OwnerDID == ""
	place, done, err := openStore(s, false)
	if err != nil {
		return nil, nil, err
	}
	o.Store = place
	target, err := publish.Open(ctx, o)
	if err != nil {
		done()
		return nil, nil, err
	}
	if own, _ := ownDID(s.State); first && !v.told && own != target.OwnerDID() {
		v.told = true
		v.inform("the store at %s belongs to %s", target.Store.Location(), target.OwnerDID())
	}
	return target, v.closing(done, o.Seen), nil
}

// closing ends the use of a store, and says so when what was seen of it is not kept.
func (v *invocation) closing(done func(), seen *ledger.Seen) func() {
	return func() {
		done()
		if seen != nil && seen.Err() != nil {
			v.out.warn("what was seen of the store is not kept: %v", seen.Err())
		}
	}
}

// seenBefore returns what this installation has seen of the store; nil where there is no
// state folder, since a verb that only reads makes none.
func seenBefore(s *settings) (*ledger.Seen, error) {
	if _, err := durable.OS().Lstat(s.State); s.State == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return ledger.OpenSeen(durable.OS(), s.localFolder(), false)
}

// openForPublishing opens the store in the owner's name, and makes identity and store
// where there are none.
func (v *invocation) openForPublishing(ctx context.Context, s *settings) (*publish.Target, func(), error) {
	options, err := v.signedOptions(s)
	if err != nil {
		return nil, nil, err
	}
	if options.Seen.Sight().OwnerDID != "" { // a place that is not mounted is not made anew
		_, done, err := v.openAs(ctx, s, options)
		if errors.Is(err, publish.ErrNoStore) {
			err = publish.Gone(s.Store.String(), options.Seen)
		}
		if err != nil {
			return nil, nil, err
		}
		done()
	}
	place, done, err := openStore(s, true)
	if err != nil {
		return nil, nil, err
	}
	options.Store = place
	target, err := publish.Create(ctx, options, v.env.Now())
	if err != nil {
		done()
		return nil, nil, err
	}
	return target, v.closing(done, options.Seen), nil
}

// signedOptions opens the state folder and the owner's identity, or makes them.
func (v *invocation) signedOptions(s *settings) (publish.Options, error) {
	state, err := ledger.OpenState(durable.OS(), s.State)
	if err != nil {
		return publish.Options{}, err
	}
	identity, err := ledger.OpenIdentity(state, rand.Reader)
	if err != nil {
		return publish.Options{}, err
	}
	installation, err := ledger.OpenInstallation(state, identity.DID(), v.env.Machine, rand.Reader)
	if err != nil {
		return publish.Options{}, err
	}
	for _, note := range state.Notes() {
		v.out.warn("%s", note)
	}
	local := s.localFolder()
	if err := durable.MkdirPrivate(durable.OS(), local); err != nil {
		return publish.Options{}, err
	}
	seen, err := ledger.OpenSeen(durable.OS(), local, false)
	if err != nil {
		return publish.Options{}, err
	}
	return publish.Options{FS: durable.OS(), State: local, Seen: seen, Signer: identity, Installation: installation,
		Observations: state.Observations(), Rand: rand.Reader, Workers: workers()}, nil
}

// openForPlanning opens the store for a pass that writes nothing. Where there is no
// store yet, one in memory stands for it, of an owner that lives as long as the pass.
func (v *invocation) openForPlanning(ctx context.Context, s *settings) (target *publish.Target, done func(), err error) {
	options := publish.Options{FS: durable.OS(), State: s.localFolder(), Rand: rand.Reader, Workers: workers()}
	options.Signer, options.Installation, err = v.existingIdentity(s.State)
	if err != nil {
		return nil, nil, err
	}
	if options.Seen, err = ledger.OpenSeen(durable.OS(), s.localFolder(), true); err != nil {
		return nil, nil, err
	}
	options.Store, done, err = openStore(s, false)
	if err == nil {
		target, err = publish.Open(ctx, options)
		if err == nil {
			return target, done, nil
		}
		done()
	}
	if !errors.Is(err, publish.ErrNoStore) {
		return nil, nil, err
	}
	if err := publish.Gone(s.Store.String(), options.Seen); err != nil {
		return nil, nil, err
	}
	v.inform("there is no store at %s yet: one in memory stands for it, and lends its name to cell ids and manifest hashes", s.Store)
	options.Store, options.State, options.Seen = planned{mem.New(), s.Store.String()}, "", nil
	target, err = publish.Create(ctx, options, v.env.Now())
	return target, func() {}, err
}

// existingIdentity reads the owner's identity and finds the installation's id, "" when
// it has none yet; without a key, a passing identity is drawn.
func (v *invocation) existingIdentity(folder string) (publish.Signer, string, error) {
	_, err := durable.OS().Lstat(folder)
	if err == nil {
		var state *ledger.State
		if state, err = ledger.OpenState(durable.OS(), folder); err != nil {
			return nil, "", err
		}
		var identity *ledger.Identity
		if identity, err = ledger.ReadIdentity(state); err == nil {
			installation, err := ledger.FindInstallation(state, identity.DID(), v.env.Machine)
			if errors.Is(err, fs.ErrNotExist) {
				err = nil
			}
			return identity, installation, err
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, "", err
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	return passing{private, ledger.KeyDID(public)}, "", err
}

// passing is an identity that is never written down.
type passing struct {
	key ed25519.PrivateKey
	did string
}

// DID names the public key.
func (p passing) DID() string { return p.did }

// Sign signs with the private one.
func (p passing) Sign(message []byte) []byte { return ed25519.Sign(p.key, message) }

// planned is a store in memory that stands for one that a dry run does not make.
type planned struct {
	store.Store
	location string
}

// Location is the address of the store that would be made.
func (p planned) Location() string { return p.location }

// observe gives a pass its eyes for Git: the context of a working directory, and the
// checkouts below the configured folders. A discovery that fails ends the pass before
// anything is published.
func (v *invocation) observe(ctx context.Context, s *settings, pass *publish.Pass) error {
	pass.Git = v.gitSight(ctx, pass.Now)
	if len(s.Checkouts) == 0 {
		return nil
	}
	found, err := gitinfo.Discover(ctx, s.Checkouts, gitinfo.DiscoverOptions{})
	if err != nil {
		return &failure{exit: exitFailed, code: "discovery-failed", err: err,
			hint: "nothing was published; correct checkouts: in the configuration, or mount what is missing"}
	}
	pass.Checkouts = found
	return nil
}

// gitSight observes the Git context of working directories, each once.
func (v *invocation) gitSight(ctx context.Context, now time.Time) func(dir string) (document.Git, bool) {
	resolver := gitinfo.NewResolver(gitinfo.Options{Home: v.env.Home, Getenv: v.env.Getenv})
	return publish.GitOf(ctx, resolver.NewObservation(now))
}
