package gitinfo

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestPublishURL(t *testing.T) {
	const refused = ""
	cases := []struct{ name, raw, want string }{
		{"credentials, query and fragment are dropped", "https://account:secret@example.com/a/b.git?token=x#y", "https://example.com/a/b.git"},
		{"a token as user is dropped", "https://token@example.com/a.git", "https://example.com/a.git"},
		{"an @ inside the password does not end it", "https://u:p@ss@example.com/a", "https://example.com/a"},
		{"an SCP address stays", "git@example.com:a/b.git", "git@example.com:a/b.git"},
		{"an SCP address without user stays", "example.com:a/b.git", "example.com:a/b.git"},
		{"an SCP host keeps its case", "git@Example.COM:A/b", "git@Example.COM:A/b"},
		{"an SCP path may be absolute", "git@example.com:/srv/a.git", "git@example.com:/srv/a.git"},
		{"an ssh user is dropped", "ssh://git@example.com:2222/a.git", "ssh://example.com:2222/a.git"},
		{"an ssh host keeps its case, an http host does not", "ssh://git@Example.com/a", "ssh://Example.com/a"},
		{"http host and scheme are lower-cased", "HTTPS://Example.COM/A", "https://example.com/A"},
		{"the default port of https", "https://example.com:443/a", "https://example.com/a"},
		{"the default port of http", "http://example.com:80/a", "http://example.com/a"},
		{"another port stays, without leading zeros", "https://example.com:0080/a", "https://example.com:80/a"},
		{"ssh has no default port in the standard", "ssh://example.com:22/a", "ssh://example.com:22/a"},
		{"an empty port", "ssh://u@example.com:/a", "ssh://example.com/a"},
		{"an empty path of http", "https://example.com", "https://example.com/"},
		{"an empty path of http before a query", "https://u:p@example.com?x", "https://example.com/"},
		{"an empty path of ssh", "ssh://example.com", "ssh://example.com"},
		{"git protocol", "git://example.com:9418/a", "git://example.com:9418/a"},
		{"dot segments", "https://example.com/a/../b/./c/..", "https://example.com/b/"},
		{"encoded dot segments", "https://example.com/%2e%2E/x/.", "https://example.com/x/"},
		{"more parents than folders", "ssh://h/x/../../y", "ssh://h/y"},
		{"characters a path may not hold", "https://example.com/a b^{}`<é\"|", "https://example.com/a%20b^%7B%7D%60%3C%C3%A9%22|"},
		{"a backslash separates in http", `https://example.com/a\b`, "https://example.com/a/b"},
		{"a backslash is a character in ssh", `ssh://example.com/a\b`, `ssh://example.com/a\b`},
		{"empty segments stay", "ssh://example.com//x", "ssh://example.com//x"},
		{"extra slashes before an http host", "https:///example.com/x", "https://example.com/x"},
		{"spaces around, tabs within", " https://example.com/a\tb ", "https://example.com/ab"},
		{"IPv6", "https://[2001:DB8::0:1]:443/a", "https://[2001:db8::1]/a"},
		{"IPv6 in ssh", "ssh://[::1]:22/x", "ssh://[::1]:22/x"},
		{"IPv4 in IPv6", "https://[::ffff:1.2.3.4]/x", "https://[::ffff:102:304]/x"},
		{"IPv4", "http://127.0.0.1:8080/x", "http://127.0.0.1:8080/x"},
		{"a non-ASCII ssh host", "ssh://é/x", "ssh://%C3%A9/x"},

		{"a remote helper", "ext::shell command with secret", refused},
		{"a compact remote helper", "ext::https://account:secret@example.com/a", refused},
		{"a file address", "file:/srv/a", refused},
		{"a file address with two slashes", "file:///srv/a", refused},
		{"a file address in capitals", "FILE:srv", refused},
		{"another scheme", "ftp://example.com/a", refused},
		{"a drive with a slash", "C:/a", refused},
		{"a drive with a backslash", `C:\a`, refused},
		{"a drive-relative path", `D:a\b`, refused},
		{"an absolute path", "/srv/a", refused},
		{"a relative path", "../a", refused},
		{"a relative path with a colon", "./a:b", refused},
		{"nothing", "", refused},
		{"a bare name", "origin", refused},
		{"no host", "https://", refused},
		{"no host but a path", "ssh:///srv/a", refused},
		{"only a user", "https://user:secret@/a", refused},
		{"a port beyond the range", "https://example.com:65536/a", refused},
		{"a port that is no number", "ssh://example.com:2a/x", refused},
		{"a forbidden character in a host", "ssh://a^b/x", refused},
		{"an odd spelling of IPv4", "http://0x7f.1/x", refused},
		{"a password hidden in an SCP path", "user:secret@example.com:a/b", refused},
		{"a URL with a slash too few", "https:/user:secret@example.com/a", refused},
		{"a URL without slashes", "https:user:secret@example.com", refused},
		{"an SCP address with a line break", "git@example.com:a\nb", refused},
		{"an SCP address that is not text", "git@example.com:\xff", refused},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, ok := PublishURL(c.raw)
			if ok != (c.want != refused) || ok && got != c.want {
				t.Errorf("PublishURL(%q) = %q, %v; want %q", c.raw, got, ok, c.want)
			}
		})
	}
}

