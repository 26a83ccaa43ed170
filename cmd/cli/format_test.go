package cli

import (
	"errors"
	"slices"
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
		"claude/short", "claude/11111111-cccc-child",
	}
	short := abbreviate(keys)
	if short["claude/11111111-cccc"] != "claude/11111111-cccc" || short["claude/0f3c9a1b-aaaa"] != "claude/0f3c9a1b-a" || short["codex/0f3c9a1b-aaaa"] != "codex/0f3c9a1b" {
		t.Errorf("abbreviated to %q", short)
	}
	for _, key := range keys {
		if got, err := chooseKey(short[key], keys); err != nil || got != key {
			t.Errorf("%q, typed for %q, finds %q: %v", short[key], key, got, err)
		}
	}
}

func TestChooseKeyRefusesToGuess(t *testing.T) {
	keys := []string{"claude/0f3c9a1b-aaaa", "claude/0f3c9a1b-bbbb", "codex/0f3c9a1b-aaaa"}
	for _, test := range []struct {
		typed, want, message string
	}{
		{"claude/0f3c9a1b-a", "claude/0f3c9a1b-aaaa", ""},
		{"0f3c9a1b-b", "claude/0f3c9a1b-bbbb", ""},
		{"codex/", "codex/0f3c9a1b-aaaa", ""},
		{"0f3c9a1b-aaaa", "", "several sessions answer to 0f3c9a1b-aaaa"},
		{"claude/0f", "", "several sessions answer to claude/0f"},
		{"ffff", "", "no published session answers to ffff"},
		{"c", "", "no published session answers to c"},
		{"", "", "no published session answers to "},
	} {
		got, err := chooseKey(test.typed, keys)
		var f *failure
		if got != test.want || (err != nil) != (test.message != "") || err != nil && (!errors.As(err, &f) || f.Error() != test.message) {
			t.Errorf("%q finds %q: %v", test.typed, got, err)
		}
	}
	many := make([]string, 40)
	for i := range many {
		many[i] = "claude/aaaaaaaa" + strings.Repeat("b", i)
	}
	_, err := chooseKey("aaaa", slices.Clone(many))
	var f *failure
	if !errors.As(err, &f) || strings.Count(f.hint, "claude/") != mostNamed || !strings.HasSuffix(f.hint, "…") {
		t.Errorf("an ambiguous key names too many: %v", f)
	}
}
