package value_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"agentsync/collect/value"
)

func capture(t testing.TB, tape *value.Tape, s string) value.Captured {
	t.Helper()
	c, err := tape.Capture([]byte(s))
	if err != nil {
		t.Fatalf("capture %.200s: %v", s, err)
	}
	return c
}

func TestCapturedTextsAreMeasuredWithoutWriting(t *testing.T) {
	var tape value.Tape
	for _, c := range []struct {
		name, text, canonical string
		exact                 bool
	}{
		{"plain record", ` {"b":1, "a":[true,false,null]} `, `{"a":[true,false,null],"b":1}`, true},
		{"escapes", `"\u0041\/\n\u000a\u0001\ud83d\ude00\ud800\u2028\u0022\u005c"`, `"A/\n\n\u0001😀\ud800` + "\u2028" + `\"\\"`, true},
		{"numbers", `[1.50,1.0,1e2,1E-7,0.000001,100000000000000000000,0.1,-12.5,123456789012345678]`,
			`[1.5,1,100,1e-7,0.000001,100000000000000000000,0.1,-12.5,123456789012345680]`, false},
		{"safe numbers", `[1.50,0.0,123456789012345.6,9007199254740991,-0.5,12e-3,0.00000015,0.000001,-0.000015]`,
			`[1.5,0,123456789012345.6,9007199254740991,-0.5,0.012,1.5e-7,0.000001,-0.000015]`, true},
		{"2^53 may stand for its neighbour", `9007199254740993`, `9007199254740992`, false},
		{"negative zero", `[-0,-0.0,-1e-400]`, `[{"/SpecialNumber@1":"-0"},{"/SpecialNumber@1":"-0"},{"/SpecialNumber@1":"-0"}]`, false},
		{"overflow", `[1e400,-1e400]`, `[{"/SpecialNumber@1":"+Infinity"},{"/SpecialNumber@1":"-Infinity"}]`, false},
		{"repeated key", `{"a":[1,-0],"b":2,"a":3}`, `{"a":3,"b":2}`, false},
		{"slash key", `{"x":{"/a":{"b":[{"/c":1}]}}}`, `{"x":{"/quote":{"/a":{"b":[{"/c":1}]}}}}`, false},
		{"slash key over a special number", `{"/a":-0}`, `{"/object":{"/a":{"/SpecialNumber@1":"-0"}}}`, false},
		{"slash key beside a dropped special number", `{"/a":-0,"/a":1}`, `{"/quote":{"/a":1}}`, false},
		{"invalid text would hide behind an escape", `"é\né\n"`, `"é\né\n"`, true},
		{"keys of equal beginning", `{"abcdefghij":1,"abcdefgh":2,"abcdefghi":3,"":4,"a\u0000":5,"a":6}`,
			`{"":4,"a":6,"a\u0000":5,"abcdefgh":2,"abcdefghi":3,"abcdefghij":1}`, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := capture(t, &tape, c.text)
			if s := string(value.AppendText(nil, got.Value)); s != c.canonical || got.Canonical != len(s) {
				t.Errorf("canonical %s of %d bytes, want %s of %d", s, got.Canonical, c.canonical, len(c.canonical))
			}
			if got.Exact != c.exact {
				t.Errorf("exact is %v", got.Exact)
			}
			if string(got.Text) != strings.TrimSpace(c.text) {
				t.Errorf("text %q", got.Text)
			}
		})
	}
}

