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
func producerError(err error, producer, did string, command *ledger.Command) error {
	var beyond *publish.BeyondError
	switch {
	case errors.As(err, &beyond):
		return &failure{exit: exitStopped, code: publish.CodeBeyond, err: err,
			hint: "what it may: agentsync command producers; a producer that may more has another name, " + bindHint("", did, command)}
	case errors.Is(err, publish.ErrBoundOtherwise):
		return &failure{exit: exitStopped, code: "bound-otherwise", err: err,
			hint: "what it may: agentsync command producers; a producer that may more has another name"}
	case errors.Is(err, publish.ErrCommandExists):
		return &failure{exit: exitStopped, code: "command-exists", hint: "see what has the id: agentsync command ls --all", err: err}
	case errors.Is(err, publish.ErrNotProducer) && producer != "":
		return &failure{exit: exitStopped, code: "foreign-key", err: err,
			hint: "the queue takes the key that it was bound to alone; for another name, " + bindHint("", did, command)}
	case errors.Is(err, publish.ErrNotProducer):
		return foreignKey(did, command)
	case errors.Is(err, publish.ErrNoProducer):
		return &failure{exit: exitStopped, code: "no-such-producer", hint: bindHint(producer, did, command), err: err}
	}
	return err
}

// foreignKey reports a key that may not send in the owner's name.
func foreignKey(did string, command *ledger.Command) *failure {
	return &failure{exit: exitStopped, code: "foreign-key",
		message: "the store belongs to another key than that of this installation, " + did,
		hint:    bindHint("", did, command) + "; then send with --producer NAME"}
}

func (v *invocation) bindProducerVerb() *urfave.Command {
	return &urfave.Command{
		Name:      "bind-producer",
		Category:  groupCommand,
		Usage:     "give a sender that is not the owner a queue of its own",
		ArgsUsage: "NAME DID",
		Description: "The queue takes only commands that the key DID has signed; agentsync status shows an installation's DID. It takes only " +
			"commands of the named sources and kinds, and a start only without a folder of its own or, with links and dots resolved, below " +
			"a named one; what goes beyond is refused. Binding the same key again with the same rights changes nothing, and a queue is never " +
			"bound to anything else. Only the owner can bind.",
		UsageText: "agentsync command bind-producer ci did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK --source claude --command prompt,cancel",
		Flags: []urfave.Flag{
			&urfave.StringSliceFlag{Name: "source", Usage: "it may send to the source `ID` (may be repeated)"},
			&urfave.StringSliceFlag{Name: "command", Usage: "it may send commands of the kind `KIND` (may be repeated)"},
			&urfave.StringSliceFlag{Name: "folder", Usage: "its starts may name the folder `DIR` or one below it (may be repeated)"},
		},
		Action: action(2, 2, v.bindProducer),
	}
}

// producerObject is one queue in JSON.
type producerObject struct {
	Type     string `json:"message_type"`
	Producer string `json:"producer"` // "" for the owner's own
	DID      string `json:"did"`
	Time     string `json:"time,omitempty"`
	// What it may; absent for the owner, who may all.
	Sources  []string `json:"sources,omitempty"`
	Commands []string `json:"commands,omitempty"`
	Folders  []string `json:"folders,omitempty"`
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
	rights, err := rightsTyped(v.env, c.StringSlice("source"), c.StringSlice("command"), c.StringSlice("folder"))
	if err != nil {
		return err
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
	if err := target.BindProducer(ctx, publish.Producer{Name: name, DID: did, Rights: rights}, now); err != nil {
		return producerError(fmt.Errorf("bind producer %s: %w", name, err), name, did, nil)
	}
	if v.out.asJSON {
		return v.out.object(producerObject{"summary", name, did, now.UTC().Format(storedTime), rights.Sources, rights.Commands, rights.Folders})
	}
	return v.out.note("%s may send commands with --producer %s", did, name)
}

func (v *invocation) producersVerb() *urfave.Command {
	return &urfave.Command{
		Name:      "producers",
		Category:  groupCommand,
		Usage:     "list the queues, the key that each of them takes, and what it may ask for",
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
	t := newTable(column{title: "PRODUCER"}, column{title: "BOUND"}, column{title: "SOURCES"}, column{title: "COMMANDS"}, column{title: "FOLDERS"}, column{title: "KEY"})
	for _, p := range list {
		if v.out.asJSON {
			if err := v.out.object(producerObject{"producer", p.Name, p.DID, p.Time, p.Sources, p.Commands, p.Folders}); err != nil {
				return err
			}
			continue
		}
		may := []string{"all", "all", "all"}
		if p.Name != "" {
			may = []string{joined(p.Sources), joined(p.Commands), joined(p.Folders)}
		}
		t.row(firstOf(p.Name, "(owner)"), timeText(&p.Time), may[0], may[1], may[2], p.DID)
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
