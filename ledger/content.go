package ledger

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"agentsync/collect/value"
)

const (
	commandsSchema  = "commonfabric.agent-connector.command-ledger"
	commandsVersion = 1
	maxCommands     = 1 << 30 // bytes of the file
)

// content is what the file says.
type content struct {
	generation uint64
	archived   int64 // bytes of the archive that hold what this content left out; negative when it does not say
	entries    map[string]*entry
	order      []string // the keys of entries, by their bytes
	others     []byte   // fields of others, as they stand in the file, each with a comma before it
}

// entry is one receipt of the file. It is never changed.
type entry struct {
	receipt   Receipt
	text      []byte // key and receipt as they stand in the file
	pending   bool   // awaits publication
	published bool   // some receipt of the command has been published while the ledger was open
}

func (e *entry) settled() bool { return e.receipt.Status.Terminal() && !e.pending }

// says reports that the entry's receipt is just this one.
func (e *entry) says(r Receipt) bool {
	return bytes.Equal(appendJSON(nil, e.receipt.Value(), ""), appendJSON(nil, r.Value(), ""))
}

// newEntry returns the entry of a receipt that awaits publication, made of what a reader
// of the file will find.
func newEntry(r Receipt) (*entry, error) {
	record := r.Value()
	valid, err := ParseReceipt(record)
	if err != nil {
		return nil, err
	}
	return &entry{receipt: valid, text: entryText(valid.CommandID.Key(), record), pending: true}, nil
}

func entryText(key string, record value.Value) []byte {
	text := value.AppendString([]byte("\n    "), key)
	return appendJSON(append(text, ": "...), record, "\n    ")
}

func sortedKeys(entries map[string]*entry) []string {
	return slices.Sorted(maps.Keys(entries))
}

// encode returns the text of the file, in the memory of an earlier one. Keys are sorted
// by their bytes: the order carries no meaning, and that of a locale would change with
// its tables.
func (c content) encode(memory []byte, get func(key string) *entry) ([]byte, error) {
	size := 512 + len(c.others)
	entries := make([]*entry, len(c.order))
	for i, key := range c.order {
		entries[i] = get(key)
		size += len(entries[i].text) + len(key) + 16
	}
	text := append(slices.Grow(memory[:0], size), "{\n  \"schema\": \""+commandsSchema+"\",\n  \"generation\": "...)
	text = strconv.AppendUint(text, c.generation, 10)
	text = append(text, ",\n  \"receipts\": {"...)
	for i, one := range entries {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, one.text...)
	}
	text = closing(text, '}', "\n  ", len(entries) == 0)
	text = append(text, ",\n  \"pendingPublicationCommandIds\": ["...)
	none := true
	for i, one := range entries {
		if !one.pending {
			continue
		}
		if !none {
			text = append(text, ',')
		}
		none = false
		text = value.AppendString(append(text, "\n    "...), c.order[i])
	}
	text = closing(text, ']', "\n  ", none)
	if c.archived >= 0 {
		text = strconv.AppendInt(append(text, ",\n  \"archivedBytes\": "...), c.archived, 10)
	}
	text = append(append(text, c.others...), "\n}\n"...)
	if len(text) > maxCommands {
		return text, fmt.Errorf("the ledger would take %d bytes, more than the %d allowed", len(text), maxCommands)
	}
	return text, nil
}

// parseContent reads the file at path: a *VersionError for a newer format, a
// *CorruptError for whatever is not of this one.
func parseContent(path string, text []byte) (content, error) {
	damaged := func(field, reason string) (content, error) {
		return content{}, &CorruptError{Path: path, Field: field, Err: errors.New(reason)}
	}
	captured, err := new(value.Tape).Capture(text)
	if err != nil {
		return content{}, &CorruptError{Path: path, Field: "content", Err: err}
	}
	root := captured.Value
	if !says(root, "schema", commandsSchema) {
		return damaged("schema", "is not that of a ledger of commands")
	}
	if v, found := root.Get("version"); found {
		version, ok := v.Integer()
		if !ok || version < 1 {
			return damaged("version", "is no number above 0")
		}
		if err := checkVersion(path, uint64(version), commandsVersion); err != nil {
			return content{}, err
		}
	}
	c := content{archived: -1}
	if n, ok := root.Path("generation").Integer(); ok && n >= 0 && n <= maxGeneration {
		c.generation = uint64(n)
	} else {
		return damaged("generation", "is no whole number from 0 to 2^53-1")
	}
	if v, found := root.Get("archivedBytes"); found {
		var ok bool
		if c.archived, ok = v.Integer(); !ok || c.archived < 0 {
			return damaged("archivedBytes", "is no whole number")
		}
	}
	if err := c.readEntries(path, root.Path("receipts"), root.Path("pendingPublicationCommandIds")); err != nil {
		return content{}, err
	}
	c.others = otherFields(root)
	return c, nil
}

// readEntries reads the receipts and the marks of those that await publication.
func (c *content) readEntries(path string, receipts, pending value.Value) error {
	if receipts.Kind() != value.Record {
		return &CorruptError{Path: path, Field: "receipts", Err: errors.New("is no record")}
	}
	c.entries = make(map[string]*entry, receipts.Len())
	for name, record := range receipts.Members() {
		key := string(name)
		receipt, err := ParseReceipt(record)
		var corrupt *CorruptError
		if errors.As(err, &corrupt) {
			return &CorruptError{Path: path, Field: fmt.Sprintf("receipts[%.80q].%s", key, corrupt.Field), Err: corrupt.Err}
		}
		if receipt.CommandID.Key() != key {
			return &CorruptError{Path: path, Field: fmt.Sprintf("receipts[%.80q]", key), Err: errors.New("is the receipt of another command")}
		}
		c.entries[key] = &entry{receipt: receipt, text: entryText(key, record)}
	}
	c.order = sortedKeys(c.entries)
	if pending.Kind() != value.Array {
		return &CorruptError{Path: path, Field: "pendingPublicationCommandIds", Err: errors.New("is no array")}
	}
	for mark := range pending.Elements() {
		marked := c.entries[mark.Str()]
		if mark.Kind() != value.String || marked == nil || marked.pending {
			return &CorruptError{Path: path, Field: "pendingPublicationCommandIds", Err: errors.New("names what is no receipt, or one twice")}
		}
		marked.pending = true
	}
	return nil
}

// otherFields returns the text of the fields that this version does not know.
func otherFields(root value.Value) []byte {
	var text []byte
	for key, member := range root.Members() {
		switch string(key) {
		case "schema", "generation", "receipts", "pendingPublicationCommandIds", "archivedBytes":
			continue
		}
		text = value.AppendString(append(text, ",\n  "...), key)
		text = appendJSON(append(text, ": "...), member, "\n  ")
	}
	return text
}
