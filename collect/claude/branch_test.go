package claude

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// texts of a conversation's messages, by what they say.
func said(entries []any) string {
	var list []string
	for _, e := range entries {
		m, _ := e.(map[string]any)["message"].(map[string]any)
		list = append(list, fmt.Sprint(m["content"]))
	}
	return strings.Join(list, " | ")
}

func boundary(id, back string) string {
	return fmt.Sprintf(`{"parentUuid":null,"logicalParentUuid":%q,"type":"system","subtype":"compact_boundary","uuid":%q,"compactMetadata":{"trigger":"auto"}}`+"\n", back, id)
}

func TestWhatACompactionTookAwayIsStillShown(t *testing.T) {
	content := []byte(turn("user", "a", "", "q1") + turn("assistant", "b", "a", "a1") +
		boundary("c", "b") + turn("user", "d", "c", "summary 1") + turn("assistant", "e", "d", "a2") +
		boundary("f", "e") + turn("user", "g", "f", "summary 2") + turn("assistant", "h", "g", "a3"))
	for _, size := range []int64{0, wholeReadSize + 1} {
		c := Chain(linesOf(content), ChainOptions{Size: size})
		if got := said(render(t, c, c.Messages, content)); got != "summary 2 | a3" {
			t.Errorf("visible: %s", got)
		}
		if got := said(render(t, c, c.Before, content)); got != "q1 | a1 | summary 1 | a2" {
			t.Errorf("before: %s", got)
		}
	}
}

func TestALargeFileIsReadFromItsLastCompaction(t *testing.T) {
	content := []byte(turn("user", "a", "", "q1") + turn("assistant", "b", "a", "a1") +
		boundary("c", "b") + turn("user", "d", "c", "summary") + turn("user", "late", "b", "on the old branch"))
	for size, want := range map[int64]string{wholeReadSize: "q1 | a1 | on the old branch", wholeReadSize + 1: "on the old branch"} {
		c := Chain(linesOf(content), ChainOptions{Size: size})
		if got := said(render(t, c, c.Messages, content)); got != want {
			t.Errorf("%d bytes: %s, want %s", size, got, want)
		}
	}
}

func TestCopiesOfEarlierLinesAreOneMessage(t *testing.T) {
	rows := func(from, to int) string {
		var b strings.Builder
		for i := from; i <= to; i++ {
			parent := ""
			if i > 1 {
				parent = fmt.Sprint("r", i-1)
			}
			b.WriteString(turn("user", fmt.Sprint("r", i), parent, fmt.Sprint("row ", i)))
		}
		return b.String()
	}
	content := []byte(rows(1, 30) + boundary("b1", "r30") + turn("user", "s1", "b1", "summary") +
		rows(1, 30) + boundary("b2", "s1") + turn("user", "s2", "b2", "summary") + turn("user", "n1", "s2", "new"))
	c := Chain(linesOf(content), ChainOptions{})
	seen := map[string]int{}
	for _, e := range append(c.Before, c.Messages...) {
		seen[e.ID]++
	}
	if len(seen) != 33 || len(c.Before)+len(c.Messages) != 33 {
		t.Errorf("%d messages of %d entries", len(seen), len(c.Before)+len(c.Messages))
	}
}

func TestGluedAndDamagedEventsStayInTheChain(t *testing.T) {
	f := newConfig(t)
	glued := turn("user", "u4", "u2", "four") + turn("assistant", "u5", "u4", "five }{ \\\"")
	f.put("-p/"+u(1)+".jsonl", talk("hi")+strings.Replace(glued, "}\n{", "}{", 1)+turn("user", "u6", "u5", "six"))
	h := read(t, f.driver(), u(1), nil)
	events := func(yield func(int, []byte) bool) {
		for i, text := range h.texts {
			if !yield(i, []byte(text)) {
				return
			}
		}
	}
	c := Chain(events, ChainOptions{})
	var got []string
	for _, e := range c.Messages {
		got = append(got, fmt.Sprintf("%d:%s", e.Index, e.ID))
	}
	if fmt.Sprint(got) != "[0:u1 1:u2 2:u4 3:u5 4:u6]" {
		t.Errorf("chain %v", got)
	}
}

func TestEqualTimesKeepTheFilesOrder(t *testing.T) {
	content := []byte(turn("user", "z1", "", "q1") + turn("assistant", "b1", "z1", "a1") + turn("user", "y2", "b1", "q2") + turn("assistant", "a2", "y2", "a2"))
	if got := said(answer(t, content, ChainOptions{})); got != "q1 | a1 | q2 | a2" {
		t.Errorf("order %s", got)
	}
}

