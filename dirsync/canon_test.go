package dirsync

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"agentsync/hashgraph/digest"
)

func TestCanonicalBytesDoNotDependOnHowADocumentWasBuilt(t *testing.T) {
	got, err := Canonical(map[string]any{"b": []any{true, nil, 1}, "a": "x<&>\u2028\x01\"", "A": map[string]any{}})
	if err != nil || string(got) != "{\"A\":{},\"a\":\"x<&>\u2028\\u0001\\\"\",\"b\":[true,null,1]}" {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := Canonical(map[string]any{"a": 1.5}); err == nil {
		t.Error("a fraction has a canonical form")
	}
}

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "a\"b\\c", "\x00\x1f\x7f\u2028\u00e9\U0001f600", "\b\f\n\r\t"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if !utf8.ValidString(s) {
			return
		}
		var back string
		text := AppendString(nil, s)
		if err := json.Unmarshal(text, &back); err != nil || back != s {
			t.Errorf("%q: %q, %v", text, back, err)
		}
	})
}

// everyField is a plan with something in each of its lists.
func everyField() *Plan {
	return &Plan{Binding: "notes\u2028", Revision: 1, Direction: Both, Ancestor: 7, Project: "sha256:aa", Head: 3, Accepts: Accepts{Overwrites: 12},
		Actions:   []Action{{Path: "a", Disk: "A\"", Side: Dataset, After: program("A")}, {Path: "b", After: Entry{Kind: Directory}}},
		Adoptions: []Adoption{{Path: "x", Entry: file("A")}, {Path: "y"}}, Held: []Held{{"h", CaseRename}},
		Conflicts: []Conflict{{Path: "b", Code: BothChanged, Ancestor: file("A"), Project: Entry{Kind: Link, Target: "x"}, Dataset: Entry{Kind: Directory}}},
		Blocked:   []BlockedItem{{Path: "c", Reason: Unreadable}}, Local: []Local{{"l", Dataset, file("")}},
		Choices: []Choice{{Path: "d", Side: Dataset, Project: file("")}}}
}

func TestAPlansBytesAreItsCanonicalForm(t *testing.T) {
	for _, plan := range []*Plan{{}, {Binding: "notes", Direction: ToProject}, everyField()} {
		text, id := plan.Encode()
		want, err := Canonical(struct {
			Schema string `json:"schema"`
			*Plan
		}{planSchema, plan})
		if err != nil || string(text) != string(want) {
			t.Errorf("%v\n got %s\nwant %s", err, text, want)
		}
		back, err := ParsePlan(text)
		if err != nil {
			t.Fatal(err)
		}
		if again, other := back.Encode(); string(again) != string(text) || other != id {
			t.Errorf("read back as %s", again)
		}
	}
}

func FuzzParsePlan(f *testing.F) {
	text, _ := everyField().Encode()
	f.Add(text)
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := ParsePlan(text)
		if err != nil {
			return
		}
		again, id := p.Encode()
		back, err := ParsePlan(again)
		if err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		if third, other := back.Encode(); other != id || string(third) != string(again) {
			t.Errorf("%s, then %s", again, third)
		}
	})
}

func TestWhatIsNoPlanIsRefused(t *testing.T) {
	text, _ := (&Plan{Binding: "notes", Direction: Both}).Encode()
	for name, other := range map[string]string{
		"a field more": strings.Replace(string(text), "{", `{"a":1,`, 1), "cut off": string(text[:len(text)-1]), "nothing": "",
		"another schema": strings.Replace(string(text), planSchema, "x", 1),
	} {
		if _, err := ParsePlan([]byte(other)); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func TestAnAncestorIsReadBackAndMoves(t *testing.T) {
	a := Ancestor{Tree: NewTree([]Node{{Path: "d", Entry: Entry{Kind: Directory}}, {Path: "d/x", Entry: file("x")}, {Path: "gone", Entry: file("g")}}),
		Generation: 3, Fingerprint: "rules \u2028"}
	text, err := a.Encode()
	if err != nil {
		t.Fatal(err)
	}
	b, err := ParseAncestor(text)
	if err != nil || b.Generation != 3 || b.Fingerprint != a.Fingerprint || b.Tree.Digest() != a.Tree.Digest() {
		t.Fatalf("%+v, %v", b, err)
	}
	if !b.IsManifest(digest.Sum(EncodeManifest(a.Tree))) || b.IsManifest(digest.Sum(EncodeManifest(Tree{}))) {
		t.Error("the ancestor does not know its own manifest")
	}
	moved := b.Moved(Folding{Case: true}, []Adoption{{Path: "gone"}, {Path: "D/X", Entry: file("y")}}, []Action{{Path: "new", After: file("n")}})
	if moved.IsManifest(digest.Sum(EncodeManifest(a.Tree))) {
		t.Error("an ancestor that moved takes itself for the former one")
	}
	if len(moved.Nodes) != 3 || moved.Find("D/X") != file("y") || moved.Find("new") != file("n") || moved.Find("gone").Kind != Absent {
		t.Errorf("%+v", moved.Nodes)
	}
	for _, spoilt := range []string{"", "{}", string(text[:len(text)-3]), strings.Replace(string(text), `"3"`, `"0"`, 1)} {
		if _, err := ParseAncestor([]byte(spoilt)); err == nil {
			t.Errorf("%.40q is accepted", spoilt)
		}
	}
}
