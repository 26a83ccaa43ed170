package cli

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestBytesText(t *testing.T) {
	for _, test := range []struct {
		n    int64
		want string
	}{{0, "0 B"}, {1023, "1023 B"}, {1024, "1.0 KiB"}, {10 << 10, "10 KiB"}, {1<<20 - 1, "1.0 MiB"}, {1536 << 20, "1.5 GiB"}, {1<<63 - 1, "8.0 EiB"}} {
		if got := bytesText(test.n); got != test.want {
			t.Errorf("%d bytes are %q, want %q", test.n, got, test.want)
		}
	}
}

func TestSinceReadsDatesAndAges(t *testing.T) {
	now := time.Date(2026, 3, 15, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		value string
		want  time.Time
	}{
		{"7d", now.AddDate(0, 0, -7)},
		{"2w", now.AddDate(0, 0, -14)},
		{"36h", now.Add(-36 * time.Hour)},
		{"90m", now.Add(-90 * time.Minute)},
		{"2026-03-01T10:00:00Z", time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)},
		{"2026-03-01", time.Date(2026, 3, 1, 0, 0, 0, 0, time.Local)},
	} {
		if got, err := since(test.value, now); err != nil || !got.Equal(test.want) {
			t.Errorf("--since %s is %v (%v), want %v", test.value, got, err, test.want)
		}
	}
	for _, value := range []string{"", "soon", "7", "-3d", "-2h", "d", "99999999d"} {
		if _, err := since(value, now); err == nil {
			t.Errorf("--since %q is accepted", value)
		}
	}
}

func TestHomePath(t *testing.T) {
	for _, test := range [][3]string{
		{"/home/dev", "/home/dev/src", "~/src"}, {"/home/dev", "/home/dev", "~"},
		{"/home/dev", "/home/device", "/home/device"}, {"", "/home/dev", "/home/dev"},
	} {
		if got := homePath(test[0], test[1]); got != test[2] {
			t.Errorf("homePath(%q, %q) = %q, want %q", test[0], test[1], got, test[2])
		}
	}
}

func TestAbbreviatedKeysCanBeTyped(t *testing.T) {
	keys := []string{
		"claude/0f3c9a1b-aaaa", "claude/0f3c9a1b-bbbb", "claude/11111111-cccc", "codex/0f3c9a1b-aaaa",
		"claude/short", "claude/11111111-cccc%2Ffiles", "claude/11111111-cccc%2Fsubagents%2Fagent-a",
	}
	short := abbreviate(keys)
	for key, want := range map[string]string{
		"claude/11111111-cccc": "claude/11111111", "claude/0f3c9a1b-aaaa": "claude/0f3c9a1b-a", "codex/0f3c9a1b-aaaa": "codex/0f3c9a1b",
		"claude/11111111-cccc%2Ffiles": "claude/11111111-cccc%2Ff", "claude/short": "claude/short",
	} {
		if short[key] != want {
			t.Errorf("%s is abbreviated to %q, want %q", key, short[key], want)
		}
	}
	for _, key := range keys {
		var found []string
		for _, other := range keys {
			if answers(short[key], other) {
				found = append(found, other)
			}
		}
		if got, err := onlyKey(short[key], found); err != nil || got != key {
			t.Errorf("%q, typed for %q, finds %q: %v", short[key], key, got, err)
		}
	}
}

func TestSessionsAnswerToBeginnings(t *testing.T) {
	for _, test := range []struct {
		typed string
		want  bool
	}{
		{"claude/0f3c9a1b-aaaa", true}, {"claude/0f", true}, {"0f3c9a1b-aaaa", true}, {"0f3c", true}, {"claude/", true},
		{"", false}, {"9a1b", false}, {"codex/0f", false}, {"0f3c9a1b-aaaa-more", false},
	} {
		if got := answers(test.typed, "claude/0f3c9a1b-aaaa"); got != test.want {
			t.Errorf("%q: %t", test.typed, got)
		}
	}
}

func TestNoKeyIsGuessed(t *testing.T) {
	many := make([]string, 40)
	for i := range many {
		many[i] = "claude/aaaaaaaa" + strings.Repeat("b", i)
	}
	_, err := onlyKey("aaaa", many)
	var f *failure
	if !errors.As(err, &f) || f.exit != exitUsage || strings.Count(f.hint, "claude/") != mostNamed || !strings.HasSuffix(f.hint, "…") {
		t.Errorf("an ambiguous key gives %v", err)
	}
	if _, err := onlyKey("ffff", nil); !errors.As(err, &f) || f.exit != exitFailed || f.code != "no-such-session" {
		t.Errorf("an unknown key gives %v", err)
	}
}
