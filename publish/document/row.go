package document

import (
	"slices"
	"unicode/utf8"

	"agentsync/collect"
	"agentsync/collect/value"
	"agentsync/hashgraph/digest"
)

// Sync statuses of a published session.
const (
	StatusComplete = "complete"
	StatusPartial  = "partial"
	StatusStale    = "stale"
	StatusDeleted  = "deleted"
)

// Remote is one Git remote with the URLs that may be published.
type Remote struct {
	Name string
	URLs []string
}

// Git is the published context of a working directory.
type Git struct {
	Repo         *string
	Branch       *string
	WorktreeRoot *string
	HeadSHA      *string
	ObservedAt   *string
	Remotes      []Remote
}

// Placement is where a session lay among its agent's files when its row was made. No
// hash covers it. The zero Placement is no file's.
type Placement struct {
	Root      string // absolute folder of a source that reads several, "" for the only one
	Path      string // below the root, with slashes; of side files their folder
	Container string // zstd for a compressed file, else ""
}

// File is the file's own name, whatever it was read as: one that is named like a compressed
// file and is none is placed as it is named.
func (p Placement) File() Placement {
	if p.Container == "zstd" {
		p.Path, p.Container = p.Path+".zst", ""
	}
	return p
}

// Table says where a session's documents lie, in the order its manifest counts them.
type Table struct {
	Manifest   Link
	Chunks     []Link
	ChunkPages []Link
}

// Len counts the documents.
func (t *Table) Len() int { return 1 + len(t.Chunks) + len(t.ChunkPages) }

// InlineDocuments is the largest table that stands in its row; a larger one is a
// document of its own.
const InlineDocuments = 16

// Row is one session in the index. ownerDid and capabilities stand once, in the
// root and its source rows; the manifest's cell id follows from its hash.
type Row struct {
	Key             string
	SourceID        string
	Driver          string
	NativeSessionID string
	Parent          string // native id, "" for none
	Hidden          bool
	Title           *string
	Cwd             *string
	Git             Git
	CreatedAt       *string
	UpdatedAt       *string
	Archived        *bool
	Active          *bool
	StartedAs       string
	ManifestHash    digest.Digest
	ContentHash     digest.Digest // the snapshot hash
	Status          string
	DeletedAt       *string
	Size            int64 // bytes of the session's own records
	Events          int
	Messages        int
	Damaged         int
	Revision        int64 // generation that wrote the session's current copy
	Observed        int64 // number of the observation that the row comes from
	Placement       Placement
	Copies          []Copy // earlier states that hold what this one lacks
	CopyN           int    // not published: the number of the kept copy that a row was made of, 0 for none

	Table   Table // empty when TableAt is set
	TableAt Link

	extra []member // fields of a later version, kept
}

// Known returns a copy without the fields of a later version.
func (row *Row) Known() Row {
	known := *row
	known.extra = nil
	return known
}

// Keep takes over the fields of a later version from the row that is replaced.
func (row *Row) Keep(prior *Row) { row.extra = prior.extra }

type member struct {
	key string
	v   value.Value
}

var rowFields = map[string]bool{}

func init() {
	for _, f := range []string{"key", "sourceId", "driver", "nativeSessionId", "parent", "hidden", "title",
		"cwd", "gitRepo", "gitBranch", "gitWorktreeRoot", "gitHeadSha", "gitRemotes", "gitObservedAt",
		"createdAt", "updatedAt", "archived", "active", "startedAs", "manifestHash", "contentHash",
		"syncStatus", "deletedAt", "size", "events", "messages", "damaged", "revision", "observed", "placement", "copies", "table", "tableAt"} {
		rowFields[f] = true
	}
}

