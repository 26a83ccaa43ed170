package ledger

import (
	"agentsync/collect"
	"agentsync/collect/value"
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
	return Command{}, &InvalidCommandError{"schema", "is not read yet"}
}

// Value renders the command as a record, the form that is queued.
func (c Command) Value() value.Value { return value.Value{} }

// PromptInput returns the payload of a prompt; an *InvalidCommandError when it is none.
func (c Command) PromptInput() (collect.PromptInput, error) { return collect.PromptInput{}, nil }

// StartInput returns the payload of a start; an *InvalidCommandError when it is none.
func (c Command) StartInput() (collect.StartInput, error) { return collect.StartInput{}, nil }

// Title returns the payload of a rename; an *InvalidCommandError when it is none.
func (c Command) Title() (string, error) { return "", nil }

// Mode returns the payload of a set-mode; an *InvalidCommandError when it is none.
func (c Command) Mode() (string, error) { return "", nil }

// Option returns the payload of a set-config-option; an *InvalidCommandError when it is none.
func (c Command) Option() (key string, v value.Value, err error) { return "", value.Value{}, nil }
