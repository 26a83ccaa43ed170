package document

import (
	"bytes"
	"slices"

	"agentsync/collect/value"
)

// RowPage renders one page of the complete index.
func RowPage(rows []*Row) []byte {
	p := &placer{}
	b := value.NewBuilder().Record().Key("rows").Array()
	for _, row := range rows {
		row.build(b, p)
	}
	b.End().Key("schema").String(SchemaRowPage)
	p.finish(b)
	return text(b.End())
}

// ParseRowPage reads a page of the complete index that lies in the pack own.
func ParseRowPage(doc []byte, own *Pack, known *Packs) ([]*Row, error) {
	r, err := open(doc, SchemaRowPage)
	if err != nil {
		return nil, err
	}
	f := newFinder(r, own, known)
	var rows []*Row
	for _, v := range r.list("rows") {
		rows = append(rows, parseRow(r, v, f))
	}
	return rows, r.err
}

// Recent is one row of the recent index: enough to page newest first.
type Recent struct {
	UpdatedAt string
	Key       string
}

// Order is the recent index's sort key, oldest first.
func (r Recent) Order() string { return r.UpdatedAt + " " + r.Key }

// RecentPage renders one page of the recent index.
func RecentPage(rows []Recent) []byte {
	b := value.NewBuilder().Record().Key("rows").Array()
	for _, row := range rows {
		b.Array().String(row.UpdatedAt).String(row.Key).End()
	}
	return text(b.End().Key("schema").String(SchemaRecentPage).End())
}

// ParseRecentPage reads a page of the recent index.
func ParseRecentPage(doc []byte) ([]Recent, error) {
	r, err := open(doc, SchemaRecentPage)
	if err != nil {
		return nil, err
	}
	var rows []Recent
	for _, v := range r.list("rows") {
		pair := r.sub(v).pair()
		if pair == nil {
			r.fail("rows", "holds no pair")
			break
		}
		rows = append(rows, Recent{pair[0].Str(), pair[1].Str()})
	}
	return rows, r.err
}

func (r *reader) pair() []value.Value {
	if r.v.Kind() != value.Array || r.v.Len() != 2 {
		return nil
	}
	var out []value.Value
	for e := range r.v.Elements() {
		out = append(out, e)
	}
	return out
}

// Child names one page: the order key of its first row, its rows, its place.
type Child struct {
	First string
	Count int
	Link  Link
}

// Node renders an inner page: a run of children.
func Node(children []Child) []byte {
	p := &placer{}
	b := value.NewBuilder().Record()
	buildChildren(b.Key("children"), children, p)
	b.Key("schema").String(SchemaNode)
	p.finish(b)
	return text(b.End())
}

func buildChildren(b *value.Builder, children []Child, p *placer) {
	b.Array()
	for i := range children {
		c := &children[i]
		b.Record().Key("count").Int(int64(c.Count)).Key("first").String(c.First)
		p.add(b.Key("link"), c.Link)
		b.End()
	}
	b.End()
}

func (r *reader) children(field string, f *finder) []Child {
	var out []Child
	for _, v := range r.list(field) {
		sub := r.sub(v)
		out = append(out, Child{sub.str("first"), int(sub.count("count")), f.read(sub, "link", sub.get("link"))})
		if r.err == nil {
			r.err = sub.err
		}
	}
	return out
}

// ParseNode reads an inner page that lies in the pack own.
func ParseNode(doc []byte, own *Pack, known *Packs) ([]Child, error) {
	r, err := open(doc, SchemaNode)
	if err != nil {
		return nil, err
	}
	f := newFinder(r, own, known)
	return r.children("children", f), r.err
}

// Problem is one error of a source, as published.
type Problem struct {
	Code, Message, Session, Path string
}

// Source is one source's row.
type Source struct {
	ID           string
	Driver       string
	Installation string // the one installation that may publish it
	Capabilities []string
	Options      value.Value // a record of option descriptions by id, the zero Value where they are not known
	Complete     bool
	SessionCount int   // not deleted
	Observed     int64 // number of the newest observation that saw all of it
	Errors       []Problem
	Dangling     []string // paths of followed links to nothing, which were told once
}

// Equal reports that two rows say the same, the number of their observation aside.
func (s Source) Equal(o Source) bool {
	return s.ID == o.ID && s.Driver == o.Driver && s.Installation == o.Installation && s.Complete == o.Complete &&
		s.SessionCount == o.SessionCount && slices.Equal(s.Capabilities, o.Capabilities) && slices.Equal(s.Errors, o.Errors) &&
		slices.Equal(s.Dangling, o.Dangling) && sameText(s.Options, o.Options)
}

// sameText reports that two values have one text. The zero Value has none.
func sameText(a, b value.Value) bool {
	return a.Kind() == b.Kind() && (a.Kind() == 0 || bytes.Equal(value.AppendText(nil, a), value.AppendText(nil, b)))
}

// Checkout is one worktree's row.
type Checkout struct {
	Root       string
	Repo       *string
	Branch     *string
	HeadSHA    *string
	Remotes    []Remote
	ObservedAt *string
	Discovered bool // found below a configured folder, not named by a session
	// Installation is the one that observed it: two machines may have the same path.
	Installation string
}

// File is one pack that the index needs, besides the one its root lies in.
type File struct {
	Pack *Pack
	Size int64 // bytes
}

// Root is one state of both session indexes.
type Root struct {
	OwnerDID    string
	SpaceDID    string
	Generation  int64
	GeneratedAt string
	Unfinished  bool // left on the way by a pass that had not come to its end
	Total       int  // sessions that are not deleted
	Older       int  // of them, those not in the recent index
	Sources     []Source
	Checkouts   []Checkout
	Files       []File
	All         []Child // inner pages of the complete index
	Recent      []Child // inner pages of the recent index
}

