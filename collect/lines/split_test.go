package lines

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/collect/value"
)

// damagedLine is a line that is not one JSON value, and what it holds.
type damagedLine struct {
	name, line string
	events     []string
	damage     []collect.Damage
}

func damagedLines() []damagedLine {
	const (
		sound  = collect.Sound
		glued  = collect.Glued
		nul    = collect.NulFill
		blank  = collect.Blank
		broken = collect.Unparsed
	)
	type damages = []collect.Damage
	return []damagedLine{
		{"two records without a line end", `{"id":4}{"id":5,"parent":4}`, []string{`{"id":4}`, `{"id":5,"parent":4}`}, damages{glued, glued}},
		{"brackets and escaped quotes inside strings", `{"id":4,"s":"}{ \" }{"}{"id":5,"s":"a}{\"}{b"}`, []string{`{"id":4,"s":"}{ \" }{"}`, `{"id":5,"s":"a}{\"}{b"}`}, damages{glued, glued}},
		{"blanks between glued records", `{"a":1} {"b":2}`, []string{`{"a":1}`, `{"b":2}`}, damages{glued, glued}},
		{"a torn record and its whole rewrite", `{"type":"tool.done","id":"t9","out":"abc{"type":"tool.done","id":"t9","out":"abcdef"}`, []string{"?", `{"type":"tool.done","id":"t9","out":"abcdef"}`}, damages{broken, glued}},
		{"torn within a key", `{"type":"x","par{"type":"y","n":{"z":1}}`, []string{"?", `{"type":"y","n":{"z":1}}`}, damages{broken, glued}},
		{"torn behind a comma", `{"type":"x",{"type":"y"}`, []string{"?", `{"type":"y"}`}, damages{broken, glued}},
		{"torn where a value stands, rewritten by the same writer", `{"type":"x","m":{"type":"y","m":{}}`, []string{"?", `{"type":"y","m":{}}`}, damages{broken, glued}},
		{"a member of the torn record is no record", `{"type":"user","uuid":"u","message":{"role":"user","content":"x"}`, []string{"?"}, damages{broken}},
		{"nor is the torn record's last list item", `{"type":"user","content":[{"text":"a"}`, []string{"?"}, damages{broken}},
		{"a torn record behind whole ones", `{"a":1}{"b":2}{"c`, []string{`{"a":1}`, `{"b":2}`, "?"}, damages{glued, glued, broken}},
		{"several tears", `{"k":"a{"k":"b{"k":"c"}`, []string{"?", `{"k":"c"}`}, damages{broken, glued}},
		{"a record, then rubbish", `{"a":1}]`, []string{`{"a":1}`, "?"}, damages{glued, broken}},
		{"NULs before a record", "\x00\x00\x00{\"a\":1}", []string{"?", `{"a":1}`}, damages{nul, sound}},
		{"NULs behind a record", "{\"a\":1}\x00\x00\x00", []string{`{"a":1}`, "?"}, damages{sound, nul}},
		{"NULs within a record", "{\"a\":\"x\x00\x00\x00y\"}", []string{"?", "?", "?"}, damages{broken, nul, broken}},
		{"NULs between a torn record and a whole one", "{\"a\":\"x\x00\x00{\"b\":1}", []string{"?", "?", `{"b":1}`}, damages{broken, nul, glued}},
		{"only NULs", "\x00\x00", []string{"?"}, damages{nul}},
		{"a blank line", " \t", []string{"?"}, damages{blank}},
		{"an empty line", "", []string{"?"}, damages{blank}},
		{"a headless record", `,"ev":"ws","detail":"x"}`, []string{"?"}, damages{broken}},
		{"a comma between records", `{"a":1},{"b":2}`, []string{`{"a":1}`, "?", `{"b":2}`}, damages{glued, broken, glued}},
		{"invalid UTF-8", "{\"a\":\"\xff\xfe\"}", []string{"?"}, damages{broken}},
		{"not JSON at all", "Traceback (most recent call last):", []string{"?"}, damages{broken}},
		{"a conflict mark", "<<<<<<< HEAD", []string{"?"}, damages{broken}},
		{"an empty record behind a whole one", `{"a":1}{}`, []string{`{"a":1}`, "{}"}, damages{glued, glued}},
		{"code in a torn string", `{"text":"func main(){}`, []string{"?"}, damages{broken}},
		{"a byte-order mark before glued records", "\xEF\xBB\xBF{\"a\":1}{\"b\":2}", []string{`{"a":1}`, `{"b":2}`}, damages{glued, glued}},
	}
}

