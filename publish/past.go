package publish

import (
	"context"
	"errors"
	"fmt"

	"agentsync/hashgraph/digest"
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

// knowsNone refuses an empty place where a store was seen.
func knowsNone(o Options) error {
	if o.Seen == nil || o.Seen.Sight().OwnerDID == "" {
		return nil
	}
	return past(o, "", "a store of "+o.Seen.Sight().OwnerDID+" was seen here, and none is there now")
}

// newestHead finds the newest state of a head, 0 when there is none, and compares it with
// what was seen of that head.
func (t *Target) newestHead(ctx context.Context, name string) (uint64, error) {
	n, err := store.Newest(ctx, t.Store, name)
	if err != nil || t.Seen == nil {
		return n, err
	}
	seen, at := t.Seen.Sight().Heads[name], ""
	if 0 < seen.Number && seen.Number <= n {
		text, err := readRecord(ctx, t.Store, store.HeadName(name, seen.Number))
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return 0, err
		}
		if err == nil {
			at = digest.Sum(text).String()
		}
	}
	return n, past(t.Options, t.format.OwnerDID, judgeHead(name, seen, n, at))
}

// current returns a *PastError when a head is behind what was seen of it.
func (t *Target) current(ctx context.Context) error {
	if t.Seen == nil {
		return nil
	}
	for _, name := range []string{sessionsHead, receiptsHead} {
		if _, err := t.newestHead(ctx, name); err != nil {
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
