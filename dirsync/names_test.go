package dirsync

import (
	"strings"
	"testing"
)

func TestAWirePathIsTheComposedFormOfAPathOnDisk(t *testing.T) {
	for disk, want := range map[string]string{
		"a/b": "a/b", "e\u0301/x": "\u00e9/x", "\u1100\u1161": "\uac00", "\u212b": "\u00c5",
	} {
		if got, ok := Wire(disk); !ok || got != want {
			t.Errorf("%q: %q, %t", disk, got, ok)
		}
	}
	for _, disk := range []string{"", "/a", "a//b", "a/", "./a", "a/../b", "..", `a\b`, "a\x00", "latin\xe9", strings.Repeat("x/", 2049)} {
		if got, ok := Wire(disk); ok {
			t.Errorf("%.40q is accepted as %.40q", disk, got)
		}
	}
}

func TestAFoldingSystemTellsNoCasesApart(t *testing.T) {
	f := Folding{Case: true}
	for _, pair := range [][2]string{
		{"Notes.MD", "notes.md"}, {"STRASSE", "stra\u00dfe"}, {"\u03a3\u03a3", "\u03c3\u03c2"}, {"\u00c9", "\u00e9"}, {"\u212a", "k"},
	} {
		if f.key(pair[0]) != f.key(pair[1]) {
			t.Errorf("%q and %q are told apart", pair[0], pair[1])
		}
		if (Folding{}).key(pair[0]) == (Folding{}).key(pair[1]) {
			t.Errorf("%q and %q are one name on a system that tells cases apart", pair[0], pair[1])
		}
	}
	if f.key("a") == f.key("b") || f.key("e") == f.key("\u00e9") {
		t.Error("different letters are one")
	}
}

func TestNamesOfDevicesAreRefusedByRule(t *testing.T) {
	for _, name := range []string{"CON", "con.txt", "Aux", "nul.tar.gz", "COM1", "com9.log", "LPT\u00b2", "CONIN$", "a:b", "a?b", "a.", "a ", "a|b", "tab\t"} {
		if !WindowsNames.refuses(name) {
			t.Errorf("%q is accepted", name)
		}
		if UnixNames.refuses(name) {
			t.Errorf("%q is refused where it may stand", name)
		}
	}
	for _, name := range []string{"console", "com10", "COM", "lpt0", ".hidden", "a b", "auxiliary.md", "\u7b14\u8bb0"} {
		if WindowsNames.refuses(name) {
			t.Errorf("%q is refused", name)
		}
	}
	if long := strings.Repeat("x", 256); !UnixNames.refuses(long) || !WindowsNames.refuses(long) {
		t.Error("a name longer than a file system takes is accepted")
	}
}

func TestALinkIsSafeWhenItStaysBelowTheRoot(t *testing.T) {
	for _, row := range []struct {
		path, target string
		safe         bool
	}{
		{"l", "x", true}, {"l", "d/x", true}, {"d/l", "../x", true}, {"d/e/l", "../../x/../y", true}, {"l", "./x", true}, {"l", "d/../x", true},
		{"l", "../x", false}, {"d/l", "../../x", false}, {"d/l", "x/../../../y", false}, {"l", "/etc/passwd", false}, {"l", "", false},
		{"l", `a\b`, false}, {"l", "c:x", false}, {"l", "x\xff", false}, {"l", strings.Repeat("x", 248), false},
	} {
		if got := SafeTarget(row.path, row.target); got != row.safe {
			t.Errorf("%s -> %.40q: %t", row.path, row.target, got)
		}
	}
}