func TestADamagedLineGivesWhatItHolds(t *testing.T) {
	for _, c := range damagedLines() {
		t.Run(c.name, func(t *testing.T) {
			content := "{\"first\":0}\n" + c.line + "\n{\"last\":9}\n"
			got := readAll(t, tempFile(t, content), Options{})
			wantEvents(t, got, append(append([]string{`{"first":0}`}, c.events...), `{"last":9}`)...)
			if got.bytes() != content {
				t.Errorf("bytes are %q", got.bytes())
			}
			if d := got.damage[1 : len(got.damage)-1]; fmt.Sprint(d) != fmt.Sprint(c.damage) {
				t.Errorf("damage is %v, want %v", d, c.damage)
			}
			if end := got.trailer.Resume.At; end.Line != 3 || got.starts[len(got.starts)-1].Line != 2 {
				t.Errorf("lines are miscounted: %+v", end)
			}
		})
	}
}

func TestNestingDeeperThanTheLimitIsOneUnparsedLine(t *testing.T) {
	deep := strings.Repeat(`{"a":`, value.MaxDepth+5) + "1" + strings.Repeat("}", value.MaxDepth+5)
	got := readAll(t, tempFile(t, deep+"\n{\"b\":1}\n"), Options{})
	wantEvents(t, got, "?", `{"b":1}`)
}

func TestThreeKindsOfDamageInOneFile(t *testing.T) {
	var b strings.Builder
	whole, n := 0, 0
	record := func() string {
		n++
		whole++
		return fmt.Sprintf(`{"type":"user","uuid":"u%d","message":{"role":"user","content":"text %d"}}`, n, n)
	}
	for i := range 21 {
		fragment := `{"type":"assistant","uuid":"torn","message":{"role":"assistant","content":[{"type":"text","text":"abc"}]}}`
		b.WriteString(fragment[:len(fragment)-3-4*i] + record() + "\n")
		b.WriteString(record() + "\n")
	}
	for range 3 {
		b.WriteString(record() + record() + "\n")
	}
	for i := range 6 {
		b.WriteString(strings.Repeat("\x00", 100*(i+1)) + record() + "\n")
	}
	got := readAll(t, tempFile(t, b.String()), Options{})
	if got.bytes() != b.String() {
		t.Fatal("bytes are not kept")
	}
	recovered := 0
	for _, e := range got.events {
		if e != "?" {
			recovered++
		}
	}
	if recovered != whole {
		t.Errorf("recovered %d of %d records", recovered, whole)
	}
	want := map[collect.Damage]int{collect.Unparsed: 21, collect.Glued: 21 + 6, collect.NulFill: 6}
	if !equalCounts(got.trailer.Damaged, want) {
		t.Errorf("damage %v, want %v", got.trailer.Damaged, want)
	}
}

func TestRecordsSurviveHolesOfNULs(t *testing.T) {
	var b strings.Builder
	for i := 1; i <= 127; i++ {
		fmt.Fprintf(&b, `{"n":%d,"text":"%s"}`, i, strings.Repeat("x", 120))
		if i == 40 {
			b.WriteString(strings.Repeat("\x00", 9000))
		}
		b.WriteByte('\n')
		if i == 60 {
			b.WriteString(strings.Repeat("\x00", 994_000) + "\n" + `,"ev":"ws","detail":"x"}` + "\n")
		}
	}
	b.WriteString(strings.Repeat("\x00", 143_000))
	got := readAll(t, tempFile(t, b.String()), Options{})
	want := map[collect.Damage]int{collect.NulFill: 3, collect.Unparsed: 1}
	if len(got.events) != 127+4 || !equalCounts(got.trailer.Damaged, want) || got.bytes() != b.String() {
		t.Errorf("%d events, damage %v", len(got.events), got.trailer.Damaged)
	}
}

func TestAdjacentDamageIsOneProblem(t *testing.T) {
	var b strings.Builder
	for i := 1; i <= 9; i++ {
		fmt.Fprintf(&b, "{\"n\":%d}\n", i)
	}
	b.WriteString("{\"n\":10,\"out\":\"first\nsecond\nthird\"}\n{\"n\":11}\n{\"n\":12}{\"n\":13}\n")
	got := readAll(t, tempFile(t, b.String()), Options{})
	want := []collect.Problem{
		{Code: CodeDamaged, Message: "lines 10-12 hold bytes that are no JSON value", Line: 10},
		{Code: CodeGlued, Message: "line 14 holds several records without a line end between them", Line: 14},
	}
	for i := range got.trailer.Problems {
		got.trailer.Problems[i].Path = ""
	}
	if fmt.Sprint(got.trailer.Problems) != fmt.Sprint(want) {
		t.Errorf("problems\n got %+v\nwant %+v", got.trailer.Problems, want)
	}
}

