package claude

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
)

const recordings = "../../fixtures/sessions/claude"

// noon is the tests' clock, long after the recordings.
var noon = time.Date(2027, 6, 1, 12, 0, 0, 0, time.UTC)

// recorded copies a recorded tree to a temporary folder and sets its times.
func recorded(t testing.TB, tree string) string {
	t.Helper()
	dir := t.TempDir()
	source := os.DirFS(filepath.Join(recordings, tree, "config"))
	if err := os.CopyFS(dir, source); err != nil {
		t.Fatal(err)
	}
	var times map[string]int64
	readJSON(t, filepath.Join(recordings, tree, "mtimes.json"), &times)
	for path, ms := range times {
		full := filepath.Join(dir, "projects", filepath.FromSlash(path))
		if err := os.Chtimes(full, time.Time{}, time.UnixMilli(ms)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func readJSON(t testing.TB, path string, into any) {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, into); err != nil {
		t.Fatal(err)
	}
}

func newDriver(t testing.TB, cfg collect.SourceConfig) *Driver {
	t.Helper()
	d, err := New(cfg, collect.Env{Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// recordedDriver reads a recorded tree as on the machine where it was recorded: the
// directories that the answers name existed there.
func recordedDriver(t testing.TB, tree string) *Driver {
	d := newDriver(t, collect.SourceConfig{ID: "claude", ConfigDir: recorded(t, tree)})
	d.resolve = func(path string) (string, error) {
		if strings.HasPrefix(path, "/home/dev/") && path != "/home/dev/elsewhere" {
			return path, nil
		}
		return "", fs.ErrNotExist
	}
	return d
}

// sameJSON compares after a round trip, so that only values and key order count.
func sameJSON(t testing.TB, what string, got any, want json.RawMessage) {
	t.Helper()
	g, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var w bytes.Buffer
	if err := json.Compact(&w, want); err != nil {
		t.Fatal(err)
	}
	var gb bytes.Buffer
	json.HTMLEscape(&gb, g)
	var wb bytes.Buffer
	json.HTMLEscape(&wb, w.Bytes())
	if gb.String() != wb.String() {
		t.Errorf("%s\n got %s\nwant %s", what, gb.String(), wb.String())
	}
}

// optionsOf reads the options that a recorded listing's name tells.
func optionsOf(t testing.TB, name string) ListOptions {
	t.Helper()
	switch name {
	case "all":
		return ListOptions{}
	case "limit100":
		return ListOptions{Limit: 100}
	case "page_limit3_offset0":
		return ListOptions{Limit: 3}
	case "page_limit3_offset3":
		return ListOptions{Limit: 3, Offset: 3}
	case "noProgrammatic":
		return ListOptions{ExcludeProgrammatic: true}
	}
	dir, ok := strings.CutPrefix(name, "dir=")
	if !ok {
		t.Fatalf("no options for the recorded listing %q", name)
	}
	dir, alone := strings.CutSuffix(dir, " worktrees=false")
	o := ListOptions{Dir: dir}
	if !alone && strings.HasPrefix(dir, "/home/dev/proj") {
		o.Worktrees = []string{"/home/dev/proj", "/home/dev/proj-wt"}
	}
	return o
}

func TestListingsAreTheClients(t *testing.T) {
	for _, tree := range []string{"real", "edge"} {
		d := recordedDriver(t, tree)
		var answers map[string]json.RawMessage
		readJSON(t, filepath.Join(recordings, tree, "oracle", "listSessions.json"), &answers)
		for name, want := range answers {
			got := d.ListAsClient(optionsOf(t, name))
			sameJSON(t, tree+" "+name, got, want)
		}
	}
}

func TestSingleSessionsAreTheClients(t *testing.T) {
	for _, tree := range []string{"real", "edge"} {
		d := recordedDriver(t, tree)
		var answers map[string]json.RawMessage
		readJSON(t, filepath.Join(recordings, tree, "oracle", "getSessionInfo.json"), &answers)
		for id, want := range answers {
			if strings.HasPrefix(id, "ed000070") {
				continue // stands in two folders: the recorded answer depends on their order on disk
			}
			got, ok := d.InfoAsClient(id)
			if string(want) == "null" {
				if ok {
					t.Errorf("%s: the client reports nothing, we %+v", id, got)
				}
				continue
			}
			sameJSON(t, id, got, want)
		}
	}
}
