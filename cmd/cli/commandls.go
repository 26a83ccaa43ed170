package cli

import (
	"context"
	"errors"
	"io/fs"

	urfave "github.com/urfave/cli/v2"

	"agentsync/collect"
	"agentsync/ledger"
	"agentsync/ledger/durable"
	"agentsync/publish"
)

// States of a queued command.
const (
	stateWaiting   = "waiting"   // the next drain on its machine runs it
	stateElsewhere = "elsewhere" // another installation has its source, or claimed it
	stateUnowned   = "unowned"   // no installation is known to have its source
	stateClaimed   = "claimed"   // it runs here, or was running when its drain died
)

func (v *invocation) commandLsVerb() *urfave.Command {
	return &urfave.Command{
		Name:     "ls",
		Category: groupCommand,
		Usage:    "list the queued commands that are not settled",
		Description: "A command is waiting for a drain here, elsewhere (another installation has its source or runs it), unowned (no " +
			"installation has its source), or claimed. What is in a queue and is no valid command is refused: it is named, and never runs. What " +
			"commands say is not shown.",
		UsageText: "agentsync command ls\nagentsync command ls --all --json",
		Flags:     []urfave.Flag{&urfave.BoolFlag{Name: "all", Usage: "also settled commands, with how they ended"}},
		Action:    action(0, 0, v.commandLs),
	}
}

// commandObject is a queued command in JSON. It holds no payload.
type commandObject struct {
	Type         string `json:"message_type"`
	ID           string `json:"id"`
	Producer     string `json:"producer"`
	Command      string `json:"command"`
	Key          string `json:"key"`
	Source       string `json:"source"`
	Session      string `json:"session"`
	CreatedAt    string `json:"created_at"`
	RequestedBy  string `json:"requested_by,omitempty"`
	State        string `json:"state"`                  // waiting, elsewhere, unowned, claimed, or the status of its receipt
	Installation string `json:"installation,omitempty"` // whose claim it is
	Path         string `json:"path"`                   // of the command in the store
}

