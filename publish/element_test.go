package publish

import (
	"errors"
	"strings"
	"testing"

	"agentsync/collect/value"
	"agentsync/hashgraph"
	"agentsync/publish/document"
)

// printed parses what cat prints.
func printed(t *testing.T, c Cell) value.Value {
	t.Helper()
	v, err := value.Parse(c.Text)
	if err != nil {
		t.Fatalf("%s: %v in %s", c.ID, err, c.Text)
	}
	return v
}

// linkID is the cell that a link names, "" for any other value.
func linkID(v value.Value) string {
	return v.Path("/", "link@1", "id").Str()
}

func TestEveryElementOfAnArrayIsACell(t *testing.T) {
	content := `{"type":"user","uuid":"u1","message":{"role":"user","content":"hello"}}` + "\n" +
		`{"type":"assistant","uuid":"a1","parentUuid":"u1","message":{"role":"assistant","content":[{"type":"text","text":"hi"},` +
		`{"type":"tool_use","id":"t1","input":{"list":[[1,2],[1,2],null]}}]}}` + "\n"
	_, d := claudeTree(t, map[string]string{"-p/" + tailID + ".jsonl": content})
	b := newBed(t, d)
	b.publish()
	view, row := b.view(), b.row("claude/"+tailID)
	s, err := view.Session(row)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Part(0)
	if err != nil {
		t.Fatal(err)
	}
	causes := b.target.causes()
	events := causes.EventScope(row.SourceID, row.NativeSessionID, 0, c.ContentHash)
	manifest := causes.SessionScope(row.SourceID, row.NativeSessionID, row.ManifestHash)
	id := func(scope value.Value, path, field, text string) string {
		return hashgraph.CellID(hashgraph.ElementCause(scope, strings.Split(path, "."), field, text))
	}
	inSession := CatOptions{Rows: []*document.Row{row}}
	for _, one := range []struct {
		name, id string
		o        CatOptions
		holds    string
	}{
		{"an event", id(events, "events", "uuid", "a1"), inSession, `"parentUuid":"u1"`},
		{"a message", id(manifest, "normalized.messages", "id", "u1"), inSession, `"textPreview":"hello"`},
		{"a session's row", id(causes.IndexScope(), "sessions", "key", row.Key), CatOptions{}, `"recentMessages":[{`},
		{"a source", id(causes.IndexScope(), "sources", "id", "claude"), CatOptions{}, `"driver":"claude-agent-sdk"`},
	} {
		t.Run(one.name, func(t *testing.T) {
			cell, err := view.Cat(t.Context(), one.id, one.o)
			if err != nil || !strings.Contains(string(cell.Text), one.holds) {
				t.Fatalf("%v, %s", err, cell.Text)
			}
			// What is printed as links leads, cell by cell, to what is printed whole.
			var follow func(id string) value.Value
			var rebuild func(b *value.Builder, v value.Value, inArray bool)
			rebuild = func(b *value.Builder, v value.Value, inArray bool) {
				switch {
				case inArray && linkID(v) != "":
					b.Value(follow(linkID(v)))
				case v.Kind() == value.Array:
					b.Array()
					for e := range v.Elements() {
						rebuild(b, e, true)
					}
					b.End()
				case v.Kind() == value.Record && linkID(v) == "":
					b.Record()
					for key, member := range v.Members() {
						rebuild(b.Key(string(key)), member, false)
					}
					b.End()
				default:
					b.Value(v)
				}
			}
			follow = func(id string) value.Value {
				o := inSession
				o.Linked = true
				cell, err := view.Cat(t.Context(), id, o)
				if err != nil {
					t.Fatal(err)
				}
				v := printed(t, cell)
				for e := range v.Elements() {
					if linkID(e) == "" && e.Kind() != value.Hole {
						t.Errorf("%s holds an element that is no link: %s", id, cell.Text)
					}
				}
				b := value.NewBuilder()
				rebuild(b, v, false)
				return b.Finish()
			}
			if got := string(value.AppendText([]byte(value.Prefix), follow(one.id))); got != string(cell.Text) {
				t.Errorf("the links lead to\n%s, whole it is\n%s", got, cell.Text)
			}
		})
	}
	if _, err := view.Cat(t.Context(), "of:fid1:AAAA", inSession); !errors.Is(err, ErrNoCell) {
		t.Errorf("an unknown cell: %v", err)
	}
	if _, err := view.Cat(t.Context(), id(events, "events", "uuid", "a1"), CatOptions{}); !errors.Is(err, ErrNoCell) {
		t.Errorf("an event of a session that was not named: %v", err)
	}
}

func TestARowsCellIsThePublishedVector(t *testing.T) {
	scope := hashgraph.Causes{SpaceDID: "did:key:space", OwnerDID: "did:key:owner"}.IndexScope()
	if got := hashgraph.CellID(hashgraph.ElementCause(scope, []string{"sessions"}, "key", "codex/session-id")); got != "of:fid1:CBrZcqDqWWxrcM9MooJvgpp3RUn73CY1ZF52El9h9sM" {
		t.Errorf("got %s", got)
	}
}
