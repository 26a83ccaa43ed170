package claude

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/collect/value"
	"agentsync/fixtures/plainuser"
)

func TestARecordedTreeIsReadByteForByte(t *testing.T) {
	for _, tree := range []string{"real", "edge"} {
		d := recordedDriver(t, tree)
		page := inventory(t, d)
		var bytes int64
		for _, s := range page.Sessions {
			h := read(t, d, s.NativeSessionID, nil)
			bytes += int64(len(h.raw))
			if int64(len(h.raw)) != s.Stamp.Size || !h.trailer.Complete {
				t.Errorf("%s: %d bytes of %d, complete %t", s.NativeSessionID, len(h.raw), s.Stamp.Size, h.trailer.Complete)
			}
			if h.trailer.Resume.Stamp != s.Stamp {
				t.Errorf("%s: read with stamp %+v, listed with %+v", s.NativeSessionID, h.trailer.Resume.Stamp, s.Stamp)
			}
			summary, err := d.Summarize(context.Background(), s.NativeSessionID)
			if err != nil || describe(summary) != describe(h.trailer.Summary) {
				t.Errorf("%s: %v, summaries differ:\n%s\n%s", s.NativeSessionID, err, describe(summary), describe(h.trailer.Summary))
			}
		}
		if want := (config{t, d.roots[0].dir}).size(); bytes != want {
			t.Errorf("%s: read %d bytes of %d", tree, bytes, want)
		}
	}
}

// describe writes a summary out for comparing.
func describe(s collect.Summary) string {
	raw := string(value.AppendText(nil, s.Raw))
	s.Raw = value.Value{}
	text, _ := json.Marshal(s)
	return string(text) + raw
}

// unlisted are recordings that the client's list leaves out since their beginning holds no
// prompt, and that have a conversation all the same.
var unlisted = map[string]bool{
	"ed000018-0000-4000-8000-000000000000": true, // begins with an interruption
	"ed000019-0000-4000-8000-000000000000": true, // a first prompt longer than the client looks
	"ed000054-0000-4000-8000-000000000000": true, // behind a byte order mark
}

func TestTheSummaryIsTheClientsView(t *testing.T) {
	d := recordedDriver(t, "edge")
	listed := map[string]Info{}
	for _, info := range d.ListAsClient(ListOptions{}) {
		listed[info.SessionID] = info
	}
	for _, s := range inventory(t, d).Sessions {
		id := s.NativeSessionID
		summary, err := d.Summarize(context.Background(), id)
		if err != nil {
			t.Fatal(err)
		}
		info, shown := listed[id]
		if summary.Hidden == (shown || unlisted[id]) {
			t.Errorf("%s: hidden %t, but the client lists it: %t", id, summary.Hidden, shown)
		}
		if !shown {
			continue
		}
		raw := summary.Raw
		if title, _ := str(raw, "summary"); title != info.Summary || *summary.Title == "" {
			t.Errorf("%s: summary %q, want %q", id, title, info.Summary)
		}
		if ms, _ := raw.Path("lastModified").Integer(); ms != info.LastModified || *summary.UpdatedAt != formatMillis(ms) {
			t.Errorf("%s: modified %d, want %d", id, ms, info.LastModified)
		}
		if path := summary.Placement.Path; !strings.HasPrefix(path, "projects/-home-dev-") || !strings.HasSuffix(path, id+".jsonl") {
			t.Errorf("%s: path %q", id, path)
		}
	}
}

