package cli

import (
	"bytes"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentsync/fixtures/gen/odd"
	"agentsync/fixtures/gen/tree"
	"agentsync/fixtures/secondreader"
)

// TestASecondReaderReadsTheStore publishes all that a store can hold, and reads it with a
// reader that shares no code with the program: each byte that a restore
// writes, each message, each digest and each signature.
func TestASecondReaderReadsTheStore(t *testing.T) {
	agents := filepath.Join(t.TempDir(), "agents")
	if _, _, err := tree.Write(agents, tree.Options{Bytes: 1 << 20, Seed: 11, Grow: true, Rewrites: true, Files: 40}); err != nil {
		t.Fatal(err)
	}
	cases := append(odd.All(), odd.Unmet()...)
	for _, c := range cases {
		if err := c.Write(agents); err != nil {
			t.Fatal(err)
		}
	}
	s := newStation(t, agents)
	s.write("claude/projects/-home-dev-long/"+sessionName(900), longSession())
	for k := range 13 { // eight small packs are merged
		if k > 0 && k <= 3 {
			if _, _, err := tree.WriteStep(agents, k); err != nil {
				t.Fatal(err)
			}
		}
		for _, c := range cases {
			if k > 0 && k <= len(c.Later) {
				if err := c.WriteLater(agents, k-1); err != nil {
					t.Fatal(err)
				}
			}
		}
		lines := strings.Repeat(userLine("short"), 14-k) // what gets shorter leaves a kept copy
		s.write("claude/projects/-home-dev-short/"+sessionName(901+k%2), lines)
		s.restWritten(time.Hour - time.Duration(k)*time.Minute)
		s.run(0, "publish")
	}
	s.readASecondTime()
}