func TestRemotesFollowThePublishedVector(t *testing.T) {
	var vector struct {
		GitRemotes struct {
			Lines []string
			Rows  []struct {
				Name string
				URLs []string
			}
		}
	}
	text, err := os.ReadFile(sharedFile("spec/fabric-vectors.json"))
	if err != nil {
		t.Skipf("the format's vectors are not beside this tree: %v", err)
	}
	if err := json.Unmarshal(text, &vector); err != nil {
		t.Fatal(err)
	}
	got := publishedRemotes(parseRows(strings.Join(vector.GitRemotes.Lines, "\n")))
	var want []Remote
	for _, row := range vector.GitRemotes.Rows {
		want = append(want, Remote{row.Name, row.URLs})
	}
	if len(want) == 0 || !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRemotesAreSortedAndDistinct(t *testing.T) {
	got := publishedRemotes(parseRows("b\thttps://h/2 (fetch) [blob:none]\nb\thttps://u@h/2 (push)\nb\thttps://h/1 (push)\na\thost:x (fetch)\nempty\t\nlocal\t/x (fetch)\n"))
	want := []Remote{{"a", []string{"host:x"}}, {"b", []string{"https://h/1", "https://h/2"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func FuzzPublishURL(f *testing.F) {
	for _, seed := range []string{"https://u:p@h:443/a/../b?x#y", "git@h:a/b", "ssh://[::1]:22/x", "ext::x", `C:\x`,
		"user:secret@h:a", "https:/u:p@h/x", "ssh://%41/é", "https://h\\@x/", "http://1.2.3.4.:80", "git://h:/.%2e/"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got, ok := PublishURL(raw)
		if !ok {
			if got != "" {
				t.Errorf("a refused address %q gave %q", raw, got)
			}
			return
		}
		again, ok := PublishURL(got)
		if !ok || again != got {
			t.Errorf("PublishURL(%q) = %q, which publishes as %q, %v", raw, got, again, ok)
		}
		if strings.ContainsAny(got, "\n\r\t") {
			t.Errorf("PublishURL(%q) = %q holds a control character", raw, got)
		}
		if strings.Contains(got, "://") && (strings.ContainsAny(got, "?#") || strings.Contains(strings.Split(got[strings.Index(got, "://")+3:], "/")[0], "@")) {
			t.Errorf("PublishURL(%q) = %q keeps what must be dropped", raw, got)
		}
	})
}

// sharedFile names a file of the folder of shared material that may stand beside
// the module.
func sharedFile(name string) string {
	folder, _ := os.Getwd()
	for folder != filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			break
		}
		folder = filepath.Dir(folder)
	}
	return filepath.Join(folder, "..", "shared", name)
}
