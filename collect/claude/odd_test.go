package claude

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"agentsync/collect"
)

// oddSession is a shape that real stores were found to hold, and what is right for it.
type oddSession struct {
	name, content string
	events        int
	messages      int
	hidden        bool
	damage        map[collect.Damage]int
}

func oddSessions() []oddSession {
	summaryOnly := `{"type":"summary","summary":"Elsewhere","leafUuid":"x"}` + "\n"
	agent := strings.ReplaceAll(talk("hi"), `"isSidechain":false`, `"isSidechain":true`)
	deep := `{"type":"user","uuid":"d","a":` + strings.Repeat("[", 25) + strings.Repeat("]", 25) + "}\n"
	return []oddSession{
		{"an empty file", "", 0, 0, true, nil},
		{"a tail cut inside a value", talk("hi") + `{"type":"user","uuid":"x","n":1`, 3, 2, false, map[collect.Damage]int{collect.TornTail: 1}},
		{"a tail cut inside a string", talk("hi") + `{"type":"user","uuid":"x`, 3, 2, false, map[collect.Damage]int{collect.TornTail: 1}},
		{"a whole last line without its end", strings.TrimSuffix(talk("hi"), "\n"), 2, 2, false, nil},
		{"two records on one line", strings.Replace(talk("hi"), "}\n{", "}{", 1), 2, 2, false, map[collect.Damage]int{collect.Glued: 2}},
		{"only summaries", summaryOnly + summaryOnly, 2, 0, false, nil},
		{"only a snapshot", `{"type":"file-history-snapshot","messageId":"m","snapshot":{}}` + "\n", 1, 0, true, nil},
		{"only queue operations", `{"type":"queue-operation","operation":"enqueue"}` + "\n", 1, 0, true, nil},
		{"only system lines", `{"type":"system","uuid":"s","content":"c"}` + "\n", 1, 1, true, nil},
		{"moved to another machine", `{"type":"teleported-from","remoteSessionId":"r"}` + "\n", 1, 0, true, nil},
		{"a sub-agent's lines under a session's name", agent, 2, 2, true, nil},
		{"several session ids", talk("hi") + strings.ReplaceAll(talk("ho"), `"sessionId":"s"`, `"sessionId":"other"`), 4, 4, false, nil},
		{"an identical line twice", talk("hi") + talk("hi"), 4, 4, false, nil},
		{"a parent that is missing and one that comes later", turn("user", "a", "gone", "hi") + turn("user", "b", "c", "x") + turn("assistant", "c", "a", "y"), 3, 3, false, nil},
		{"eleven roots", strings.Repeat(turn("user", "r", "", "root"), 11), 11, 11, false, nil},
		{"an answer with its question's time", talk("q") + talk("q"), 4, 4, false, nil},
		{"lines without ids in between", `{"type":"mode"}` + "\n" + talk("hi") + `{"type":"ai-title","aiTitle":"T"}` + "\n", 4, 2, false, nil},
		{"a picture in one line", turn("user", "a", "", strings.Repeat("A", 2_300_000)), 1, 1, false, nil},
		{"deep nesting", talk("hi") + deep, 3, 3, false, nil},
		{"an escaped NUL", turn("user", "a", "", "x") + `{"type":"user","uuid":"n","message":{"content":"\u0000"}}` + "\n", 2, 2, false, nil},
		{"raw U+0085 and DEL in a string", turn("user", "a", "", "hi") + "{\"type\":\"user\",\"uuid\":\"b\",\"message\":{\"content\":\"x\u0085y\x7f\"}}\n", 2, 2, false, nil},
		{"text that was broken before", turn("user", "a", "", "caf\ufffd"), 1, 1, false, nil},
		{"a lone surrogate", talk("hi") + `{"type":"user","uuid":"l","message":{"content":"\ud99c한"}}` + "\n", 3, 3, false, nil},
		{"a tool result that is plain text", talk("hi") + `{"type":"user","uuid":"t","toolUseResult":"Error","message":{"content":[{"type":"tool_result","content":"Error"}]}}` + "\n", 3, 3, false, nil},
		{"a system line without a subtype", talk("hi") + `{"type":"system","uuid":"y","content":"c"}` + "\n", 3, 3, false, nil},
		{"a client's error as an answer", turn("user", "a", "", "hi") + `{"type":"assistant","uuid":"e","isApiErrorMessage":true,"message":{"model":"<synthetic>","content":[{"type":"text","text":"API Error"}]}}` + "\n", 2, 2, false, nil},
		{"another writer's records", `{"type":"user","content":"x"}` + "\n" + `{"type":"tool_use","id":1}` + "\n", 2, 0, true, nil},
		{"long fractions", talk("hi") + `{"costUSD":0.008572050000000001,"create_time":1789563309.933377}` + "\n", 3, 2, false, nil},
		{"invalid UTF-8 in the first line", "{\"type\":\"user\",\"x\":\"\xff\xfe\"}\n" + talk("hi"), 3, 2, false, map[collect.Damage]int{collect.Unparsed: 1}},
		{"a blank line", talk("hi") + "\n" + talk("ho"), 5, 4, false, map[collect.Damage]int{collect.Blank: 1}},
	}
}