func TestASecondReaderReadsCommandsAndDatasets(t *testing.T) {
	s := newStation(t, filepath.Join(t.TempDir(), "agents"))
	s.write("claude/projects/-home-dev-app/"+sessionName(1), userLine("hello"))
	s.rest(time.Hour)
	s.run(0, "publish")
	key := "claude/" + strings.TrimSuffix(sessionName(1), ".jsonl")
	s.run(0, "command", "send", "rename", key, "First title", "--id", "a/b ä*")
	s.run(0, "drain")
	s.run(0, "command", "send", "rename", key, "Second title", "--id", "still waiting")
	other := filepath.Join(s.dir, "other")
	did := s.run(0, "--state", other, "init", "--config", filepath.Join(s.dir, "other.yaml"))["owner"].(string)
	s.run(0, "command", "bind-producer", "ci", did, "--source", "claude", "--command", "rename")
	s.run(0, "--state", other, "command", "send", "rename", key, "From afar", "--producer", "ci", "--id", "far")
	s.run(0, "drain", "--max", "1")

	project := filepath.Join(s.dir, "project")
	files := map[string]string{"plan.md": "a plan\n", "drafts/ä.md": "a draft\n", "empty": ""}
	for name, content := range files {
		name = filepath.Join(project, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s.run(0, "dirsync", "bind", project, "notes", "--id", "desk", "--direction", "both")
	was := map[string]string{}
	for k := range 2 {
		was = maps.Clone(files)
		plan := s.run(0, "dirsync", "preview", "desk")["plan"].(string)
		s.run(0, "dirsync", "apply", plan)
		files["plan.md"] = fmt.Sprintf("plan %d\n", k)
		if err := os.WriteFile(filepath.Join(project, "plan.md"), []byte(files["plan.md"]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	store, err := secondreader.Open(filepath.Join(s.dir, "store"))
	if err != nil {
		t.Fatal(err)
	}
	commands, err := store.Commands()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range commands {
		got[c.Producer+" "+c.ID] = fmt.Sprintf("%s %v %v", c.Kind, c.Claimed, c.Outcomes)
	}
	want := map[string]string{" a/b ä*": "rename true [succeeded]", " still waiting": "rename true [succeeded]", "ci far": "rename false []"}
	if !maps.Equal(got, want) {
		t.Errorf("commands: %q", got)
	}
	list, err := store.ReceiptList()
	if err != nil || !maps.Equal(list, map[string]string{"a/b ä*": "succeeded", "still waiting": "succeeded"}) {
		t.Errorf("list of receipts: %v %v", list, err)
	}
	entries, err := store.Dataset("notes")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]string{}
	for _, e := range entries {
		if e.Kind == "file" {
			there[e.Path] = string(e.Content)
		}
	}
	if !maps.Equal(there, was) || len(entries) != len(was)+1 {
		t.Errorf("dataset: %v of %v", there, entries)
	}
	s.everyFlippedBitIsFound()
}

// everyFlippedBitIsFound changes one bit of each file of a store: what the
// formats vouch for is all of it, the hints aside.
func (s *station) everyFlippedBitIsFound() {
	s.Helper()
	folder := filepath.Join(s.dir, "store")
	if err := readWhole(folder); err != nil {
		s.Fatal(err)
	}
	files := 0
	err := filepath.WalkDir(folder, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() == "hint" {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil || len(content) == 0 {
			return err
		}
		damaged := bytes.Clone(content)
		damaged[len(damaged)/2] ^= 1
		if err := replaceFile(name, damaged); err != nil {
			return err
		}
		if readWhole(folder) == nil {
			s.Errorf("a flipped bit of %s is not found", name)
		}
		files++
		return replaceFile(name, content)
	})
	if err != nil || files < 12 {
		s.Fatalf("%d files: %v", files, err)
	}
}

// replaceFile replaces a file that may be read-only.
func replaceFile(name string, content []byte) error {
	if err := os.Remove(name); err != nil {
		return err
	}
	return os.WriteFile(name, content, 0o644)
}

// readWhole reads all that a store with commands and the dataset notes holds.
func readWhole(folder string) error {
	store, err := secondreader.Open(folder)
	if err != nil {
		return err
	}
	if _, _, err := store.Packs(); err != nil {
		return err
	}
	if _, err := store.Objects(); err != nil {
		return err
	}
	index, err := store.Index()
	if err != nil {
		return err
	}
	for _, row := range index.Rows {
		if _, err := store.Session(row); err != nil {
			return err
		}
	}
	if _, err := store.Commands(); err != nil {
		return err
	}
	if _, err := store.ReceiptList(); err != nil {
		return err
	}
	if n, err := store.Health(); err != nil || n == 0 {
		return fmt.Errorf("%d health records: %v", n, err)
	}
	_, err = store.Dataset("notes")
	return err
}

func sessionName(n int) string { return fmt.Sprintf("5ec0%04d-0000-4000-8000-000000000000.jsonl", n) }

func userLine(content string) string {
	return `{"type":"user","message":{"role":"user","content":"` + content + `"},"cwd":"/home/dev/app","timestamp":"2026-03-01T12:00:00.000Z"}` + "\n"
}

// longSession has so many chunks that their descriptors fill a page and their places a
// table of its own.
func longSession() string {
	var b strings.Builder
	for i := range 130 {
		b.WriteString(userLine(strings.Repeat(string(rune('a'+i%26)), 263_000)))
	}
	return b.String()
}

// restWritten dates back what was written since it was called last.
func (s *station) restWritten(ago time.Duration) {
	s.Helper()
	now := time.Now()
	err := filepath.WalkDir(s.agents, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil || now.Sub(info.ModTime()) > 10*time.Minute {
			return err
		}
		return os.Chtimes(path, now.Add(-ago), now.Add(-ago))
	})
	if err != nil {
		s.Fatal(err)
	}
}

func (s *station) write(name, content string) {
	s.Helper()
	name = filepath.Join(s.agents, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
		s.Fatal(err)
	}
}

// readASecondTime compares what the second reader finds with what the program says, shows
// and restores.
func (s *station) readASecondTime() {
	s.Helper()
	store, err := secondreader.Open(filepath.Join(s.dir, "store"))
	if err != nil {
		s.Fatal(err)
	}
	if packs, frames, err := store.Packs(); err != nil || packs == 0 || frames == 0 {
		s.Fatalf("%d packs, %d frames: %v", packs, frames, err)
	}
	index, err := store.Index()
	if err != nil {
		s.Fatal(err)
	}
	if index.Packs > 9 {
		s.Errorf("%d packs: none were merged", index.Packs)
	}
	want := s.restored()
	listed := s.listed()
	copies, most := 0, 0
	for _, row := range index.Rows {
		got, err := store.Session(row)
		if err != nil {
			s.Error(err)
			continue
		}
		most = max(most, got.Chunks)
		if row.Copy {
			copies++
			continue
		}
		if n, ok := listed[row.Key]; !ok || n != len(got.Messages) {
			s.Errorf("%s has %d messages, ls says %d", row.Key, len(got.Messages), n)
		}
		delete(listed, row.Key)
		if files := want[row.Key]; !maps.EqualFunc(files, got.Files, bytes.Equal) {
			s.Errorf("%s: restored %v, read %v", row.Key, slices.Sorted(maps.Keys(files)), slices.Sorted(maps.Keys(got.Files)))
		}
	}
	if len(listed) > 0 || copies == 0 || most <= 128 || index.Total == 0 || index.Recent == 0 {
		s.Errorf("%d kept copies, %d chunks at most, %d and %d rows; not read: %v", copies, most, index.Total, index.Recent, listed)
	}
}

// listed is how many messages each session has, by ls.
func (s *station) listed() map[string]int {
	s.Helper()
	out := map[string]int{}
	for _, row := range s.all(0, "ls", "--all") {
		if row["message_type"] == "session" {
			out[row["key"].(string)] = int(row["messages"].(float64))
		}
	}
	return out
}

// restored are the files of each session, by their path below its agent's folder.
func (s *station) restored() map[string]map[string][]byte {
	s.Helper()
	to := s.TempDir()
	out := map[string]map[string][]byte{}
	for _, row := range s.all(0, "restore", "--all", "--to", to) {
		if row["message_type"] != "file" {
			continue
		}
		key, name := row["session"].(string), row["path"].(string)
		content, err := os.ReadFile(name)
		if err != nil {
			s.Fatal(err)
		}
		source, _, _ := strings.Cut(key, "/")
		rel, err := filepath.Rel(filepath.Join(to, source), name)
		if err != nil {
			s.Fatal(err)
		}
		if out[key] == nil {
			out[key] = map[string][]byte{}
		}
		out[key][filepath.ToSlash(rel)] = content
	}
	return out
}
