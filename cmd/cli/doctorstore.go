package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agentsync/collect"
	"agentsync/publish"
	"agentsync/publish/document"
	"agentsync/publish/store"
)

// checkStore looks whether the store can be read and written. The keys of what is
// published come back, nil when they are not known, and the sources.
func (v *invocation) checkStore(ctx context.Context, s *settings) (published map[string]bool, sources []document.Source, checks []check) {
	target, done, err := v.openReader(ctx, s)
	if errors.Is(err, publish.ErrNoStore) {
		if seen, unread := seenBefore(s); unread == nil {
			err = errors.Join(err, publish.Gone(s.Store.String(), seen))
		}
		if past := (&publish.PastError{}); errors.As(err, &past) {
			return nil, nil, []check{fail("store", pastHint(past), "a publish would end with %d: %v", exitStopped, past)}
		}
		return map[string]bool{}, nil, []check{warn("store", "agentsync publish", "%s: nothing is published yet", s.Store)}
	}
	if err != nil {
		return nil, nil, []check{fail("store", classify(ctx, err).hint, "%v", err)}
	}
	defer done()
	staged, err := target.Store.Stage(ctx)
	if err == nil {
		err = staged.Discard()
	}
	if err != nil {
		checks = append(checks, fail("store", classify(ctx, err).hint, "cannot be written: %v", err))
	}
	checks = append(checks, checkLeftovers(ctx, target.Store, v.env.Now())...)
	published, sources, read := publishedKeys(ctx, target)
	checks = append(checks, v.checkOwner(ctx, s, target.OwnerDID(), sources)...)
	return published, sources, append(checks, read)
}

// checkOwner says what a publish would say of a store of another owner, or of sources
// that another installation publishes.
func (v *invocation) checkOwner(ctx context.Context, s *settings, owner string, published []document.Source) []check {
	own, installation, err := v.existingIdentity(s.State)
	if err != nil {
		return nil // the check of the identity says so
	}
	guard := func(err error) check {
		return fail("store", classify(ctx, err).hint, "a publish would end with %d: %v", exitStopped, err)
	}
	if own.DID() != owner {
		return []check{guard(fmt.Errorf("%w: %s", publish.ErrForeign, owner))}
	}
	var checks []check
	for _, source := range s.sources {
		id, err := collect.SourceID(source.ID)
		if err != nil {
			continue
		}
		for _, p := range published {
			if p.ID == id && p.Installation != installation {
				checks = append(checks, guard(&publish.OwnedError{Source: id, Installation: p.Installation}))
			}
		}
	}
	return checks
}

// checkLeftovers names what passes that died have left in the store.
func checkLeftovers(ctx context.Context, s store.Store, now time.Time) []check {
	sweeper, ok := s.(store.Sweeper)
	if !ok {
		return nil
	}
	left, err := sweeper.Leftovers(ctx, now)
	if err != nil {
		return []check{warn("store", "", "%v", err)}
	}
	var size int64
	for _, e := range left {
		size += e.Size
	}
	if len(left) == 0 {
		return nil
	}
	return []check{warn("store", "agentsync prune --apply", "passes that died have left %s, %s", counted(len(left), "file", "files"), bytesText(size))}
}

func publishedKeys(ctx context.Context, target *publish.Target) (map[string]bool, []document.Source, check) {
	view, err := target.View(ctx)
	if errors.Is(err, publish.ErrEmpty) {
		return map[string]bool{}, nil, warn("store", "agentsync publish", "%s: nothing is published yet", target.Store.Location())
	}
	published := make(map[string]bool)
	if err == nil {
		err = view.Rows(func(row *document.Row) error {
			published[row.Key] = true
			return nil
		})
	}
	if err != nil {
		return nil, nil, fail("store", classify(ctx, err).hint, "%v", err)
	}
	return published, view.Root().Sources, ok("store", "%s: generation %d of %s, %s", target.Store.Location(), view.Head().Generation,
		timeText(&view.Head().Time), counted(len(published), "session", "sessions"))
}