func TestSubagentsKnowTheirParents(t *testing.T) {
	d := recordedDriver(t, "real")
	inventory(t, d)
	session := "03000000-0000-4000-8000-000000000003"
	for agent, parent := range map[string]string{
		"/subagents/agent-a3500a97d4ceae128": session,
		"/subagents/agent-a5ecff7859e7bdc4e": session + "/subagents/agent-a3500a97d4ceae128",
	} {
		s, err := d.Summarize(context.Background(), session+agent)
		if err != nil || s.Parent != parent || !s.Hidden || s.Title == nil {
			t.Errorf("%s: %v, %+v", agent, err, s)
		}
	}
	c := newConfig(t)
	c.put("-p/agent-old.jsonl", strings.Replace(talk("x"), `"sessionId":"s"`, `"sessionId":"`+u(7)+`"`, 1))
	if s, err := c.driver().Summarize(context.Background(), "-p/agent-old"); err != nil || s.Parent != u(7) {
		t.Errorf("a flat agent: %v, %+v", err, s)
	}
}

func TestMessagesAreNormalized(t *testing.T) {
	c := newConfig(t)
	long := strings.Repeat("é", 498) + "a😀b"
	c.put("-p/"+u(1)+".jsonl", `{"type":"mode","mode":"plan"}`+"\n"+
		turn("user", "m1", "", long)+
		`{"type":"assistant","uuid":"m2","parentUuid":"m1","timestamp":"2026-11-30T10:00:00.5+02:00","message":{"content":[{"type":"text","text":"one"},{"type":"tool_result","content":[{"type":"text","text":"two"}]}]}}`+"\n"+
		`{"type":"system","uuid":"m3","content":"note","timestamp":"not a date"}`+"\n"+
		`{"type":"user","uuid":5,"message":{"content":"no id"}}`+"\n"+
		`{"type":"progress","uuid":"m4"}`+"\n")
	h := read(t, c.driver(), u(1), nil)
	want := []collect.Message{
		{ID: "m1", Role: "user", Kind: "user", CreatedAt: "2026-11-30T08:00:00.000Z", Preview: strings.Repeat("é", 498) + "a", RawIndex: 1},
		{ID: "m2", ParentID: "m1", Role: "assistant", Kind: "assistant", CreatedAt: "2026-11-30T08:00:00.500Z", Preview: "one\ntwo", RawIndex: 2},
		{ID: "m3", Role: "system", Kind: "system", RawIndex: 3},
	}
	if fmt.Sprintf("%+v", h.messages) != fmt.Sprintf("%+v", want) {
		t.Errorf("messages\n got %+v\nwant %+v", h.messages, want)
	}
	if len(h.texts) != 6 || h.trailer.Revision != fmt.Sprint(noon.Add(-time.Hour).UnixMilli()) {
		t.Errorf("%d events, revision %q", len(h.texts), h.trailer.Revision)
	}
}

func TestAGrownSessionIsResumed(t *testing.T) {
	c := newConfig(t)
	name := "-p/" + u(1) + ".jsonl"
	c.put(name, talk("hi"))
	first := read(t, c.driver(), u(1), nil)
	grown := turn("user", "u3", "u2", "more")
	c.put(name, talk("hi")+grown)
	second := read(t, c.driver(), u(1), &first.trailer.Resume)
	if second.raw != grown || second.starts[0] != first.trailer.Resume.At || second.messages[0].RawIndex != 2 {
		t.Errorf("read %q from %+v, message %+v", second.raw, second.starts[0], second.messages)
	}
	if second.trailer.Resume.At.Event != 3 || describe(second.trailer.Summary) != describe(read(t, c.driver(), u(1), nil).trailer.Summary) {
		t.Errorf("trailer %+v", second.trailer)
	}
	c.put(name, strings.ToUpper(talk("hi"))+grown+grown)
	if rewritten := read(t, c.driver(), u(1), &second.trailer.Resume); rewritten.starts[0].Offset != 0 {
		t.Error("a rewritten file was resumed")
	}
	c.put(name, talk("hi")[:40])
	if shortened := read(t, c.driver(), u(1), &second.trailer.Resume); shortened.starts[0].Offset != 0 || len(shortened.raw) != 40 {
		t.Error("a shortened file was resumed")
	}
}