func (row *Row) build(b *value.Builder, p *placer) {
	b.Record().Key("key").String(row.Key).Key("sourceId").String(row.SourceID)
	b.Key("driver").String(row.Driver).Key("nativeSessionId").String(row.NativeSessionID)
	given(b, "parent", row.Parent)
	given(b, "startedAs", row.StartedAs)
	if row.Hidden {
		b.Key("hidden").Bool(true)
	}
	nullable(b, "title", row.Title)
	nullable(b, "cwd", row.Cwd)
	row.Git.build(b)
	nullable(b, "createdAt", row.CreatedAt)
	nullable(b, "updatedAt", row.UpdatedAt)
	nullableFlag(b, "archived", row.Archived)
	nullableFlag(b, "active", row.Active)
	b.Key("manifestHash").String(row.ManifestHash.String())
	b.Key("contentHash").String(row.ContentHash.String())
	b.Key("syncStatus").String(row.Status)
	if row.DeletedAt != nil {
		b.Key("deletedAt").String(*row.DeletedAt)
	}
	b.Key("size").Int(row.Size).Key("events").Int(int64(row.Events)).Key("messages").Int(int64(row.Messages))
	b.Key("damaged").Int(int64(row.Damaged)).Key("revision").Int(row.Revision).Key("observed").Int(row.Observed)
	row.Placement.build(b)
	if row.TableAt.IsZero() {
		row.Table.build(b.Key("table"), p)
	} else {
		p.add(b.Key("tableAt"), row.TableAt)
	}
	row.buildCopies(b, p)
	for _, m := range row.extra {
		b.Key(m.key).Value(m.v)
	}
	b.End()
}

func (p *Placement) build(b *value.Builder) {
	if *p == (Placement{}) {
		return
	}
	b.Key("placement").Record()
	name(b.Key("path"), p.Path)
	if p.Root != "" {
		name(b.Key("root"), p.Root)
	}
	given(b, "container", p.Container)
	b.End()
}

// name writes the name of a file, which may be any bytes.
func name(b *value.Builder, path string) {
	if utf8.ValidString(path) {
		b.String(path)
	} else {
		b.Bytes([]byte(path))
	}
}

// name reads what name wrote, "" where there is none.
func (r *reader) name(field string) string {
	if v, ok := r.v.Get(field); ok && v.Kind() == value.Bytes {
		return string(v.Octets())
	}
	return textOf(r.optional(field))
}

func (r *reader) placement() Placement {
	v, ok := r.v.Get("placement")
	if !ok {
		return Placement{}
	}
	sub := r.sub(v)
	p := Placement{Path: sub.name("path"), Root: sub.name("root"), Container: textOf(sub.optional("container"))}
	if r.err == nil {
		r.err = sub.err
	}
	return p
}

