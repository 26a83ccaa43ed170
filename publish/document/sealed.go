package document

import (
	"bytes"
	"encoding/base64"
	"errors"

	"agentsync/collect/value"
)

// ErrUnsigned reports a record without a signature where one must stand.
var ErrUnsigned = errors.New("is not signed")

// Sealed is a record that names its signer, and the signature that stands beside its
// fields. Commands, bindings of queues, claims and outcomes are sealed.
type Sealed struct {
	Schema    string
	Signer    string      // did:key, the record's field "signer"
	Record    value.Value // all fields but the signature
	Signature []byte
}

// Message returns the bytes that the signature covers: what is signed, the space and
// the queue (a producer, "" for the owner's), each on a line, then the record's canonical
// text. So no record counts in another store, in another queue, or as something else.
func (s *Sealed) Message(space, queue string) []byte {
	m := append([]byte(s.Schema), "\n"+space+"\n"+queue+"\n"+value.Prefix...)
	return value.AppendText(m, s.Record)
}

// Text renders the record with its signature: plain JSON and a newline.
func (s *Sealed) Text() []byte {
	b := value.NewBuilder().Record()
	copyFields(b, s.Record)
	b.Key("signature").String(base64.RawURLEncoding.EncodeToString(s.Signature))
	return append(value.AppendText(nil, b.End().Finish()), '\n')
}

// copyFields adds the fields of a record to an open one, its signature left out.
func copyFields(b *value.Builder, record value.Value) {
	for key, v := range record.Members() {
		if string(key) != "signature" {
			b.Key(string(key)).Value(v)
		}
	}
}

// ParseSealed reads a sealed record. The signature is decoded, not checked; without one
// the error is ErrUnsigned.
func ParseSealed(doc []byte, schema string) (*Sealed, error) {
	r, err := open(append([]byte(value.Prefix), bytes.TrimSuffix(doc, []byte("\n"))...), schema)
	if err != nil {
		return nil, err
	}
	if _, signed := r.v.Get("signature"); !signed {
		return nil, ErrUnsigned
	}
	s := &Sealed{Schema: schema, Signer: r.str("signer"), Signature: r.signature()}
	if r.err != nil {
		return nil, r.err
	}
	b := value.NewBuilder().Record()
	copyFields(b, r.v)
	s.Record = b.End().Finish()
	return s, nil
}

// reader takes typed fields out of the record.
func (s *Sealed) reader() *reader { return &reader{schema: s.Schema, v: s.Record} }
