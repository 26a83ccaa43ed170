package codex

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agentsync/collect"
	"agentsync/collect/value"
)

// thread is what the client's app server answers of a thread, in the parts that files carry.
type thread struct {
	ID             string          `json:"id"`
	SessionID      string          `json:"sessionId"`
	ForkedFromID   string          `json:"forkedFromId"`
	ParentThreadID string          `json:"parentThreadId"`
	Preview        string          `json:"preview"`
	Name           string          `json:"name"`
	Source         json.RawMessage `json:"source"`
	ModelProvider  string          `json:"modelProvider"`
	CLIVersion     string          `json:"cliVersion"`
	Originator     string          `json:"originator"`
	AgentNickname  string          `json:"agentNickname"`
	GitInfo        json.RawMessage `json:"gitInfo"`
	HistoryMode    string          `json:"historyMode"`
	Path           string          `json:"path"`
	Cwd            string          `json:"cwd"`
	CreatedAt      int64           `json:"createdAt"`
	UpdatedAt      int64           `json:"updatedAt"`
	Turns          []turn          `json:"turns"`
}

type turn struct {
	Items []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Content []struct{ Text string }
	} `json:"items"`
}

// answered returns the recorded threads of an answer to thread/list.
func answered(t *testing.T, folder string, lists ...string) (all []thread, archived map[string]bool) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(recorded, folder, "thread-list.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]struct{ Result struct{ Data []thread } }
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	archived = map[string]bool{}
	for _, list := range lists {
		for _, one := range file[list].Result.Data {
			all = append(all, one)
			archived[one.ID] = strings.HasPrefix(list, "archived")
		}
	}
	if len(all) == 0 {
		t.Fatal("no recorded threads")
	}
	return all, archived
}

