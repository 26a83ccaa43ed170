package hashgraph

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"agentsync/collect/value"
	"agentsync/fixtures/vectors"
	"agentsync/hashgraph/digest"
)

// chunkRow is one entry of a snapshot's or manifest's list of chunks.
type chunkRow struct {
	part, byteLength, eventCount int
	contentHash, link            string
}

func buildChunks(b *value.Builder, rows []chunkRow, space string) {
	b.Array()
	for _, r := range rows {
		b.Record().Key("part").Int(int64(r.part)).Key("byteLength").Int(int64(r.byteLength))
		b.Key("eventCount").Int(int64(r.eventCount)).Key("contentHash").String(r.contentHash)
		if r.link != "" {
			b.Key("link")
			BuildLink(b, r.link, space)
		}
		b.End()
	}
	b.End()
}

// snapshotRecord is the record of spec 5.6; a nil list of messages is empty.
func snapshotRecord(key, source, native string, summary value.Value, messages []value.Value, revision *string, rows []chunkRow) value.Value {
	b := value.NewBuilder().Record()
	b.Key("key").String(key).Key("sourceId").String(source).Key("nativeSessionId").String(native)
	b.Key("summary").Value(summary).Key("normalizedMessages").Array()
	for _, m := range messages {
		b.Value(m)
	}
	b.End().Key("complete").Bool(true).Key("revision")
	if revision == nil {
		b.Undefined()
	} else {
		b.String(*revision)
	}
	b.Key("chunks")
	buildChunks(b, rows, "")
	return b.End().Finish()
}

func plains(t testing.TB, texts []json.RawMessage) []value.Value {
	t.Helper()
	var list []value.Value
	for _, text := range texts {
		list = append(list, plain(t, text))
	}
	return list
}

func collected(h *Hasher, messages []value.Value) *Messages {
	var m Messages
	for _, r := range messages {
		m.Add(h, r.Path("id").Str(), r)
	}
	return &m
}

func TestPreparedSessionsHashAsComputed(t *testing.T) {
	h := new(Hasher)
	for _, c := range load(t).PrepareSession.Cases {
		var rows []chunkRow
		for _, part := range c.Chunks {
			content := h.StableArray(plains(t, part.Events))
			if content.String() != part.ContentHash {
				t.Errorf("%s part %d: content hash %s, want %s", c.Key, part.Part, content, part.ContentHash)
			}
			rows = append(rows, chunkRow{part.Part, part.ByteLength, part.EventCount, content.String(), ""})
		}
		messages, summary := plains(t, c.NormalizedMessages), plain(t, c.Summary)
		whole := snapshotRecord(c.Key, c.SourceID, c.NativeSessionID, summary, messages, c.Revision, rows)
		if got := h.StableHash(whole).String(); got != c.SnapshotHash {
			t.Errorf("%s: snapshot hash %s, want %s", c.Key, got, c.SnapshotHash)
		}
		empty := snapshotRecord(c.Key, c.SourceID, c.NativeSessionID, summary, nil, c.Revision, rows)
		if got := SnapshotHash(h, empty, collected(h, messages)).String(); got != c.SnapshotHash {
			t.Errorf("%s: filled snapshot hash %s, want %s", c.Key, got, c.SnapshotHash)
		}
	}
}

