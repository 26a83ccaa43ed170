package acp

import (
	"bytes"
	"encoding/json"
)

// member finds a text member of a JSON record without reading on behind it: what matters
// of a message stands at its beginning, and the rest may be long. It returns "" where
// there is none, or none that is a text.
func member(record []byte, name string) string {
	d := json.NewDecoder(bytes.NewReader(record))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return ""
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return ""
		}
		if key == name {
			v, _ := d.Token()
			text, _ := v.(string)
			return text
		}
		if skip(d) != nil {
			return ""
		}
	}
	return ""
}

// skip reads one value.
func skip(d *json.Decoder) error {
	for depth := 0; ; {
		token, err := d.Token()
		if err != nil {
			return err
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
	}
}