// fabric is the canonical text of a JSON text.
func fabric(t *testing.T, text []byte) string {
	t.Helper()
	c, err := new(value.Tape).Capture(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(value.AppendText(nil, c.Value))
}

func TestTheRecordedHomeReadsAsTheClientAnswered(t *testing.T) {
	for _, row := range []struct {
		home, rpc string
		lists     []string
	}{
		{"home", "rpc", []string{"active_all_kinds", "archived_all_kinds"}},
		{"legacy-home", "rpc-legacy", []string{"active_all_kinds"}},
	} {
		t.Run(row.home, func(t *testing.T) {
			want, archived := answered(t, row.rpc, row.lists...)
			d := driverOf(t, filepath.Join(recorded, row.home))
			page := list(t, d)
			page.Sessions = slices.DeleteFunc(page.Sessions, func(l collect.Listing) bool { return l.NativeSessionID == indexFile })
			if len(page.Sessions) != len(want) || len(page.Problems)+len(page.Notes) != 0 || page.Absent {
				t.Fatalf("page %+v", page)
			}
			for _, one := range want {
				// The list answers no forkedFromId; the thread alone does.
				one.ForkedFromID = answeredThread(t, filepath.Join(recorded, row.rpc, "thread-read-"+one.ID+".json")).ForkedFromID
				got := read(t, d, one.ID, nil).trailer.Summary
				alone, err := d.Summarize(t.Context(), one.ID)
				if err != nil {
					t.Fatal(err)
				}
				compare(t, one, archived[one.ID], got)
				if text(alone.Title) != text(got.Title) || text(alone.UpdatedAt) != text(got.UpdatedAt) ||
					string(value.AppendText(nil, alone.Raw)) != string(value.AppendText(nil, got.Raw)) {
					t.Errorf("%s: summarized %+v, read %+v", one.ID, alone, got)
				}
				if got.Active != nil {
					t.Errorf("%s: active is known", one.ID)
				}
			}
		})
	}
}

func compare(t *testing.T, want thread, archived bool, got collect.Summary) {
	t.Helper()
	raw := got.Raw
	wantTitle := want.Name
	if wantTitle == "" {
		wantTitle = want.Preview
	}
	for _, row := range [][3]string{
		{"title", text(got.Title), wantTitle},
		{"cwd", text(got.Cwd), want.Cwd},
		{"createdAt", text(got.CreatedAt)[:19], time.Unix(want.CreatedAt, 0).UTC().Format("2006-01-02T15:04:05")},
		{"parent", got.Parent, want.ParentThreadID},
		{"preview", raw.Path("preview").Str(), want.Preview},
		{"name", raw.Path("name").Str(), want.Name},
		{"forkedFromId", raw.Path("forkedFromId").Str(), want.ForkedFromID},
		{"parentThreadId", raw.Path("parentThreadId").Str(), want.ParentThreadID},
		{"modelProvider", raw.Path("modelProvider").Str(), want.ModelProvider},
		{"cliVersion", raw.Path("cliVersion").Str(), want.CLIVersion},
		{"originator", raw.Path("originator").Str(), want.Originator},
		{"agentNickname", raw.Path("agentNickname").Str(), want.AgentNickname},
		{"source", string(value.AppendText(nil, raw.Path("source"))), fabric(t, want.Source)},
		{"gitInfo", string(value.AppendText(nil, raw.Path("gitInfo"))), fabric(t, want.GitInfo)},
		{"path", "/home/dev/.codex/" + got.Placement.Path, want.Path},
	} {
		if row[1] != row[2] {
			t.Errorf("%s: %s is %q, the client answered %q", want.ID, row[0], row[1], row[2])
		}
	}
	if got.Archived == nil || *got.Archived != archived {
		t.Errorf("%s: archived", want.ID)
	}
	if mode := raw.Path("historyMode").Str(); mode != "" && mode != want.HistoryMode {
		t.Errorf("%s: historyMode %q", want.ID, mode)
	}
}

func TestHiddenIsWhatTheClientsOwnListLeavesOut(t *testing.T) {
	shown, _ := answered(t, "rpc", "active_default")
	all, _ := answered(t, "rpc", "active_all_kinds", "archived_all_kinds")
	d := driverOf(t, filepath.Join(recorded, "home"))
	for _, one := range all {
		got, err := d.Summarize(t.Context(), one.ID)
		listed := slices.ContainsFunc(shown, func(s thread) bool { return s.ID == one.ID })
		if interactive := string(one.Source) == `"vscode"`; listed != interactive && !*got.Archived {
			t.Fatalf("%s: the recorded lists are not what this test takes them for", one.ID)
		}
		if err != nil || !*got.Archived && got.Hidden == listed {
			t.Errorf("%s: hidden %v, listed %v, %v", one.ID, got.Hidden, listed, err)
		}
	}
}

// The client's updatedAt is that of the last record, but for a thread that was archived
// later, and for the old format, where it is the file's time.
func TestUpdatedAtOfTheRecordedHome(t *testing.T) {
	want, archived := answered(t, "rpc", "active_all_kinds")
	d := driverOf(t, filepath.Join(recorded, "home"))
	for _, one := range want {
		got := read(t, d, one.ID, nil).trailer
		if archived[one.ID] {
			continue
		}
		if at := time.Unix(one.UpdatedAt, 0).UTC().Format("2006-01-02T15:04:05"); text(got.Summary.UpdatedAt)[:19] != at || got.Revision != *got.Summary.UpdatedAt {
			t.Errorf("%s: updated %s, the client answered %s; revision %s", one.ID, text(got.Summary.UpdatedAt), at, got.Revision)
		}
	}
}

// What a person and the model said must be what the client shows as the thread's items.
// The model's answer to the request for a compaction is in the file, and no item.
func TestTheRecordedConversationsAreTheClientsItems(t *testing.T) {
	for _, row := range []struct{ home, rpc string }{{"home", "rpc"}, {"legacy-home", "rpc-legacy"}} {
		files, _ := filepath.Glob(filepath.Join(recorded, row.rpc, "thread-read-*.json"))
		if len(files) == 0 {
			t.Fatal("no recorded answers")
		}
		d := driverOf(t, filepath.Join(recorded, row.home))
		for _, file := range files {
			one := answeredThread(t, file)
			var want, got []string
			for _, turn := range one.Turns {
				for _, item := range turn.Items {
					switch item.Type {
					case "userMessage":
						want = append(want, "user: "+item.Content[0].Text)
					case "agentMessage":
						want = append(want, "assistant: "+item.Text)
					}
				}
			}
			got = append(got, conversation(t, d, one)...)
			if !slices.Equal(got, want) {
				t.Errorf("%s:\n got %q\nwant %q", filepath.Base(file), got, want)
			}
		}
	}
}

func answeredThread(t *testing.T, path string) thread {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Result struct{ Thread thread } }
	if err := json.Unmarshal(content, &file); err != nil || file.Result.Thread.ID == "" {
		t.Fatalf("%s: %v", path, err)
	}
	return file.Result.Thread
}

// conversation is what was said in a thread. The client shows a fork with the turns of
// the thread that it continues, which are messages of that thread alone here.
func conversation(t *testing.T, d *Driver, one thread) []string {
	t.Helper()
	var said []string
	if one.ForkedFromID != "" {
		said = conversation(t, d, thread{ID: one.ForkedFromID})
	}
	for _, m := range read(t, d, one.ID, nil).messages {
		if m.Kind == "message" && !strings.HasPrefix(m.Preview, "<analysis>Mock analysis.") {
			said = append(said, m.Role+": "+m.Preview)
		}
	}
	return said
}
