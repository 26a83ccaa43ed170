package config

import (
	"strings"
	"testing"
)

func TestPathsAreSettledByTheRulesOfTheirSystem(t *testing.T) {
	cases := []struct {
		name          string
		system        system
		path, folder  string
		home, want    string
		wantErrorWith string
	}{
		{"absolute", "linux", "/a/../b//c/", "/w", "/h", "/b/c", ""},
		{"relative", "linux", "a/b", "/w", "/h", "/w/a/b", ""},
		{"the folder itself", "linux", ".", "/w", "/h", "/w", ""},
		{"home", "darwin", "~", "/w", "/h", "/h", ""},
		{"below home", "linux", "~/a/b", "/w", "/h", "/h/a/b", ""},
		{"a tilde inside", "linux", "a~/~", "/w", "/h", "/w/a~/~", ""},
		{"a backslash is a letter", "linux", `a\b`, "/w", "/h", `/w/a\b`, ""},
		{"variables are not expanded", "linux", "${HOME}/$x", "/w", "/h", "/w/${HOME}/$x", ""},
		{"a drive", windows, `C:\a\..\b`, `D:\w`, `C:\h`, `C:\b`, ""},
		{"a drive with slashes", windows, "c:/a/b", `D:\w`, `C:\h`, `c:\a\b`, ""},
		{"the root of a drive", windows, `C:\`, `D:\w`, `C:\h`, `C:\`, ""},
		{"a share", windows, `\\host\share\a\.\b`, `D:\w`, `C:\h`, `\\host\share\a\b`, ""},
		{"relative on a drive", windows, `a/b`, `D:\w`, `C:\h`, `D:\w\a\b`, ""},
		{"below home on a drive", windows, `~\a`, `D:\w`, `C:\Users\dev`, `C:\Users\dev\a`, ""},

		{"nothing", "linux", "", "/w", "/h", "", "empty"},
		{"another user's home", "linux", "~root/x", "/w", "/h", "", "only ~/ is expanded"},
		{"no home", "linux", "~/x", "/w", "", "", "needs a home folder"},
		{"a home that is relative", "linux", "~/x", "/w", "h", "", "needs a home folder"},
		{"no folder", "linux", "x", "", "/h", "", "no folder that it is relative to"},
		{"a drive without slash", windows, `C:a`, `D:\w`, `C:\h`, "", "a drive needs a slash"},
		{"a NUL", "linux", "a\x00", "/w", "/h", "", "NUL"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.system.settle(c.path, c.folder, c.home)
			if c.wantErrorWith != "" {
				if err == nil || !strings.Contains(err.Error(), c.wantErrorWith) {
					t.Errorf("got %q, %v", got, err)
				}
				return
			}
			if err != nil || got != c.want {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

func TestAProgramOfOneWordIsLeftToBeFound(t *testing.T) {
	for program, want := range map[string]string{"codex": "codex", "./codex": "/w/codex", "bin/codex": "/w/bin/codex", "~/codex": "/h/codex", "/x/codex": "/x/codex"} {
		if got, err := system("linux").settleProgram(program, "/w", "/h"); err != nil || got != want {
			t.Errorf("%s: got %q, %v", program, got, err)
		}
	}
	if got, err := windows.settleProgram(`bin\codex`, `C:\w`, ""); err != nil || got != `C:\w\bin\codex` {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestStandardPlaces(t *testing.T) {
	cases := []struct {
		name, goos, home string
		variables        []string
		file, state      string
	}{
		{"linux", "linux", "/home/dev", nil, "/home/dev/.config/agentsync/config.yaml", "/home/dev/.local/state/agentsync"},
		{"linux with XDG", "linux", "/home/dev", []string{"XDG_CONFIG_HOME=/c", "XDG_STATE_HOME=/s"}, "/c/agentsync/config.yaml", "/s/agentsync"},
		{"linux with XDG and no home", "linux", "", []string{"XDG_CONFIG_HOME=/c", "XDG_STATE_HOME=/s"}, "/c/agentsync/config.yaml", "/s/agentsync"},
		{"relative XDG", "linux", "/home/dev", []string{"XDG_CONFIG_HOME=c", "XDG_STATE_HOME=s"}, "/home/dev/.config/agentsync/config.yaml", "/home/dev/.local/state/agentsync"},
		{"no home", "linux", "", nil, "", ""},
		{"macOS", "darwin", "/Users/dev", nil, "/Users/dev/Library/Application Support/agentsync/config.yaml", "/Users/dev/Library/Application Support/agentsync/state"},
		{"macOS with XDG", "darwin", "/Users/dev", []string{"XDG_CONFIG_HOME=/c", "XDG_STATE_HOME=/s"}, "/c/agentsync/config.yaml", "/s/agentsync"},
		{"Windows", "windows", `C:\Users\dev`, []string{`LocalAppData=D:\Local`}, `D:\Local\agentsync\config.yaml`, `D:\Local\agentsync\state`},
		{"Windows without LocalAppData", "windows", `C:\Users\dev`, nil, `C:\Users\dev\AppData\Local\agentsync\config.yaml`, `C:\Users\dev\AppData\Local\agentsync\state`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			env := at(c.home, c.variables...)
			env.Goos = c.goos
			state, err := stateFolder(env)
			if DefaultFile(env) != c.file || state != c.state || (err != nil) != (c.state == "") {
				t.Errorf("got %q, %q, %v", DefaultFile(env), state, err)
			}
		})
	}
}

func TestStoreAddresses(t *testing.T) {
	file := func(path string) StoreURL { return StoreURL{Scheme: "file", Path: path} }
	cases := []struct {
		name, text string
		goos       string
		want       StoreURL
		wantString string
	}{
		{"a folder", "/srv/x", "linux", file("/srv/x"), "file:///srv/x"},
		{"a relative folder", "x y", "linux", file("/w/x y"), "file:///w/x%20y"},
		{"below home", "~/x", "linux", file("/h/x"), "file:///h/x"},
		{"a file address", "file:///srv/a%20b%23/", "linux", file("/srv/a b#"), "file:///srv/a%20b%23"},
		{"a file address with localhost", "FILE://localhost/srv", "linux", file("/srv"), "file:///srv"},
		{"a folder with a colon", "a:b", "linux", file("/w/a:b"), "file:///w/a:b"},
		{"a folder with a backslash", `/a\b`, "linux", file(`/a\b`), "file:///a%5Cb"},
		{"a drive", `C:\x y`, "windows", file(`C:\x y`), "file:///C:/x%20y"},
		{"a file address with a drive", "file:///C:/x", "windows", file(`C:\x`), "file:///C:/x"},
		{"a bucket", "s3://my.bucket-1", "linux", StoreURL{Scheme: "s3", Bucket: "my.bucket-1"}, "s3://my.bucket-1"},
		{"a bucket with everything", "s3://bucket/a/b%20c/?endpoint=HTTP://127.0.0.1:8333/&region=eu-central-1", "linux",
			StoreURL{Scheme: "s3", Bucket: "bucket", Prefix: "a/b c", Endpoint: "http://127.0.0.1:8333", Region: "eu-central-1"},
			"s3://bucket/a/b%20c?endpoint=http%3A%2F%2F127.0.0.1%3A8333&region=eu-central-1"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			env, folder := Env{Goos: c.goos, Home: "/h"}, "/w"
			if c.goos == "windows" {
				folder = `D:\w`
			}
			got, err := ParseStore(c.text, folder, env)
			if err != nil || got != c.want || got.String() != c.wantString {
				t.Errorf("got %+v, %s, %v", got, got, err)
			}
			if again, err := ParseStore(got.String(), "", env); err != nil || again != got {
				t.Errorf("%s reads as %+v, %v", got, again, err)
			}
		})
	}
}

func TestStoreAddressesThatAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "the path is empty",
		"gs://bucket/x":                    "unknown scheme gs; a store is a folder, file:///folder, or s3://bucket/prefix",
		"file:/srv":                        "the scheme needs two slashes: file:///folder or s3://bucket/prefix",
		"s3:bucket":                        "the scheme needs two slashes: file:///folder or s3://bucket/prefix",
		"file://srv/x":                     "a file address names no host: write file:///folder, with three slashes",
		"file://":                          "a file address needs a folder: file:///folder",
		"file:///a?b":                      "a file address has no part after ?; in a folder's name write %3F",
		"file:///a#b":                      "an address has no part after #; in a folder's name write %23",
		"file:///secret%zz":                `not a valid address: invalid URL escape "%zz"`,
		"s3://key:secret@bucket/x":         "an address holds no user or password; credentials come from the environment",
		"s3:///x":                          "the bucket's name needs 3 to 63 lower-case letters, digits, dots or hyphens",
		"s3://Bucket":                      "the bucket's name needs 3 to 63 lower-case letters, digits, dots or hyphens",
		"s3://buck..et":                    "the bucket's name needs 3 to 63 lower-case letters, digits, dots or hyphens",
		"s3://bucket/a//b":                 "the prefix holds an empty, dot, or unprintable part",
		"s3://bucket/../b":                 "the prefix holds an empty, dot, or unprintable part",
		"s3://bucket/%0a":                  "the prefix holds an empty, dot, or unprintable part",
		"s3://bucket?endpiont=http://x":    `unknown parameter "endpiont" (did you mean endpoint?)`,
		"s3://bucket?profile=x":            `unknown parameter "profile" (known: endpoint, region)`,
		"s3://bucket?region=a&region=b":    `the parameter "region" is given twice`,
		"s3://bucket?region=a%20b":         "the region is a name such as eu-central-1",
		"s3://bucket?endpoint=x:1":         "the endpoint is http://host:port or https://host, and nothing more",
		"s3://bucket?endpoint=http://":     "the endpoint is http://host:port or https://host, and nothing more",
		"s3://bucket?endpoint=http://x/y":  "the endpoint is http://host:port or https://host, and nothing more",
		"s3://bucket?endpoint=http://u@x/": "the endpoint is http://host:port or https://host, and nothing more",
		"s3://bucket?a;b":                  "the part after ? is not name=value&name=value",
	} {
		got, err := ParseStore(text, "/w", Env{Home: "/h"})
		if err == nil || err.Error() != want {
			t.Errorf("%q: got %+v, %v; want %s", text, got, err, want)
		}
	}
}

func TestTheNearestKeyIsTheOneMeant(t *testing.T) {
	for word, want := range map[string]string{"Drvier": "driver", "configdir": "configDir", "config_dir": "configDir", "root": "roots",
		"simlinks": "symlinks", "i": "id", "xyz": "", "transport": "", "environment": ""} {
		if got := nearest(word, sourceKeys); got != want {
			t.Errorf("%s: got %q, want %q", word, got, want)
		}
	}
}

func TestTheStoreStandsApartFromTheState(t *testing.T) {
	for _, c := range []struct {
		name, goos, home string
		variables        []string
		state            string // as named with --state
		want             string
	}{
		{"linux", "linux", "/home/dev", nil, "", "/home/dev/.local/share/agentsync/store"},
		{"linux with XDG", "linux", "/home/dev", []string{"XDG_STATE_HOME=/s", "XDG_DATA_HOME=/d"}, "", "/d/agentsync/store"},
		{"no home", "linux", "", []string{"XDG_STATE_HOME=/s"}, "", "/s/agentsync/store"},
		{"a named state folder holds everything", "linux", "/home/dev", nil, "/n", "/n/store"},
		{"named by a variable", "linux", "/home/dev", []string{"AGENTSYNC_STATE=/n"}, "", "/n/store"},
		{"macOS", "darwin", "/Users/dev", nil, "", "/Users/dev/Library/Application Support/agentsync/store"},
		{"Windows", "windows", `C:\Users\dev`, []string{`LocalAppData=D:\Local`}, "", `D:\Local\agentsync\store`},
	} {
		env := at(c.home, c.variables...)
		env.Goos, env.State = c.goos, c.state
		if got, err := Load("", env); err != nil || got.Store.Path != c.want {
			t.Errorf("%s: %q, want %q; %v", c.name, got.Store.Path, c.want, err)
		}
	}
}
