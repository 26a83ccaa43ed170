package cli

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"agentsync/collect"
	"agentsync/collect/value"
	"agentsync/ledger"
	"agentsync/publish"
	"agentsync/publish/document"
)

// sendable is one type of command as it is typed.
type sendable struct {
	kind        ledger.CommandType
	usage, args string
	description string
	example     string
	least, most int // arguments
	flags       []urfave.Flag
	payload     func(*invocation, *urfave.Context) (value.Value, error)
}

// sendables are the types of commands, in the order of the help.
var sendables = []sendable{
	{kind: ledger.Prompt, usage: "send a prompt to a session", args: "KEY [TEXT|-]", least: 1, most: 2,
		description: textSources,
		example:     "agentsync command send prompt claude/0f3c9a1b 'Run the tests again'\ngit diff | agentsync command send prompt 0f3c -",
		flags:       []urfave.Flag{fileFlag()}, payload: (*invocation).promptPayload},
	{kind: ledger.Start, usage: "start a session", args: "SOURCE [TEXT|-]", least: 1, most: 2,
		description: textSources + " Some agents choose the session's id themselves; the receipt's result tells it then.",
		example:     "agentsync command send start claude 'Look for flaky tests' --cwd /home/dev/app --title flaky",
		flags: []urfave.Flag{fileFlag(),
			&urfave.StringFlag{Name: "session-id", DefaultText: "made up", Usage: "the new session's id, a `UUID`; with --id it is made from that"},
			&urfave.StringFlag{Name: "cwd", Usage: "start it in the folder `DIR` of the machine that runs it; a relative one is below this folder"},
			&urfave.StringFlag{Name: "title", Usage: "give it the title `TITLE`"},
			&urfave.StringFlag{Name: "mode", Usage: "start it in the mode `MODE`"}},
		payload: (*invocation).startPayload},
	{kind: ledger.Cancel, usage: "interrupt what a drain is running in a session", args: "KEY", least: 1, most: 1,
		description: "It overtakes the session's other commands. It reaches only prompts and starts that a drain is running; one that a person " +
			"typed into the agent is not touched.",
		example: "agentsync command send cancel claude/0f3c9a1b", payload: (*invocation).cancelPayload},
	{kind: ledger.Rename, usage: "give a session another title", args: "KEY TITLE", least: 2, most: 2,
		example: "agentsync command send rename 0f3c 'Parser, second try'", payload: (*invocation).renamePayload},
	{kind: ledger.SetMode, usage: "set a session's mode for later prompts", args: "KEY MODE", least: 2, most: 2,
		example: "agentsync command send set-mode claude/0f3c9a1b plan", payload: (*invocation).modePayload},
	{kind: ledger.SetConfigOption, usage: "set an option of a session for later prompts", args: "KEY OPTION VALUE", least: 3, most: 3,
		description: "VALUE is taken as JSON when it is true, false, a number or a text in double quotes, and as plain text otherwise. " +
			"--string takes it as text whatever it looks like, --json-value as any JSON.",
		example: "agentsync command send set-config-option claude/0f3c model opus\nagentsync command send set-config-option acp/s1 web true",
		flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "string", Usage: "VALUE is text"},
			&urfave.BoolFlag{Name: "json-value", Usage: "VALUE is JSON"}},
		payload: (*invocation).optionPayload},
}

const textSources = "The text is the argument, or the file --file names, or standard input, for - and when it is no terminal."

func fileFlag() urfave.Flag {
	return &urfave.StringFlag{Name: "file", Usage: "read the text from `FILE`"}
}

func (v *invocation) sendVerb() *urfave.Command {
	verb := &urfave.Command{
		Name:     "send",
		Category: groupCommand,
		Usage:    "queue a command",
		Description: "Prints the command's id. Sending the same command under the same id again changes nothing, so a sender that does not " +
			"know whether it got through repeats it with --id.",
	}
	for _, one := range sendables {
		verb.Subcommands = append(verb.Subcommands, v.sendableVerb(one))
	}
	return verb
}