func TestSideFilesAreKeptPieceByPiece(t *testing.T) {
	c := newConfig(t)
	big := strings.Repeat("0123456789abcdef", pieceSize/16) + "tail"
	folder := "-p/" + u(1)
	c.put(folder+"/tool-results/big.txt", big)
	c.put(folder+"/tool-results.txt", "\x00\xff binary")
	c.put(folder+"/archived.json", "")
	c.put(folder+"/subagents/agent-1.jsonl", talk("a session of its own"))
	c.put(folder+"/subagents/agent-1.meta.json", "{}")
	if err := os.Chmod(c.path(folder+"/archived.json"), 0o640); err != nil {
		t.Fatal(err)
	}
	h := read(t, c.driver(), u(1)+"/files", nil)
	var got []string
	for i, f := range h.files {
		got = append(got, fmt.Sprintf("%s@%d", f.Path, h.offsets[i]))
	}
	want := []string{"archived.json@0", "subagents/agent-1.meta.json@0", "tool-results.txt@0", "tool-results/big.txt@0", fmt.Sprintf("tool-results/big.txt@%d", pieceSize)}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("pieces %v, want %v", got, want)
	}
	if h.raw != "{}\x00\xff binary"+big || h.starts[len(h.starts)-1].Offset != int64(len(h.raw)) {
		t.Error("the contents are not kept")
	}
	if h.files[0].Mode != 0o640 && os.PathSeparator == '/' {
		t.Errorf("mode %o", h.files[0].Mode)
	}
	sum := sha256.Sum256([]byte("tail"))
	record := fmt.Sprintf(`{"agentsync":"file","path":"tool-results/big.txt","offset":%d,"bytes":4,"sha256":"%s"}`, pieceSize, hex.EncodeToString(sum[:]))
	if h.texts[4] != record {
		t.Errorf("record %s, want %s", h.texts[4], record)
	}
	if !h.trailer.Complete || h.trailer.Summary.Parent != u(1) || !h.trailer.Summary.Hidden {
		t.Errorf("trailer %+v", h.trailer)
	}
	project := newConfig(t)
	project.put("-p/memory/a.md", "A")
	project.put("-p/x.bak", "B")
	project.put("-p/"+u(2)+".jsonl", talk("no side file"))
	if h := read(t, project.driver(), "-p/files", nil); h.raw != "AB" || h.files[0].Path != "memory/a.md" {
		t.Errorf("a project's files: %q, %v", h.raw, h.files)
	}
}

func TestAnUnreadableFileIsNamed(t *testing.T) {
	if plainuser.Runs(t) {
		return
	}
	c := newConfig(t)
	for _, name := range []string{"-p/" + u(1) + ".jsonl", "-p/" + u(2) + ".jsonl", "-p/" + u(1) + "/a.txt", "-p/" + u(1) + "/b.txt"} {
		c.put(name, talk("hi"))
	}
	for _, name := range []string{"-p/" + u(2) + ".jsonl", "-p/" + u(1) + "/a.txt"} {
		if err := os.Chmod(c.path(name), 0); err != nil {
			t.Fatal(err)
		}
	}
	d := c.driver()
	if _, err := tryRead(d, u(2), nil); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), u(2)) {
		t.Errorf("an unreadable session: %v", err)
	}
	h := read(t, d, u(1)+"/files", nil)
	if h.trailer.Complete || len(h.trailer.Problems) != 1 || h.trailer.Problems[0].Path != c.path("-p/"+u(1)+"/a.txt") || len(h.texts) != 1 {
		t.Errorf("an unreadable side file: %+v", h.trailer)
	}
}

func TestReadingChangesNothing(t *testing.T) {
	d := recordedDriver(t, "real")
	before := treeState(t, d.roots[0].dir)
	for _, s := range inventory(t, d).Sessions {
		read(t, d, s.NativeSessionID, nil)
	}
	if after := treeState(t, d.roots[0].dir); after != before {
		t.Error("reading changed the folder")
	}
}

