package cli

import (
	"context"
	"fmt"
	"slices"

	urfave "github.com/urfave/cli/v2"

	"agentsync/collect"
	"agentsync/ledger"
	"agentsync/ledger/worker"
)

func (v *invocation) reconcileVerb() *urfave.Command {
	return &urfave.Command{
		Name:      "reconcile",
		Category:  groupCommand,
		Usage:     "look for evidence of what became of commands whose outcome is unknown",
		ArgsUsage: "[ID…]",
		Description: "Looks at what the agents keep, wakes no session and repeats nothing. A receipt is settled only by what is proven; the " +
			"others stay unknown, with the reason. The exit code is 0 when nothing is unknown any more, and 3 when something is.",
		UsageText: "agentsync reconcile\nagentsync reconcile 5f1c --json",
		Flags:     []urfave.Flag{producerFlag()},
		Action:    action(0, -1, v.reconcile),
	}
}

// reconciledObject is a receipt that was looked into, in JSON.
type reconciledObject struct {
	receiptObject
	Settled bool `json:"settled"`
}

// reconcileSummary ends the pass.
type reconcileSummary struct {
	Type       string `json:"message_type"`
	LookedInto int    `json:"looked_into"`
	Settled    int    `json:"settled"`
	Unknown    int    `json:"unknown"`
	Store      string `json:"store"`
}

func (v *invocation) reconcile(ctx context.Context, c *urfave.Context) error {
	producer, err := producerName(c)
	if err != nil {
		return err
	}
	s, err := v.settings()
	if err != nil {
		return err
	}
	return v.withLock(ctx, s.State, drainLock, "reconcile", func(ctx context.Context) error {
		return v.withDesk(ctx, s, s.sources, func(d *desk) error {
			_ = d.worker.Recover(ctx) // failures were told to the board
			d.tell()
			ids, err := d.unknown(ctx)
			if c.NArg() > 0 {
				ids, err = d.named(ctx, producer, c.Args().Slice())
			}
			if err != nil {
				return err
			}
			return d.lookInto(ctx, ids)
		})
	})
}

// named finds the commands that were typed.
func (d *desk) named(ctx context.Context, producer string, typed []string) (ids []ledger.CommandID, err error) {
	for _, one := range typed {
		id, err := findCommand(ctx, d.target, producer, one)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// unknown are the commands of this machine's sources whose outcome is unknown: those of
// the ledger, and those of the list, for a state folder that was lost.
func (d *desk) unknown(ctx context.Context) (ids []ledger.CommandID, err error) {
	for r, err := range d.ledger.All() {
		if err == nil && r.Status == ledger.Unknown {
			ids = append(ids, r.CommandID)
		}
	}
	rows, err := d.target.Receipts(ctx)
	for _, row := range rows {
		if row.Status == ledger.Unknown && d.owner(row.SourceID) == worker.Ours && !slices.Contains(ids, row.CommandID) {
			ids = append(ids, row.CommandID)
		}
	}
	return ids, err
}

// lookInto investigates commands and tells what was found.
func (d *desk) lookInto(ctx context.Context, ids []ledger.CommandID) error {
	found, err := d.worker.Reconcile(ctx, ids...)
	summary := reconcileSummary{Type: "summary", LookedInto: len(found), Store: d.target.Store.Location()}
	for _, f := range found {
		if f.Settled {
			summary.Settled++
		}
		if f.Receipt.Status == ledger.Unknown {
			summary.Unknown++
		}
		if err := d.showFinding(f); err != nil {
			return err
		}
	}
	d.shown(found)
	d.tell()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if d.v.out.asJSON {
		if err := d.v.out.object(summary); err != nil {
			return err
		}
	} else if err := d.v.out.note("%d looked into: %d settled, %d unknown", summary.LookedInto, summary.Settled, summary.Unknown); err != nil {
		return err
	}
	if err != nil && d.v.out.failures == 0 {
		return err
	}
	return d.v.out.partial()
}

// shown takes the receipts that were shown as findings from what is still to be told.
func (b *board) shown(found []worker.Finding) {
	b.put(func() {
		b.receipts = slices.DeleteFunc(b.receipts, func(r ledger.Receipt) bool {
			return slices.ContainsFunc(found, func(f worker.Finding) bool { return f.Err == nil && f.Receipt.CommandID == r.CommandID })
		})
	})
}

func (d *desk) showFinding(f worker.Finding) error {
	o := reconciledObject{receiptOf(f.Receipt, ""), f.Settled}
	if d.v.out.asJSON && f.Receipt.Status != "" {
		if err := d.v.out.object(o); err != nil {
			return err
		}
	}
	if f.Err != nil {
		d.failed(&failure{exit: exitPartial, code: "not-investigated", source: f.Receipt.SourceID, session: o.Key,
			err: fmt.Errorf("command %s: %w", f.ID.ID, f.Err)})
		return nil
	}
	if f.Receipt.Status == ledger.Unknown {
		d.failed(staysUnknown(o.receiptObject, f.Evidence))
		return nil
	}
	if d.v.out.asJSON {
		return nil
	}
	return d.showReceipt(f.Receipt)
}

// staysUnknown is a command whose outcome nothing proves.
func staysUnknown(o receiptObject, evidence collect.Outcome) *failure {
	f := &failure{exit: exitPartial, code: "outcome-unknown", source: o.Source, session: o.Key,
		message: fmt.Sprintf("command %s in %s stays unknown", o.ID, o.Key),
		hint:    "look at the session and decide: agentsync show " + o.Key}
	if p := evidence.Problem; p != nil {
		f.message += fmt.Sprintf(": %s (%s)", p.Message, p.Code)
	}
	return f
}
