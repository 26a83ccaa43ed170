package document

import (
	"bytes"
	"reflect"
	"testing"

	"agentsync/collect"
	"agentsync/collect/value"
	"agentsync/hashgraph/digest"
)

func text1(s string) *string { return &s }

func sampleRow(packs *Packs) *Row {
	pack := packs.Of(digest.Sum([]byte("p")))
	yes := true
	return &Row{
		Key: "codex/one", SourceID: "codex", Driver: "codex-app-server", NativeSessionID: "one", Parent: "zero",
		Title: text1("title \u0001 \xed\xa0\x80"), Cwd: text1("/home/dev/app"),
		Git:       Git{Repo: text1("https://example.com/x.git"), Remotes: []Remote{{"origin", []string{"https://example.com/x.git"}}}},
		UpdatedAt: text1("2026-01-01T00:00:00.000Z"), Archived: &yes,
		ManifestHash: digest.Sum([]byte("m")), ContentHash: digest.Sum([]byte("c")), Status: StatusComplete,
		Size: 10, Events: 2, Messages: 1, Damaged: 1, Revision: 7,
		Table: Table{Manifest: Link{pack, 100, 20}, Chunks: []Link{{pack, 10, 90}, {pack, 200, 5}}, ChunkPages: []Link{{pack, 120, 30}}},
	}
}

func TestRowPage(t *testing.T) {
	t.Run("comes back as it was written", func(t *testing.T) {
		var packs Packs
		own := &Pack{}
		row := sampleRow(&packs)
		self := *row
		self.Key, self.Table = "codex/two", Table{}
		self.TableAt = Link{own, 40, 4}
		doc := RowPage([]*Row{row, &self})
		own.Name = digest.Sum([]byte("own"))
		got, err := ParseRowPage(doc, own, &packs)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got[0], row) || !reflect.DeepEqual(got[1], &self) {
			t.Errorf("got %+v\nand %+v", got[0], got[1])
		}
	})
	t.Run("keeps fields of a later version", func(t *testing.T) {
		var packs Packs
		doc := RowPage([]*Row{sampleRow(&packs)})
		later := bytes.Replace(doc, []byte(`"contentHash":`), []byte(`"color":["blue",{"/quote":{"/x":1}}],"contentHash":`), 1)
		rows, err := ParseRowPage(later, &Pack{}, &packs)
		if err != nil {
			t.Fatal(err)
		}
		if again := RowPage(rows); !bytes.Equal(again, later) {
			t.Errorf("rewritten as %s", again)
		}
	})
	t.Run("refuses what is not its schema's", func(t *testing.T) {
		var packs Packs
		doc := RowPage([]*Row{sampleRow(&packs)})
		for _, change := range [][2]string{
			{SchemaRowPage, SchemaNode}, {`"syncStatus":"complete"`, `"syncStatus":7`}, {`"key":`, `"kex":`},
			{`"manifestHash":"sha256:`, `"manifestHash":"sha256:Z`}, {`"packs":["`, `"packs":["../`}, {`[1,100,20]`, `[9,100,20]`},
			{`[1,100,20]`, `[1,-100,20]`}, {`[1,100,20]`, `[1,100,0]`}, {`[1,100,20]`, `[1,100]`}, {`"size":10`, `"size":-1`},
			{`"sourceId":"codex"`, `"sourceId":".."`}, {`"sourceId":"codex"`, `"sourceId":"."`}, {`"sourceId":"codex"`, `"sourceId":""`},
			{`"sourceId":"codex"`, `"sourceId":" codex"`},
		} {
			bad := bytes.Replace(doc, []byte(change[0]), []byte(change[1]), 1)
			if bytes.Equal(bad, doc) {
				t.Fatalf("%q is not in the page", change[0])
			}
			if _, err := ParseRowPage(bad, &Pack{}, &packs); err == nil {
				t.Errorf("%s instead of %s was taken", change[1], change[0])
			}
		}
	})
}

func sampleManifest() *Manifest {
	summary := value.NewBuilder().Record().Key("raw").Record().Key("x").String(`"rest":[]`).End().End().Finish()
	return &Manifest{
		OwnerDID: "did:key:o", Key: "codex/one", SourceID: "codex", Driver: "codex-app-server", NativeSessionID: "one",
		Summary: summary, Revision: text1("7"), ObservedAt: "2026-01-01T00:00:00.000Z", Complete: true,
		SnapshotHash: digest.Sum([]byte("s")), ManifestHash: digest.Sum([]byte("m")), Damaged: 3, Size: 99,
		Chunks: []Descriptor{{Part: 0, ByteLength: 9, EventCount: 2, ContentHash: digest.Sum([]byte("c")),
			Start: collect.Position{Offset: 5, Event: 6, Line: 7, State: "x"}, Messages: 8, Damaged: 9, Check: 1 << 63}},
		ChunkPages: []uint64{1, 1 << 63}, Messages: 2,
	}
}

func TestManifest(t *testing.T) {
	m := sampleManifest()
	doc := m.Text()
	got, err := ParseManifest(doc)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := value.Parse(doc); err != nil || !bytes.Equal(value.AppendText([]byte(value.Prefix), v), doc) {
		t.Errorf("the text is not canonical: %v", err)
	}
	got.Summary, m.Summary = value.Value{}, value.Value{}
	if !reflect.DeepEqual(got, m) {
		t.Errorf("got %+v\nwant %+v", got, m)
	}
}

