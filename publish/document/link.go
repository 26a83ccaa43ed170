package document

import (
	"agentsync/collect/value"
	"agentsync/hashgraph/digest"
)

// Pack is one pack file. Its name is zero while the pack is still open; a link
// into the open pack is written as a link into "this same pack".
type Pack struct{ Name digest.Digest }

// Link says where a document's frame lies.
type Link struct {
	Pack   *Pack
	Offset int64 // bytes from the start of the pack
	Length int64 // bytes of the frame
}

// Place is a link's place as a key: equal for equal places, whoever read the links.
type Place struct {
	Pack   digest.Digest
	Offset int64
}

// Place returns where the link leads.
func (l Link) Place() Place { return Place{l.Pack.Name, l.Offset} }

// IsZero reports the link to nothing.
func (l Link) IsZero() bool { return l.Pack == nil }

// Packs hands out one *Pack for each name. It serves one goroutine.
type Packs struct{ known map[digest.Digest]*Pack }

// Of returns the pack with that name.
func (p *Packs) Of(name digest.Digest) *Pack {
	if p.known == nil {
		p.known = map[digest.Digest]*Pack{}
	}
	if p.known[name] == nil {
		p.known[name] = &Pack{Name: name}
	}
	return p.known[name]
}

// placer writes links as numbers: the pack's place in the page's own list (0 is
// the page's own pack), the offset counted from the end of the link before it in
// the same pack, the length.
type placer struct {
	packs []*Pack
	ends  []int64
}

func (p *placer) add(b *value.Builder, l Link) {
	n := p.place(l.Pack)
	b.Array().Int(int64(n)).Int(l.Offset - p.ends[n]).Int(l.Length).End()
	p.ends[n] = l.Offset + l.Length
}

func (p *placer) place(pack *Pack) int {
	if p.packs == nil {
		p.packs, p.ends = []*Pack{nil}, []int64{0}
	}
	if pack.Name.IsZero() {
		return 0
	}
	for i, known := range p.packs[1:] {
		if known.Name == pack.Name {
			return i + 1
		}
	}
	p.packs, p.ends = append(p.packs, pack), append(p.ends, 0)
	return len(p.packs) - 1
}

// finish writes the list of packs that the links named.
func (p *placer) finish(b *value.Builder) {
	b.Key("packs").Array()
	if len(p.packs) > 1 {
		for _, pack := range p.packs[1:] {
			b.String(pack.Name.Hex())
		}
	}
	b.End()
}

// finder reads what a placer wrote.
type finder struct {
	packs []*Pack
	ends  []int64
}

// newFinder reads the list of packs of a page that lies in the pack own.
func newFinder(r *reader, own *Pack, known *Packs) *finder {
	f := &finder{packs: []*Pack{own}}
	for _, v := range r.list("packs") {
		name, err := digest.Parse(v.Str())
		if err != nil {
			r.fail("packs", err.Error())
			continue
		}
		f.packs = append(f.packs, known.Of(name))
	}
	f.ends = make([]int64, len(f.packs))
	return f
}

func (f *finder) read(r *reader, field string, v value.Value) Link {
	var n [3]int64
	if v.Kind() != value.Array || v.Len() != len(n) {
		r.fail(field, "is no link")
		return Link{}
	}
	i := 0
	for e := range v.Elements() {
		n[i] = r.number(field, e)
		i++
	}
	if n[0] < 0 || n[0] >= int64(len(f.packs)) || n[2] <= 0 || f.ends[n[0]]+n[1] < 0 {
		r.fail(field, "is a link out of bounds")
		return Link{}
	}
	l := Link{Pack: f.packs[n[0]], Offset: f.ends[n[0]] + n[1], Length: n[2]}
	f.ends[n[0]] = l.Offset + l.Length
	return l
}
