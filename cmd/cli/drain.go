package cli

import (
	"context"
	"fmt"
	"time"

	urfave "github.com/urfave/cli/v2"

	"agentsync/ledger"
	"agentsync/ledger/worker"
)

const (
	// drainLock is held by those who run commands or settle them.
	drainLock = "drain.lock"
	// drainGrace is how long an interrupted operation may take to say how it ended.
	drainGrace = 10 * time.Second
	// lookAgain is the time between two looks into the queues while commands run, so
	// that a cancellation finds what it is to interrupt.
	lookAgain = 2 * time.Second
)

func (v *invocation) drainVerb() *urfave.Command {
	return &urfave.Command{
		Name:     "drain",
		Category: groupCommand,
		Usage:    "run the queued commands of this machine's sources",
		Description: "A command runs at most once: it is claimed, durably and for all machines, before its agent is called, and leaves a receipt " +
			"whatever happens. Commands of one session run one after the other, those of different sessions side by side; sessions that were " +
			"touched are published. A publish does not stand in the way.\n\n" +
			"The exit code is 0 when everything was recorded, however the commands ended: their receipts tell that. It is 3 when a receipt, a " +
			"session or a source failed, each of which is named. An interruption asks the running agents to stop, waits at most 10 seconds, and " +
			"records as unknown what cannot be proven. --timeout does the same, with exit code 75.",
		UsageText: "agentsync drain\nagentsync drain --max 1 --timeout 20m --progress=plain\nagentsync drain --source codex --json",
		Flags: []urfave.Flag{
			&urfave.DurationFlag{Name: "timeout", DefaultText: "none", Usage: "start nothing after `DURATION`, and interrupt what still runs then"},
			&urfave.IntFlag{Name: "max", DefaultText: "all", Usage: "run at most `N` commands; cancellations are not counted"},
			sourceFlag(),
		},
		Action: action(0, 0, v.drain),
	}
}

// drainSummary ends a drain. Found = ran + known + elsewhere + waiting + left.
type drainSummary struct {
	Type              string `json:"message_type"`
	Found             int    `json:"found"`
	Ran               int    `json:"ran"`
	Succeeded         int    `json:"succeeded"`
	Failed            int    `json:"failed"`
	Unsupported       int    `json:"unsupported"`
	NeedsConfirmation int    `json:"needs_confirmation"`
	Unknown           int    `json:"unknown"`
	Known             int    `json:"known"`
	Elsewhere         int    `json:"elsewhere"`
	Waiting           int    `json:"waiting"`
	Left              int    `json:"left"`
	Refused           int    `json:"refused"`
	Pending           int    `json:"pending"`
	Store             string `json:"store"`
}

func (v *invocation) drain(ctx context.Context, c *urfave.Context) error {
	if c.Duration("timeout") < 0 || c.Int("max") < 0 {
		return usageError("for example: --timeout 20m --max 5", "a negative --timeout or --max")
	}
	s, err := v.settings()
	if err != nil {
		return err
	}
	sources, err := s.chosenSources(c.StringSlice("source"))
	if err != nil {
		return err
	}
	return v.withLock(ctx, s.State, drainLock, "drain", func(ctx context.Context) error {
		return v.withDesk(ctx, s, sources, func(d *desk) error {
			d.max = c.Int("max")
			err := d.drain(ctx, c.Duration("timeout"))
			v.recordPass(ctx, d.target, err, d.summary().ended())
			return err
		})
	})
}

// drain settles what an earlier drain left, and runs what is queued.
func (d *desk) drain(ctx context.Context, timeout time.Duration) error {
	whole := ctx
	if timeout > 0 {
		var cancel func()
		whole, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	_ = d.worker.Recover(whole) // failures were told to the board
	d.before = d.worker.Stats()
	d.tell()
	if listed, err := listedOutcomes(whole, d.target); err == nil {
		d.listed = listed
	} else if whole.Err() == nil { // the list spares reading, and nothing depends on it
		d.failed(&failure{exit: exitPartial, code: "list-unreadable", hint: "agentsync receipts --repair", err: err})
	}
	err := d.rounds(whole)
	if whole.Err() != nil {
		d.worker.Interrupt()
		_ = d.worker.Drain(context.WithoutCancel(ctx)) // failures were told to the board
	}
	d.tell()
	if shown := d.showDrained(); err == nil {
		err = shown
	}
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case whole.Err() != nil:
		return &failure{exit: exitTryLater, code: "timeout", retryable: true, message: fmt.Sprintf("stopped after --timeout %v", timeout),
			hint: "what was left runs with the next agentsync drain"}
	}
	return d.v.out.partial()
}