// Text renders the root.
func (root *Root) Text() []byte {
	p := &placer{}
	b := value.NewBuilder().Record().Key("schema").String(SchemaIndex)
	b.Key("ownerDid").String(root.OwnerDID).Key("spaceDid").String(root.SpaceDID)
	b.Key("generation").Int(root.Generation).Key("generatedAt").String(root.GeneratedAt)
	b.Key("totalSessionCount").Int(int64(root.Total)).Key("olderSessionCount").Int(int64(root.Older))
	if root.Unfinished {
		b.Key("unfinished").Bool(true)
	}
	b.Key("sources").Array()
	for i := range root.Sources {
		root.Sources[i].build(b)
	}
	b.End().Key("checkouts").Array()
	for i := range root.Checkouts {
		root.Checkouts[i].build(b)
	}
	b.End()
	buildChildren(b.Key("all"), root.All, p)
	buildChildren(b.Key("recent"), root.Recent, p)
	b.Key("files").Array()
	for _, file := range root.Files {
		b.Array().Int(int64(p.place(file.Pack))).Int(file.Size).End()
	}
	b.End()
	p.finish(b)
	return text(b.End())
}

func (s *Source) build(b *value.Builder) {
	b.Record().Key("id").String(s.ID).Key("driver").String(s.Driver).Key("installation").String(s.Installation)
	b.Key("capabilities").Array()
	for _, c := range s.Capabilities {
		b.String(c)
	}
	b.End()
	if s.Options.Kind() == value.Record {
		b.Key("options").Value(s.Options)
	}
	b.Key("complete").Bool(s.Complete).Key("sessionCount").Int(int64(s.SessionCount)).
		Key("observed").Int(s.Observed)
	b.Key("errors").Array()
	for _, e := range s.Errors {
		b.Record().Key("code").String(e.Code).Key("message").String(e.Message)
		given(b, "session", e.Session)
		given(b, "path", e.Path)
		b.End()
	}
	b.End()
	if len(s.Dangling) > 0 {
		b.Key("dangling").Array()
		for _, path := range s.Dangling {
			b.String(path)
		}
		b.End()
	}
	b.End()
}

func (c *Checkout) build(b *value.Builder) {
	b.Record().Key("root").String(c.Root).Key("installation").String(c.Installation)
	nullable(b, "gitRepo", c.Repo)
	nullable(b, "gitBranch", c.Branch)
	nullable(b, "gitHeadSha", c.HeadSHA)
	remotes(b, c.Remotes)
	nullable(b, "observedAt", c.ObservedAt)
	if c.Discovered {
		b.Key("discovered").Bool(true)
	}
	b.End()
}

// ParseRoot reads a root that lies in the pack own.
func ParseRoot(doc []byte, own *Pack, known *Packs) (*Root, error) {
	r, err := open(doc, SchemaIndex)
	if err != nil {
		return nil, err
	}
	f := newFinder(r, own, known)
	root := &Root{
		OwnerDID: r.str("ownerDid"), SpaceDID: r.str("spaceDid"), Generation: r.count("generation"),
		GeneratedAt: r.str("generatedAt"), Total: int(r.count("totalSessionCount")),
		Older: int(r.count("olderSessionCount")),
	}
	if on := r.flag("unfinished"); on != nil {
		root.Unfinished = *on
	}
	for _, v := range r.list("sources") {
		root.Sources = append(root.Sources, r.sub(v).source(r))
	}
	for _, v := range r.list("checkouts") {
		root.Checkouts = append(root.Checkouts, r.sub(v).checkout(r))
	}
	root.All, root.Recent = r.children("all", f), r.children("recent", f)
	for _, v := range r.list("files") {
		pair := r.sub(v).pair()
		if pair == nil {
			r.fail("files", "holds no pair")
			break
		}
		n := r.number("files", pair[0])
		if n <= 0 || n >= int64(len(f.packs)) {
			r.fail("files", "names no pack")
			break
		}
		root.Files = append(root.Files, File{f.packs[n], r.number("files", pair[1])})
	}
	return root, r.err
}

func (r *reader) source(parent *reader) Source {
	s := Source{ID: r.str("id"), Driver: r.str("driver"), Installation: r.str("installation"),
		Complete: r.boolean("complete"), SessionCount: int(r.count("sessionCount")), Observed: r.count("observed")}
	for _, v := range r.list("capabilities") {
		s.Capabilities = append(s.Capabilities, v.Str())
	}
	if options, found := r.v.Get("options"); found {
		if s.Options = options; options.Kind() != value.Record {
			r.fail("options", "is no record")
		}
	}
	for _, v := range r.list("errors") {
		e := r.sub(v)
		s.Errors = append(s.Errors, Problem{e.str("code"), e.str("message"), e.v.Path("session").Str(), e.v.Path("path").Str()})
	}
	if _, found := r.v.Get("dangling"); found {
		for _, v := range r.list("dangling") {
			s.Dangling = append(s.Dangling, v.Str())
		}
	}
	if parent.err == nil {
		parent.err = r.err
	}
	return s
}

func (r *reader) checkout(parent *reader) Checkout {
	c := Checkout{Root: r.str("root"), Installation: r.str("installation"), Repo: r.optional("gitRepo"), Branch: r.optional("gitBranch"),
		HeadSHA: r.optional("gitHeadSha"), Remotes: r.remotes(), ObservedAt: r.optional("observedAt")}
	if d := r.flag("discovered"); d != nil {
		c.Discovered = *d
	}
	if parent.err == nil {
		parent.err = r.err
	}
	return c
}
