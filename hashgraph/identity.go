package hashgraph

import (
	"math"

	"agentsync/collect/value"
)

// The fields that identify an array's element, in the order they are tried (spec 5.4
// step 2): the first of the leading ones, else the pair, else the first of the others.
const (
	fieldKey = iota
	fieldID
	fieldUUID
	fieldCommandID
	fieldMessageID
	fieldToolCallID
	fieldToolUseID
	leading // fields before this one win over the pair

	fieldNativeSessionID = iota - 1
	fieldSessionID
	fieldPart
	fieldContentHash
	fieldSourceID // never identifies alone
	fieldCount
)

var fieldNames = [fieldCount]string{
	"key", "id", "uuid", "commandId", "messageId", "toolCallId", "toolUseId",
	"nativeSessionId", "sessionId", "part", "contentHash", "sourceId",
}

func fieldOf(key []byte) int {
	switch string(key) {
	case "key":
		return fieldKey
	case "id":
		return fieldID
	case "uuid":
		return fieldUUID
	case "commandId":
		return fieldCommandID
	case "messageId":
		return fieldMessageID
	case "toolCallId":
		return fieldToolCallID
	case "toolUseId":
		return fieldToolUseID
	case "nativeSessionId":
		return fieldNativeSessionID
	case "sessionId":
		return fieldSessionID
	case "part":
		return fieldPart
	case "contentHash":
		return fieldContentHash
	case "sourceId":
		return fieldSourceID
	}
	return -1
}

// identity is how an element is told from the others of its array.
type identity struct {
	field    int         // -1: by its content
	value    value.Value // of that field
	sourceID value.Value // with field nativeSessionId: the other half of the pair, if there is one
}

// identify chooses an element's identity by its own fields.
func identify(v value.Value) identity {
	if v.Kind() != value.Record || isLink(v) {
		return identity{field: -1}
	}
	best, bestAt := fieldCount, value.Value{}
	var native, source value.Value
	f := v.Fields()
	for i := range f.Len() {
		field := fieldOf(f.Key(i))
		if field < 0 || !usable(f.Value(i)) {
			continue
		}
		switch field {
		case fieldNativeSessionID:
			native = f.Value(i)
		case fieldSourceID:
			source = f.Value(i)
			continue
		}
		if field < best {
			best, bestAt = field, f.Value(i)
		}
	}
	switch {
	case best < leading:
		return identity{field: best, value: bestAt}
	case native.Kind() != value.Invalid && source.Kind() != value.Invalid:
		return identity{fieldNativeSessionID, native, source}
	case best < fieldCount:
		return identity{field: best, value: bestAt}
	}
	return identity{field: -1}
}

// usable reports a non-empty string or a finite number.
func usable(v value.Value) bool {
	switch v.Kind() {
	case value.String:
		return len(v.Text()) > 0
	case value.Number:
		return !math.IsNaN(v.Float()) && !math.IsInf(v.Float(), 0)
	}
	return false
}

// isNegativeZero reports the number that is told from zero by hashes, not by identities.
func isNegativeZero(v value.Value) bool {
	return v.Kind() == value.Number && v.Float() == 0 && math.Signbit(v.Float())
}

// pair reports an identity of two fields.
func (id identity) pair() bool { return id.sourceID.Kind() != value.Invalid }

// signed reports an identity in which a -0 counts as 0 when identities are compared.
func (id identity) signed() bool {
	return isNegativeZero(id.value) || isNegativeZero(id.sourceID)
}