func TestALongConversationIsWalkedQuickly(t *testing.T) {
	var b bytes.Buffer
	const count = 60_000
	for i := range count {
		switch i % 3 {
		case 0:
			fmt.Fprintf(&b, `{"type":"assistant","uuid":"%d","parentUuid":"%d","message":{"id":"m%d","content":[{"type":"tool_use","id":"c%d"}]}}`+"\n", i, i-1, i/9, i)
		case 1:
			fmt.Fprintf(&b, `{"type":"user","uuid":"%d","parentUuid":"%d","message":{"content":[{"type":"tool_result","tool_use_id":"c%d"}]}}`+"\n", i, i-1, i-1)
		default:
			fmt.Fprintf(&b, `{"type":"user","uuid":"%d","parentUuid":"%d","message":{"content":[{"type":"tool_result","tool_use_id":"other"}]}}`+"\n", i, i-2)
		}
	}
	for i := range count { // below the tip, nothing but progress
		fmt.Fprintf(&b, `{"type":"progress","uuid":"p%d","parentUuid":"p%d"}`+"\n", i, i-1)
	}
	start := time.Now()
	Chain(linesOf(b.Bytes()), ChainOptions{})
	if took := time.Since(start); took > 20*time.Second {
		t.Errorf("took %s", took)
	}
}

// TestTheCorpusIsReadByteForByte reads real transcripts where they are at hand.
func TestTheCorpusIsReadByteForByte(t *testing.T) {
	roots, _ := filepath.Glob("../../../shared/corpus/claude/*")
	if len(roots) == 0 {
		t.Skip("no corpus of real transcripts here")
	}
	for _, dir := range roots {
		f := config{t, dir}
		d := f.driver()
		for _, s := range inventory(t, d).Sessions {
			h := read(t, d, s.NativeSessionID, nil)
			want, err := os.ReadFile(d.file(mustFind(t, d, s.NativeSessionID)))
			if err != nil || h.raw != string(want) {
				t.Errorf("%s: %v, bytes are not kept", s.NativeSessionID, err)
			}
			for kind, n := range h.trailer.Damaged {
				t.Logf("%s: %d events with damage %d", s.NativeSessionID, n, kind)
			}
		}
	}
}

func mustFind(t testing.TB, d *Driver, id string) session {
	t.Helper()
	s, err := d.session(id)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func FuzzChain(f *testing.F) {
	for _, tree := range []string{"real", "edge"} {
		files, _ := filepath.Glob(filepath.Join(recordings, tree, "config", "projects", "*", "*.jsonl"))
		for _, file := range files {
			if content, err := os.ReadFile(file); err == nil && len(content) < 3000 {
				f.Add(content)
			}
		}
	}
	f.Add([]byte(boundary("a", "a") + turn("user", "a", "a", "x") + turn("user", "b", "a", "y")))
	f.Fuzz(func(t *testing.T, content []byte) {
		all := bytes.Split(content, []byte("\n"))
		for _, o := range []ChainOptions{{}, {System: true, Size: wholeReadSize + 1}, {Agent: &AgentOptions{}}} {
			c := Chain(linesOf(content), o)
			for _, e := range append(c.Before, c.Messages...) {
				if _, ok := c.Message(e, all[e.Index]); !ok {
					t.Errorf("line %d was chosen and cannot be read", e.Index)
				}
			}
		}
		var p parser
		p.read(evidence{head: decodeUTF8(content), tail: decodeUTF8(content), size: int64(len(content)), title: content, archived: content})
	})
}

func BenchmarkChain(b *testing.B) {
	var content bytes.Buffer
	for i := range 5000 {
		content.WriteString(turn("user", fmt.Sprint("u", i), fmt.Sprint("a", i-1), strings.Repeat("question ", 50)))
		content.WriteString(turn("assistant", fmt.Sprint("a", i), fmt.Sprint("u", i), strings.Repeat("answer ", 100)))
	}
	b.SetBytes(int64(content.Len()))
	b.ReportAllocs()
	for b.Loop() {
		if c := Chain(linesOf(content.Bytes()), ChainOptions{}); len(c.Messages) != 10_000 {
			b.Fatal(len(c.Messages))
		}
	}
}
