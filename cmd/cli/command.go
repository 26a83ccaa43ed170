package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"

	urfave "github.com/urfave/cli/v2"

	"agentsync/collect"
	"agentsync/ledger"
	"agentsync/ledger/durable"
	"agentsync/publish"
)

// commandVerbs are the verbs by which agents are told something from afar: one side
// puts commands into the store, the machine that has the session runs them.
func (v *invocation) commandVerbs() []*urfave.Command {
	return []*urfave.Command{
		v.commandVerb(),
		v.drainVerb(),
		v.reconcileVerb(),
		v.receiptsVerb(),
	}
}

func (v *invocation) commandVerb() *urfave.Command {
	return &urfave.Command{
		Name:     "command",
		Category: groupCommand,
		Usage:    "queue commands for agents, and see what is queued",
		Description: "A command waits in the store until agentsync drain runs on the machine that has its session. It runs at most once; " +
			"agentsync receipts tells what became of it.",
		Subcommands: []*urfave.Command{
			v.sendVerb(),
			v.commandLsVerb(),
			v.producersVerb(),
			v.bindProducerVerb(),
		},
	}
}

func producerFlag() urfave.Flag {
	return &urfave.StringFlag{Name: "producer", DefaultText: "the owner's", Usage: "the queue of the producer `NAME`"}
}

// producerName reads --producer; "" is the owner's own queue.
func producerName(c *urfave.Context) (string, error) {
	typed := c.String("producer")
	if !c.IsSet("producer") { // an empty one is a mistake
		return "", nil
	}
	name, err := collect.SourceID(typed)
	if err != nil {
		return "", usageError("--producer NAME", "--producer: %w", err)
	}
	return name, nil
}

// openSigner reads this installation's key, and makes one where there is none unless
// the pass may write nothing.
func (v *invocation) openSigner(s *settings, dryRun bool) (publish.Signer, error) {
	if dryRun {
		signer, _, err := v.existingIdentity(s.State)
		return signer, err
	}
	state, err := ledger.OpenState(durable.OS(), s.State)
	if err != nil {
		return nil, err
	}
	for _, note := range state.Notes() {
		v.out.warn("%s", note)
	}
	return ledger.OpenIdentity(state, rand.Reader)
}

// openOwned opens an existing store in the owner's name.
func (v *invocation) openOwned(ctx context.Context, s *settings) (*publish.Target, func(), error) {
	if _, done, err := v.openReader(ctx, s); err != nil {
		return nil, nil, err // before a state folder is made for nothing
	} else {
		done()
	}
	options, err := v.signedOptions(s)
	if err != nil {
		return nil, nil, err
	}
	return v.openAs(ctx, s, options)
}

// producerError explains a failure to write into a queue, with what is to be typed on
// the owner's machine.
func producerError(err error, producer, did string) error {
	hint := "on the owner's machine: agentsync command bind-producer " + firstOf(producer, "NAME") + " " + did
	switch {
	case errors.Is(err, publish.ErrCommandExists):
		return &failure{exit: exitStopped, code: "command-exists", hint: "see what has the id: agentsync command ls --all", err: err}
	case errors.Is(err, publish.ErrNotProducer) && producer != "":
		return &failure{exit: exitStopped, code: "foreign-key", err: err,
			hint: "the queue takes the key that it was bound to alone; for another name, " + hint}
	case errors.Is(err, publish.ErrNotProducer):
		return foreignKey(did)
	case errors.Is(err, publish.ErrNoProducer):
		return &failure{exit: exitStopped, code: "no-such-producer", hint: hint, err: err}
	}
	return err
}

// foreignKey reports a key that may not send in the owner's name.
func foreignKey(did string) *failure {
	return &failure{exit: exitStopped, code: "foreign-key",
		message: "the store belongs to another key than that of this installation, " + did,
		hint:    "on the owner's machine: agentsync command bind-producer NAME " + did + "; then send with --producer NAME"}
}