func TestAtMostTwentyPlacesAreListed(t *testing.T) {
	content := strings.Repeat("broken\n{\"a\":1}\n", 50)
	got := readAll(t, tempFile(t, content), Options{})
	last := got.trailer.Problems[len(got.trailer.Problems)-1]
	if len(got.trailer.Problems) != 21 || last.Code != CodeMore || !strings.HasPrefix(last.Message, "30 more") {
		t.Errorf("%d problems, the last %+v", len(got.trailer.Problems), last)
	}
	if got.trailer.Damaged[collect.Unparsed] != 50 {
		t.Errorf("counted %v", got.trailer.Damaged)
	}
}

func TestRecoveryIsNotQuadratic(t *testing.T) {
	for name, line := range map[string]string{
		"records opened and never closed": strings.Repeat(`{"a":`, 200_000),
		"quotes that never match":         strings.Repeat(`{"a`, 300_000),
		"glued records":                   strings.Repeat(`{"a":1}`, 150_000) + "{",
		"NULs in between":                 strings.Repeat("x\x00", 200_000),
		"members of a torn record":        `{"k":[` + strings.Repeat(`{"a":1},`, 150_000),
		"records behind tears":            strings.Repeat(`{"k":"v{"k":"w"}`, 60_000) + "x",
	} {
		t.Run(name, func(t *testing.T) {
			s := splitter{}
			s.begin([]byte(line), true)
			spent, size := s.budget, 0
			for s.pending() {
				size += s.next().size
			}
			if size != len(line) {
				t.Errorf("segments cover %d of %d bytes", size, len(line))
			}
			if spent -= s.budget; spent > (probeFactor+2)*len(line) {
				t.Errorf("looked at %d bytes of a line of %d", spent, len(line))
			}
		})
	}
}

// TestAnyDamageKeepsEveryByte cuts, glues and overwrites sound files at random places.
func TestAnyDamageKeepsEveryByte(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	random := rand.New(rand.NewPCG(seed, 1))
	path := tempFile(t, "")
	for range 300 {
		content := randomDamage(random)
		writeFile(t, path, content, time.Hour)
		if got := readAll(t, path, Options{}); got.bytes() != content {
			t.Fatalf("seed %d: bytes of %q are not kept", seed, content)
		}
	}
}

func randomDamage(random *rand.Rand) string {
	var b []byte
	for i := range 1 + random.IntN(8) {
		b = fmt.Appendf(b, `{"type":"user","n":%d,"m":{"text":"a \"b\" }{ c","l":[1,{"x":null}]}}`+"\n", i)
	}
	for range random.IntN(5) {
		at := random.IntN(len(b) + 1)
		switch random.IntN(4) {
		case 0:
			b = b[:at]
		case 1:
			b = append(b[:at:at], b[min(len(b), at+random.IntN(40)):]...)
		case 2:
			b = append(b[:at:at], append([]byte(strings.Repeat("\x00", random.IntN(5))), b[at:]...)...)
		default:
			if at < len(b) {
				b[at] = byte(random.IntN(256))
			}
		}
	}
	return string(b)
}

func FuzzTheRawsAreTheFile(f *testing.F) {
	for _, seed := range []string{
		"", "{\"a\":1}\n", "{\"a\":1}{\"b\":2}\n", "\x00\x00{\"a\":1}\n", "{\"a\":\"x{\"a\":\"y\"}\n",
		"\xEF\xBB\xBF{}\r\n\n \t\n", "{\"a\":{\"b\":1}\n", "[1][2]\n", "1 2\n", "{\"torn", "\xEF\xBB\xBF", "{\"\\",
	} {
		f.Add([]byte(seed), uint8(0))
		f.Add([]byte(seed), uint8(1))
	}
	path := tempFile(f, "")
	f.Fuzz(func(t *testing.T, content []byte, fresh uint8) {
		age := time.Hour
		if fresh%2 == 1 {
			age = time.Second
		}
		writeFile(t, path, string(content), age)
		got := readAll(t, path, Options{})
		all := string(content)
		if age < settleTime {
			all = all[:got.trailer.Resume.At.Offset]
		}
		if got.bytes() != all || got.trailer.Resume.At.Event != len(got.events) {
			t.Errorf("raws %q, want %q", got.bytes(), all)
		}
		if rest := string(content)[len(all):]; strings.Contains(rest, "\n") {
			t.Errorf("a terminated line was left unread: %q", rest)
		}
	})
}
