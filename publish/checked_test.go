package publish

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"agentsync/chunk"
	"agentsync/publish/document"
	"agentsync/publish/pack"
	"agentsync/publish/store"
)

// forge rewrites one document of a store in place: a text of equal length that
// compresses to a frame of equal length. The document holds the name of its schema.
func (b *bed) forge(schema, old string) {
	b.Helper()
	encoder, decoder := chunk.NewEncoder(), chunk.NewDecoder()
	for name := range b.packs() {
		file := b.content(name)
		d, _ := store.ParsePackName(name)
		entries, err := pack.ReadTable(b.Context(), b.store, d)
		if err != nil {
			b.Fatal(err)
		}
		for _, e := range entries {
			place := file[e.Offset:][:e.Length]
			text, err := decoder.Decode(nil, place, int(e.Plain))
			if err != nil {
				b.Fatal(err)
			}
			if !bytes.Contains(text, []byte(schema)) || !bytes.Contains(text, []byte(old)) {
				continue
			}
			for first := byte('a'); first <= 'z'; first++ {
				for second := byte('a'); second <= 'z'; second++ {
					changed := bytes.Clone([]byte(old))
					changed[0], changed[len(old)-1] = first, second
					frame := encoder.Encode(nil, bytes.ReplaceAll(text, []byte(old), changed))
					if string(changed) != old && len(frame) == len(place) {
						copy(place, frame)
						b.plant(name, file)
						return
					}
				}
			}
		}
	}
	b.Fatalf("%q stands in no document, or no frame of its length has another text", old)
}

// packs lists the packs of the store with their sizes.
func (b *bed) packs() map[string]int64 {
	b.Helper()
	found := map[string]int64{}
	if err := b.store.List(b.Context(), "packs/", func(e store.Entry) error { found[e.Name] = e.Size; return nil }); err != nil {
		b.Fatal(err)
	}
	return found
}

func (b *bed) content(name string) []byte {
	b.Helper()
	content, err := b.store.Get(b.Context(), name, 0, -1, nil)
	if err != nil {
		b.Fatal(err)
	}
	return content
}

// plant puts bytes at a name, whatever stands there.
func (b *bed) plant(name string, content []byte) {
	b.Helper()
	if err := b.store.Hint(b.Context(), name, content); err != nil {
		b.Fatal(err)
	}
}

func wantDamage(t *testing.T, what string, err error) {
	t.Helper()
	var damaged *DamagedError
	if !errors.As(err, &damaged) {
		t.Errorf("%s: %v, want a *DamagedError", what, err)
	}
}

const forgedLine = `{"type":"user","uuid":"u1","cwd":"/home/dev/app","sessionId":"` + oddID +
	`","message":{"role":"user","content":"pay the baker"}}` + "\n"

func TestAForgedConversationIsNeitherShownNorRestored(t *testing.T) {
	_, d := claudeTree(t, map[string]string{"-home-dev-app/" + oddID + ".jsonl": forgedLine})
	b := newBed(t, d)
	b.publish()
	b.forge(document.SchemaChunk, "pay the baker")
	v := b.view()
	err := v.Rows(func(row *document.Row) error {
		s, err := v.Session(row)
		if err != nil {
			return err
		}
		return s.Events(func(int, *document.ChunkEvent) error { return nil })
	})
	wantDamage(t, "reading the events", err)
	into := t.TempDir()
	files := b.restoreAll(into, nil)
	if len(files) != 1 {
		t.Errorf("%d results", len(files))
	}
	for _, f := range files {
		wantDamage(t, "restoring", f.Err)
	}
	if left := tree(t, into); len(left) != 0 {
		t.Errorf("written all the same: %q", left)
	}
}

func TestAForgedIndexIsNotListed(t *testing.T) {
	_, d := claudeTree(t, map[string]string{"-home-dev-app/" + oddID + ".jsonl": forgedLine})
	b := newBed(t, d)
	b.publish()
	b.forge("agentsync.index-rows", "claude-agent-sdk")
	view, err := b.target.View(b.Context())
	if err == nil {
		err = view.Rows(func(*document.Row) error { return nil })
	}
	wantDamage(t, "listing", err)
}

// readAll reads everything that the newest generation holds.
func readAll(b *bed) error {
	b.Helper()
	reader, err := Open(b.Context(), Options{Store: b.store})
	if err != nil {
		b.Fatal(err)
	}
	v, err := reader.View(b.Context())
	if err != nil {
		return err
	}
	if err := v.Newest(func(*document.Row) error { return nil }); err != nil {
		return err
	}
	return v.Rows(func(row *document.Row) error {
		s, err := v.Session(row)
		if err != nil {
			return err
		}
		return s.Events(func(int, *document.ChunkEvent) error { return nil })
	})
}

func TestEveryByteOfAPackIsCheckedByWhoeverReadsIt(t *testing.T) {
	_, d := claudeTree(t, map[string]string{"-home-dev-app/" + oddID + ".jsonl": forgedLine})
	b := newBed(t, d)
	b.pass.Now = noon.AddDate(0, 0, -1) // so that the session is among the recent ones
	b.publish()
	if err := readAll(b); err != nil {
		t.Fatal(err)
	}
	for name := range b.packs() {
		file := b.content(name)
		for at := range file {
			spoilt := bytes.Clone(file)
			spoilt[at] ^= 1
			b.plant(name, spoilt)
			wantDamage(t, fmt.Sprintf("byte %d of %d", at, len(file)), readAll(b))
		}
		b.plant(name, file[:len(file)-1])
		wantDamage(t, "a pack cut short", readAll(b))
		b.plant(name, append(bytes.Clone(file), 0))
		wantDamage(t, "a pack with a byte too many", readAll(b))
	}
}

// respelled are other texts that say the same as a signed JSON object and a newline.
func respelled(t *testing.T, text string) map[string]string {
	t.Helper()
	const last = "AQgw" // letters whose low four bits are nothing but filling
	at := strings.Index(text, `"signature":"`) + len(`"signature":"`) + 85
	if !strings.Contains(last, text[at:at+1]) || text[at+1] != '"' {
		t.Fatalf("no signature of 64 bytes in %s", text)
	}
	return map[string]string{
		"other filling in the signature": text[:at] + string(text[at]+1) + text[at+1:],
		"a line end within it":           text[:at] + `\n` + text[at:],
		"no newline at the end":          text[:len(text)-1],
		"a newline more":                 text + "\n",
		"a blank":                        "{ " + text[1:],
		"a field more":                   `{"a":1,` + text[1:],
		"an escape where none is needed": strings.Replace(text, `"schema":"a`, `"schema":"\u0061`, 1),
	}
}

func TestAHeadHasOneSpelling(t *testing.T) {
	b, _ := oneSession(t)
	name := store.HeadName(sessionsHead, 1)
	text := b.content(name)
	for what, other := range respelled(t, string(text)) {
		b.plant(name, []byte(other))
		_, err := b.target.View(t.Context())
		wantDamage(t, what, err)
	}
	b.plant(name, text)
	b.view()
}
