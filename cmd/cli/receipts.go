package cli

import (
	"context"
	"encoding/json"
	"fmt"

	urfave "github.com/urfave/cli/v2"

	"agentsync/collect"
	"agentsync/collect/value"
	"agentsync/ledger"
	"agentsync/publish"
)

func (v *invocation) receiptsVerb() *urfave.Command {
	return &urfave.Command{
		Name:      "receipts",
		Category:  groupCommand,
		Usage:     "show what became of commands",
		ArgsUsage: "[ID…]",
		Description: "Without an ID, the newest 200 receipts. With one, or the beginning of one, that receipt in full; with --wait DURATION " +
			"it waits until the command has an outcome, and the exit code tells it: 0 succeeded, 1 failed, unsupported or in need of a " +
			"confirmation, 3 unknown, 75 none yet. An unknown outcome is never repeated by itself: agentsync reconcile looks for evidence.",
		UsageText: "agentsync receipts\nagentsync receipts 5f1c --json\nagentsync receipts \"$ID\" --wait 30m",
		Flags: []urfave.Flag{
			producerFlag(),
			&urfave.BoolFlag{Name: "repair", Usage: "make the list of the newest anew from the single receipts"},
		},
		Action: action(0, -1, v.receipts),
	}
}

// receiptObject is a receipt in JSON. Of a row of the list, what only the receipt itself
// says is absent.
type receiptObject struct {
	Type         string          `json:"message_type"`
	ID           string          `json:"id"`
	Producer     string          `json:"producer"`
	Key          string          `json:"key"`
	Source       string          `json:"source"`
	Session      string          `json:"session"`
	Status       string          `json:"status"`
	UpdatedAt    string          `json:"updated_at,omitempty"`
	ClaimedAt    string          `json:"claimed_at,omitempty"`
	CompletedAt  string          `json:"completed_at,omitempty"`
	Installation string          `json:"installation,omitempty"`
	Operation    string          `json:"operation,omitempty"` // the agent's own id of it
	Error        *problemObject  `json:"error,omitempty"`
	Result       json.RawMessage `json:"result,omitempty"`
}

// problemObject says why a command did not succeed.
type problemObject struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
}

// receiptsSummary ends a list of receipts.
type receiptsSummary struct {
	Type     string `json:"message_type"`
	Receipts int    `json:"receipts"`
	Repaired bool   `json:"repaired"`
	Store    string `json:"store"`
}

func problemOf(p *collect.OperationProblem) *problemObject {
	if p == nil {
		return nil
	}
	return &problemObject{p.Code, p.Message, p.Retryable}
}

func receiptOf(r ledger.Receipt, installation string) receiptObject {
	o := receiptObject{Type: "receipt", ID: r.CommandID.ID, Producer: r.CommandID.Producer, Source: r.SourceID, Session: r.NativeSessionID,
		Status: string(r.Status), UpdatedAt: firstOf(r.CompletedAt, r.ClaimedAt), ClaimedAt: r.ClaimedAt, CompletedAt: r.CompletedAt,
		Installation: installation, Operation: r.ProviderOperationID, Error: problemOf(r.Problem)}
	o.Key, _ = collect.SessionKey(r.SourceID, r.NativeSessionID) // of a valid receipt there is one
	if r.Result.Kind() == value.Record {
		o.Result = value.AppendText(nil, r.Result)
	}
	return o
}

func (v *invocation) receipts(ctx context.Context, c *urfave.Context) error {
	producer, err := producerName(c)
	if err != nil {
		return err
	}
	if c.Bool("repair") {
		if c.NArg() > 0 {
			return usageError(c.Command.HelpName+" --help", "--repair takes no ID")
		}
		return v.repairReceipts(ctx)
	}
	_, target, done, err := v.reading(ctx)
	if err != nil {
		return err
	}
	defer done()
	if c.NArg() == 0 {
		return v.listReceipts(ctx, target, producer)
	}
	var wanted []ledger.CommandID
	for _, typed := range c.Args().Slice() {
		id, err := findCommand(ctx, target, producer, typed)
		if err != nil {
			return err
		}
		wanted = append(wanted, id)
	}
	found, err := v.awaitReceipts(ctx, target, wanted)
	if err != nil {
		return err
	}
	return v.showReceipts(target, found)
}

func (v *invocation) repairReceipts(ctx context.Context) error {
	s, err := v.settings()
	if err != nil {
		return err
	}
	target, done, err := v.openOwned(ctx, s)
	if err != nil {
		return err
	}
	defer done()
	rows, err := target.RepairReceipts(ctx)
	if err != nil {
		return err
	}
	if v.out.asJSON {
		return v.out.object(receiptsSummary{"summary", rows, true, target.Store.Location()})
	}
	return v.out.note("the list was made anew, with %s", counted(rows, "receipt", "receipts"))
}

func (v *invocation) listReceipts(ctx context.Context, target *publish.Target, producer string) error {
	rows, err := target.Receipts(ctx)
	if err != nil {
		return err
	}
	var list []receiptObject
	for _, row := range rows {
		if producer != "" && row.CommandID.Producer != producer {
			continue
		}
		o := receiptOf(ledger.Receipt{CommandID: row.CommandID, SourceID: row.SourceID, NativeSessionID: row.NativeSessionID,
			Status: row.Status, Problem: row.Problem}, "")
		o.UpdatedAt = row.UpdatedAt
		list = append(list, o)
	}
	if !v.out.asJSON {
		if len(list) == 0 {
			return v.out.note("no command has a receipt yet")
		}
		return v.out.table(v.receiptTable(list))
	}
	for _, o := range list {
		if err := v.out.object(o); err != nil {
			return err
		}
	}
	return v.out.object(receiptsSummary{"summary", len(list), false, target.Store.Location()})
}

func (v *invocation) receiptTable(list []receiptObject) *table {
	keys := make([]string, len(list))
	for i, o := range list {
		keys[i] = o.Key
	}
	short := abbreviate(keys)
	t := newTable(column{title: "ID"}, column{title: "PRODUCER"}, column{title: "AGE", right: true},
		column{title: "SESSION", flexible: true}, column{title: "STATUS"}, column{title: "ERROR", flexible: true})
	for _, o := range list {
		code := ""
		if o.Error != nil {
			code = o.Error.Code
		}
		t.row(o.ID, o.Producer, age(v.env.Now(), &o.UpdatedAt), short[o.Key], o.Status, code)
	}
	return t
}

func (v *invocation) receiptLines(o receiptObject) error {
	failed := ""
	if o.Error != nil {
		failed = fmt.Sprintf("%s (%s)", o.Error.Message, o.Error.Code)
		if o.Error.Retryable {
			failed += ", may be sent again"
		}
	}
	for _, fact := range [][2]string{{"command", o.ID}, {"producer", o.Producer}, {"session", o.Key}, {"status", o.Status}, {"error", failed},
		{"claimed", timeText(&o.ClaimedAt)}, {"completed", timeText(&o.CompletedAt)}, {"by", shortDID(o.Installation)},
		{"operation", o.Operation}, {"result", string(o.Result)}} {
		if fact[1] == "" {
			continue
		}
		if err := v.out.line("%-9s %s", fact[0], clean(fact[1])); err != nil {
			return err
		}
	}
	return nil
}
