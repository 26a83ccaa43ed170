package hashgraph

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"agentsync/collect/value"
	"agentsync/hashgraph/digest"
)

// The reference builds every value that the planner hashes, and hashes it from
// nothing: slow and literal, sharing no code with the Hasher.

func refUleb(n int) []byte { return binary.AppendUvarint(nil, uint64(n)) }

func refStr(s []byte) []byte {
	if len(s) > 64 {
		d := digest.Sum(s)
		return append([]byte{0xF0}, d[:]...)
	}
	return slices.Concat([]byte{0x24}, refUleb(len(s)), s)
}

type refMember struct {
	key   []byte
	value value.Value
}

func refMembers(v value.Value) []refMember {
	var list []refMember
	for k, m := range v.Members() {
		list = append(list, refMember{k, m})
	}
	slices.SortFunc(list, func(a, b refMember) int { return bytes.Compare(a.key, b.key) })
	return list
}

// refStream covers the kinds that the random values have.
func refStream(v value.Value) []byte {
	var out []byte
	switch v.Kind() {
	case value.Null:
		return []byte{0x20}
	case value.Undefined:
		return []byte{0x21}
	case value.False:
		return []byte{0x22, 0}
	case value.True:
		return []byte{0x22, 1}
	case value.Number:
		return binary.BigEndian.AppendUint64([]byte{0x23}, math.Float64bits(v.Float()))
	case value.String:
		return refStr(v.Text())
	case value.Bytes:
		return slices.Concat([]byte{0x25}, refUleb(len(v.Octets())), v.Octets())
	case value.Hole:
		return append([]byte{0x01}, refUleb(v.Run())...)
	case value.Array:
		out = append(out, 0x10)
		for e := range v.Elements() {
			out = append(out, refStream(e)...)
		}
		return append(out, 0)
	case value.Record:
		out = append(out, 0x11)
		for _, m := range refMembers(v) {
			out = append(append(out, refStr(m.key)...), refStream(m.value)...)
		}
		return append(out, 0)
	}
	panic("kind not in the reference")
}

func refHash(v value.Value) string { return digest.Sum(refStream(v)).String() }

// refSplits reports what the planner looks into.
func refSplits(v value.Value) bool {
	if v.Kind() == value.Record {
		inner, ok := v.Get("/")
		_, link := inner.Get("link@1")
		return !(ok && link && v.Len() == 1 && inner.Len() == 1)
	}
	return v.Kind() == value.Array
}

func refContent(v value.Value) string {
	if !refSplits(v) {
		return refHash(v)
	}
	b := value.NewBuilder().Record()
	if v.Kind() == value.Array {
		b.Key("kind").String("array").Key("items").Array()
		for e := range v.Elements() {
			if e.Kind() == value.Hole {
				b.Value(e)
			} else {
				b.String(refContent(e))
			}
		}
	} else {
		b.Key("kind").String("record").Key("entries").Record()
		for k, m := range v.Members() {
			b.Key(string(k)).String(refContent(m))
		}
	}
	return refHash(b.End().End().Finish())
}

func refUsable(v value.Value, key string) bool {
	f, _ := v.Get(key)
	switch f.Kind() {
	case value.String:
		return f.Str() != ""
	case value.Number:
		return f.Float()-f.Float() == 0
	}
	return false
}

func refIdentity(v value.Value) value.Value {
	b := value.NewBuilder().Record()
	if v.Kind() == value.Record && refSplits(v) {
		for i, key := range []string{"key", "id", "uuid", "commandId", "messageId", "toolCallId", "toolUseId", "+",
			"nativeSessionId", "sessionId", "part", "contentHash"} {
			if i == 7 && refUsable(v, "sourceId") && refUsable(v, "nativeSessionId") {
				b.Key("sourceId").Value(v.Path("sourceId")).Key("nativeSessionId").Value(v.Path("nativeSessionId"))
				return b.End().Finish()
			}
			if i != 7 && refUsable(v, key) {
				return b.Key("field").String(key).Key("value").Value(v.Path(key)).End().Finish()
			}
		}
	}
	return b.Key("contentHash").String(refContent(v)).End().Finish()
}

// refKey is an identity as identities are compared.
func refKey(identity value.Value) string {
	return string(bytes.ReplaceAll(value.AppendText(nil, identity), []byte(`{"/SpecialNumber@1":"-0"}`), []byte("0")))
}

type refCell struct{ cause, value string }

type refPlanner struct{ cells []refCell }

// replaced returns v with the elements of its arrays replaced by links.
func (p *refPlanner) replaced(v, scope value.Value, path []string) value.Value {
	b := value.NewBuilder()
	switch {
	case !refSplits(v):
		return v
	case v.Kind() == value.Record:
		b.Record()
		for k, m := range v.Members() {
			b.Key(string(k)).Value(p.replaced(m, scope, append(slices.Clone(path), string(k))))
		}
	default:
		b.Array()
		p.elements(b, v, scope, path)
	}
	return b.End().Finish()
}

func (p *refPlanner) elements(b *value.Builder, v, scope value.Value, path []string) {
	times, before := map[string]int{}, map[string]int{}
	for e := range v.Elements() {
		if e.Kind() != value.Hole {
			times[refKey(refIdentity(e))]++
		}
	}
	for e := range v.Elements() {
		if e.Kind() == value.Hole {
			b.Value(e)
			continue
		}
		c := value.NewBuilder().Record().Key("agentConnector").String("array-element").Key("scope").Value(scope).Key("path").Array()
		for _, k := range path {
			c.String(k)
		}
		c.End().Key("identity").Value(refIdentity(e))
		if key := refKey(refIdentity(e)); times[key] > 1 {
			c.Key("collisionHash").String(refContent(e))
			if key += refContent(e); before[key] > 0 {
				c.Key("duplicate").Int(int64(before[key]))
			}
			before[key]++
		}
		cause := c.End().Finish()
		nested := p.replaced(e, cause, nil)
		p.cells = append(p.cells, refCell{refHash(cause), refHash(nested)})
		b.Record().Key("/").Record().Key("link@1").Record()
		b.Key("id").String("of:" + refHash(cause)[len("sha256:"):]).End().End().End()
	}
}

func refStableHash(v value.Value) string {
	var p refPlanner
	scope := value.NewBuilder().Record().Key("agentConnector").String("stable-array-value-hash").End().Finish()
	root := refHash(p.replaced(v, scope, nil))
	slices.SortFunc(p.cells, func(a, b refCell) int { return cmp.Or(cmp.Compare(a.cause, b.cause), cmp.Compare(a.value, b.value)) })
	b := value.NewBuilder().Record().Key("rootHash").String(root).Key("cells").Array()
	for _, c := range p.cells {
		b.Record().Key("causeHash").String(c.cause).Key("valueHash").String(c.value).End()
	}
	return refHash(b.End().End().Finish())
}
