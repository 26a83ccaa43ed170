package stdio

import (
	"strings"
	"testing"
)

func TestLastWordsAreCutAndMasked(t *testing.T) {
	env := []string{"HOME=/home/dev", "MOCK_API_KEY=open sesame please", "SHORT_TOKEN=abc"}
	for _, test := range []struct{ text, want string }{
		{"", ""},
		{"\n \r\n\x00", ""},
		{"cannot open /home/dev/app/config-2026.json: no such file\n", "cannot open /home/dev/app/config-2026.json: no such file"},
		{"one\ntwo\nthree\nfour\n", "two / three / four"},
		{"\x1b[31mError:\x1b[0m model not found\x07\n", "Error: model not found"},
		{"key is open sesame please here", "key is [masked] here"},
		{"abc", "abc"},
		{"Authorization: Bearer abc", "Authorization: [masked] abc"},
		{"sent Bearer abcdef", "sent Bearer [masked]"},
		{`{"token":"t1"}`, `{"token":"[masked]"}`},
		{"password=hunter2, user=dev", "password=[masked], user=dev"},
		{"refused sk-ant-api03-Zx8vQ2mN7kL4pR9s", "refused [masked]"},
		{"the-quick-brown-fox-jumps-over", "the-quick-brown-fox-jumps-over"},
		{"bad \xff bytes", "bad \uFFFD bytes"},
	} {
		if got := lastWords(test.text, env); got != test.want {
			t.Errorf("%q: %q, want %q", test.text, got, test.want)
		}
	}
	if got := lastWords(strings.Repeat("wörter ", 1000), nil); len([]rune(got)) != wordsMost+1 || !strings.HasPrefix(got, "…") {
		t.Errorf("%d characters are left: %q", len([]rune(got)), got)
	}
}