func TestWhatIsNotStrictJSONIsRefusedAndLeavesTheTapeAsItWas(t *testing.T) {
	for _, bad := range []string{
		"", " ", "{", "[", `{"a"`, `{"a":`, `{"a":1`, `{"a":1,}`, `[1,]`, `[1 2]`, `{a:1}`, `"`, `"\q"`, `"\u12"`, `"\u12g4"`, "\"\x01\"", "\"\xff\"",
		"\"\xed\xa0\x80\"", "\"a\\n\xc3\"", "\"a\\n\xc3 123456789\\n\"", "01", "-", "1.", "1e", "1e+", ".5", "+1", "NaN", "Infinity", "tru", "nulll", "1 2", `{"a":1}x`, "\ufeff1", "[}", "{]",
		"\x00", "\"\\\x00\"", strings.Repeat("[", value.MaxDepth+1) + strings.Repeat("]", value.MaxDepth+1),
		strings.Repeat("[", 1<<20), strings.Repeat(`{"a":`, 1<<20),
	} {
		var tape value.Tape
		before := capture(t, &tape, `{"kept":"a\nb","n":-0}`)
		size := tape.Size()
		_, err := tape.Capture([]byte(bad))
		var syntax *value.SyntaxError
		if !errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > len(bad) || syntax.Reason == "" {
			t.Errorf("%.20q: %#v", bad, err)
		}
		if tape.Size() != size || before.Value.Path("kept").Str() != "a\nb" {
			t.Errorf("%.20q: the tape changed", bad)
		}
		after := capture(t, &tape, `"x"`)
		if after.Value.Str() != "x" {
			t.Errorf("%.20q: what is captured afterwards is damaged", bad)
		}
	}
}

func TestTheDeepestNestingIsCaptured(t *testing.T) {
	var tape value.Tape
	for _, pair := range [][2]string{{"[", "]"}, {`{"/a":`, "}"}} {
		text := strings.Repeat(pair[0], value.MaxDepth) + strings.Repeat(pair[1], value.MaxDepth)
		if pair[0] != "[" {
			text = strings.Repeat(pair[0], value.MaxDepth) + "-0" + strings.Repeat(pair[1], value.MaxDepth)
		}
		c := capture(t, &tape, text)
		written := value.AppendText([]byte(value.Prefix), c.Value)
		v, err := value.Parse(written)
		if err != nil || !bytes.Equal(value.AppendText([]byte(value.Prefix), v), written) {
			t.Errorf("%s: does not survive: %v", pair[0], err)
		}
	}
}

// A step that were quadratic in one of these would take minutes.
func TestHostileTextsTakeTimeInProportionToTheirLength(t *testing.T) {
	for name, text := range map[string]string{
		"repeated key":     "{" + strings.Repeat(`"k":-0,`, 1<<17) + `"k":0}`,
		"many keys":        "{" + manyKeys(1<<16) + "}",
		"slashes and deep": strings.Repeat(`{"/a":[{"/b":`, 2000) + "-0" + strings.Repeat(`}]}`, 2000),
		"wide below deep":  strings.Repeat(`{"/a":`, 9000) + "[" + strings.Repeat("{\"/c\":1},", 1<<15) + "-0]" + strings.Repeat("}", 9000),
	} {
		var tape value.Tape
		c := capture(t, &tape, text)
		if n := len(value.AppendText(nil, c.Value)); n != c.Canonical {
			t.Errorf("%s: %d bytes, said to be %d", name, n, c.Canonical)
		}
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(`"common-prefix-` + strings.Repeat("x", i%7) + string(rune('a'+i%26)) + string(rune(0x4E00+i%20000)) + `":` + "1")
	}
	return b.String()
}

func TestAPrefixIsCapturedFromGluedValues(t *testing.T) {
	var tape value.Tape
	text := []byte(` {"a":1}{"b":[2]} 3`)
	var seen []string
	for len(text) > 0 {
		c, n, err := tape.CapturePrefix(text)
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, string(c.Text))
		text = text[n:]
	}
	if got := strings.Join(seen, "|"); got != `{"a":1}|{"b":[2]}|3` {
		t.Error(got)
	}
}

func TestValuesAreReadAsCaptured(t *testing.T) {
	var tape value.Tape
	v := capture(t, &tape, `{"z":"é\n","list":[1,-2.5,true],"z2":{"deep":{"er":9007199254740992}},"dup":1,"dup":2}`).Value
	if v.Path("z").Str() != "é\n" || v.Path("list").Len() != 3 || v.Len() != 4 || v.Path("dup").Float() != 2 {
		t.Error("wrong values")
	}
	if n, ok := v.Path("z2", "deep", "er").Integer(); !ok || n != 1<<53 {
		t.Error(n, ok)
	}
	if _, ok := v.Path("list").Get("z"); ok || v.Path("no", "where").Kind() != value.Invalid || v.Path("z").Len() != 0 {
		t.Error("something where nothing is")
	}
	var order []string
	for k := range v.Members() {
		order = append(order, string(k))
	}
	if got := strings.Join(order, " "); got != "z list z2 dup" {
		t.Error("members in the order", got)
	}
	kinds := []value.Kind{value.Number, value.Number, value.True}
	i := 0
	for e := range v.Path("list").Elements() {
		if e.Kind() != kinds[i] {
			t.Errorf("element %d is of kind %d", i, e.Kind())
		}
		i++
	}
	if f := v.Fields(); string(f.Key(0)) != "dup" || f.Value(0).Float() != 2 {
		t.Error("fields are not in key order")
	}
	if i != 3 {
		t.Errorf("%d elements", i)
	}
}

