package ledger

import (
	"errors"
	"strings"
	"unicode"

	"agentsync/collect"
	"agentsync/collect/value"
)

// fields reads the fields of one record and remembers the first problem.
type fields struct {
	record  value.Value
	at      string // what stands before a field's name in a problem
	problem *InvalidCommandError
}

func (f *fields) refuse(field, reason string) {
	if f.problem == nil {
		f.problem = &InvalidCommandError{f.at + field, reason}
	}
}

// present returns a field; one that is undefined counts as absent.
func (f *fields) present(field string) (value.Value, bool) {
	v, found := f.record.Get(field)
	return v, found && v.Kind() != value.Undefined
}

// limited returns a string within its limit, untrimmed.
func (f *fields) limited(field string, v value.Value, limit int) string {
	switch {
	case v.Kind() != value.String:
		f.refuse(field, "is no string")
	case units(v.Text()) > limit:
		f.refuse(field, "is too long")
	default:
		return v.Str()
	}
	return ""
}

// text returns a field that must be there, trimmed and not empty.
func (f *fields) text(field string, limit int) string {
	v, _ := f.present(field)
	text := trim(f.limited(field, v, limit))
	if text == "" {
		f.refuse(field, "is empty")
	}
	return text
}

// optional returns a field as text does, "" when it is absent.
func (f *fields) optional(field string, limit int) string {
	if _, found := f.present(field); !found {
		return ""
	}
	return f.text(field, limit)
}

// anyText returns a string of any length, trimmed, "" when it is absent.
func (f *fields) anyText(field string) string {
	v, found := f.present(field)
	if found && v.Kind() != value.String {
		f.refuse(field, "is no string")
	}
	return trim(v.Str())
}

// id returns a part of an identity in its canonical form.
func (f *fields) id(field string, limit int, canonical func(string) (string, error)) string {
	v, _ := f.present(field)
	id, err := canonical(f.limited(field, v, limit))
	if err != nil {
		f.refuse(field, identityReason(err))
	}
	return id
}

// word returns a string as it stands, "" for anything else.
func (f *fields) word(field string) string {
	v, _ := f.record.Get(field)
	if v.Kind() != value.String {
		return ""
	}
	return v.Str()
}

func (f *fields) flag(field string) bool {
	v, found := f.present(field)
	if found && v.Kind() != value.True && v.Kind() != value.False {
		f.refuse(field, "is no Boolean")
	}
	return v.IsTrue()
}

// detached returns a copy of a record that does not live on the tape of the others.
func (f *fields) detached(field string) value.Value {
	v, _ := f.present(field)
	if v.Kind() != value.Record {
		f.refuse(field, "is no record")
		return value.Value{}
	}
	return value.NewBuilder().Value(v).Finish()
}

// identityReason says why an id has no canonical form without quoting it.
func identityReason(err error) string {
	if errors.Is(err, collect.ErrEmpty) {
		return "is empty"
	}
	return "holds what no id may hold"
}

// units counts the UTF-16 units of a WTF-8 text: one for each character's first byte,
// and one more for a character beyond the basic plane.
func units(text []byte) int {
	n := 0
	for _, c := range text {
		if c&0xC0 != 0x80 {
			n++
		}
		if c >= 0xF0 {
			n++
		}
	}
	return n
}

// trim removes ECMAScript's white space from both ends.
func trim(text string) string {
	return strings.TrimFunc(text, func(r rune) bool {
		return unicode.IsSpace(r) && r != 0x85 || r == 0xFEFF
	})
}

// says reports that a field is just this string.
func says(record value.Value, field, text string) bool {
	v, _ := record.Get(field)
	return v.Kind() == value.String && string(v.Text()) == text
}
