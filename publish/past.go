package publish

import (
	"context"
	"errors"
	"fmt"

	"agentsync/ledger"
	"agentsync/publish/store"
)

// PastError reports a store that is not what this installation has seen at its place
// before: it went back in time, or another one stands there. Nothing was changed.
type PastError struct {
	Location string
	Seen     ledger.Sight // before
	Owner    string       // of what is there now, "" when nothing is
	What     string       // what differs, in words
}

func (e *PastError) Error() string { return fmt.Sprintf("%s: %s", e.Location, e.What) }

// headTitle is what a head is called in messages.
func headTitle(name string) string {
	switch name {
	case sessionsHead:
		return "generation"
	case receiptsHead:
		return "state of the list of receipts"
	}
	return "state of " + name
}

// judgeStore says in words why a store of this owner and space is not the one that was
// seen, "" when it is or none was.
func judgeStore(seen ledger.Sight, owner, space string) string {
	switch {
	case seen.OwnerDID == "":
		return ""
	case seen.OwnerDID != owner:
		return "the store belonged to " + seen.OwnerDID + " when it was seen last, and belongs to " + owner + " now"
	case seen.SpaceDID != space:
		return "another store of the same owner was seen here: space " + seen.SpaceDID + ", and now " + space
	}
	return ""
}

// judgeHead says in words why a head is not behind what was seen of it, "" when it is in
// order. Newest is the greatest number that is there, 0 for none; at is the digest of
// the head under the number that was seen, "" when it is not kept any more.
func judgeHead(name string, seen ledger.SeenHead, newest uint64, at string) string {
	title := headTitle(name)
	switch {
	case seen.Number == 0:
		return ""
	case newest == 0:
		return fmt.Sprintf("%s %d was seen here, and none is there now: the store went back in time", title, seen.Number)
	case newest < seen.Number:
		return fmt.Sprintf("%s %d was seen here, and the newest there now is %d: the store went back in time", title, seen.Number, newest)
	case at != "" && at != seen.Digest:
		return fmt.Sprintf("%s %d is another one than was seen here before: the store went back in time, and went on", title, seen.Number)
	}
	return ""
}

// SeenGeneration is the newest generation that was seen, 0 for none.
func SeenGeneration(s ledger.Sight) uint64 { return s.Heads[sessionsHead].Number }

// past returns a *PastError for a reason, nil for "".
func past(o Options, owner, why string) error {
	if why == "" {
		return nil
	}
	return &PastError{Location: o.Store.Location(), Seen: o.Seen.Sight(), Owner: owner, What: why}
}

// knows compares the store with the one that was seen at its place.
func (t *Target) knows() error {
	if t.Seen == nil {
		return nil
	}
	return past(t.Options, t.format.OwnerDID, judgeStore(t.Seen.Sight(), t.format.OwnerDID, t.format.SpaceDID))
}

// Gone returns a *PastError when a store was seen at a place that holds none, and nil
// when none was: only then may one be made there.
func Gone(location string, seen *ledger.Seen) error {
	if seen == nil || seen.Sight().OwnerDID == "" {
		return nil
	}
	before := seen.Sight()
	return &PastError{Location: location, Seen: before, What: "a store of " + before.OwnerDID + " was seen here, and none is there now"}
}

// newestHead reads the newest state of a head, nil when there is none, compares it with
// what was seen of that head, and remembers it.
func (t *Target) newestHead(lib *library, name string) (*generation, error) {
	n, err := t.newestNumber(lib.ctx, name)
	if err != nil || n == 0 {
		return nil, err
	}
	g, err := t.readHead(lib, name, n)
	if err != nil {
		return nil, err
	}
	if err := t.follows(lib, g); err != nil {
		return nil, err
	}
	t.sees(g)
	return g, nil
}

// newestNumber is the number of a head's newest state, 0 for none, and not less than
// what was seen of it.
func (t *Target) newestNumber(ctx context.Context, name string) (uint64, error) {
	n, err := store.Newest(ctx, t.Store, name)
	if err != nil || t.Seen == nil {
		return n, err
	}
	return n, past(t.Options, t.format.OwnerDID, judgeHead(name, t.Seen.Sight().Heads[name], n, ""))
}

// follows compares the newest state of a head with the one that was seen.
func (t *Target) follows(lib *library, g *generation) error {
	if t.Seen == nil {
		return nil
	}
	name, n := g.head.Name, uint64(g.head.Generation)
	seen := t.Seen.Sight().Heads[name]
	if seen.Number == 0 || seen.Number == n && seen.Digest == g.text.String() {
		return nil
	}
	at := g.text.String()
	if seen.Number < n {
		then, err := t.readHead(lib, name, seen.Number)
		if errors.Is(err, store.ErrNotFound) {
			return nil // pruned
		}
		if err != nil {
			return err
		}
		at = then.text.String()
	}
	return past(t.Options, t.format.OwnerDID, judgeHead(name, seen, n, at))
}

// Current returns a *PastError when a head is behind what was seen of it. Damage is told
// by whoever reads further.
func (t *Target) Current(ctx context.Context) error {
	for _, name := range []string{sessionsHead, receiptsHead} {
		_, err := t.newestHead(t.library(ctx), name)
		if err := ignoreDamage(err); err != nil {
			return err
		}
	}
	return nil
}

// sees remembers a head that was read as the newest, or put.
func (t *Target) sees(g *generation) {
	if t.Seen != nil {
		t.Seen.Add(t.format.OwnerDID, t.format.SpaceDID, g.head.Name, ledger.SeenHead{Number: uint64(g.head.Generation), Digest: g.text.String()})
	}
}

// Sight returns what is to be seen of the store now, whatever was seen before.
func (t *Target) Sight(ctx context.Context) (ledger.Sight, error) {
	sight := ledger.Sight{OwnerDID: t.format.OwnerDID, SpaceDID: t.format.SpaceDID, Heads: map[string]ledger.SeenHead{}}
	lib := t.library(ctx)
	for _, name := range []string{sessionsHead, receiptsHead} {
		n, err := store.Newest(ctx, t.Store, name)
		if err != nil {
			return ledger.Sight{}, err
		}
		if n == 0 {
			continue
		}
		g, err := t.readHead(lib, name, n)
		if err != nil {
			return ledger.Sight{}, err
		}
		sight.Heads[name] = ledger.SeenHead{Number: n, Digest: g.text.String()}
	}
	return sight, nil
}