func textOf(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func given(b *value.Builder, key, s string) {
	if s != "" {
		b.Key(key).String(s)
	}
}

func (g *Git) build(b *value.Builder) {
	nullable(b, "gitRepo", g.Repo)
	nullable(b, "gitBranch", g.Branch)
	nullable(b, "gitWorktreeRoot", g.WorktreeRoot)
	nullable(b, "gitHeadSha", g.HeadSHA)
	nullable(b, "gitObservedAt", g.ObservedAt)
	remotes(b, g.Remotes)
}

func remotes(b *value.Builder, list []Remote) {
	b.Key("gitRemotes").Array()
	for _, remote := range list {
		b.Record().Key("name").String(remote.Name).Key("urls").Array()
		for _, u := range remote.URLs {
			b.String(u)
		}
		b.End().End()
	}
	b.End()
}

func (r *reader) remotes() []Remote {
	var out []Remote
	for _, v := range r.list("gitRemotes") {
		sub := r.sub(v)
		remote := Remote{Name: sub.str("name")}
		for _, u := range sub.list("urls") {
			remote.URLs = append(remote.URLs, u.Str())
		}
		if r.err == nil {
			r.err = sub.err
		}
		out = append(out, remote)
	}
	return out
}

func parseRow(parent *reader, v value.Value, f *finder) *Row {
	r := parent.sub(v)
	row := &Row{
		Key: r.str("key"), SourceID: r.str("sourceId"), Driver: r.str("driver"),
		NativeSessionID: r.str("nativeSessionId"), Title: r.optional("title"), Cwd: r.optional("cwd"),
		Git: Git{Repo: r.optional("gitRepo"), Branch: r.optional("gitBranch"),
			WorktreeRoot: r.optional("gitWorktreeRoot"), HeadSHA: r.optional("gitHeadSha"),
			ObservedAt: r.optional("gitObservedAt"), Remotes: r.remotes()},
		CreatedAt: r.optional("createdAt"), UpdatedAt: r.optional("updatedAt"),
		Archived: r.flag("archived"), Active: r.flag("active"),
		ManifestHash: r.digest("manifestHash"), ContentHash: r.digest("contentHash"),
		Status: r.str("syncStatus"), DeletedAt: r.optional("deletedAt"),
		Size: r.count("size"), Events: int(r.count("events")), Messages: int(r.count("messages")),
		Damaged: int(r.count("damaged")), Revision: r.count("revision"), Observed: r.count("observed"),
	}
	row.Parent, row.StartedAs = textOf(r.optional("parent")), textOf(r.optional("startedAs"))
	row.Placement = r.placement()
	if id, err := collect.SourceID(row.SourceID); r.err == nil && (err != nil || id != row.SourceID) {
		r.fail("sourceId", "is no source's")
	}
	if h := r.flag("hidden"); h != nil {
		row.Hidden = *h
	}
	r.place(row, f)
	row.Copies = r.copies(f)
	for k, v := range r.v.Members() {
		if !rowFields[string(k)] {
			row.extra = append(row.extra, member{string(k), v})
		}
	}
	if parent.err == nil {
		parent.err = r.err
	}
	return row
}

func (r *reader) place(row *Row, f *finder) {
	if at, ok := r.v.Get("tableAt"); ok {
		row.TableAt = f.read(r, "tableAt", at)
		return
	}
	row.Table = r.sub(r.get("table")).table(r, f)
}

func (t *Table) build(b *value.Builder, p *placer) {
	b.Record()
	p.add(b.Key("manifest"), t.Manifest)
	for _, l := range []struct {
		key   string
		links []Link
	}{{"chunks", t.Chunks}, {"chunkPages", t.ChunkPages}} {
		b.Key(l.key).Array()
		for _, link := range l.links {
			p.add(b, link)
		}
		b.End()
	}
	b.End()
}

// table reads the lists in the order they were placed in.
func (r *reader) table(parent *reader, f *finder) Table {
	t := Table{Manifest: f.read(r, "manifest", r.get("manifest"))}
	for _, l := range []struct {
		key   string
		links *[]Link
	}{{"chunks", &t.Chunks}, {"chunkPages", &t.ChunkPages}} {
		for _, v := range r.list(l.key) {
			*l.links = append(*l.links, f.read(r, l.key, v))
		}
	}
	if parent.err == nil {
		parent.err = r.err
	}
	return t
}

// Text renders a table that is a document of its own.
func (t *Table) Text(key string) []byte {
	p := &placer{}
	b := value.NewBuilder().Record().Key("key").String(key).Key("schema").String(SchemaTable)
	t.build(b.Key("table"), p)
	p.finish(b)
	return text(b.End())
}

// ParseTable reads a table document that lies in the pack own.
func ParseTable(doc []byte, key string, own *Pack, known *Packs) (Table, error) {
	r, err := open(doc, SchemaTable)
	if err != nil {
		return Table{}, err
	}
	if r.str("key") != key {
		r.fail("key", "is another session's")
	}
	f := newFinder(r, own, known)
	t := r.sub(r.get("table")).table(r, f)
	return t, r.err
}

// Clone returns a table that shares no list with t.
func (t *Table) Clone() Table {
	return Table{t.Manifest, slices.Clone(t.Chunks), slices.Clone(t.ChunkPages)}
}

// Links are the table's links, in the order of its fields.
func (t *Table) Links() []*Link {
	out := []*Link{&t.Manifest}
	for i := range t.Chunks {
		out = append(out, &t.Chunks[i])
	}
	for i := range t.ChunkPages {
		out = append(out, &t.ChunkPages[i])
	}
	return out
}
