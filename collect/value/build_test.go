package value_test

import (
	"math"
	"testing"

	"agentsync/collect/value"
)

func TestABuilderCopiesValuesFromAnyTape(t *testing.T) {
	var tape value.Tape
	c := capture(t, &tape, `{"b":[1,"x\n",{"k":null}],"a":-0,"b2":1,"a":{"/s":-0,"/s":"t"}}`)
	b := value.NewBuilder()
	first := b.Array().Value(c.Value).Value(c.Value.Path("b")).Value(value.Value{}).End().Finish()
	second := b.Record().Key("all").Value(first).Key("d").Value(c.Value.Path("a")).End().Finish()
	tape.Reset()
	capture(t, &tape, `["something else entirely, longer than before, so that memory is written over"]`)
	const one = `[{"a":{"/quote":{"/s":"t"}},"b":[1,"x\n",{"k":null}],"b2":1},[1,"x\n",{"k":null}],{"/Undefined@1":null}]`
	if got := string(value.AppendText(nil, first)); got != one {
		t.Errorf("got %s, want %s", got, one)
	}
	if got := string(value.AppendText(nil, second)); got != `{"all":`+one+`,"d":{"/quote":{"/s":"t"}}}` {
		t.Errorf("got %s", got)
	}
	b.Reset().Int(7)
	if got := b.Finish(); got.Float() != 7 {
		t.Error("a reset builder does not start anew")
	}
}

func TestTextsBecomeWellFormed(t *testing.T) {
	for in, want := range map[string]string{
		"plain é":                  "plain é",
		"\xff\xc3":                 "��",
		"a\xed\xa0\xbd":            "a\xed\xa0\xbd",
		"\xed\xa0\xbd\xed\xb8\x80": "😀",
		"\xed\xb8\x80\xed\xa0\xbd": "\xed\xb8\x80\xed\xa0\xbd",
	} {
		if got := value.NewBuilder().String(in).Finish().Str(); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func TestSpecialKindsKeepTheirContent(t *testing.T) {
	v := value.NewBuilder().Array().Holes(2).Holes(1).Array().Holes(1).End().Holes(1).
		Integer(value.BigInt, []byte{0, 0, 0x80}).Integer(value.EpochDay, nil).Bytes(nil).Symbol("s").
		Number(math.Float64frombits(0x7FF8000000000005)).Instance("X@1").Null().End().End().Finish()
	const want = `[{"/hole":3},[{"/hole":1}],{"/hole":1},{"/BigInt@1":"AIA"},{"/EpochDay@1":"AA"},{"/Bytes@1":""},` +
		`{"/Symbol@1":"s"},{"/SpecialNumber@1":"NaN"},{"/X@1":null}]`
	if got := string(value.AppendText(nil, v)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if v.Len() != 11 {
		t.Errorf("%d elements, want 11", v.Len())
	}
	items := v.Items()
	if hole, _ := items.Next(); hole.Kind() != value.Hole || hole.Run() != 3 {
		t.Error("no run of holes")
	}
	for e := range v.Elements() {
		switch e.Kind() {
		case value.Number:
			if e.Bits() != 0x7FF8000000000000 {
				t.Errorf("NaN is %x", e.Bits())
			}
		case value.BigInt:
			if string(e.Octets()) != "\x00\x80" {
				t.Errorf("integer is %x", e.Octets())
			}
		case value.Instance:
			if e.Str() != "X@1" {
				t.Errorf("tag is %q", e.Str())
			}
		}
	}
}

func TestCallsOutOfTurnPanic(t *testing.T) {
	for name, build := range map[string]func(*value.Builder){
		"value without a key":     func(b *value.Builder) { b.Record().Null() },
		"two keys":                func(b *value.Builder) { b.Record().Key("a").Key("b") },
		"key in an array":         func(b *value.Builder) { b.Array().Key("a") },
		"end of nothing":          func(b *value.Builder) { b.End() },
		"end after a key":         func(b *value.Builder) { b.Record().Key("a").End() },
		"finish of nothing":       func(b *value.Builder) { b.Finish() },
		"finish inside":           func(b *value.Builder) { b.Array().Finish() },
		"two values":              func(b *value.Builder) { b.Null().Null() },
		"holes outside":           func(b *value.Builder) { b.Record().Holes(1) },
		"instance without state":  func(b *value.Builder) { b.Instance("A@1").End() },
		"instance of two states":  func(b *value.Builder) { b.Instance("A@1").Null().Null().End() },
		"integer of another kind": func(b *value.Builder) { b.Integer(value.String, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			build(value.NewBuilder())
		})
	}
}
