package ledger

import (
	"bytes"

	"agentsync/collect"
	"agentsync/collect/value"
)

const commandSchema = "commonfabric.agent-connector.command"

// Limits of a command's texts, in UTF-16 units before trimming (spec 5.8).
const (
	maxID        = 256
	maxSourceID  = 256
	maxSessionID = 1024
	maxCreatedAt = 128
	maxPrompt    = 131072
	maxTitle     = 512
	maxMode      = 128
	maxOptionKey = 256
	maxCwd       = 4096
)

// CommandType is what a command asks for.
type CommandType string

// The types of commands (seed of the format: connector commands).
const (
	Prompt          CommandType = "prompt"
	Start           CommandType = "start"
	Cancel          CommandType = "cancel"
	Rename          CommandType = "rename"
	SetMode         CommandType = "set-mode"
	SetConfigOption CommandType = "set-config-option"
)

func (t CommandType) known() bool {
	switch t {
	case Prompt, Start, Cancel, Rename, SetMode, SetConfigOption:
		return true
	}
	return false
}

// CommandID names a command: an id within the queue that it came by.
type CommandID struct {
	Producer string // canonical source id of the queue's producer, "" for the owner's own queue
	ID       string
}

// Key is the id as the ledger's map has it: the producer, U+0000 and the id, or the id
// alone in the owner's queue (spec 5.2).
func (c CommandID) Key() string {
	if c.Producer == "" {
		return c.ID
	}
	return c.Producer + "\x00" + c.ID
}

// Command is one command as its producer sent it, validated and trimmed (spec 5.8).
type Command struct {
	OwnerDID        string
	ID              string
	CreatedAt       string // not interpreted
	SourceID        string // canonical
	NativeSessionID string
	Type            CommandType
	Payload         value.Value // a record; its fields are checked when the command runs
	Force           bool
	RequestedBy     string // "" for nobody in particular
}

// InvalidCommandError reports a queue element that is no command. It quotes no payload.
type InvalidCommandError struct {
	Field  string
	Reason string
}

func (e *InvalidCommandError) Error() string { return "command: " + e.Field + " " + e.Reason }

// ParseCommand reads one element of a queue: a record, or a string of JSON that is one.
// Limits count UTF-16 units before trimming (spec 5.8). Another owner's command, and
// whatever breaks a rule, is an *InvalidCommandError.
func ParseCommand(element value.Value, ownerDID string) (Command, error) {
	if element.Kind() == value.String {
		captured, err := new(value.Tape).Capture(element.Text())
		if err != nil {
			return Command{}, &InvalidCommandError{"element", "is a string but no JSON"}
		}
		element = captured.Value
	}
	if element.Kind() != value.Record {
		return Command{}, &InvalidCommandError{"element", "is no record"}
	}
	if !says(element, "schema", commandSchema) {
		return Command{}, &InvalidCommandError{"schema", "is not that of commands"}
	}
	if ownerDID == "" || !says(element, "ownerDid", ownerDID) {
		return Command{}, &InvalidCommandError{"ownerDid", "is not the owner's"}
	}
	f := fields{record: element}
	c := Command{
		OwnerDID:        ownerDID,
		ID:              f.id("id", maxID, collect.SessionID),
		CreatedAt:       f.text("createdAt", maxCreatedAt),
		SourceID:        f.id("sourceId", maxSourceID, collect.SourceID),
		NativeSessionID: f.id("nativeSessionId", maxSessionID, collect.SessionID),
		Type:            CommandType(f.word("type")),
		Payload:         f.detached("payload"),
		Force:           f.flag("force"),
		RequestedBy:     f.anyText("requestedBy"),
	}
	if !c.Type.known() {
		f.refuse("type", "is not known")
	}
	if f.problem != nil {
		return Command{}, f.problem
	}
	return c, nil
}

// Repeats reports a command that asks for the same as another one, under the same id: it
// may have been made at another time.
func (c Command) Repeats(other Command) bool {
	other.CreatedAt = c.CreatedAt
	return bytes.Equal(value.AppendText(nil, c.Value()), value.AppendText(nil, other.Value()))
}

// Value renders the command as a record, the form that is queued.
func (c Command) Value() value.Value {
	b := value.NewBuilder().Record()
	b.Key("schema").String(commandSchema)
	b.Key("ownerDid").String(c.OwnerDID)
	b.Key("id").String(c.ID)
	b.Key("createdAt").String(c.CreatedAt)
	b.Key("sourceId").String(c.SourceID)
	b.Key("nativeSessionId").String(c.NativeSessionID)
	b.Key("type").String(string(c.Type))
	b.Key("payload")
	if c.Payload.Kind() == value.Record {
		b.Value(c.Payload)
	} else {
		b.Record().End()
	}
	if c.Force {
		b.Key("force").Bool(true)
	}
	if c.RequestedBy != "" {
		b.Key("requestedBy").String(c.RequestedBy)
	}
	return b.End().Finish()
}