func (v *invocation) sendableVerb(one sendable) *urfave.Command {
	return &urfave.Command{
		Name:        string(one.kind),
		Category:    groupCommand,
		Usage:       one.usage,
		ArgsUsage:   one.args,
		Description: one.description,
		UsageText:   one.example,
		Flags: append(slices.Clone(one.flags),
			&urfave.StringFlag{Name: "id", DefaultText: "made up", Usage: "the command's `ID`, which its queue must not have used for another one"},
			producerFlag(),
			&urfave.BoolFlag{Name: "force", Usage: "go ahead where it would be refused: a start outside of its source's folders, and where the agent's driver would hesitate"},
			&urfave.StringFlag{Name: "requested-by", Usage: "say who asked for it, `NAME`"},
			&urfave.BoolFlag{Name: "unchecked", Usage: "send it even if the session or source is not published"},
			&urfave.BoolFlag{Name: "dry-run", Usage: "check it and send nothing"},
		),
		// What follows too many arguments may be text that nobody else is to see.
		Action: action(one.least, -1, func(ctx context.Context, c *urfave.Context) error {
			if c.NArg() > one.most {
				return usageError("put what belongs together in quotes", "%s takes %s and nothing more", c.Command.HelpName, one.args)
			}
			return v.send(ctx, c, one)
		}),
	}
}

// sentSummary is a command that was queued. It holds no payload.
type sentSummary struct {
	Type      string `json:"message_type"`
	ID        string `json:"id"`
	Producer  string `json:"producer"` // "" for the owner's own queue
	Command   string `json:"command"`
	Key       string `json:"key"`
	Source    string `json:"source"`
	Session   string `json:"session"`
	CreatedAt string `json:"created_at"`
	OwnerDID  string `json:"owner_did"`
	Signer    string `json:"signer"`
	Store     string `json:"store"`
	DryRun    bool   `json:"dry_run"`
}

func (v *invocation) send(ctx context.Context, c *urfave.Context, one sendable) error {
	producer, err := producerName(c)
	if err != nil {
		return err
	}
	command, err := v.newCommand(c, one)
	if err != nil {
		return err
	}
	s, err := v.settings()
	if err != nil {
		return err
	}
	target, done, err := v.openReader(ctx, s)
	if err != nil {
		return err
	}
	defer done()
	if err := address(ctx, target, c, &command); err != nil {
		return err
	}
	if command, err = checkedCommand(command, target.OwnerDID()); err != nil {
		return err
	}
	signer, err := v.openSigner(s, c.Bool("dry-run"))
	if err != nil {
		return err
	}
	if producer == "" && signer.DID() != target.OwnerDID() {
		return foreignKey(signer.DID(), &command)
	}
	if producer == "" && command.Type == ledger.Start && !command.Force && !c.Bool("unchecked") {
		if err := checkPlace(ctx, target, s, command); err != nil {
			return err
		}
	}
	if !c.Bool("dry-run") {
		sent, err := target.Send(ctx, producer, signer, command)
		if err != nil {
			return producerError(fmt.Errorf("send command %s: %w", command.ID, err), producer, signer.DID(), &command)
		}
		command = sent // which was queued earlier when this one repeats it
	}
	key, _ := collect.SessionKey(command.SourceID, command.NativeSessionID) // checked with the command
	return v.showSent(sentSummary{"summary", command.ID, producer, string(command.Type), key, command.SourceID, command.NativeSessionID,
		command.CreatedAt, command.OwnerDID, signer.DID(), target.Store.Location(), c.Bool("dry-run")})
}

func (v *invocation) showSent(s sentSummary) error {
	if v.out.asJSON {
		return v.out.object(s)
	}
	if s.DryRun {
		return v.out.note("%s for %s is in order; dry run, nothing was sent", s.Command, s.Key)
	}
	if err := v.out.line("%s", s.ID); err != nil {
		return err
	}
	v.inform("%s for %s is queued in %s; what becomes of it: agentsync receipts %s", s.Command, s.Key, s.Store, s.ID)
	return nil
}

// newCommand is the command that was typed, without a session yet.
func (v *invocation) newCommand(c *urfave.Context, one sendable) (ledger.Command, error) {
	payload, err := one.payload(v, c)
	if err != nil {
		return ledger.Command{}, err
	}
	id := c.String("id")
	if id == "" && c.IsSet("id") {
		return ledger.Command{}, usageError("leave --id out; it is made up then", "the command's id is empty")
	}
	if id == "" {
		if id, err = newUUID(); err != nil {
			return ledger.Command{}, err
		}
	}
	return ledger.Command{ID: id, CreatedAt: v.env.Now().UTC().Format(storedTime), Type: one.kind, Payload: payload,
		Force: c.Bool("force"), RequestedBy: c.String("requested-by")}, nil
}

