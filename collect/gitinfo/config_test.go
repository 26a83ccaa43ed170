package gitinfo

import (
	"strings"
	"testing"

	"github.com/go-git/go-git/v5/plumbing/format/config"
)

// FuzzConfiguration feeds configuration files that anybody could have written into
// a repository.
func FuzzConfiguration(f *testing.F) {
	for _, seed := range []string{
		"[remote \"origin\"]\n\turl = https://example.com/a\n\tpushurl = x\n",
		"[url \"git@example.com:\"]\n\tinsteadOf = gh:\n\tpushInsteadOf = https://\n[remote \"o\"]\nurl=gh:x\n",
		"[remote \"a \\\"b\\\\\"] ; one\n\tURL = \"https://example.com/#x\" # two\n",
		"[core]\n\trepositoryformatversion = 1\n\tbare\n[extensions]\n\tobjectFormat = sha1\n",
		"[include]\n\tpath = ~/x\n[includeIf \"gitdir:x\"]\n\tpath = y\n", "[a\n", "[]", "[a \"", "\xef\xbb\xbf[a]\nb=\\q\n", "=\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := parseConfig(text)
		if err != nil {
			return
		}
		_ = understood(parsed, place{})
		remotes, err := configuredRemotes([]*config.Config{nil, parsed})
		if err != nil {
			return
		}
		for _, r := range publishedRemotes(shown(remotes)) {
			if r.Name == "" || len(r.URLs) == 0 || strings.ContainsAny(r.Name, "\n\t") {
				t.Errorf("%q gave the remote %q", text, r)
			}
		}
	})
}

func TestARemoteRowKeepsWhatStandsBeforeTheLastMark(t *testing.T) {
	rows := parseRows("a\t/x (fetch)/y (fetch)\r\nb\thttps://h/x (push)\nnothing\nc\t\n")
	if len(rows) != 2 || rows[0] != (row{"a", "/x (fetch)/y"}) || rows[1] != (row{"b", "https://h/x"}) {
		t.Errorf("got %q", rows)
	}
}