func TestTheWholeSessionHashesAsComputed(t *testing.T) {
	c, h := load(t).Session.Case, new(Hasher)
	causes := Causes{SpaceDID: c.SpaceDID, OwnerDID: c.OwnerDID}
	events, messages, summary := plains(t, c.Events), plains(t, c.NormalizedMessages), plain(t, c.Summary)
	content := h.StableArray(events)
	check := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	check("chunk content hash", content.String(), c.ChunkContentHash)
	chunkID := CellID(causes.Chunk("codex", "s1", 0, content))
	check("chunk cell id", chunkID, c.ChunkCellID)

	rows := []chunkRow{{0, c.ChunkByteLength, len(events), content.String(), ""}}
	snapshot := func(messages []value.Value) value.Value {
		return snapshotRecord("codex/s1", "codex", "s1", summary, messages, &c.Revision, rows)
	}
	m := collected(h, messages)
	snapshotHash := SnapshotHash(h, snapshot(nil), m)
	check("snapshot hash", snapshotHash.String(), c.SnapshotHash)
	check("whole snapshot hash", h.StableHash(snapshot(messages)).String(), c.SnapshotHash)

	rows[0].link = chunkID
	manifest := func(messages []value.Value) value.Value {
		return manifestRecord(c, summary, messages, rows, snapshotHash)
	}
	manifestHash := ManifestHash(h, manifest(nil), m)
	check("manifest hash", manifestHash.String(), c.ManifestHash)
	check("whole manifest hash", h.StableHash(manifest(messages)).String(), c.ManifestHash)
	check("manifest cell id", CellID(causes.Session("codex", "s1", c.Driver, manifestHash)), c.ManifestCellID)

	chunkDocument := value.NewBuilder().Record().Key("events").Array().Value(events[0]).Value(events[1]).End().End().Finish()
	cells := Plan(chunkDocument, causes.EventScope("codex", "s1", 0, content))
	if len(cells) != 2 {
		t.Fatalf("%d event cells, want 2", len(cells))
	}
	for i, cell := range cells {
		check("event cell id", cell.ID, c.EventCellIDs[i])
		check("event cause", string(value.AppendText(nil, cell.Cause)), string(value.AppendText(nil, plain(t, c.EventCauses[i]))))
	}
}

// manifestRecord is the record of spec 5.7 for the session of the vectors.
func manifestRecord(c vectors.SessionCase, summary value.Value, messages []value.Value, rows []chunkRow, snapshot digest.Digest) value.Value {
	b := value.NewBuilder().Record()
	b.Key("schema").String("commonfabric.agent-connector.session").Key("ownerDid").String(c.OwnerDID)
	b.Key("key").String("codex/s1").Key("sourceId").String("codex").Key("driver").String(c.Driver)
	b.Key("nativeSessionId").String("s1").Key("metadata").Value(summary.Path("raw")).Key("summary").Value(summary)
	b.Key("normalized").Record().Key("messages").Array()
	for _, m := range messages {
		b.Value(m)
	}
	b.End().End().Key("chunks")
	buildChunks(b, rows, c.SpaceDID)
	b.Key("snapshotHash").String(snapshot.String()).Key("revision").String(c.Revision)
	return b.Key("observedAt").String(c.ObservedAt).Key("complete").Bool(true).End().Finish()
}

func randomMessages(r *rand.Rand, n int) []value.Value {
	var list []value.Value
	for i := range n {
		b := value.NewBuilder().Record().Key("id").String(fmt.Sprintf("m%d", i))
		if r.IntN(2) == 0 {
			b.Key("parentId").String(fmt.Sprintf("m%d", i-1))
		}
		b.Key("role").String([]string{"user", "assistant", "tool"}[r.IntN(3)]).Key("kind").String("k").Key("createdAt").Null()
		b.Key("textPreview").String(fmt.Sprintf("%0*d", r.IntN(90), i)).Key("rawIndex").Int(int64(i))
		list = append(list, b.End().Finish())
	}
	return list
}

func manifestLike(extra value.Value, messages []value.Value) value.Value {
	b := value.NewBuilder().Record().Key("metadata").Value(extra).Key("normalized").Record().Key("messages").Array()
	for _, m := range messages {
		b.Value(m)
	}
	return b.End().End().Key("chunks").Array().Int(1).Int(1).End().End().Finish()
}

func TestFilledRecordsHashAsWholeOnes(t *testing.T) {
	h := new(Hasher)
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 4))
		messages, extra := randomMessages(r, r.IntN(60)), randomValue(r, 3)
		m := collected(h, messages)
		if got, want := ManifestHash(h, manifestLike(extra, nil), m), h.StableHash(manifestLike(extra, messages)); got != want {
			t.Fatalf("seed %d: manifest %s, want %s", seed, got, want)
		}
		whole := snapshotRecord("k", "s", "n", extra, messages, nil, nil)
		if got, want := SnapshotHash(h, snapshotRecord("k", "s", "n", extra, nil, nil, nil), m), h.StableHash(whole); got != want {
			t.Fatalf("seed %d: snapshot %s, want %s", seed, got, want)
		}
	}
}