func TestOddSessions(t *testing.T) {
	for _, c := range oddSessions() {
		t.Run(c.name, func(t *testing.T) {
			f := newConfig(t)
			f.put("-p/"+u(1)+".jsonl", c.content)
			d := f.driver()
			h := read(t, d, u(1), nil)
			if h.raw != c.content {
				t.Errorf("bytes are not kept: %.200q", h.raw)
			}
			if len(h.texts) != c.events || len(h.messages) != c.messages {
				t.Errorf("%d events and %d messages, want %d and %d", len(h.texts), len(h.messages), c.events, c.messages)
			}
			if fmt.Sprint(h.trailer.Damaged) != fmt.Sprint(c.damage) || h.trailer.Summary.Hidden != c.hidden {
				t.Errorf("damage %v, hidden %t", h.trailer.Damaged, h.trailer.Summary.Hidden)
			}
			for i, m := range h.messages {
				if i > 0 && m.RawIndex <= h.messages[i-1].RawIndex {
					t.Errorf("messages are out of the file's order: %+v", h.messages)
				}
			}
			if !h.trailer.Complete {
				t.Error("not complete")
			}
		})
	}
}

func TestAFileOfAnySizeIsReadWhole(t *testing.T) {
	if testing.Short() {
		t.Skip("writes a large file")
	}
	c := newConfig(t)
	line := turn("user", "a", "", strings.Repeat("x", 100_000))
	c.put("-p/"+u(1)+".jsonl", strings.Repeat(line, 150))
	h, err := tryRead(c.driver(), u(1), nil)
	if err != nil || len(h.messages) != 150 || !h.trailer.Complete {
		t.Errorf("%v, %d messages", err, len(h.messages))
	}
}

func TestALongSessionsTitleIsFoundAtItsEnds(t *testing.T) {
	c := newConfig(t)
	pad := fmt.Sprintf(`{"type":"padding","pad":%q}`+"\n", strings.Repeat("p", 70_000))
	title := func(s string) string { return fmt.Sprintf(`{"type":"custom-title","customTitle":%q}`+"\n", s) }
	c.put("-p/"+u(1)+".jsonl", talk("hi")+pad+title("Lost")+pad)
	c.put("-p/"+u(2)+".jsonl", talk("hi")+pad+pad+title("Found"))
	c.put("-p/"+u(3)+".jsonl", talk("hi")+`{"torn":"`+title("Behind a tear"))
	for id, want := range map[string]string{u(1): "hi", u(2): "Found", u(3): "Behind a tear"} {
		s, err := c.driver().Summarize(context.Background(), id)
		if err != nil || *s.Title != want {
			t.Errorf("%s: %v, title %q, want %q", id, err, *s.Title, want)
		}
	}
}