func (v *invocation) bindProducerVerb() *urfave.Command {
	return &urfave.Command{
		Name:      "bind-producer",
		Category:  groupCommand,
		Usage:     "give a sender that is not the owner a queue of its own",
		ArgsUsage: "NAME DID",
		Description: "The queue takes only commands that the key DID has signed; agentsync status shows an installation's DID. Binding the " +
			"same key again changes nothing, and a queue is never bound to another one. Only the owner can bind.",
		UsageText: "agentsync command bind-producer ci did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK",
		Action:    action(2, 2, v.bindProducer),
	}
}

// producerObject is one queue in JSON.
type producerObject struct {
	Type     string `json:"message_type"`
	Producer string `json:"producer"` // "" for the owner's own
	DID      string `json:"did"`
	Time     string `json:"time,omitempty"`
}

func (v *invocation) bindProducer(ctx context.Context, c *urfave.Context) error {
	name, err := collect.SourceID(c.Args().Get(0))
	if err != nil {
		return usageError(c.Command.HelpName+" --help", "the producer's name: %w", err)
	}
	did := c.Args().Get(1)
	if err := ledger.VerifyDID(did, nil, make([]byte, 64)); !errors.Is(err, ledger.ErrSignature) {
		return usageError("agentsync status, typed where the producer is, shows it", "the producer's key: %w", err)
	}
	s, err := v.settings()
	if err != nil {
		return err
	}
	target, done, err := v.openOwned(ctx, s)
	if err != nil {
		return err
	}
	defer done()
	now := v.env.Now()
	if err := target.BindProducer(ctx, name, did, now); err != nil {
		return producerError(fmt.Errorf("bind producer %s: %w", name, err), name, did)
	}
	if v.out.asJSON {
		return v.out.object(producerObject{"summary", name, did, now.UTC().Format(storedTime)})
	}
	return v.out.note("%s may send commands with --producer %s", did, name)
}

func (v *invocation) producersVerb() *urfave.Command {
	return &urfave.Command{
		Name:      "producers",
		Category:  groupCommand,
		Usage:     "list the queues and the key that each of them takes",
		UsageText: "agentsync command producers",
		Action:    action(0, 0, v.producers),
	}
}

// producersSummary ends the list of queues.
type producersSummary struct {
	Type      string `json:"message_type"`
	Producers int    `json:"producers"`
	Store     string `json:"store"`
}

func (v *invocation) producers(ctx context.Context, _ *urfave.Context) error {
	_, target, done, err := v.reading(ctx)
	if err != nil {
		return err
	}
	defer done()
	list, problems, err := target.Producers(ctx)
	if err != nil {
		return err
	}
	t := newTable(column{title: "PRODUCER"}, column{title: "BOUND"}, column{title: "KEY"})
	for _, p := range list {
		if v.out.asJSON {
			if err := v.out.object(producerObject{"producer", p.Name, p.DID, p.Time}); err != nil {
				return err
			}
			continue
		}
		t.row(firstOf(p.Name, "(owner)"), timeText(&p.Time), p.DID)
	}
	if err := v.out.table(t); err != nil {
		return err
	}
	for _, p := range problems {
		v.out.problem(&failure{exit: exitPartial, code: p.Code, path: p.Path, message: withPath(p.Message, p.Path)})
	}
	if v.out.asJSON {
		if err := v.out.object(producersSummary{"summary", len(list), target.Store.Location()}); err != nil {
			return err
		}
	}
	return v.out.partial()
}

// ownDID is the name of this installation's key, "" when there is none yet.
func ownDID(folder string) (string, error) {
	if _, err := durable.OS().Lstat(folder); folder == "" || errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	state, err := ledger.OpenState(durable.OS(), folder)
	if err != nil {
		return "", err
	}
	identity, err := ledger.ReadIdentity(state)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return identity.DID(), nil
}