func TestOnlyTheRecordsOwnListIsFilled(t *testing.T) {
	h, messages := new(Hasher), randomMessages(rand.New(rand.NewPCG(1, 10)), 5)
	extra := plain(t, []byte(`[{"normalizedMessages":[],"normalized":{"messages":[]},"z":[{"normalizedMessages":[]}]}]`))
	m, list := collected(h, messages), []chunkRow{{0, 7, 0, "x", ""}}
	whole := snapshotRecord("k", "s", "n", extra, messages, nil, list)
	if SnapshotHash(h, snapshotRecord("k", "s", "n", extra, nil, nil, list), m) != h.StableHash(whole) {
		t.Error("the snapshot's hash is another one")
	}
	if ManifestHash(h, manifestLike(extra, nil), m) != h.StableHash(manifestLike(extra, messages)) {
		t.Error("the manifest's hash is another one")
	}
}

func TestMessagesGoOnFromAnExportedState(t *testing.T) {
	h, messages := new(Hasher), randomMessages(rand.New(rand.NewPCG(1, 5)), 50)
	var m Messages
	if err := m.Import(collected(h, messages[:30]).Export([]byte("before"))[len("before"):]); err != nil {
		t.Fatal(err)
	}
	m.Add(h, "gone", value.NewBuilder().Record().Key("id").String("gone").End().Finish())
	m.Truncate(30)
	for _, r := range messages[30:] {
		m.Add(h, r.Path("id").Str(), r)
	}
	extra := value.NewBuilder().Null().Finish()
	if m.Len() != 50 || ManifestHash(h, manifestLike(extra, nil), &m) != h.StableHash(manifestLike(extra, messages)) {
		t.Error("the hash is another one")
	}
}

func TestADamagedStateIsNotImported(t *testing.T) {
	h := new(Hasher)
	good := collected(h, randomMessages(rand.New(rand.NewPCG(1, 6)), 3)).Export(nil)
	m := collected(h, randomMessages(rand.New(rand.NewPCG(1, 7)), 2))
	for i := range good {
		bad := append([]byte(nil), good...)
		bad[i] ^= 1
		for _, state := range [][]byte{bad, good[:i]} {
			if err := m.Import(state); !errors.Is(err, ErrState) {
				t.Fatalf("byte %d: got %v", i, err)
			}
		}
	}
	if m.Len() != 2 {
		t.Error("a refused state changed the messages")
	}
}

func TestARecordWithoutTheListIsRefusedLoudly(t *testing.T) {
	for name, v := range map[string]value.Value{
		"missing": value.NewBuilder().Record().End().Finish(),
		"filled":  manifestLike(value.Value{}, randomMessages(rand.New(rand.NewPCG(1, 8)), 1)),
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			ManifestHash(new(Hasher), v, new(Messages))
		})
	}
}

// manyMessages stand for the messages of a very long session.
func manyMessages(n int) *Messages {
	var m Messages
	r := rand.NewChaCha8([32]byte{1})
	for _, column := range m.columns() {
		*column = make([]digest.Digest, n)
		for i := range *column {
			_, _ = r.Read((*column)[i][:])
		}
	}
	return &m
}

func BenchmarkFinish100000Messages(b *testing.B) {
	h, m, record := new(Hasher), manyMessages(100_000), manifestLike(value.Value{}, nil)
	b.ReportAllocs()
	for b.Loop() {
		ManifestHash(h, record, m)
	}
}

func BenchmarkAddMessage(b *testing.B) {
	h, record := new(Hasher), randomMessages(rand.New(rand.NewPCG(1, 9)), 1)[0]
	var m Messages
	b.ReportAllocs()
	for b.Loop() {
		if m.Add(h, "m0", record); m.Len() == 100_000 {
			m.Truncate(0)
		}
	}
}

func FuzzImport(f *testing.F) {
	h := new(Hasher)
	f.Add(new(Messages).Export(nil))
	f.Add(collected(h, randomMessages(rand.New(rand.NewPCG(1, 11)), 2)).Export(nil))
	f.Fuzz(func(t *testing.T, state []byte) {
		var m Messages
		if err := m.Import(state); err != nil {
			if m.Len() != 0 || !errors.Is(err, ErrState) {
				t.Errorf("%v, %d messages", err, m.Len())
			}
			return
		}
		if string(m.Export(nil)) != string(state) {
			t.Error("an imported state is exported otherwise")
		}
	})
}
