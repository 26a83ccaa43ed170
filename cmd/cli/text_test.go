package cli

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestCleanShowsWhatATerminalWouldObey(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain text stays", "fix the tests", "fix the tests"},
		{"line ends and tabs become one blank", " fix\n\tthe\r\n tests ", "fix the tests"},
		{"an escape sequence loses its escape", "a\x1b[31mred\x1b]0;title\a", "a\ufffd[31mred\ufffd]0;title\ufffd"},
		{"a C1 control sequence introducer goes", "a\u009b31m", "a\ufffd31m"},
		{"a direction override goes", "abc\u202ecba", "abc\ufffdcba"},
		{"bytes that are no UTF-8 are marked", "a\xffb", "a\ufffdb"},
		{"other scripts stay", "修复测试 – ça", "修复测试 – ça"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := clean(test.in); got != test.want {
				t.Errorf("clean(%q) = %q, want %q", test.in, got, test.want)
			}
		})
	}
}

func FuzzClean(f *testing.F) {
	for _, seed := range []string{"", "a b", "\x1b[2J", "\u202e", "\xff\xfe", "  ", "a\x00b", "修复"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := clean(s)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, unicode.IsControl) {
			t.Errorf("clean(%q) = %q", s, got)
		}
		if again := clean(got); again != got {
			t.Errorf("cleaning %q twice gives %q, then %q", s, got, again)
		}
		for width := range 6 {
			if short := cut(got, width); textWidth(short) > max(width, 0) {
				t.Errorf("cut(%q, %d) = %q takes %d columns", got, width, short, textWidth(short))
			}
		}
	})
}

func TestCutCountsColumnsNotBytes(t *testing.T) {
	tests := []struct {
		name, in string
		width    int
		want     string
	}{
		{"short text stays", "abc", 3, "abc"},
		{"long text ends in an ellipsis", "abcdef", 4, "abc…"},
		{"a wide character takes two columns", "修复测试", 5, "修复…"},
		{"a wide character is never halved", "修复测试", 4, "修…"},
		{"a combining mark stays with its letter", "e\u0301e\u0301e\u0301", 2, "e\u0301…"},
		{"no width is no text", "abc", 0, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := cut(test.in, test.width); got != test.want {
				t.Errorf("cut(%q, %d) = %q, want %q", test.in, test.width, got, test.want)
			}
		})
	}
}

func TestCutFrontKeepsTheEnd(t *testing.T) {
	for _, test := range []struct {
		in    string
		width int
		want  string
	}{{"~/src/app", 9, "~/src/app"}, {"~/src/app", 6, "…c/app"}, {"目录/app", 6, "…/app"}, {"~/src/app", 1, "…"}, {"~/src/app", 0, ""}} {
		if got := cutFront(test.in, test.width); got != test.want {
			t.Errorf("cutFront(%q, %d) = %q, want %q", test.in, test.width, got, test.want)
		}
	}
}

func TestAColumnThatSaysNothingIsDropped(t *testing.T) {
	list := newTable(column{title: "KEY"}, column{title: "STATUS"}, column{title: "TITLE"})
	list.row("a", "", "b")
	if got := list.lines(80); got[0] != "KEY  TITLE" || got[1] != "a    b" {
		t.Errorf("got %q", got)
	}
}

func TestTableFitsTheTerminal(t *testing.T) {
	list := newTable(column{title: "KEY"}, column{title: "TITLE", flexible: true}, column{title: "FOLDER", flexible: true}, column{title: "SIZE", right: true})
	list.row("claude:0123456789", strings.Repeat("a long title ", 10), "/home/dev/src/app", "1.2 MiB")
	list.row("codex:1", "修复测试\x1b[31m", "/home/dev", "9 KiB")
	for _, width := range []int{60, 80, 200} {
		for _, line := range list.lines(width) {
			if textWidth(line) > width {
				t.Errorf("at %d columns a line takes %d: %q", width, textWidth(line), line)
			}
			if strings.ContainsFunc(line, unicode.IsControl) {
				t.Errorf("a control character in %q", line)
			}
		}
	}
	narrow := strings.Join(list.lines(10), "\n")
	if !strings.Contains(narrow, "claude:0123456789") {
		t.Errorf("the key was cut:\n%s", narrow)
	}
	if wide := strings.Join(list.lines(200), "\n"); strings.Contains(wide, ellipsis) {
		t.Errorf("cut although there was room:\n%s", wide)
	}
	if lines := newTable(column{title: "KEY"}).lines(80); lines != nil {
		t.Errorf("an empty table has lines %q", lines)
	}
}

func BenchmarkTable(b *testing.B) {
	list := newTable(column{title: "KEY"}, column{title: "TITLE", flexible: true}, column{title: "FOLDER", flexible: true})
	for range 10_000 {
		list.row("claude:0123456789", "a title of usual length, about sixty columns or so, or more", "/home/dev/src/app")
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(strings.Join(list.lines(defaultWidth), ""))))
	for b.Loop() {
		list.lines(80)
	}
}