func TestChunkGivesBackEveryByte(t *testing.T) {
	raws := []string{"{\"a\":1}\n", "{ \"a\" : 1.0 }\r\n", "not json\n", "\xff\xfe\n", "{\"/x\":1}\n", "", "{\"last\":true}"}
	texts := []string{`{"a":1}`, `{ "a" : 1.0 }`, `{"agentsync":"unparsed"}`, `{"agentsync":"unparsed"}`, `{"/quote":{"/x":1}}`, `{}`, `{"last":true}`}
	c := &Chunk{OwnerDID: "o", Key: "k/ü", Part: 3, ContentHash: digest.Sum(nil)}
	for i, raw := range raws {
		c.Events = append(c.Events, ChunkEvent{Text: []byte(texts[i]), Raw: []byte(raw), Plain: raw == texts[i]+"\n"})
	}
	c.Messages = [][]byte{[]byte(`{"id":"a"}`), []byte(`{"id":"b"}`)}
	doc := AppendChunk(nil, c)
	if _, err := value.Parse(doc); err != nil {
		t.Fatalf("another reader of the format refuses it: %v", err)
	}
	var tape value.Tape
	got, err := ParseChunk(doc, &tape)
	if err != nil {
		t.Fatal(err)
	}
	if got.Key != c.Key || got.Part != 3 || got.ContentHash != c.ContentHash || len(got.Events) != len(raws) {
		t.Fatalf("got %+v", got)
	}
	if len(got.Normalized) != 2 || got.Normalized[1].Path("id").Str() != "b" {
		t.Errorf("messages: %v", got.Normalized)
	}
	for i, e := range got.Events {
		raw := string(e.Raw)
		if e.Plain {
			raw = string(e.Text) + "\n"
		}
		if raw != raws[i] {
			t.Errorf("event %d gives back %q, want %q", i, raw, raws[i])
		}
	}
	if _, ok := got.Events[4].Value.Get("/x"); !ok {
		t.Error("a kept event's value is not the captured one")
	}
	if key, ok := KeyOf(doc); !ok || key != c.Key {
		t.Errorf("KeyOf gave %q", key)
	}
}

// FuzzDocuments feeds every parser; what one accepts must render to a text that it
// accepts again.
func FuzzDocuments(f *testing.F) {
	var packs Packs
	head := &Head{Name: "sessions", Generation: 2, Nonce: "n", Writer: "w", Installation: "i", Time: "t",
		Root: Link{packs.Of(digest.Sum(nil)), 1, 2}, Signature: []byte("s")}
	root := &Root{OwnerDID: "o", SpaceDID: "s", Generation: 1, GeneratedAt: "t", Sources: []Source{{ID: "a", Driver: "d"}},
		Checkouts: []Checkout{{Root: "/r"}}, All: []Child{{"k", 1, Link{packs.Of(digest.Sum(nil)), 1, 2}}}}
	row := sampleRow(&packs)
	for _, seed := range [][]byte{
		RowPage([]*Row{row}), RecentPage([]Recent{{"t", "k"}}), Node(root.All), root.Text(), head.Text(), row.Table.Text("k"),
		sampleManifest().Text(), ChunkPage("k", 0, sampleManifest().Chunks),
		AppendChunk(nil, &Chunk{Key: "k", Events: []ChunkEvent{{Text: []byte("{}"), Plain: true}, {Text: []byte("{}"), Raw: []byte("x")}}}),
		(&Format{Version: 1, SpaceDID: "s", OwnerDID: "o", Created: "t", Signature: []byte("s")}).Text(),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		var packs Packs
		own := packs.Of(digest.Sum([]byte("own")))
		if rows, err := ParseRowPage(doc, own, &packs); err == nil {
			if _, err := ParseRowPage(RowPage(rows), own, &packs); err != nil {
				t.Errorf("rows: %v", err)
			}
		}
		if r, err := ParseRoot(doc, own, &packs); err == nil {
			if _, err := ParseRoot(r.Text(), own, &packs); err != nil {
				t.Errorf("root: %v", err)
			}
		}
		if h, err := ParseHead(doc, &packs); err == nil {
			if _, err := ParseHead(h.Text(), &packs); err != nil {
				t.Errorf("head: %v", err)
			}
		}
		if m, err := ParseManifest(doc); err == nil {
			if _, err := ParseManifest(m.Text()); err != nil {
				t.Errorf("manifest: %v", err)
			}
		}
		var tape value.Tape
		if c, err := ParseChunk(doc, &tape); err == nil {
			if _, err := ParseChunk(AppendChunk(nil, c), &tape); err != nil {
				t.Errorf("chunk: %v", err)
			}
		}
		_, _ = ParseRecentPage(doc)
		_, _ = ParseNode(doc, own, &packs)
		_, _ = ParseTable(doc, "k", own, &packs)
		_, _ = ParseFormat(doc)
		_, _ = ParseChunkPage(doc, "k", 0)
	})
}
