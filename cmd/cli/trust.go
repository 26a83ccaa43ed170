package cli

import (
	"context"
	"errors"

	urfave "github.com/urfave/cli/v2"

	"agentsync/ledger"
	"agentsync/ledger/durable"
	"agentsync/publish"
)

func (v *invocation) trustVerb() *urfave.Command {
	return &urfave.Command{
		Name:      "trust",
		Category:  groupKeep,
		Usage:     "accept what stands at the store's place, after it went back in time or changed its owner",
		ArgsUsage: "[DID]",
		Description: "Whose store it is and how far it had come is remembered and compared on every read; what is behind that, or another " +
			"store, ends with exit code 5. This accepts what is there now, and shows what was seen before. Another owner must be named. " +
			"The next publish brings back from their files all sessions of this machine that the store has lost, and the next drain the receipts.",
		UsageText: "agentsync trust\nagentsync trust did:key:z6Mk…",
		Action:    action(0, 1, v.trust),
	}
}

// trustObject is what is accepted, and what was seen before, in JSON.
type trustObject struct {
	Type           string `json:"message_type"`
	Store          string `json:"store"`
	Owner          string `json:"owner_did,omitempty"` // "" when no store is there
	Space          string `json:"space_did,omitempty"`
	Generation     uint64 `json:"generation"` // 0 for none
	SeenOwner      string `json:"seen_owner_did,omitempty"`
	SeenSpace      string `json:"seen_space_did,omitempty"`
	SeenGeneration uint64 `json:"seen_generation"`
}

func (v *invocation) trust(ctx context.Context, c *urfave.Context) error {
	s, err := v.settings()
	if err != nil {
		return err
	}
	return v.withLock(ctx, s.State, drainLock, "trust", func(ctx context.Context) error {
		return v.withLock(ctx, s.State, publishLock, "trust", func(ctx context.Context) error { return v.accept(ctx, s, c.Args().First()) })
	})
}

// accept makes what is at the store's place all that was seen.
func (v *invocation) accept(ctx context.Context, s *settings, did string) error {
	if _, err := ledger.OpenState(durable.OS(), s.State); err != nil {
		return err
	}
	seen, err := ledger.OpenSeen(durable.OS(), s.localFolder(), false)
	var corrupt *ledger.CorruptError
	if err != nil && !errors.As(err, &corrupt) {
		return err
	}
	there, err := lookAtPlace(ctx, s)
	if err != nil {
		return err
	}
	own, err := ownDID(s.State)
	if err != nil {
		return err
	}
	if err := newsNamed(did, seen.Sight(), there, corrupt != nil && own != there.OwnerDID); err != nil {
		return err
	}
	before := seen.Sight()
	if there.OwnerDID == before.OwnerDID && there.SpaceDID == before.SpaceDID {
		if err := receiptsAgain(ctx, s); err != nil {
			return err
		}
	}
	if err := seen.Replace(there); err != nil {
		return err
	}
	return v.showTrust(trustObject{"trust", s.Store.String(), there.OwnerDID, there.SpaceDID, publish.SeenGeneration(there),
		before.OwnerDID, before.SpaceDID, publish.SeenGeneration(before)})
}

// receiptsAgain marks every receipt of this installation as awaiting publication: the
// next drain publishes those that the store has lost.
func receiptsAgain(ctx context.Context, s *settings) error {
	book, err := ledger.OpenCommands(ctx, durable.OS(), s.localFolder())
	if err != nil {
		return err
	}
	var receipts []ledger.Receipt
	for r, err := range book.All() {
		if err == nil && r.Status.Terminal() { // a damaged line is told whenever the ledger is opened
			receipts = append(receipts, r)
		}
	}
	if len(receipts) > 0 {
		err = book.Put(ctx, receipts...)
	}
	return errors.Join(err, book.Close())
}

// lookAtPlace returns what is to be seen at the store's place, the zero Sight for nothing.
func lookAtPlace(ctx context.Context, s *settings) (ledger.Sight, error) {
	place, done, err := openStore(s, false)
	if err == nil {
		defer done()
		var target *publish.Target
		if target, err = publish.Open(ctx, publish.Options{Store: place, FS: durable.OS()}); err == nil {
			return target.Sight(ctx)
		}
	}
	if errors.Is(err, publish.ErrNoStore) {
		err = nil
	}
	return ledger.Sight{}, err
}

// newsNamed returns an error unless the owner who is there was named where that is news.
func newsNamed(did string, before, there ledger.Sight, forgotten bool) error {
	news := before.OwnerDID != there.OwnerDID && (before.OwnerDID != "" || forgotten) && there.OwnerDID != ""
	if did == there.OwnerDID || did == "" && !news {
		return nil
	}
	what := "the store belongs to " + there.OwnerDID
	if there.OwnerDID == "" {
		return failWith(exitStopped, "agentsync trust", "no store is there")
	}
	return failWith(exitStopped, "agentsync trust "+there.OwnerDID, "%s", what)
}

func (v *invocation) showTrust(o trustObject) error {
	if v.out.asJSON {
		return v.out.object(o)
	}
	t := newTable(column{title: ""}, column{title: "OWNER"}, column{title: "SPACE"}, column{title: "GENERATION", right: true})
	t.row("seen before", orNone(o.SeenOwner), orNone(o.SeenSpace), number(int(o.SeenGeneration)))
	t.row("there now", orNone(o.Owner), orNone(o.Space), number(int(o.Generation)))
	if err := v.out.table(t); err != nil {
		return err
	}
	return v.out.note("what is there now counts for %s", o.Store)
}

func orNone(text string) string { return firstOf(text, "none") }
