package document

import (
	"bytes"
	"encoding/base64"

	"agentsync/collect/value"
	"agentsync/hashgraph/digest"
)

// Head is one state of a named root. It is the only thing that moves: putting
// head n+1 is the swap.
type Head struct {
	Name         string
	Generation   int64
	Nonce        string // random, tells one's own put from another's
	Previous     string // sha256: of the head before, "" for the first
	Writer       string // did:key whose signature it carries
	Installation string
	Root         Link        // in a pack; zero where List stands instead
	List         value.Value // a small root that lies in the head itself
	Time         string
	Signature    []byte
}

// Signed returns the bytes that the signature covers.
func (h *Head) Signed() []byte {
	return value.AppendText([]byte(value.Prefix), h.build(false))
}

// Text renders the head with its signature: plain JSON and a newline.
func (h *Head) Text() []byte {
	return append(value.AppendText(nil, h.build(true)), '\n')
}

func (h *Head) build(signature bool) value.Value {
	b := value.NewBuilder().Record().Key("schema").String(SchemaHead).Key("name").String(h.Name)
	b.Key("generation").Int(h.Generation).Key("nonce").String(h.Nonce)
	given(b, "previous", h.Previous)
	b.Key("writer").String(h.Writer).Key("installation").String(h.Installation)
	if h.Root.IsZero() {
		b.Key("list").Value(h.List)
	} else {
		b.Key("root").Record().Key("pack").String(h.Root.Pack.Name.Hex()).
			Key("offset").Int(h.Root.Offset).Key("length").Int(h.Root.Length).End()
	}
	b.Key("time").String(h.Time)
	if signature {
		b.Key("signature").String(base64.RawURLEncoding.EncodeToString(h.Signature))
	}
	return b.End().Finish()
}

// ParseHead reads a head, which has one spelling only: that of Text. The signature is
// decoded, not checked.
func ParseHead(doc []byte, known *Packs) (*Head, error) {
	r, err := open(append([]byte(value.Prefix), bytes.TrimSuffix(doc, []byte("\n"))...), SchemaHead)
	if err != nil {
		return nil, err
	}
	h := &Head{Name: r.str("name"), Generation: r.count("generation"), Nonce: r.str("nonce"),
		Writer: r.str("writer"), Installation: r.str("installation"), Time: r.str("time")}
	if p := r.optional("previous"); p != nil {
		h.Previous = *p
	}
	if list, found := r.v.Get("list"); found && list.Kind() == value.Record {
		h.List = list
	} else {
		h.Root = r.packPlace("root", known)
	}
	h.Signature = r.signature()
	if r.err == nil && !bytes.Equal(h.Text(), doc) {
		r.fail("text", "is not spelled as a head is")
	}
	return h, r.err
}

// signature reads a signature, in its only spelling.
func (r *reader) signature() []byte {
	decoded, err := base64.RawURLEncoding.Strict().DecodeString(r.str("signature"))
	if err != nil {
		r.fail("signature", "is no base64url")
	}
	return decoded
}

// packPlace reads where a document lies.
func (r *reader) packPlace(field string, known *Packs) Link {
	at := r.sub(r.get(field))
	name, err := digest.Parse(at.str("pack"))
	if err != nil {
		r.fail(field, err.Error())
	}
	l := Link{known.Of(name), at.count("offset"), at.count("length")}
	if r.err == nil {
		r.err = at.err
	}
	return l
}

// Format is what makes a folder or a bucket a store.
type Format struct {
	Version   int
	SpaceDID  string
	OwnerDID  string
	Created   string
	Signature []byte // of the owner
}

// FormatVersion is the version this program writes and the only one it reads.
const FormatVersion = 1

// Signed returns the bytes that the signature covers.
func (f *Format) Signed() []byte {
	return value.AppendText([]byte(value.Prefix), f.build(false))
}

// Text renders format.json with its signature: plain JSON and a newline.
func (f *Format) Text() []byte {
	return append(value.AppendText(nil, f.build(true)), '\n')
}

func (f *Format) build(signature bool) value.Value {
	b := value.NewBuilder().Record().Key("schema").String(SchemaFormat).Key("version").Int(int64(f.Version))
	b.Key("spaceDid").String(f.SpaceDID).Key("ownerDid").String(f.OwnerDID).Key("created").String(f.Created)
	if signature {
		b.Key("signature").String(base64.RawURLEncoding.EncodeToString(f.Signature))
	}
	return b.End().Finish()
}

// ParseFormat reads format.json. The signature is decoded, not checked, and may be
// missing: what another version has instead is not known here.
func ParseFormat(doc []byte) (*Format, error) {
	r, err := open(append([]byte(value.Prefix), bytes.TrimSpace(doc)...), SchemaFormat)
	if err != nil {
		return nil, err
	}
	f := &Format{Version: int(r.count("version")), SpaceDID: r.str("spaceDid"), OwnerDID: r.str("ownerDid"), Created: r.str("created")}
	if text := r.optional("signature"); text != nil {
		if f.Signature, err = base64.RawURLEncoding.Strict().DecodeString(*text); err != nil {
			r.fail("signature", "is no base64url")
		}
	}
	return f, r.err
}
