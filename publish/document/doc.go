// Package document holds the schema of everything that is published: one struct
// and one strict parse for each, and the text that is written. Texts are fvj1.
//
// Two kinds live here. Fabric-level documents (chunk, manifest, pages of a long
// session) name each other by content only, so their bytes never depend on where
// they lie. Store-level documents (index pages, tables, roots) hold links.
// The package reads and writes no store.
package document

import (
	"bytes"
	"fmt"

	"agentsync/collect/value"
)

// Schema names. The first group is the connector's, the second agentsync's own.
const (
	SchemaChunk    = "commonfabric.agent-connector.session-chunk"
	SchemaManifest = "commonfabric.agent-connector.session"
	SchemaIndex    = "commonfabric.agent-connector.session-index"

	SchemaChunkPage  = "agentsync.session-chunks"
	SchemaTable      = "agentsync.session-table"
	SchemaRowPage    = "agentsync.index-rows"
	SchemaRecentPage = "agentsync.index-recent"
	SchemaNode       = "agentsync.index-node"
	SchemaHead       = "agentsync.head"
	SchemaFormat     = "agentsync.store"
)

// InvalidError reports stored data that is not what its schema says.
type InvalidError struct {
	Schema string
	Field  string
	Reason string
}

func (e *InvalidError) Error() string {
	return fmt.Sprintf("invalid %s document: field %q: %s", e.Schema, e.Field, e.Reason)
}

// text renders a built value as a document's text.
func text(b *value.Builder) []byte {
	return value.AppendText([]byte(value.Prefix), b.Finish())
}

// reader takes typed fields out of one record and remembers the first thing wrong.
type reader struct {
	schema string
	v      value.Value
	err    error
}

// open parses a text and checks its schema field.
func open(text []byte, schema string) (*reader, error) {
	v, err := value.Parse(text)
	if err != nil {
		return nil, &InvalidError{schema, "", err.Error()}
	}
	r := &reader{schema: schema, v: v}
	if got := r.str("schema"); r.err == nil && got != schema {
		r.fail("schema", fmt.Sprintf("is %.60q", got))
	}
	return r, r.err
}

// sub reads another record with the same error slot kept apart.
func (r *reader) sub(v value.Value) *reader { return &reader{schema: r.schema, v: v} }

func (r *reader) fail(field, reason string) {
	if r.err == nil {
		r.err = &InvalidError{r.schema, field, reason}
	}
}

func (r *reader) get(field string) value.Value {
	v, ok := r.v.Get(field)
	if !ok {
		r.fail(field, "is missing")
	}
	return v
}

func (r *reader) str(field string) string {
	v := r.get(field)
	if r.err == nil && v.Kind() != value.String {
		r.fail(field, "is no string")
	}
	return v.Str()
}

// optional returns nil for null or a missing field.
func (r *reader) optional(field string) *string {
	v, ok := r.v.Get(field)
	if !ok || v.Kind() == value.Null {
		return nil
	}
	s := r.str(field)
	return &s
}

func (r *reader) flag(field string) *bool {
	v, ok := r.v.Get(field)
	if !ok || v.Kind() == value.Null {
		return nil
	}
	if k := v.Kind(); k != value.True && k != value.False {
		r.fail(field, "is neither true nor false")
	}
	t := v.IsTrue()
	return &t
}

func (r *reader) boolean(field string) bool {
	f := r.flag(field)
	if f == nil {
		r.fail(field, "is missing")
		return false
	}
	return *f
}

// count reads a whole number from 0 to 2^53.
func (r *reader) count(field string) int64 {
	n, ok := r.get(field).Integer()
	if r.err == nil && (!ok || n < 0) {
		r.fail(field, "is no count")
	}
	return n
}

func (r *reader) list(field string) []value.Value {
	v := r.get(field)
	if r.err == nil && v.Kind() != value.Array {
		r.fail(field, "is no list")
		return nil
	}
	var out []value.Value
	for e := range v.Elements() {
		out = append(out, e)
	}
	return out
}

// number reads one whole number of a list.
func (r *reader) number(field string, v value.Value) int64 {
	n, ok := v.Integer()
	if !ok {
		r.fail(field, "holds no whole number")
	}
	return n
}

// nullable adds a string or null.
func nullable(b *value.Builder, key string, s *string) {
	b.Key(key)
	if s == nil {
		b.Null()
		return
	}
	b.String(*s)
}

func nullableFlag(b *value.Builder, key string, f *bool) {
	b.Key(key)
	if f == nil {
		b.Null()
		return
	}
	b.Bool(*f)
}

// KeyOf returns the session key that a frame's documents belong to; index pages and
// roots belong to none.
func KeyOf(text []byte) (string, bool) {
	text, _, _ = bytes.Cut(text, []byte{FrameBreak})
	v, err := value.Parse(text)
	if err != nil {
		return "", false
	}
	key, ok := v.Get("key")
	return key.Str(), ok && key.Kind() == value.String
}