// newUUID draws a random UUID (RFC 9562, version 4).
func newUUID() (string, error) {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return "", fmt.Errorf("make up an id: %w", err)
	}
	return formatUUID(b, 4), nil
}

// namedUUID makes the UUID that belongs to some texts (RFC 9562, version 8), so that a start
// that is sent again under its id starts the same session.
func namedUUID(texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return formatUUID([16]byte(sum[:16]), 8)
}

func formatUUID(b [16]byte, version byte) string {
	b[6], b[8] = b[6]&0x0f|version<<4, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// checkedCommand passes a command through the rules by which a drain reads it.
func checkedCommand(command ledger.Command, ownerDID string) (ledger.Command, error) {
	command.OwnerDID = ownerDID
	parsed, err := ledger.ParseCommand(command.Value(), ownerDID)
	if err == nil {
		err = checkPayload(parsed)
	}
	var invalid *ledger.InvalidCommandError
	if errors.As(err, &invalid) {
		return parsed, usageError("agentsync command send "+string(command.Type)+" --help", "%w", err)
	}
	return parsed, err
}

func checkPayload(command ledger.Command) (err error) {
	switch command.Type {
	case ledger.Prompt:
		_, err = command.PromptInput()
	case ledger.Start:
		_, err = command.StartInput()
	case ledger.Rename:
		_, err = command.Title()
	case ledger.SetMode:
		_, err = command.Mode()
	case ledger.SetConfigOption:
		_, _, err = command.Option()
	}
	return err
}

// address gives a command its session: the published one that was typed, or the new
// one of a start.
func address(ctx context.Context, target *publish.Target, c *urfave.Context, command *ledger.Command) error {
	typed := c.Args().First()
	if command.Type == ledger.Start {
		return addressStart(ctx, target, c, command, typed)
	}
	if c.Bool("unchecked") {
		var err error
		if command.SourceID, command.NativeSessionID, err = collect.ParseKey(typed); err != nil {
			return usageError("the whole key: SOURCE/ID", "with --unchecked: %w", err)
		}
		return nil
	}
	view, err := target.View(ctx)
	if err != nil {
		return err
	}
	row, err := oneRow(view, typed)
	var unknown *failure
	if errors.As(err, &unknown) && unknown.code == "no-such-session" {
		unknown.hint = "see them all: agentsync ls --all; to send it all the same, the whole key and --unchecked"
	}
	if err != nil {
		return err
	}
	if row.Status == document.StatusDeleted {
		return &failure{exit: exitFailed, code: "session-deleted", session: row.Key, message: row.Key + " is gone from its agent",
			hint: "bring it back on its machine: agentsync restore " + row.Key}
	}
	command.SourceID, command.NativeSessionID = row.SourceID, row.NativeSessionID
	return checkOffered(view.Root().Sources, *command)
}

// addressStart gives a start its source and the new session's id.
func addressStart(ctx context.Context, target *publish.Target, c *urfave.Context, command *ledger.Command, typed string) (err error) {
	if command.SourceID, err = collect.SourceID(typed); err != nil {
		return usageError(c.Command.HelpName+" --help", "the source: %w", err)
	}
	command.NativeSessionID = c.String("session-id")
	switch {
	case command.NativeSessionID != "":
	case c.IsSet("id"):
		command.NativeSessionID = namedUUID("start", target.OwnerDID(), c.String("producer"), command.ID, command.SourceID)
	default:
		if command.NativeSessionID, err = newUUID(); err != nil {
			return err
		}
	}
	if c.Bool("unchecked") {
		return nil
	}
	view, err := target.View(ctx)
	if err != nil {
		return err
	}
	var known []string
	for _, source := range view.Root().Sources {
		known = append(known, source.ID)
	}
	if slices.Contains(known, command.SourceID) {
		return checkOffered(view.Root().Sources, *command)
	}
	return &failure{exit: exitFailed, code: "no-such-source", source: command.SourceID, message: "no source " + command.SourceID + " is published",
		hint: "the sources are: " + joined(known) + "; to send it all the same: --unchecked"}
}
