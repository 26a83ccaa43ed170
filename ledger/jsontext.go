package ledger

import (
	"agentsync/collect/value"
)

// appendJSON writes a captured JSON value with its members in the order they came, as
// ECMAScript's JSON.stringify does: without blanks, or, where margin starts with a line
// end, indented by two spaces more than margin.
func appendJSON(dst []byte, v value.Value, margin string) []byte {
	switch v.Kind() {
	case value.Array:
		return appendArray(dst, v, margin)
	case value.Record:
		return appendRecord(dst, v, margin)
	case value.String:
		return value.AppendString(dst, v.Text())
	case value.Number:
		return appendNumber(dst, v)
	case value.True:
		return append(dst, "true"...)
	case value.False:
		return append(dst, "false"...)
	}
	return append(dst, "null"...) // nothing else is in a JSON text
}

func appendNumber(dst []byte, v value.Value) []byte {
	switch f := v.Float(); {
	case f-f != 0:
		return append(dst, "null"...)
	case f == 0:
		return append(dst, '0')
	}
	return value.AppendText(dst, v)
}

func appendArray(dst []byte, v value.Value, margin string) []byte {
	inner := deeper(margin)
	dst = append(dst, '[')
	first := true
	for element := range v.Elements() {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = appendJSON(append(dst, inner...), element, inner)
	}
	return closing(dst, ']', margin, first)
}

func appendRecord(dst []byte, v value.Value, margin string) []byte {
	inner := deeper(margin)
	dst = append(dst, '{')
	first := true
	for key, member := range v.Members() {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = value.AppendString(append(dst, inner...), key)
		dst = append(dst, ':')
		if margin != "" {
			dst = append(dst, ' ')
		}
		dst = appendJSON(dst, member, inner)
	}
	return closing(dst, '}', margin, first)
}

func deeper(margin string) string {
	if margin == "" {
		return ""
	}
	return margin + "  "
}

func closing(dst []byte, bracket byte, margin string, empty bool) []byte {
	if !empty {
		dst = append(dst, margin...)
	}
	return append(dst, bracket)
}
