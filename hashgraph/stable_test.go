package hashgraph

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"agentsync/collect/value"
	"agentsync/hashgraph/digest"
)

func TestTheHasherAgreesWithTheReferenceOnRandomValues(t *testing.T) {
	h := new(Hasher)
	for seed := range uint64(1500) {
		v := randomValue(rand.New(rand.NewPCG(seed, 1)), 5)
		if got, want := h.StableHash(v).String(), refStableHash(v); got != want {
			t.Fatalf("seed %d: %s, want %s: %s", seed, got, want, value.AppendText(nil, v))
		}
		if got, want := h.Hash(v).String(), refHash(v); got != want {
			t.Fatalf("seed %d: plain hash %s, want %s", seed, got, want)
		}
	}
}

func TestMinusZeroIsZeroInIdentitiesOnly(t *testing.T) {
	for _, text := range []string{
		`[{"id":-0,"v":1},{"id":0,"v":1},{"id":0,"v":1},{"id":-0,"v":1}]`,
		`[{"nativeSessionId":-0,"sourceId":"s"},{"nativeSessionId":0,"sourceId":"s"}]`,
		`[{"nativeSessionId":"s","sourceId":-0},{"nativeSessionId":"s","sourceId":0},{"nativeSessionId":"s","sourceId":"0"}]`,
		`[{"id":-0},{"id":"0"},{"id":""},{"id":0}]`,
	} {
		v := plain(t, []byte(text))
		if got, want := StableHash(v).String(), refStableHash(v); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestAListOfEventsHashesAsTheirArray(t *testing.T) {
	h := new(Hasher)
	for seed := range uint64(1000) {
		r := rand.New(rand.NewPCG(seed, 2))
		array := randomArray(r, 4)
		var events []value.Value
		shared, tape := value.NewBuilder(), seed%2 == 0
		for e := range array.Elements() {
			if e.Kind() == value.Hole {
				continue
			}
			b := shared
			if !tape { // each event on a tape of its own
				b = value.NewBuilder()
			}
			events = append(events, b.Value(e).Finish())
		}
		b := value.NewBuilder().Array()
		for _, e := range events {
			b.Value(e)
		}
		if got, want := h.StableArray(events).String(), refStableHash(b.End().Finish()); got != want {
			t.Fatalf("seed %d: %s, want %s", seed, got, want)
		}
	}
}

func TestPlansNameTheCellsThatStableHashesHold(t *testing.T) {
	scope := value.NewBuilder().Record().Key("agentConnector").String("stable-array-value-hash").End().Finish()
	for seed := range uint64(500) {
		v := randomValue(rand.New(rand.NewPCG(seed, 3)), 5)
		var p refPlanner
		p.replaced(v, scope, nil)
		want := map[string]int{}
		for _, c := range p.cells {
			want[c.cause]++
		}
		for _, c := range Plan(v, scope) {
			want[Hash(c.Cause).String()]--
			if c.ID != CellID(c.Cause) {
				t.Fatalf("seed %d: id %s is not its cause's", seed, c.ID)
			}
		}
		for cause, n := range want {
			if n != 0 {
				t.Fatalf("seed %d: cause %s is off by %d", seed, cause, n)
			}
		}
	}
}

func TestTheOrderOfKeysNeverShowsInAHash(t *testing.T) {
	var tape value.Tape
	one, err := tape.Capture([]byte(`{"a":1,"b":[{"id":"x","t":"é"}],"a-long-key-beyond-eight":2,"a-long-key-beyond":3}`))
	if err != nil {
		t.Fatal(err)
	}
	two, err := tape.Capture([]byte(` { "a-long-key-beyond":3.0, "b":[{"t":"\u00e9","id":"x"}],"a-long-key-beyond-eight":2,"a":1 } `))
	if err != nil {
		t.Fatal(err)
	}
	if Hash(one.Value) != Hash(two.Value) || StableHash(one.Value) != StableHash(two.Value) {
		t.Error("equal values hash differently")
	}
}

func TestAHasherIsReusableWithoutAllocation(t *testing.T) {
	var tape value.Tape
	var events []value.Value
	for i := range 200 {
		c, err := tape.Capture(fmt.Appendf(nil, `{"uuid":"u%d","message":{"content":[{"type":"text","text":"t%d"},{"id":%d}]}}`, i, i%7, i))
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, c.Value)
	}
	h := new(Hasher)
	want := h.StableArray(events)
	if n := testing.AllocsPerRun(10, func() {
		if h.StableArray(events) != want {
			t.Error("the second hash differs")
		}
	}); n > 0 {
		t.Errorf("%v allocations a hash", n)
	}
}

func TestDeepNestingIsHashed(t *testing.T) {
	b := value.NewBuilder()
	for range 1000 {
		b.Array()
	}
	b.String("leaf")
	for range 1000 {
		b.End()
	}
	v := b.Finish()
	if h := new(Hasher); h.StableHash(v) != StableHash(v) || h.StableHash(v) == (digest.Digest{}) {
		t.Error("unstable")
	}
}

func FuzzPlanner(f *testing.F) {
	for _, c := range load(f).StableHash.Cases {
		f.Add(value.AppendText([]byte(value.Prefix), described(f, c.Value)))
	}
	f.Add([]byte(`fvj1:[{"id":1,"a":[[1,1],{"/hole":3},1]},{"id":1.0,"a":[]},{"sourceId":"s","nativeSessionId":{"/SpecialNumber@1":"-0"}}]`))
	h := new(Hasher)
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := value.Parse(text)
		if err != nil || len(text) > 1<<12 || !refKnows(v) {
			return
		}
		want := refStableHash(v)
		if got := h.StableHash(v).String(); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		if v.Kind() == value.Array {
			if got := h.StableArray(elementsOf(v)).String(); got != want {
				t.Errorf("%s as a list: %s, want %s", text, got, want)
			}
		}
	})
}

// refKnows reports a value of which the reference can write the stream.
func refKnows(v value.Value) bool {
	switch v.Kind() {
	case value.Null, value.Undefined, value.False, value.True, value.Number, value.String, value.Bytes, value.Hole:
		return true
	case value.Array:
		for e := range v.Elements() {
			if !refKnows(e) {
				return false
			}
		}
		return true
	case value.Record:
		for _, m := range v.Members() {
			if !refKnows(m) {
				return false
			}
		}
		return true
	}
	return false
}