func treeState(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		fmt.Fprintln(&b, path, info.Size(), info.Mode(), info.ModTime().UnixNano())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestSessionsInOneFolderKeepTheirOwnDirectories(t *testing.T) {
	c := newConfig(t)
	at := func(cwd string) string { return strings.ReplaceAll(talk("hi"), "/home/dev/proj", cwd) }
	c.put("-x-foo-bar/"+u(1)+".jsonl", at("/x/foo-bar"))
	c.put("-x-foo-bar/"+u(2)+".jsonl", at("/x/foo/bar"))
	c.put("-x-foo-bar/"+u(3)+".jsonl", at("/x/foo/bar")+`{"type":"relocated","relocatedCwd":"/x/foo-bar"}`+"\n")
	for id, want := range map[string]string{u(1): "/x/foo-bar", u(2): "/x/foo/bar", u(3): "/x/foo-bar"} {
		s, err := c.driver().Summarize(context.Background(), id)
		if err != nil || *s.Cwd != want {
			t.Errorf("%s: %v, %q, want %q", id, err, *s.Cwd, want)
		}
	}
}

func TestProjectKeys(t *testing.T) {
	deep := "/home/dev/" + strings.Repeat("a", 250)
	for cwd, want := range map[string]string{
		"/w/my.proj_x y/é":       "-w-my-proj-x-y--",
		"/w/😀":                   "-w---",
		`C:\Users\qa\work`:       "C--Users-qa-work",
		"/a/b.c":                 "-a-b-c",
		deep:                     "-home-dev-" + strings.Repeat("a", 190) + "-" + keyHash(deep),
		strings.Repeat("a", 200): strings.Repeat("a", 200),
	} {
		if got := collect.ProjectKey(cwd); got != want {
			t.Errorf("%q has key %q, want %q", cwd, got, want)
		}
	}
}

// keyHash is the hash in a long key, computed the plain way.
func keyHash(s string) string {
	h := int64(0)
	for _, c := range []byte(s) {
		h = (h*31 + int64(c)) & 0xFFFFFFFF
	}
	if h >= 1<<31 {
		h = 1<<32 - h
	}
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	text := ""
	for ; h > 0; h /= 36 {
		text = string(digits[h%36]) + text
	}
	return text
}

func TestFileTimesAreRoundedAsTheClientRounds(t *testing.T) {
	for nanos, want := range map[int64]int64{
		123456789_999_000: 123456790, 1_499_999: 1, 1_500_000: 2, 0: 0, -1: 0, -500_000: 0, -500_001: -1, -1_600_000: -2,
	} {
		if got := roundMillis(nanos); got != want {
			t.Errorf("%d ns are %d ms, want %d", nanos, got, want)
		}
	}
}

func TestASessionWhoseBeginningHoldsNoPromptIsNoHiddenOne(t *testing.T) {
	snapshots := strings.Repeat(`{"type":"file-history-snapshot","messageId":"m","snapshot":{"files":"`+strings.Repeat("x", 1000)+`"}}`+"\n", 200)
	prompt := `{"type":"user","uuid":"u","parentUuid":null,"message":{"role":"user","content":"Find the leak"}}` + "\n"
	answer := `{"type":"assistant","uuid":"a","parentUuid":"u","message":{"role":"assistant","content":"Found"}}` + "\n"
	for name, c := range map[string]struct {
		content, title string
		hidden         bool
	}{
		"a late prompt":        {snapshots + prompt + answer + snapshots, "Find the leak", false},
		"an answer alone":      {snapshots + answer, "", false},
		"no conversation":      {snapshots, "", true},
		"only an interruption": {`{"type":"user","uuid":"u","message":{"content":"[Request interrupted by user]"}}` + "\n", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			f := newConfig(t)
			f.put("-p/"+u(1)+".jsonl", c.content)
			summary := read(t, f.driver(), u(1), nil).trailer.Summary
			title := ""
			if summary.Title != nil {
				title = *summary.Title
			}
			if summary.Hidden != c.hidden || title != c.title {
				t.Errorf("hidden %t, title %q", summary.Hidden, title)
			}
		})
	}
}
