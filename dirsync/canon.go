package dirsync

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Canonical renders a document in the one form whose bytes are hashed: UTF-8, no
// spaces, keys by their bytes, only the escapes that JSON demands (cells spec 9.3). It
// takes what encoding/json takes; numbers must be integers.
func Canonical(document any) ([]byte, error) {
	text, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var plain any
	if err := decoder.Decode(&plain); err != nil {
		return nil, err
	}
	return appendCanonical(make([]byte, 0, len(text)), plain)
}

func appendCanonical(b []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return fmt.Appendf(b, "%t", v), nil
	case json.Number:
		if _, err := v.Int64(); err != nil {
			return nil, fmt.Errorf("%.40s is no integer", v)
		}
		return append(b, v...), nil
	case string:
		return AppendString(b, v), nil
	case []any:
		b = append(b, '[')
		for i, one := range v {
			if i > 0 {
				b = append(b, ',')
			}
			var err error
			if b, err = appendCanonical(b, one); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case map[string]any:
		return appendRecord(b, v)
	}
	return nil, fmt.Errorf("%T has no canonical form", v)
}

func appendRecord(b []byte, record map[string]any) ([]byte, error) {
	b = append(b, '{')
	for i, key := range slices.Sorted(maps.Keys(record)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(AppendString(b, key), ':')
		var err error
		if b, err = appendCanonical(b, record[key]); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// AppendString appends a JSON string with the shortest escapes, and no more of them
// than JSON demands.
func AppendString(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	start := 0
	for i := range len(s) {
		c := s[i]
		if c >= 0x20 && c != '"' && c != '\\' {
			continue
		}
		b = append(b, s[start:i]...)
		start = i + 1
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\b':
			b = append(b, '\\', 'b')
		case '\f':
			b = append(b, '\\', 'f')
		case '\n':
			b = append(b, '\\', 'n')
		case '\r':
			b = append(b, '\\', 'r')
		case '\t':
			b = append(b, '\\', 't')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(append(b, s[start:]...), '"')
}