// rounds hands queued commands to the worker until it is done with all of them, and
// looks for more while it works.
func (d *desk) rounds(ctx context.Context) error {
	looking := true
	for first := true; ; first = false {
		if looking {
			err := d.admit(ctx)
			switch {
			case ctx.Err() != nil:
				return nil
			case err != nil && first:
				return err
			case err != nil: // what runs is brought to its end
				looking = false
				d.failed(&failure{exit: exitPartial, code: "queue-unreadable", retryable: true, err: err})
			}
		}
		look, cancel := context.WithTimeout(ctx, lookAgain)
		_ = d.worker.Drain(look) // failures were told to the board
		quiet := look.Err() == nil
		cancel()
		d.tell()
		if quiet || ctx.Err() != nil {
			return nil
		}
	}
}

// admit hands the queued commands that are new to the worker.
func (d *desk) admit(ctx context.Context) error {
	queue, err := d.target.Queued(ctx, d.passOver)
	if err != nil {
		return err
	}
	for _, p := range queue.Refused {
		if !d.refused[p.Path] {
			d.refused[p.Path] = true
			d.refuse(p)
		}
	}
	var fresh []worker.Queued
	for _, q := range queue.Commands {
		id := ledger.CommandID{Producer: q.Producer, ID: q.ID}
		if d.passOver(id) {
			continue
		}
		if d.owner(q.SourceID) == worker.Ours && q.Type != ledger.Cancel {
			if d.max > 0 && d.given >= d.max {
				d.left[id] = true
				continue
			}
			d.given++
		}
		d.seen[id] = true
		fresh = append(fresh, worker.Queued{Command: q.Command, Producer: q.Producer, Folders: q.Folders})
	}
	return d.worker.Handle(ctx, fresh)
}

// passOver accepts commands that were looked at before or have a receipt.
func (d *desk) passOver(id ledger.CommandID) bool {
	if d.seen[id] {
		return true
	}
	if d.listed[id] || d.ledger.Known(id) {
		d.known[id] = true
		return true
	}
	return false
}

// showDrained prints the summary.
func (d *desk) showDrained() error {
	s := d.summary()
	if d.v.out.asJSON {
		return d.v.out.object(s)
	}
	return d.v.out.note("%s", s.text())
}

// summary counts what became of the commands.
func (d *desk) summary() drainSummary {
	stats := d.worker.Stats()
	s := drainSummary{Type: "summary", Succeeded: stats.Ran[ledger.Succeeded], Failed: stats.Ran[ledger.Failed],
		Unsupported: stats.Ran[ledger.Unsupported], NeedsConfirmation: stats.Ran[ledger.NeedsConfirmation], Unknown: stats.Ran[ledger.Unknown],
		Elsewhere: stats.Elsewhere, Waiting: stats.Waiting,
		Refused: len(d.refused), Pending: len(d.ledger.Pending()), Store: d.target.Store.Location()}
	s.Ran = s.Succeeded + s.Failed + s.Unsupported + s.NeedsConfirmation + s.Unknown
	s.Known = len(d.known) + stats.Known + stats.Adopted - d.before.Adopted + stats.Orphaned - d.before.Orphaned
	s.Found = len(d.known) + len(d.seen) + len(d.left)
	s.Left = max(0, s.Found-s.Ran-s.Known-s.Elsewhere-s.Waiting)
	return s
}

// text is the summary for people.
func (s drainSummary) text() string {
	text := fmt.Sprintf("%d found = %d ran + %d known + %d elsewhere + %d waiting + %d left", s.Found, s.Ran, s.Known, s.Elsewhere, s.Waiting, s.Left)
	if s.Ran > 0 {
		text += fmt.Sprintf("; %d succeeded, %d failed, %d unsupported, %d to be confirmed, %d unknown", s.Succeeded, s.Failed, s.Unsupported,
			s.NeedsConfirmation, s.Unknown)
	}
	if s.Refused > 0 {
		text += fmt.Sprintf("; %d refused", s.Refused)
	}
	if s.Pending > 0 {
		text += fmt.Sprintf("; %d to be published", s.Pending)
	}
	return text
}
