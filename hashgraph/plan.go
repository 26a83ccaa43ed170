package hashgraph

import "agentsync/collect/value"

// Cell is one array element of a planned value: a cell of its own.
type Cell struct {
	ID    string
	Cause value.Value
	Value value.Value // the element as it stands, its own arrays whole
	Path  []string    // record keys from the owner of the cause's scope down to the array
	Index int         // of the element in its array, holes counted
}

// Plan returns the cells of a value in the order of their elements, each before those
// nested in it (spec 5.4). scope is the base scope of the value's own cell.
func Plan(v, scope value.Value) []Cell {
	p := planner{hasher: new(Hasher)}
	p.value(v, scope, nil)
	return p.cells
}

type planner struct {
	hasher *Hasher
	cells  []Cell
}

func (p *planner) value(v, scope value.Value, path []string) {
	switch {
	case v.Kind() == value.Array:
		p.array(v, scope, path)
	case v.Kind() == value.Record && !isLink(v):
		f := v.Fields()
		for i := range f.Len() {
			p.value(f.Value(i), scope, append(path[:len(path):len(path)], string(f.Key(i))))
		}
	}
}

// named is an element of the array being planned, with its identity as a value and as
// the text by which identities are compared.
type named struct {
	index    int
	value    value.Value
	identity value.Value
	key      string
}

func (p *planner) array(v, scope value.Value, path []string) {
	for _, c := range p.children(v, scope, path) {
		p.cells = append(p.cells, c)
		p.value(c.Value, c.Cause, nil)
	}
}

// children are the cells of an array's own elements.
func (p *planner) children(v, scope value.Value, path []string) []Cell {
	elements, shared, seen := p.elements(v), map[string]int{}, map[string]int{}
	for _, e := range elements {
		shared[e.key]++
	}
	cells := make([]Cell, 0, len(elements))
	for _, e := range elements {
		collision, duplicate := "", 0
		if shared[e.key] > 1 {
			collision = p.contentHash(e.value)
			duplicate = seen[e.key+collision]
			seen[e.key+collision]++
		}
		cause := causeOf(scope, path, e.identity, collision, duplicate)
		cells = append(cells, Cell{CellID(cause), cause, e.value, path, e.index})
	}
	return cells
}

// Linked is a value as its cell holds it in a space: each element of its arrays is a link
// to the cell of its own. scope is that of the elements, which is the cause of an element.
func Linked(v, scope value.Value, space string) value.Value {
	p, b := planner{hasher: new(Hasher)}, value.NewBuilder()
	p.link(b, v, scope, nil, space)
	return b.Finish()
}

func (p *planner) link(b *value.Builder, v, scope value.Value, path []string, space string) {
	switch {
	case v.Kind() == value.Array:
		b.Array()
		at := 0
		for _, c := range p.children(v, scope, path) {
			if c.Index > at {
				b.Holes(uint32(c.Index - at))
			}
			BuildLink(b, c.ID, space)
			at = c.Index + 1
		}
		if v.Len() > at {
			b.Holes(uint32(v.Len() - at))
		}
		b.End()
	case v.Kind() == value.Record && !isLink(v):
		b.Record()
		f := v.Fields()
		for i := range f.Len() {
			key := string(f.Key(i))
			p.link(b.Key(key), f.Value(i), scope, append(path[:len(path):len(path)], key), space)
		}
		b.End()
	default:
		b.Value(v)
	}
}

func (p *planner) elements(v value.Value) []named {
	var list []named
	index := 0
	for e := range v.Elements() {
		if e.Kind() == value.Hole {
			index += e.Run()
			continue
		}
		id := identify(e)
		n := named{index: index, value: e, identity: p.identityOf(id, e, false)}
		n.key = string(value.AppendText(nil, p.identityOf(id, e, true)))
		list = append(list, n)
		index++
	}
	return list
}

func (p *planner) contentHash(v value.Value) string {
	p.hasher.forget()
	return p.hasher.contentHash(v).String()
}

// identityOf builds an identity; unsigned takes -0 for 0.
func (p *planner) identityOf(id identity, v value.Value, unsigned bool) value.Value {
	b := value.NewBuilder().Record()
	add := func(key string, v value.Value) {
		if b.Key(key); unsigned && isNegativeZero(v) {
			b.Int(0)
			return
		}
		b.Value(v)
	}
	switch {
	case id.field < 0:
		b.Key("contentHash").String(p.contentHash(v))
	case id.pair():
		add(fieldNames[id.field], id.value)
		add(fieldNames[fieldSourceID], id.sourceID)
	default:
		b.Key("field").String(fieldNames[id.field])
		add("value", id.value)
	}
	return b.End().Finish()
}

// ElementCause is the cause of an element that one of its fields tells from all others.
func ElementCause(scope value.Value, path []string, field, text string) value.Value {
	identity := value.NewBuilder().Record().Key("field").String(field).Key("value").String(text).End().Finish()
	return causeOf(scope, path, identity, "", 0)
}

// causeOf builds the cause of an element (spec 5.4 step 4).
func causeOf(scope value.Value, path []string, identity value.Value, collision string, duplicate int) value.Value {
	b := value.NewBuilder().Record()
	b.Key("agentConnector").String("array-element").Key("scope").Value(scope)
	b.Key("path").Array()
	for _, key := range path {
		b.String(key)
	}
	b.End().Key("identity").Value(identity)
	if collision != "" {
		b.Key("collisionHash").String(collision)
	}
	if duplicate > 0 {
		b.Key("duplicate").Int(int64(duplicate))
	}
	return b.End().Finish()
}
