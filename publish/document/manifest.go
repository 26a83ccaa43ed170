package document

import (
	"agentsync/collect"
	"agentsync/collect/value"
	"agentsync/hashgraph/digest"
)

// PageRows is how many chunk descriptors make one settled page. What is left over
// stands in the manifest, so an append rewrites at most that many.
const PageRows = 128

// Descriptor is one chunk as its manifest names it.
type Descriptor struct {
	Part        int
	ByteLength  int64 // of the fvj1 text of the chunk's event list
	EventCount  int
	ContentHash digest.Digest
	// Start is where the chunk's first event stands in the session.
	Start collect.Position
	// Messages and Damaged count the normalized messages and the damaged events
	// before the chunk.
	Messages, Damaged int
	// Check is a fast fingerprint of the chunk document's text, raw bytes included.
	Check uint64
}

// Manifest is one state of a session. Its hash covers the logical manifest, in
// which all messages and chunk descriptors stand in one list each; the messages lie
// with their events in the chunks, and whole pages of descriptors elsewhere.
type Manifest struct {
	OwnerDID        string
	Key             string
	SourceID        string
	Driver          string
	NativeSessionID string
	Summary         value.Value // record; its raw member is the logical manifest's metadata
	Revision        *string
	ObservedAt      string
	Complete        bool
	SnapshotHash    digest.Digest
	ManifestHash    digest.Digest
	Damaged         int   // events that are not one sound line
	Size            int64 // bytes of all raws

	ChunkPages []uint64     // a fast fingerprint of each settled page's text, in order
	Chunks     []Descriptor // the rest
	Messages   int          // normalized messages in all chunks
	// Recent are the last of the messages, oldest first, at most RecentMost. No hash covers
	// them here; the chunks hold them too.
	Recent []value.Value
}

// RecentMost is how many of a session's last messages its manifest holds.
const RecentMost = 12

// ChunkCount counts all chunks.
func (m *Manifest) ChunkCount() int { return len(m.ChunkPages)*PageRows + len(m.Chunks) }

// Text renders the document.
func (m *Manifest) Text() []byte {
	b := value.NewBuilder().Record()
	b.Key("chunks").Record()
	fingerprints(b.Key("pages"), m.ChunkPages)
	b.Key("rest").Array()
	for i := range m.Chunks {
		m.Chunks[i].build(b)
	}
	b.End().End()
	b.Key("complete").Bool(m.Complete).Key("damaged").Int(int64(m.Damaged))
	b.Key("driver").String(m.Driver).Key("key").String(m.Key)
	b.Key("manifestHash").String(m.ManifestHash.String())
	b.Key("nativeSessionId").String(m.NativeSessionID)
	b.Key("messages").Int(int64(m.Messages))
	b.Key("observedAt").String(m.ObservedAt).Key("ownerDid").String(m.OwnerDID)
	b.Key("recent").Array()
	for _, v := range m.Recent {
		b.Value(v)
	}
	b.End()
	nullable(b, "revision", m.Revision)
	b.Key("schema").String(SchemaManifest).Key("size").Int(m.Size)
	b.Key("snapshotHash").String(m.SnapshotHash.String()).Key("sourceId").String(m.SourceID)
	b.Key("summary").Value(m.Summary)
	return text(b.End())
}

// ParseManifest reads a manifest document.
func ParseManifest(doc []byte) (*Manifest, error) {
	r, err := open(doc, SchemaManifest)
	if err != nil {
		return nil, err
	}
	m := &Manifest{
		OwnerDID: r.str("ownerDid"), Key: r.str("key"), SourceID: r.str("sourceId"),
		Driver: r.str("driver"), NativeSessionID: r.str("nativeSessionId"),
		Summary: r.get("summary"), Revision: r.optional("revision"),
		ObservedAt: r.str("observedAt"), Complete: r.boolean("complete"),
		SnapshotHash: r.digest("snapshotHash"), ManifestHash: r.digest("manifestHash"),
		Damaged: int(r.count("damaged")), Size: r.count("size"),
		Messages: int(r.count("messages")),
	}
	if m.Recent = r.list("recent"); len(m.Recent) > RecentMost {
		r.fail("recent", "holds too many messages")
	}
	chunks := r.sub(r.get("chunks"))
	m.ChunkPages = chunks.fingerprints("pages")
	for _, v := range chunks.list("rest") {
		m.Chunks = append(m.Chunks, parseDescriptor(chunks, v))
	}
	if r.err == nil {
		r.err = chunks.err
	}
	return m, r.err
}

func (r *reader) digest(field string) digest.Digest {
	d, err := digest.Parse(r.str(field))
	if err != nil {
		r.fail(field, "is no digest")
	}
	return d
}

// build writes the descriptor as a short list; the position is stored so that an
// append can go on from the last chunk.
func (d *Descriptor) build(b *value.Builder) {
	b.Record().Key("at").Array().Int(d.Start.Offset).Int(int64(d.Start.Event)).
		Int(int64(d.Start.Line)).Int(int64(d.Messages)).Int(int64(d.Damaged)).
		String(d.Start.State).End()
	b.Key("byteLength").Int(d.ByteLength).Key("check").String(hex64(d.Check))
	b.Key("contentHash").String(d.ContentHash.String())
	b.Key("eventCount").Int(int64(d.EventCount)).Key("part").Int(int64(d.Part)).End()
}

func parseDescriptor(parent *reader, v value.Value) Descriptor {
	r := parent.sub(v)
	d := Descriptor{
		Part: int(r.count("part")), ByteLength: r.count("byteLength"),
		EventCount: int(r.count("eventCount")), ContentHash: r.digest("contentHash"),
		Check: r.hex64("check", r.get("check")),
	}
	at := r.list("at")
	if len(at) != 6 {
		r.fail("at", "is no position")
	} else {
		d.Start = collect.Position{
			Offset: r.number("at", at[0]), Event: int(r.number("at", at[1])),
			Line: int(r.number("at", at[2])), State: at[5].Str(),
		}
		d.Messages, d.Damaged = int(r.number("at", at[3])), int(r.number("at", at[4]))
	}
	if parent.err == nil {
		parent.err = r.err
	}
	return d
}

// ChunkPage renders one settled page of chunk descriptors.
func ChunkPage(key string, first int, chunks []Descriptor) []byte {
	b := value.NewBuilder().Record().Key("chunks").Array()
	for i := range chunks {
		chunks[i].build(b)
	}
	b.End().Key("first").Int(int64(first)).Key("key").String(key)
	return text(b.Key("schema").String(SchemaChunkPage).End())
}

// ParseChunkPage reads a settled page of descriptors and checks whose it is.
func ParseChunkPage(doc []byte, key string, first int) ([]Descriptor, error) {
	r, err := openPage(doc, SchemaChunkPage, key, first)
	if err != nil {
		return nil, err
	}
	var rows []Descriptor
	for _, v := range r.list("chunks") {
		rows = append(rows, parseDescriptor(r, v))
	}
	if len(rows) != PageRows {
		r.fail("chunks", "is not one full page")
	}
	return rows, r.err
}

func openPage(doc []byte, schema, key string, first int) (*reader, error) {
	r, err := open(doc, schema)
	if err != nil {
		return nil, err
	}
	if r.str("key") != key {
		r.fail("key", "is another session's")
	}
	if r.count("first") != int64(first) {
		r.fail("first", "is another page's")
	}
	return r, r.err
}
