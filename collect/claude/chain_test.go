package claude

import (
	"bytes"
	"encoding/json"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"agentsync/collect/value"
)

// linesOf yields a transcript's lines.
func linesOf(content []byte) iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for i, line := range bytes.Split(content, []byte("\n")) {
			if !yield(i, line) {
				return
			}
		}
	}
}

// answer is what Chain makes of a transcript, as JSON values.
func answer(t testing.TB, content []byte, o ChainOptions) []any {
	t.Helper()
	o.Size = int64(len(content))
	c := Chain(linesOf(content), o)
	return render(t, c, c.Messages, content)
}

func render(t testing.TB, c *Conversation, entries []Entry, content []byte) []any {
	t.Helper()
	split := bytes.Split(content, []byte("\n"))
	out := []any{}
	for _, e := range entries {
		v, ok := c.Message(e, split[e.Index])
		if !ok {
			t.Fatalf("line %d was chosen and cannot be read", e.Index)
		}
		var decoded any
		if err := json.Unmarshal(value.AppendText(nil, v), &decoded); err != nil {
			t.Fatal(err)
		}
		out = append(out, decoded)
	}
	return out
}

// recordedAnswer is one session's recorded messages.
type recordedAnswer struct {
	WithSystem    []any            `json:"withSystem"`
	WithoutSystem []any            `json:"withoutSystem"`
	Subagents     map[string][]any `json:"subagents"`
}

func recordedAnswers(t testing.TB, tree string) map[string]recordedAnswer {
	t.Helper()
	answers := map[string]recordedAnswer{}
	dir := filepath.Join(recordings, tree, "oracle")
	if tree == "edge" {
		readJSON(t, filepath.Join(dir, "messages.json"), &answers)
		return answers
	}
	files, _ := filepath.Glob(filepath.Join(dir, "messages-*.json"))
	for _, file := range files {
		var a recordedAnswer
		readJSON(t, file, &a)
		answers[strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "messages-"), ".json")] = a
	}
	return answers
}

func TestConversationsAreTheClients(t *testing.T) {
	for _, tree := range []string{"real", "edge"} {
		compared := 0
		for id, want := range recordedAnswers(t, tree) {
			if strings.HasPrefix(id, "ed000070") || strings.HasPrefix(id, "ed000080") {
				continue // in two folders; a link when it was recorded
			}
			files, _ := filepath.Glob(filepath.Join(recordings, tree, "config", "projects", "*", id+".jsonl"))
			if !isUUID(id) {
				files = nil // the client knows no such session
			}
			content := []byte{}
			if len(files) == 1 {
				content, _ = os.ReadFile(files[0])
			}
			compared++
			compareMessages(t, id+" with system", answer(t, content, ChainOptions{System: true}), want.WithSystem)
			compareMessages(t, id, answer(t, content, ChainOptions{}), want.WithoutSystem)
			compareMessages(t, id+" 1+2", answer(t, content, ChainOptions{Offset: 1, Limit: 2}), page(want.WithoutSystem, 1, 2))
			for agent, messages := range want.Subagents {
				compareAgent(t, tree, id, agent, messages)
			}
		}
		if compared < 18 {
			t.Errorf("only %d sessions of %s were compared", compared, tree)
		}
	}
}

func page(all []any, offset, limit int) []any {
	all = all[min(offset, len(all)):]
	return all[:min(limit, len(all))]
}

func compareAgent(t *testing.T, tree, id, agent string, want []any) {
	t.Helper()
	var file string
	root := filepath.Join(recordings, tree, "config", "projects")
	_ = filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if filepath.Base(path) == "agent-"+agent+".jsonl" && strings.Contains(path, id) {
			file = path
		}
		return err
	})
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var meta struct{ ToolUseID, ParentAgentID string }
	if raw, err := os.ReadFile(strings.TrimSuffix(file, ".jsonl") + ".meta.json"); err == nil {
		if err := json.Unmarshal(raw, &meta); err != nil {
			t.Fatal(err)
		}
	}
	got := answer(t, content, ChainOptions{Agent: &AgentOptions{ToolUseID: meta.ToolUseID, ParentAgentID: meta.ParentAgentID}})
	compareMessages(t, id+" agent "+agent, got, want)
}

func compareMessages(t *testing.T, what string, got, want []any) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d messages, want %d", what, len(got), len(want))
		return
	}
	for i := range got {
		if !reflect.DeepEqual(got[i], want[i]) {
			g, _ := json.Marshal(got[i])
			w, _ := json.Marshal(want[i])
			t.Errorf("%s, message %d\n got %.600s\nwant %.600s", what, i, g, w)
		}
	}
}
