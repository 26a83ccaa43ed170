package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"agentsync/ledger"
	"agentsync/publish"
)

// findCommand finds the command that was typed: an id, or the beginning of one that has
// a receipt on the list or waits in a queue.
func findCommand(ctx context.Context, target *publish.Target, producer, typed string) (ledger.CommandID, error) {
	if typed == "" {
		return ledger.CommandID{}, usageError("agentsync receipts", "an empty command id")
	}
	exact := ledger.CommandID{Producer: producer, ID: typed}
	receipt, err := target.ReadReceipt(ctx, exact)
	if err != nil || receipt != nil {
		return exact, err
	}
	rows, err := target.Receipts(ctx)
	if err != nil {
		return exact, err
	}
	queue, err := target.Queued(ctx, nil)
	if err != nil {
		return exact, err
	}
	var found []ledger.CommandID
	add := func(id ledger.CommandID) {
		if strings.HasPrefix(id.ID, typed) && (producer == "" || id.Producer == producer) && !slices.Contains(found, id) {
			found = append(found, id)
		}
	}
	for _, row := range rows {
		add(row.CommandID)
	}
	for _, q := range queue.Commands {
		add(ledger.CommandID{Producer: q.Producer, ID: q.ID})
	}
	if i := slices.Index(found, exact); i >= 0 {
		return exact, nil
	}
	switch len(found) {
	case 0:
		return exact, &failure{exit: exitFailed, code: "no-such-command", message: "no command answers to " + typed,
			hint: "see them all: agentsync command ls --all"}
	case 1:
		return found[0], nil
	}
	return exact, usageError("type more of it, or name its queue: --producer NAME", "%d commands answer to %s", len(found), typed)
}

const (
	firstLook   = 50 * time.Millisecond // between two looks for a receipt, doubled each time
	slowestLook = 5 * time.Second
)

// awaitReceipts reads receipts, and with --wait until all of them are terminal. A
// command that nobody claimed is pending.
func (v *invocation) awaitReceipts(ctx context.Context, target *publish.Target, wanted []ledger.CommandID) ([]ledger.SharedReceipt, error) {
	expired := time.NewTimer(v.globals.wait)
	defer expired.Stop()
	for pause := firstLook; ; pause = min(2*pause, slowestLook) {
		found, settled, err := readReceipts(ctx, target, wanted)
		if err != nil || settled || v.globals.wait == 0 {
			return found, err
		}
		again := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			again.Stop()
			return nil, ctx.Err()
		case <-expired.C:
			again.Stop()
			found, _, err = readReceipts(ctx, target, wanted)
			return found, err
		case <-again.C:
		}
	}
}

func readReceipts(ctx context.Context, target *publish.Target, wanted []ledger.CommandID) (found []ledger.SharedReceipt, settled bool, err error) {
	settled = true
	for _, id := range wanted {
		receipt, err := target.ReadReceipt(ctx, id)
		if err != nil {
			return nil, false, err
		}
		if receipt == nil {
			receipt = &ledger.SharedReceipt{Receipt: ledger.Receipt{CommandID: id, Status: ledger.Pending}}
		}
		settled = settled && receipt.Status.Terminal()
		found = append(found, *receipt)
	}
	return found, settled, nil
}

// showReceipts prints receipts in full. After a wait the worst of them is the exit code.
func (v *invocation) showReceipts(target *publish.Target, found []ledger.SharedReceipt) error {
	for i, r := range found {
		o := receiptOf(r.Receipt, r.Installation)
		if v.out.asJSON {
			if err := v.out.object(o); err != nil {
				return err
			}
			continue
		}
		if i > 0 {
			if err := v.out.line(""); err != nil {
				return err
			}
		}
		if err := v.receiptLines(o); err != nil {
			return err
		}
	}
	if v.out.asJSON {
		if err := v.out.object(receiptsSummary{"summary", len(found), false, target.Store.Location()}); err != nil {
			return err
		}
	}
	if v.globals.wait == 0 {
		return nil
	}
	return waitedFor(found, v.globals.wait)
}

// waitedFor is the exit code of a wait: what is not settled goes before what is
// unknown, and that before what did not succeed.
func waitedFor(found []ledger.SharedReceipt, wait time.Duration) error {
	exit := exitDone
	for _, r := range found {
		switch {
		case !r.Status.Terminal():
			return &failure{exit: exitTryLater, code: "not-settled", retryable: true,
				message: fmt.Sprintf("command %s has no outcome after %v", r.CommandID.ID, wait),
				hint:    "is agentsync drain run on the machine that has the session?"}
		case r.Status == ledger.Unknown:
			exit = exitPartial
		case r.Status != ledger.Succeeded && exit == exitDone:
			exit = exitFailed
		}
	}
	if exit == exitDone {
		return nil
	}
	return reported(exit)
}
