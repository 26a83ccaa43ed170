package codex

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/klauspost/compress/zstd"
)

const (
	segmented = "019cb6e0-0001-7000-8000-000000000001"
	partless  = "019cb6e0-0002-7000-8000-000000000002"
)

// homeOf makes a home whose rollouts have these names and contents.
func homeOf(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, "sessions", "2026", "03", "04", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func headLine(id string) string {
	return `{"timestamp":"2026-03-04T05:06:07.000Z","type":"session_meta","payload":{"id":"` + id + `","cwd":"/home/dev"}}` + "\n"
}

func TestWhatGoesOnInAnotherFileBelongsToItsThread(t *testing.T) {
	d := driverOf(t, homeOf(t, map[string]string{
		"rollout-2026-03-04T05-06-07-" + segmented + ".jsonl":                                      headLine(segmented),
		"rollout-2026-03-05T05-06-07-" + segmented + "_0002.jsonl":                                 headLine(segmented),
		"rollout-2026-03-06T05-06-07-" + segmented + "_019cb6e0-0009-7000-8000-000000000009.jsonl": headLine(segmented),
		"rollout-2026-03-04T05-06-07-" + partless + "_a.jsonl":                                     headLine(partless),
		"rollout-2026-03-05T05-06-07-" + partless + "_b.jsonl":                                     headLine(partless),
	}))
	want := map[string]string{segmented: "", segmented + "/0002": segmented,
		segmented + "/019cb6e0-0009-7000-8000-000000000009": segmented, partless + "/a": "", partless + "/b": partless + "/a"}
	page := list(t, d)
	for _, l := range page.Sessions {
		parent, known := want[l.NativeSessionID]
		if got := read(t, d, l.NativeSessionID, nil).trailer.Summary.Parent; !known || l.Parent != parent || got != parent {
			t.Errorf("%s belongs to %q, and says %q; want %q", l.NativeSessionID, l.Parent, got, parent)
		}
		if thread, ok := ThreadOf(l.NativeSessionID); !ok || thread != segmented && thread != partless {
			t.Errorf("%s is of thread %q", l.NativeSessionID, thread)
		}
	}
	if len(page.Sessions) != len(want) {
		t.Errorf("listed %v", idsOf(page))
	}
}

func TestAnEmptyCopyIsKeptAndNoConversation(t *testing.T) {
	name := "rollout-2026-03-04T05-06-07-" + segmented
	d := driverOf(t, homeOf(t, map[string]string{name + ".jsonl": headLine(segmented), name + " 2.jsonl": "", name + " (1).jsonl": ""}))
	hidden := 0
	for _, id := range idsOf(list(t, d)) {
		got := read(t, d, id, nil)
		if got.trailer.Summary.Hidden {
			hidden++
		}
		if got.trailer.Summary.Hidden != (got.raw == "") {
			t.Errorf("%s: hidden %t, %q", id, got.trailer.Summary.Hidden, got.raw)
		}
	}
	if hidden != 2 {
		t.Errorf("%d of two copies are hidden", hidden)
	}
}

func TestAFileThatIsNoWholeZstdStreamIsKeptAsItsBytes(t *testing.T) {
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	whole := string(encoder.EncodeAll([]byte(headLine(segmented)), nil))
	name := "rollout-2026-03-04T05-06-07-" + segmented + ".jsonl.zst"
	for what, content := range map[string]string{"torn": whole[:len(whole)-7], "foreign": "BZh91AY&SY\nno zstd at all\x00", "empty": ""} {
		t.Run(what, func(t *testing.T) {
			d := driverOf(t, homeOf(t, map[string]string{name: content}))
			got := read(t, d, segmented, nil)
			if got.raw != content || !slices.Contains(codesOf(got.trailer.Problems), codeNotZstd) {
				t.Errorf("%q with %v", got.raw, codesOf(got.trailer.Problems))
			}
			if p := got.trailer.Summary.Placement; p.Path != "sessions/2026/03/04/"+name || p.Container != "" {
				t.Errorf("placed at %+v", p)
			}
			if _, err := d.Summarize(t.Context(), segmented); err != nil {
				t.Error(err)
			}
		})
	}
}