func FuzzCapture(f *testing.F) {
	for _, s := range []string{`{"b":[1,2.50,-0,1e400],"a":"\ud83d\ude00\ud800 x\n","a":{"/q":1}}`, `[[],{},"",0.1e-7,12345678901234567890]`,
		`{"/a":{"/b":[true,null]},"c":"é"}`, "\"\xff\"", `{"12345678":1,"123456789":2,"1234567":3}`, `"\u0041\/\b"`, "[1,\n\t2 ]\r"} {
		f.Add([]byte(s))
	}
	var tape value.Tape
	f.Fuzz(func(t *testing.T, text []byte) {
		tape.Reset()
		c, err := tape.Capture(text)
		if want := json.Valid(text) && utf8.Valid(text); (err == nil) != want {
			t.Fatalf("%q: %v, but encoding/json says %v", text, err, want)
		}
		if err != nil {
			return
		}
		canonical := value.AppendText(nil, c.Value)
		if len(canonical) != c.Canonical {
			t.Errorf("canonical length %d, said to be %d: %s", len(canonical), c.Canonical, canonical)
		}
		again(t, canonical, canonical)
		if c.Exact {
			again(t, c.Text, canonical)
		}
		sameAsJSON(t, text, c.Value)
	})
}

// again checks that a text stands for the value of that canonical text.
func again(t *testing.T, text, canonical []byte) {
	t.Helper()
	v, err := value.Parse(append([]byte(value.Prefix), text...))
	if err != nil {
		t.Fatalf("read %s: %v", text, err)
	}
	if got := value.AppendText(nil, v); !bytes.Equal(got, canonical) {
		t.Errorf("%s reads as %s, want %s", text, got, canonical)
	}
}

// sameAsJSON compares with encoding/json, which knows no lone surrogates and no
// infinities.
func sameAsJSON(t *testing.T, text []byte, v value.Value) {
	t.Helper()
	if bytes.Contains(bytes.ToLower(text), []byte(`\ud`)) {
		return
	}
	var want any
	if err := json.Unmarshal(text, &want); err != nil {
		return
	}
	if !same(v, want) {
		t.Errorf("%s is not %v", text, want)
	}
}

func same(v value.Value, want any) bool {
	switch want := want.(type) {
	case nil:
		return v.Kind() == value.Null
	case bool:
		return v.IsTrue() == want && (want || v.Kind() == value.False)
	case float64:
		return math.Float64bits(v.Float()) == math.Float64bits(want)
	case string:
		return v.Kind() == value.String && v.Str() == want
	case []any:
		i := 0
		for e := range v.Elements() {
			if i >= len(want) || !same(e, want[i]) {
				return false
			}
			i++
		}
		return v.Kind() == value.Array && i == len(want) && v.Len() == i
	case map[string]any:
		for k, m := range want {
			if got, ok := v.Get(k); !ok || !same(got, m) {
				return false
			}
		}
		return v.Kind() == value.Record && v.Len() == len(want)
	}
	return false
}

func FuzzParse(f *testing.F) {
	cases := load(f).Text
	for _, c := range append(append(append(cases.RoundTrip, cases.DecodesTo...), cases.Refused...), cases.FormatRefuses...) {
		f.Add([]byte(c.Text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := value.Parse(text)
		if err != nil {
			return
		}
		once := value.AppendText([]byte(value.Prefix), v)
		w, err := value.Parse(once)
		if err != nil {
			t.Fatalf("%s was written as %s, which is refused: %v", text, once, err)
		}
		if twice := value.AppendText([]byte(value.Prefix), w); !bytes.Equal(once, twice) {
			t.Errorf("%s, then %s", once, twice)
		}
	})
}