// refusedObject is something in a queue that is no valid command.
type refusedObject struct {
	Type    string `json:"message_type"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Path    string `json:"path"`
}

// commandsSummary ends the list. Settled ones are counted where they were looked at.
type commandsSummary struct {
	Type      string `json:"message_type"`
	Waiting   int    `json:"waiting"`
	Elsewhere int    `json:"elsewhere"`
	Unowned   int    `json:"unowned"`
	Claimed   int    `json:"claimed"`
	Settled   int    `json:"settled"`
	Refused   int    `json:"refused"`
	Store     string `json:"store"`
}

func (s *commandsSummary) count(state string) {
	switch state {
	case stateWaiting:
		s.Waiting++
	case stateElsewhere:
		s.Elsewhere++
	case stateUnowned:
		s.Unowned++
	case stateClaimed:
		s.Claimed++
	default:
		s.Settled++
	}
}

func (v *invocation) commandLs(ctx context.Context, c *urfave.Context) error {
	s, target, done, err := v.reading(ctx)
	if err != nil {
		return err
	}
	defer done()
	list, refused, err := queuedCommands(ctx, s, target, c.Bool("all"))
	if err != nil {
		return err
	}
	summary := commandsSummary{Type: "summary", Refused: len(refused), Store: target.Store.Location()}
	for _, o := range list {
		summary.count(o.State)
	}
	if v.out.asJSON {
		return v.commandObjects(list, refused, summary)
	}
	if err := v.out.table(v.commandTable(list)); err != nil {
		return err
	}
	for _, p := range refused {
		v.out.warn("refused: %s", withPath(p.Message, p.Path))
	}
	return v.out.note("%d waiting, %d elsewhere, %d unowned, %d claimed, %d refused", summary.Waiting, summary.Elsewhere, summary.Unowned,
		summary.Claimed, summary.Refused)
}

func (v *invocation) commandObjects(list []commandObject, refused []collect.Problem, summary commandsSummary) error {
	for _, o := range list {
		if err := v.out.object(o); err != nil {
			return err
		}
	}
	for _, p := range refused {
		if err := v.out.object(refusedObject{"refused", p.Code, p.Message, p.Path}); err != nil {
			return err
		}
	}
	return v.out.object(summary)
}

func (v *invocation) commandTable(list []commandObject) *table {
	t := newTable(column{title: "ID"}, column{title: "PRODUCER"}, column{title: "COMMAND"}, column{title: "SESSION", flexible: true},
		column{title: "AGE", right: true}, column{title: "STATE"}, column{title: "BY", flexible: true})
	keys := make([]string, len(list))
	for i, o := range list {
		keys[i] = o.Key
	}
	short := abbreviate(keys)
	for _, o := range list {
		t.row(o.ID, o.Producer, o.Command, short[o.Key], age(v.env.Now(), &o.CreatedAt), o.State, o.RequestedBy)
	}
	return t
}

// queuedCommands tells of every queued command how far it is. Without all, those whose
// outcome is known are passed over, mostly unread.
func queuedCommands(ctx context.Context, s *settings, target *publish.Target, all bool) ([]commandObject, []collect.Problem, error) {
	owners, err := sourceOwners(ctx, s, target)
	if err != nil {
		return nil, nil, err
	}
	var settled func(ledger.CommandID) bool
	if !all {
		if settled, err = settledCommands(ctx, s, target); err != nil {
			return nil, nil, err
		}
	}
	queue, err := target.Queued(ctx, settled)
	if err != nil {
		return nil, nil, err
	}
	var list []commandObject
	for _, q := range queue.Commands {
		o := commandObject{Type: "command", ID: q.ID, Producer: q.Producer, Command: string(q.Type), Source: q.SourceID,
			Session: q.NativeSessionID, CreatedAt: q.CreatedAt, RequestedBy: q.RequestedBy, Path: q.Name, State: owners.state(q.SourceID)}
		o.Key, _ = collect.SessionKey(q.SourceID, q.NativeSessionID) // of a valid command there is one
		receipt, err := target.ReadReceipt(ctx, ledger.CommandID{Producer: q.Producer, ID: q.ID})
		if err != nil {
			return nil, nil, err
		}
		if receipt != nil {
			o.Installation, o.State = receipt.Installation, string(receipt.Status)
		}
		if receipt != nil && !receipt.Status.Terminal() {
			o.State = stateElsewhere
			if receipt.Installation == owners.installation {
				o.State = stateClaimed
			}
		}
		if all || receipt == nil || !receipt.Status.Terminal() {
			list = append(list, o)
		}
	}
	return list, queue.Refused, nil
}

// settledCommands knows the commands that the newest receipts, or this installation's
// ledger, show as settled.
func settledCommands(ctx context.Context, s *settings, target *publish.Target) (func(ledger.CommandID) bool, error) {
	listed, err := listedOutcomes(ctx, target)
	if err != nil {
		return nil, err
	}
	book, err := readLedger(s)
	if err != nil || book == nil {
		return func(id ledger.CommandID) bool { return listed[id] }, err
	}
	return func(id ledger.CommandID) bool {
		if listed[id] || !book.Known(id) {
			return listed[id]
		}
		receipt, found, err := book.Get(id)
		return err == nil && found && receipt.Status.Terminal()
	}, nil
}

// listedOutcomes are the commands that the list of the newest receipts shows as settled.
func listedOutcomes(ctx context.Context, target *publish.Target) (map[ledger.CommandID]bool, error) {
	rows, err := target.Receipts(ctx)
	listed := make(map[ledger.CommandID]bool, len(rows))
	for _, row := range rows {
		if row.Status.Terminal() {
			listed[row.CommandID] = true
		}
	}
	return listed, err
}

// readLedger reads this installation's ledger of commands of the store without changing
// it; nil where there is none.
func readLedger(s *settings) (*ledger.Commands, error) {
	if s.State == "" {
		return nil, nil
	}
	if _, err := durable.OS().Lstat(s.localFolder()); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return ledger.ReadCommands(durable.OS(), s.localFolder())
}