func TestIgnoreRulesMatchNamesOrPaths(t *testing.T) {
	rules := []string{"*.log", "/build", "docs/*.tmp", "node_modules/"}
	for _, path := range []string{"a.log", "d/e/a.log", "build", "docs/x.tmp", "node_modules", "d/node_modules"} {
		if reason, ok := Ignores(rules, path); !ok || reason != Ignored {
			t.Errorf("%s is not ignored", path)
		}
	}
	for _, path := range []string{"a.log.md", "d/build", "x.tmp", "d/docs/x.tmp", "docs/d/x.tmp"} {
		if _, ok := Ignores(rules, path); ok {
			t.Errorf("%s is ignored", path)
		}
	}
	if reason, ok := Ignores(nil, "d/"+ControlFolder); !ok || reason != Control {
		t.Error("our own folder is not left out")
	}
	for _, rule := range []string{"", "/", "[", "a[b"} {
		if checkIgnore([]string{rule}) == nil {
			t.Errorf("%q is taken for a rule", rule)
		}
	}
}

func TestAFoldingProjectKeepsItsSpelling(t *testing.T) {
	rules := Rules{Direction: Both, Folding: Folding{Case: true}}
	dir := Entry{Kind: Directory}
	out := Reconcile(Tree{},
		NewTree([]Node{{Path: "Docs", Entry: dir}, {Path: "Docs/Old.md", Entry: file("old")}, {Path: "Docs/mine.md", Entry: file("mine")}}),
		NewTree([]Node{{Path: "docs", Entry: dir}, {Path: "docs/New.md", Entry: file("new")}, {Path: "docs/old.md", Entry: file("old")}}), rules, nil)
	if got := told(out); strings.Contains(got, "conflict") {
		t.Fatal(got)
	}
	where := map[string]string{}
	for _, a := range out.Actions {
		where[a.Side.String()+" "+a.Path] = a.OnDisk()
	}
	if len(where) != 2 || where["project docs/New.md"] != "Docs/New.md" || where["dataset docs/mine.md"] != "Docs/mine.md" {
		t.Errorf("%v", where)
	}
	renames := 0
	for _, h := range out.Held {
		if h.Reason == CaseRename {
			renames++
		}
	}
	if renames != 2 {
		t.Errorf("held: %+v", out.Held)
	}
}

func TestNamesThatOneSideCannotTellApartAreBlockedBoth(t *testing.T) {
	rules := Rules{Direction: Both, Folding: Folding{Case: true}}
	dataset := NewTree([]Node{{Path: "README", Entry: file("A")}, {Path: "readme", Entry: file("B")}, {Path: "x", Entry: file("x")}})
	out := Reconcile(Tree{}, Tree{}, dataset, rules, nil)
	if len(out.Actions) != 1 || out.Actions[0].Path != "x" || len(out.Blocked) != 1 || out.Blocked[0].Reason != NameCollision {
		t.Errorf("%s", told(out))
	}
}

func TestADirectoryOfANameThatCannotStandIsLeftWithAllBelowIt(t *testing.T) {
	dataset := NewTree([]Node{{Path: "aux", Entry: Entry{Kind: Directory}}, {Path: "aux/x", Entry: file("x")}, {Path: "fine", Entry: file("f")}})
	out := Reconcile(Tree{}, Tree{}, dataset, Rules{Direction: Both, Names: WindowsNames}, nil)
	if len(out.Actions) != 1 || out.Actions[0].Path != "fine" || len(out.Blocked) != 1 || out.Blocked[0].Reason != UnrepresentedName {
		t.Errorf("%s", told(out))
	}
}

func TestASideWithoutTheExecutableBitBorrowsIt(t *testing.T) {
	rules := Rules{Direction: Both, NoExecutable: true}
	for _, row := range []struct {
		name    string
		a, p, d Entry
		want    string
	}{
		{"equal contents", program("A"), file("A"), program("A"), "nothing"},
		{"edited on the project", program("A"), file("B"), program("A"), "replace dataset ?"},
		{"edited on the dataset", program("A"), file("A"), program("B"), "replace project ?"},
		{"new on the project", Entry{}, file("A"), Entry{}, "create dataset A"},
	} {
		out := Reconcile(single(row.a), single(row.p), single(row.d), rules, nil)
		if got := told(out); got != row.want {
			t.Errorf("%s: %s", row.name, got)
		}
		for _, action := range out.Actions {
			if row.a.Executable && !action.After.Executable {
				t.Errorf("%s: the bit is lost", row.name)
			}
		}
	}
}
