package codex

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"agentsync/collect"
	"agentsync/collect/lines"
	"agentsync/collect/value"
)

// corpus finds the folder of recorded transcripts beside the module, which is not part
// of it.
func corpus(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Skip("no module root above the test")
		}
		dir = filepath.Dir(dir)
	}
	folder := filepath.Join(filepath.Dir(dir), "shared", "corpus", "codex")
	if _, err := os.Stat(folder); err != nil {
		t.Skip("no recorded transcripts beside the module")
	}
	return folder
}

// In all these files the client's events repeat what the response items say: the
// person's and the model's messages must be those events, neither more nor fewer.
func TestTheMessagesOfRealRolloutsAreTheClientsEvents(t *testing.T) {
	homes, err := filepath.Glob(filepath.Join(corpus(t), "*"))
	if err != nil || len(homes) == 0 {
		t.Fatal("no homes in the corpus", err)
	}
	for _, dir := range homes {
		d := driverOf(t, dir)
		page := list(t, d)
		if len(page.Sessions) == 0 || len(page.Problems) != 0 {
			t.Errorf("%s: page %+v", filepath.Base(dir), page)
		}
		for _, l := range page.Sessions {
			got := read(t, d, l.NativeSessionID, nil)
			f, _ := d.known().find(l.NativeSessionID)
			content, err := os.ReadFile(f.path(d.homes))
			if err != nil || got.raw != string(content) || !got.trailer.Complete || len(got.trailer.Problems) != 0 {
				t.Errorf("%s: not read byte by byte: %v, %+v", l.NativeSessionID, err, got.trailer.Problems)
			}
			compareEvents(t, l.NativeSessionID, f.path(d.homes), got.messages)
		}
	}
}

func compareEvents(t *testing.T, id, path string, messages []collect.Message) {
	t.Helper()
	var got []string
	for _, m := range messages {
		if m.Kind == "message" {
			got = append(got, m.Role+": "+m.Preview)
		}
	}
	want := eventsOf(t, path, len(got) < len(messages) && id == forkedInCorpus)
	slices.Sort(got) // the events stand a record before or after their items
	slices.Sort(want)
	if !slices.EqualFunc(got, want, sameBeginning) {
		t.Errorf("%s: %d messages, the events are %d", id, len(got), len(want))
	}
}

// forkedInCorpus begins with its parent's history; its own turn is the last one.
const forkedInCorpus = "019d7e2f-0041-7310-951c-94020254dfc9"

// sameBeginning compares as far as the shorter text: items may have parts that the event
// leaves out, such as a picture's caption.
func sameBeginning(a, b string) bool {
	n := min(len(a), len(b))
	return a[:n] == b[:n]
}

// eventsOf lists what the client's events say, of a fork only since its own last turn.
func eventsOf(t *testing.T, path string, fork bool) []string {
	t.Helper()
	r, err := lines.Open(path, lines.Options{Now: noon})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var said []string
	for tape := new(value.Tape); ; tape.Reset() {
		e, err := r.Next(tape)
		if err != nil {
			return said
		}
		one := recordOf(e.Captured.Value)
		switch {
		case fork && one.sub == "task_started":
			said = nil
		case one.kind == "event_msg" && one.sub == "user_message":
			said = append(said, "user: "+previewOf(one.payload.Path("message")))
		case one.kind == "event_msg" && one.sub == "agent_message":
			said = append(said, "assistant: "+previewOf(one.payload.Path("message")))
		}
	}
}

func TestTheForkInTheCorpusKeepsItsIDAndItsParent(t *testing.T) {
	d := driverOf(t, filepath.Join(corpus(t), "entireio+git-sync"))
	got := read(t, d, forkedInCorpus, nil)
	raw := got.trailer.Summary.Raw
	if raw.Path("id").Str() != forkedInCorpus || got.trailer.Summary.Parent == "" || raw.Path("forkedFromId").Str() != got.trailer.Summary.Parent {
		t.Errorf("id %s, parent %s, forked from %s", raw.Path("id").Str(), got.trailer.Summary.Parent, raw.Path("forkedFromId").Str())
	}
	users := 0
	for _, m := range got.messages {
		if m.Role == "user" && m.Kind == "message" {
			users++
		}
	}
	if users != 1 || got.messages[0].RawIndex < 339 {
		t.Errorf("%d own prompts, first message at event %d", users, got.messages[0].RawIndex)
	}
}
