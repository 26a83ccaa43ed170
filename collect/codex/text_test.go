package codex

import (
	"strings"
	"testing"

	"agentsync/collect/value"
)

func TestPreviewsAreCutInUTF16Units(t *testing.T) {
	for _, row := range []struct{ name, in, want string }{
		{"short", "abc", "abc"},
		{"500 ASCII", strings.Repeat("a", 500), strings.Repeat("a", 500)},
		{"501 ASCII", strings.Repeat("a", 501), strings.Repeat("a", 500)},
		{"three bytes, one unit", strings.Repeat("€", 600), strings.Repeat("€", 500)},
		{"four bytes, two units", strings.Repeat("😀", 300), strings.Repeat("😀", 250)},
		{"a pair is not split", "a" + strings.Repeat("😀", 300), "a" + strings.Repeat("😀", 249)},
		{"a lone surrogate is one unit", strings.Repeat("\xed\xa0\x80", 501), strings.Repeat("\xed\xa0\x80", 500)},
	} {
		t.Run(row.name, func(t *testing.T) {
			v := value.NewBuilder().String(row.in).Finish()
			if got := previewOf(v); got != row.want {
				t.Errorf("%d bytes, want %d", len(got), len(row.want))
			}
		})
	}
}

func TestWhatAValueSays(t *testing.T) {
	for _, row := range []struct{ in, want string }{
		{`"x"`, "x"},
		{`{"text":"x"}`, "x"},
		{`{"content":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"data:"},{"text":"b"}]}`, "a\nb"},
		{`{"text":7,"content":"c"}`, "c"},
		{`[["a",["b"]],"",{"content":{"text":"c"}}]`, "a\nb\nc"},
		{`{"message":"x"}`, ""},
		{`7`, ""},
	} {
		c, err := new(value.Tape).Capture([]byte(row.in))
		if err != nil {
			t.Fatal(err)
		}
		if got := previewOf(c.Value); got != row.want {
			t.Errorf("%s says %q, want %q", row.in, got, row.want)
		}
	}
}

func TestTimesOfIDsAndRecords(t *testing.T) {
	if ms, ok := uuidMillis("01a22bac-7f3b-7890-8b9a-8fe7a533471a"); !ok || formatMillis(ms) != "2026-11-30T08:57:34.779Z" {
		t.Errorf("time-ordered id: %s, %v", formatMillis(ms), ok)
	}
	for _, id := range []string{"", "01a22bac-7f3b-4890-8b9a-8fe7a533471a", "01a22bac_7f3b-7890-8b9a-8fe7a533471a", "x1a22bac-7f3b-7890-8b9a-8fe7a533471a"} {
		if _, ok := uuidMillis(id); ok {
			t.Errorf("%q has a time", id)
		}
	}
	for in, want := range map[string]string{
		"2026-11-30T08:57:34.791Z":       "2026-11-30T08:57:34.791Z",
		"2026-11-30T08:57:34Z":           "2026-11-30T08:57:34.000Z",
		"2026-11-30T08:57:34.791999999Z": "2026-11-30T08:57:34.791Z",
		"2026-11-30T10:57:34.791+02:00":  "2026-11-30T08:57:34.791Z",
		"1969-12-31T23:59:59.999Z":       "1969-12-31T23:59:59.999Z",
	} {
		if ms, ok := parseMillis([]byte(in)); !ok || formatMillis(ms) != want {
			t.Errorf("%s: %s, %v", in, formatMillis(ms), ok)
		}
	}
	for _, in := range []string{"", "yesterday", "2026-11-30", "2026-13-30T08:57:34Z", "2026-11-30T08:57:34", "0000-01-01T00:00:00Z"} {
		if _, ok := parseMillis([]byte(in)); ok {
			t.Errorf("%q is a time", in)
		}
	}
}

func TestAPersonsOwnWordsFollowTheEditorsHeading(t *testing.T) {
	in := "\n# Files mentioned by the user:\n\n## a.png: /tmp/a.png\n\n## My request for Codex:\nplease look \n"
	if got := string(ownWords([]byte(in))); got != "please look" {
		t.Errorf("got %q", got)
	}
}
